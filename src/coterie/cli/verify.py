"""`coterie verify`: the fit of a folder again, compared with all that its summary says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.base import clone

from coterie.cli.errors import about
from coterie.cli.fit import facts_of, fit_model, settings_of
from coterie.cli.inputs import input_facts, read_graph, read_known_labels
from coterie.cli.output import plain, recorded_warnings, tell
from coterie.cli.report import rows_of_fit
from coterie.cli.results import outlier_facts
from coterie.cli.runs import SUMMARY, read_fit
from coterie.methods import method_of
from coterie.results import outlier_threshold
from coterie_command.options import VerifyOptions
from coterie_command.progress import Progress


def run_verify(folder: Path, file: str | None, options: VerifyOptions) -> int:
    """Repeat the fit, compare, print the result, and return the exit code."""
    facts, model = read_fit(folder)
    method = method_of(model)
    if facts["interrupted"]:
        raise ValueError(
            f"{folder}: the fit was interrupted, so it cannot be repeated. Run coterie fit again."
        )
    if method is None:
        raise ValueError(
            f"{folder}: {type(model).__name__} is no method of coterie that can be fitted again."
        )
    k = None if method.clusters is None else getattr(model, method.clusters)
    with (
        Progress(options.quiet) as screen,
        rows_of_fit("verify", folder, file, facts, model, screen) as (opened, name),
    ):
        again = clone(model)
        if options.threads is not None and "n_threads" in again.get_params():
            again.set_params(n_threads=options.threads)
        labels, graph = facts["known_labels"], facts["graph"]
        classes = None if labels is None else read_known_labels(labels, opened, int(k or 0))[0]
        matrix = None if graph is None else read_graph(graph, opened.rows.shape[0])
        screen.begin(f"fitting {method.name}")
        with recorded_warnings() as warned, about(name):
            seconds, _ = fit_model(again, opened.rows, classes, matrix, screen)
        outliers = facts["outliers"]
        if outliers is not None:
            share = outliers["share"]
            scores = again.outlier_scores_
            outliers = outlier_facts(scores, outlier_threshold(scores, share), share)
        texts = {name: value for name, value in facts["parameters"].items() if isinstance(value, str)}
        found = {
            **facts_of(method, again, opened.rows, k, outliers),
            "parameters": settings_of(again.set_params(**_threads_of(model)), texts),
            "input": input_facts(name, opened.rows)
            | {kind: facts["input"][kind] for kind in ("file", "source")},
        }
    different = list(_differences(plain(found), facts))
    if different:
        limit = (
            " It had a time limit, so that it depends on the machine."
            if again.get_params().get("max_time")
            else ""
        )
        raise ValueError(
            f"{folder / SUMMARY}: not the same in a fit of these rows: {', '.join(different)}.{limit}"
        )
    result = {
        "command": "verify", "folder": str(folder), "file": name, "same": True, "seconds": round(seconds, 6),
        "compared": sorted(found), "hashes": facts["hashes"], "warnings": warned,
    }  # fmt: skip
    tell(result, _lines, options)
    return 0


def _threads_of(model: Any) -> dict[str, Any]:
    """Return the number of threads of the first fit, which changes no result."""
    return {name: value for name, value in model.get_params(deep=False).items() if name == "n_threads"}


def _differences(found: Mapping[str, Any], known: Mapping[str, Any], before: str = "") -> Any:
    """Yield the names of facts that are not as they are known."""
    for name, value in found.items():
        other = known.get(name) if isinstance(known, Mapping) else None
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            yield from _differences(value, other, f"{before}{name}.")
            yield from (f"{before}{name}.{extra}" for extra in other.keys() - value.keys())
        elif value != other:
            yield f"{before}{name}"


def _lines(facts: Mapping[str, Any]) -> list[str]:
    what = "labels and centers are" if "centers" in facts["hashes"] else "labels are"
    return [
        f"{facts['folder']}: {what} bit-identical, and all else in the summary is the same, in {facts['seconds']:.3g} s"
    ]
