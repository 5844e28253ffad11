"""Report section on the fit: data, parameters, convergence, and details of the method."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from coterie.estimators import OBJECTIVE, Method
from coterie.estimators.parameters import parameters_of
from coterie.figures import FEW_COLORS, counted, new_figure, tidy
from coterie.reports.page import (
    Bar,
    Cell,
    Code,
    Column,
    Facts,
    Folded,
    Mark,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Warnings,
)
from coterie.reports.restarts import NEARLY_THE_SAME, relative_loss, runs_of
from coterie.reports.subject import Subject, seconds_of

# Lines of a table of clusters.
_MOST_LINES = 100

# First steps are not drawn if their range exceeds this multiple of that of the later steps, at least this number.
_MOST_OF_FIRST, _FEWEST_LATER = 3.0, 4

# Pictures with a line for each row.
_MOST_ROWS_DRAWN = 5_000


def fit_section(subject: Subject, summary: Mapping[str, Any], mark: Callable[[int], Mark]) -> Section:
    """Return the last section of a report; `summary` is that of `coterie fit`, or as much of it as is known."""
    model, method = subject.model, subject.method
    source, sizes, hashes = summary.get("input", {}), subject.sizes, summary.get("hashes", {})
    known_hash = hashes.get("rows", hashes.get("sample"))
    what = [
        ("file", source.get("file")),
        ("rows", subject.rows.shape[0]),
        ("columns", subject.rows.shape[1]),
        ("kind", f"{'sparse' if subject.rows.is_sparse else 'dense'}, {subject.rows.dtype.name}"),
        ("method", subject.name_of_method),
        ("clusters", f"{subject.n_clusters:,}, of {int(sizes.min()):,} to {int(sizes.max()):,} rows"),
        *_objective(model, method),
        ("iterations", getattr(model, "n_iter_", None)),
        ("seconds of the fit", summary.get("seconds", seconds_of(model) or None)),
        ("memory at its peak", summary.get("memory")),
        ("rows in no cluster", int(np.count_nonzero(subject.labels < 0)) or None),
        ("rows marked as outliers", (summary.get("outliers") or {}).get("marked")),
        ("hash of the rows", None if known_hash is None else f"sha256 {known_hash[:16]}…"),
        *((words, getattr(model, name, None)) for name, words in _NUMBERS.items()),
    ]
    entries: list[tuple[str, Cell]] = [(name, value) for name, value in what if value is not None]
    lines = [str(line) for line in summary.get("warnings", [])]
    if getattr(model, "converged_", True) is False and not any("converge" in line for line in lines):
        lines.append("The fit ended before it had converged: max_iter or max_time stopped it.")
    parts: list[Part] = [Warnings(lines), Facts(entries)]
    if method is not None:
        parts.append(Text(f"The method {method.name}: {method.summary}."))
    if summary.get("command"):
        parts.append(Code("Command", command_of(summary, method)))
    else:  # arrays among the parameters are named only
        is_own = isinstance(model, BaseEstimator)
        parts.append(Code("Estimator", " ".join(repr(model).split()) if is_own else type(model).__name__))
    parts += _convergence(subject)
    for more in (_shares, _modes, _cuts):
        parts += more(subject, mark)
    return Section("How it was made", [*parts, *_path(subject), *_pictures(subject)])


# Numbers that some models have.
_NUMBERS = {"graph_weight_": "graph weight", "bandwidth_": "bandwidth", "relaxation_": "relaxed objective"}


def command_of(summary: Mapping[str, Any], method: Method | None) -> str:
    """Return the command that repeats a fit, from its summary.

    Examples
    --------
    >>> from coterie.reports.fit import command_of
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
    common = {"max_iter", "max_time", "n_threads", "random_state", method.clusters if method else None}
    for name, parameter in declared.items():
        value = parameters.get(name)
        if name in common or not parameter.flags or value is None or value == defaults.get(name):
            continue
        flag = parameter.flags[0]
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag.removeprefix('--')}")
        else:
            words += [flag, str(value)]
    words += ["--normalize"] if summary.get("normalize") else []
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
    words += [] if share is None else ["--outliers", str(share)]
    return shlex.join(words)


def _objective(model: Any, method: Method | None) -> Sequence[tuple[str, Any]]:
    objective = (method.objective if method else None) or OBJECTIVE
    value = getattr(model, objective.attribute, None) if objective.attribute else None
    if value is None or np.ndim(value):
        return []
    direction = " (higher is better)" if objective.higher_is_better else ""
    return [(f"{objective.name}{direction}", f"{float(value):.8g}")]


def _convergence(subject: Subject) -> list[Part]:
    history = getattr(subject.model, "history_", None)
    runs = runs_of(subject.model)
    if history is None or (len(history) < 2 and len(runs) < 2) or hasattr(subject.model, "gammas_"):
        return []
    method = subject.method
    watched = method.watched if method else None
    name = watched.name if watched else "objective"
    direction = "higher" if watched and watched.higher_is_better else "lower"
    first, last = float(history["objective"][0]), float(history["objective"][-1])
    step = method.progress.step if method else "iteration"
    figure = new_figure((6.4, 3.2))
    ax = figure.subplots()
    for run in runs if len(runs) > 1 else ():
        ax.plot(run.iteration, run.objective, color="#8C8C8C", lw=0.8, marker="." if len(run) == 1 else None)
    marker = "o" if len(history) <= 60 else None
    ax.plot(
        history["iteration"], history["objective"], color=FEW_COLORS[0], lw=1.8, marker=marker, markersize=4
    )
    ax.set(xlabel=step, ylabel=f"{name} {watched.unit}".rstrip() if watched else name)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    tidy(ax)
    is_cut = _cut_first_steps(ax, [history, *runs])
    beyond = "The first steps lie outside of the picture." if is_cut else ""
    seconds = float(history["seconds"][-1])
    return [
        Picture(
            figure,
            "convergence",
            f"Line: {name} from {first:.6g} to {last:.6g} in {counted(len(history), step)} and {seconds:.3g} s.",
            " ".join(
                f"The {name} after each {step}; {direction} is better. {_about_runs(subject, runs)} {beyond}".split()
            ),
        )
    ]


def _cut_first_steps(ax: Any, runs: list[Any]) -> bool:
    """Leave the first steps out of the picture where all others would be a flat line beside them; say whether."""
    later = [run["objective"][run["iteration"] > 1] for run in runs]
    late = np.concatenate(later)
    if len(late) < _FEWEST_LATER:
        return False
    low, high = float(late.min()), float(late.max())
    first = np.concatenate([run["objective"] for run in runs])
    if np.ptp(first) <= _MOST_OF_FIRST * (high - low) or high == low:
        return False
    room = 0.05 * (high - low)
    ax.set_ylim(low - room, high + room)
    return True


def _about_runs(subject: Subject, runs: list[Any]) -> str:
    """Return the difference between the results of the restarts in words."""
    if len(runs) < 2 or subject.method is None:
        return ""
    watched = subject.method.watched
    ends = np.array([run.objective[-1] for run in runs])
    best = ends.max() if watched.higher_is_better else ends.min()
    worse = [relative_loss(watched, [end, best]) for end in ends]
    near = sum(number <= NEARLY_THE_SAME for number, _ in worse)
    what = "within 1% of" if best > 0 and not watched.higher_is_better else f"within {NEARLY_THE_SAME:g} of"
    _, words = max(worse)
    return (
        f"Thick: the one that was kept; thin: the others. {near} of {len(runs)} ended {what} the best {watched.name}"
        + (f", the last one {words} it." if near < len(runs) else ".")
    )


def _shares(subject: Subject, mark: Callable[[int], Mark]) -> list[Part]:
    weights = getattr(subject.model, "weights_", None)
    if weights is None or np.ndim(weights) != 1 or len(weights) != subject.n_clusters:
        return []
    scales = _scales(getattr(subject.model, "covariances_", None), subject.n_clusters)
    order = np.argsort(-weights, kind="stable")[:_MOST_LINES]
    columns = [Column("component"), Column("share", True), Column("rows labeled", True)]
    if scales is not None:
        columns.append(Column("standard deviation", True))
    lines: list[list[Cell]] = [
        [
            mark(cluster),
            Bar(round(float(weights[cluster]), 4), float(weights[cluster] / weights.max())),
            f"{subject.sizes[cluster] / len(subject.labels):.1%}",
            *([] if scales is None else [float(scales[cluster])]),
        ]
        for cluster in order.tolist()
    ]
    note = "" if len(order) == len(weights) else f"The largest {len(order)} of {len(weights):,} components."
    return [Table("Shares of the components of the mixture", columns, lines, note)]


def _scales(covariances: Any, n_clusters: int) -> Any:
    """The standard deviation of each component, over its columns."""
    if covariances is None:
        return None
    variances = np.asarray(covariances, dtype=np.float64)
    if variances.ndim > 2:
        return None
    if variances.ndim == 0:
        return np.full(n_clusters, np.sqrt(variances))
    return (
        np.sqrt(variances if variances.ndim == 1 else variances.mean(axis=1))
        if len(variances) == n_clusters
        else None
    )


def _modes(subject: Subject, mark: Callable[[int], Mark]) -> list[Part]:
    rows = getattr(subject.model, "mode_indices_", None)
    if rows is None or len(rows) > _MOST_LINES or np.min(rows) < 0:
        return []
    place_of = {int(row): place for place, row in enumerate(subject.sample.rows)}
    lines: list[list[Cell]] = []
    for cluster, row in enumerate(np.asarray(rows).tolist()):
        place = place_of.get(row)
        texts = subject.sample.texts
        text = "" if place is None or texts is None else texts[place][:200]
        name = str(row) if place is None else subject.sample.ids[place]
        lines.append([mark(cluster), str(row), name, text])
    columns = [Column("cluster"), Column("row", True), Column(subject.id_name or "id"), Column("text")]
    used = [0, 1, *([2] if subject.id_name else []), *([3] if subject.text_name else [])]
    cells = [[line[i] for i in used] for line in lines]
    return [Table("Modes: the row that stands for each cluster", [columns[i] for i in used], cells)]


def _cuts(subject: Subject, mark: Callable[[int], Mark]) -> list[Part]:
    """Return the table of edge weights that leave each cluster, and to which others."""
    graph = getattr(subject.model, "affinity_matrix_", None)
    if graph is None or graph.shape[0] != len(subject.labels) or subject.n_clusters > _MOST_LINES:
        return []
    inside = np.flatnonzero(subject.labels >= 0)
    members = sp.csr_array(
        (np.ones(len(inside)), (subject.labels[inside], inside)),
        shape=(subject.n_clusters, len(subject.labels)),
    )
    crossed = (members @ sp.csr_array(graph) @ members.T).toarray()
    crossed = (crossed + crossed.T) / 2
    volumes = crossed.sum(axis=1)
    leaving = volumes - np.diag(crossed)
    shares = leaving / np.where(volumes > 0, volumes, 1)
    lines: list[list[Cell]] = []
    for cluster in range(subject.n_clusters):
        others = np.where(np.arange(subject.n_clusters) == cluster, -1, crossed[cluster])
        most = int(others.argmax())
        where = "nowhere"
        if leaving[cluster] > 0:
            where = f"{others[most] / leaving[cluster]:.0%} to {mark(most).text}"
        length = float(shares[cluster] / max(shares.max(), 1e-12))
        lines.append([mark(cluster), Bar(round(float(shares[cluster]), 4), length), where])
    columns = [Column("cluster"), Column("share of its edges that is cut", True), Column("most of them lead")]
    whole = leaving.sum() / max(volumes.sum(), 1e-300)
    note = f"Of the weight of all edges {whole:.2%} lies between two clusters."
    return [Table("Cuts of the graph", columns, lines, note)]


def _path(subject: Subject) -> list[Part]:
    """The gammas of a convex path with their certificates."""
    model = subject.model
    if not hasattr(model, "labels_path_"):
        return []
    lines: list[list[Cell]] = [
        [float(gamma), int(count), f"{gap:.1e}"]
        for gamma, count, gap in zip(model.gammas_, model.n_clusters_path_, model.relative_gaps_)
    ]
    columns = [Column("gamma", True), Column("clusters", True), Column("duality gap of the objective", True)]
    return [
        Text(
            f"The map has a slider along the path. A gap is a certificate: no centroids are better by more than that "
            f"share of the objective. The largest is {model.relative_gaps_.max():.1e}."
        ),
        Folded(f"All {len(lines)} gammas", [Table("The path", columns, lines)]),
    ]


def _pictures(subject: Subject) -> list[Part]:
    if subject.method is None or len(subject.labels) < 2:
        return []
    found: list[Part] = []
    for name, draw in subject.method.pictures.items():
        figure = draw(subject.model).figure
        words = name.replace("_", " ")
        is_raster = len(subject.labels) * (len(getattr(subject.model, "gammas_", [])) or 1) > _MOST_ROWS_DRAWN
        found.append(
            Picture(figure, f"method-{name}", f"The {words} of this {subject.name_of_method}.", "", is_raster)
        )
    return found
