"""The top of a report: what was clustered, by what, and what should not be overlooked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from coterie.estimators import OBJECTIVE, Method
from coterie.estimators.parameters import parameters_of
from coterie.reports.page import Cell, Code, Facts, Part, Section, Text, Warnings
from coterie.reports.stability import Stability
from coterie.reports.starts import Starts
from coterie.reports.subject import Subject, seconds_of

__all__ = ["command_of", "top_section", "warnings_of"]

# A cluster of less than this part of an equal share is small.
_SMALL = 0.1


def top_section(
    subject: Subject, summary: Mapping[str, Any], stability: Stability | None, starts: Starts | None = None
) -> Section:
    """Return the first section; `summary` is that of `coterie fit`, or as much of it as is known."""
    model, method = subject.model, subject.method
    source = summary.get("input", {})
    what = [
        ("file", source.get("file")),
        ("rows", subject.rows.shape[0]),
        ("columns", subject.rows.shape[1]),
        ("kind", f"{'sparse' if subject.rows.is_sparse else 'dense'}, {subject.rows.dtype.name}"),
        ("method", subject.name_of_method),
        ("clusters", _count_words(subject, summary)),
        *_objective(model, method),
        ("iterations", getattr(model, "n_iter_", None)),
        ("seconds of the fit", summary.get("seconds", seconds_of(model) or None)),
        ("memory at its peak", summary.get("memory")),
        ("rows in no cluster", int(np.count_nonzero(subject.labels < 0)) or None),
        ("rows marked as outliers", (summary.get("outliers") or {}).get("marked")),
        ("hash of the rows", _hash_words(summary)),
    ]
    entries: list[tuple[str, Cell]] = [(name, value) for name, value in what if value is not None]
    parts: list[Part] = [Warnings(warnings_of(subject, summary, stability, starts)), Facts(entries)]
    if method is not None:
        parts.append(Text(f"The method {method.name}: {method.summary}."))
    repeated = command_of(summary, method) if summary.get("command") else _constructor(model)
    parts.append(Code("The same again", repeated))
    return Section("Result", parts)


def warnings_of(
    subject: Subject, summary: Mapping[str, Any], stability: Stability | None, starts: Starts | None = None
) -> list[str]:
    """Return what should not be overlooked, in words."""
    n_rows = len(subject.labels)
    lines = [str(line) for line in summary.get("warnings", [])]
    if getattr(subject.model, "converged_", True) is False and not any("converge" in line for line in lines):
        lines.append("The fit ended before it had converged: max_iter or max_time stopped it.")
    asked = summary.get("clusters") or getattr(
        subject.model, str(getattr(subject.method, "clusters", "")), None
    )
    if isinstance(asked, int) and asked > subject.n_clusters:
        lines.append(f"Of {asked:,} clusters asked for {subject.n_clusters:,} are left.")
    small = np.flatnonzero(subject.sizes < _SMALL * n_rows / subject.n_clusters)
    if len(small):
        held = subject.sizes[small].sum() / n_rows
        verb = "cluster holds" if len(small) == 1 else "clusters hold"
        lines.append(f"{len(small)} {verb} {held:.2%} of the rows{_named(small)}.")
    largest = int(subject.sizes.argmax())
    if subject.n_clusters > 2 and subject.sizes[largest] > 0.5 * n_rows:
        lines.append(
            f"One cluster holds {subject.sizes[largest] / n_rows:.0%} of the rows: cluster {largest}."
        )
    if stability is not None:
        lost = np.flatnonzero(stability.means < 0.6)
        if len(lost):
            verb = "was" if len(lost) == 1 else "were"
            lines.append(
                f"{len(lost)} of {subject.n_clusters} clusters {verb} not found again in fits of half samples"
                f"{_named(lost)}."
            )
    if starts is not None and starts.is_beaten:
        has_starts = "n_init" in subject.model.get_params(deep=False)
        way = "more starts (--n-init 10)" if has_starts else "another seed"
        lines.append(f"{starts.sentence(n_rows)} Try {way}.")
    return lines


def command_of(summary: Mapping[str, Any], method: Method | None) -> str:
    """Return the command that repeats a fit, from its summary.

    Examples
    --------
    >>> from coterie.reports.top import command_of
    >>> command_of({"command": "fit", "input": {"file": "my rows.npy"}, "clusters": 3, "method": "k-means"}, None)
    "coterie fit 'my rows.npy' -k 3 --method k-means"
    """
    words = ["coterie", str(summary["command"]), str(summary["input"]["file"])]
    if summary["command"] == "fit":
        words += ["-k", str(summary["clusters"]), "--method", str(summary["method"])]
    parameters = dict(summary.get("parameters", {}))
    if parameters.get("random_state"):
        words += ["--seed", str(parameters["random_state"])]
    defaults = {} if method is None else method.estimator().get_params()
    for name, flag in (("max_iter", "--max-iter"), ("max_time", "--max-time")):
        if name in defaults and parameters.get(name) != defaults[name] and parameters.get(name) is not None:
            words += [flag, str(parameters[name])]
    declared = {} if method is None else parameters_of(method.estimator)
    common = (
        "max_iter",
        "max_time",
        "n_threads",
        "random_state",
        None if method is None else method.clusters,
    )
    for name, parameter in declared.items():
        value = parameters.get(name)
        if name in common or not parameter.flags or value is None or value == defaults.get(name):
            continue
        flag = parameter.flags[0]
        words += (
            [flag if value else f"--no-{flag.removeprefix('--')}"]
            if isinstance(value, bool)
            else [flag, str(value)]
        )
    words += _preparing_words(summary)
    return shlex.join(words)


def _preparing_words(summary: Mapping[str, Any]) -> list[str]:
    words = ["--normalize"] if summary.get("normalize") else []
    for name, value in dict(summary.get("preparing", {})).items():
        joined = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += [f"--{name.replace('_', '-')}", joined]
    columns = summary.get("columns")
    if columns:
        words += ["--columns", ",".join(map(str, columns))]
    for name in ("sep", "decimal"):
        if summary.get("reading", {}).get(name):
            words += [f"--{name}", str(summary["reading"][name])]
    if summary.get("known_labels"):
        words += ["--labels", str(summary["known_labels"])]
    share = (summary.get("outliers") or {}).get("share")
    return words if share is None else [*words, "--outliers", str(share)]


def _constructor(model: Any) -> str:
    """The call that makes this model; arrays among its parameters are named only."""
    if not isinstance(model, BaseEstimator):
        return type(model).__name__
    return " ".join(repr(model).split())


def _objective(model: Any, method: Method | None) -> Sequence[tuple[str, Any]]:
    objective = (method.objective if method else None) or OBJECTIVE
    value = getattr(model, objective.attribute, None) if objective.attribute else None
    if value is None or np.ndim(value):
        return []
    direction = " (higher is better)" if objective.higher_is_better else ""
    return [(f"{objective.name}{direction}", f"{float(value):.8g}")]


def _count_words(subject: Subject, summary: Mapping[str, Any]) -> str:
    sizes = subject.sizes
    return f"{subject.n_clusters:,}, of {int(sizes.min()):,} to {int(sizes.max()):,} rows"


def _hash_words(summary: Mapping[str, Any]) -> str | None:
    hashes = summary.get("hashes", {})
    found = hashes.get("rows", hashes.get("sample"))
    return None if found is None else f"sha256 {found[:16]}…"


def _named(clusters: Any) -> str:
    """The numbers of some clusters, where they are few."""
    if len(clusters) > 8:
        return ""
    return f": cluster{'' if len(clusters) == 1 else 's'} {', '.join(map(str, clusters))}"
