"""How a fit went, and what only its method knows: shares, modes, memberships, cuts, a path."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.figures import FEW_COLORS, counted, new_figure, tidy
from coterie.reports.colors import color_name
from coterie.reports.page import Bar, Cell, Column, Facts, Folded, Mark, Part, Picture, Section, Table, Text
from coterie.reports.starts import NEARLY_THE_SAME, how_much_worse, runs_of
from coterie.reports.subject import Subject

__all__ = ["fit_section"]

# What a table or a picture can show of clusters.
_MOST_BOXES, _MOST_LINES, _MOST_CROSSED = 40, 100, 20

# From so many times the range of the later steps on, of which there are so many, the first ones are not drawn.
_MOST_OF_FIRST, _FEWEST_LATER = 3.0, 4

# Pictures with a line for each row.
_MOST_ROWS_DRAWN = 5_000


def fit_section(subject: Subject, about_starts: str = "") -> Section:
    """Return the section of the fit; a part is there where the model has what it shows.

    `about_starts` is what `coterie.reports.starts.compare_starts` said.
    """
    parts: list[Part] = [
        *_convergence(subject),
        *([Text(about_starts)] if about_starts else []),
        *_trials(subject),
        *_spread(subject),
        *_shares(subject),
        *_modes(subject),
        *_cuts(subject),
        *_path(subject),
        *_pictures(subject),
    ]
    return Section("Fit", parts or [Text("The model keeps nothing of its fit.")])


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
    """Say how far apart the starts of a fit have ended."""
    if len(runs) < 2 or subject.method is None:
        return ""
    watched = subject.method.watched
    ends = np.array([run.objective[-1] for run in runs])
    best = ends.max() if watched.higher_is_better else ends.min()
    worse = [how_much_worse(watched, [end, best]) for end in ends]
    near = sum(number <= NEARLY_THE_SAME for number, _ in worse)
    what = "within 1% of" if best > 0 and not watched.higher_is_better else f"within {NEARLY_THE_SAME:g} of"
    _, words = max(worse)
    return (
        f"Thick: the one that was kept; thin: the others. {near} of {len(runs)} ended {what} the best {watched.name}"
        + (f", the last one {words} it." if near < len(runs) else ".")
    )


def _trials(subject: Subject) -> list[Part]:
    """The results of all starts, where the model keeps them."""
    energies = getattr(subject.model, "energies_", None)
    if energies is None or len(energies) < 2:
        return []
    ordered = np.sort(energies)
    figure = new_figure((6.4, 3.0))
    ax = figure.subplots()
    ax.plot(np.arange(1, len(ordered) + 1), ordered, "o", color=FEW_COLORS[0], markersize=4)
    ax.set(xlabel="starts, in the order of their results", ylabel="balanced cut")
    tidy(ax)
    near = int(np.count_nonzero(ordered <= ordered[0] * 1.01))
    return [
        Picture(
            figure,
            "starts",
            f"Dots: the cuts of {len(ordered)} starts, from {ordered[0]:.4g} to {ordered[-1]:.4g}.",
            f"{near} of {len(ordered)} starts end within 1% of the best cut.",
        )
    ]


def _spread(subject: Subject) -> list[Part]:
    """Boxes of how well rows belong, a box a cluster."""
    if not subject.placement.measures or subject.n_clusters > _MOST_BOXES:
        return []
    name, values = next(iter(subject.placement.measures.items()))
    groups = [values[subject.labels == cluster] for cluster in range(subject.n_clusters)]
    if not any(len(group) for group in groups):
        return []
    figure = new_figure((7.0, 3.2))
    ax = figure.subplots()
    ax.boxplot(
        groups,
        positions=np.arange(subject.n_clusters),
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": "#56B4E9", "alpha": 0.6, "linewidth": 0.8},
        medianprops={"color": "#333333", "linewidth": 1.6},
    )
    ax.set(xlabel="cluster", ylabel=name)
    ax.set_xticks(np.arange(subject.n_clusters), [str(i) for i in range(subject.n_clusters)])
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    tidy(ax)
    return [
        Picture(
            figure,
            "spread",
            f"Boxes: the {name} of the rows of each of {subject.n_clusters} clusters; the table of clusters has the "
            "medians.",
            f"The {name} of rows in each cluster: half of the rows are in the box, 90% between the ends of the line.",
        )
    ]


def _shares(subject: Subject) -> list[Part]:
    """The shares and scales of the components of a mixture."""
    weights = getattr(subject.model, "weights_", None)
    if weights is None or np.ndim(weights) != 1 or len(weights) != subject.n_clusters:
        return []
    scales = _scales(getattr(subject.model, "covariances_", None), subject.n_clusters)
    order = np.argsort(-weights, kind="stable")[:_MOST_LINES]
    columns = [Column("component"), Column("share", True), Column("rows labeled", True)]
    if scales is not None:
        columns.append(Column("standard deviation", True))
    lines: list[list[Cell]] = []
    for cluster in order.tolist():
        line: list[Cell] = [
            Mark(f"Cluster {cluster}", color_name(cluster, subject.n_clusters)),
            Bar(round(float(weights[cluster]), 4), float(weights[cluster] / weights.max())),
            f"{subject.sizes[cluster] / len(subject.labels):.1%}",
        ]
        lines.append([*line, *([] if scales is None else [float(scales[cluster])])])
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


def _modes(subject: Subject) -> list[Part]:
    """The rows that are modes."""
    rows = getattr(subject.model, "mode_indices_", None)
    entries: list[tuple[str, Cell]] = [
        (words, getattr(subject.model, name))
        for name, words in (
            ("graph_weight_", "graph weight"),
            ("bandwidth_", "bandwidth"),
            ("relaxation_", "relaxed objective"),
        )
        if isinstance(getattr(subject.model, name, None), float | int)
    ]
    parts: list[Part] = [Facts(entries)] if entries else []
    if rows is None or len(rows) > _MOST_LINES or np.min(rows) < 0:
        return parts
    place_of = {int(row): place for place, row in enumerate(subject.sample.rows)}
    lines: list[list[Cell]] = []
    for cluster, row in enumerate(np.asarray(rows).tolist()):
        place = place_of.get(row)
        texts = subject.sample.texts
        text = "" if place is None or texts is None else texts[place][:200]
        name = str(row) if place is None else subject.sample.ids[place]
        lines.append(
            [Mark(f"Cluster {cluster}", color_name(cluster, subject.n_clusters)), str(row), name, text]
        )
    columns = [Column("cluster"), Column("row", True), Column(subject.id_name or "id"), Column("text")]
    used = [0, 1, *([2] if subject.id_name else []), *([3] if subject.text_name else [])]
    return [
        *parts,
        Table(
            "Modes: the row that stands for each cluster",
            [columns[i] for i in used],
            [[line[i] for i in used] for line in lines],
        ),
    ]


def _cuts(subject: Subject) -> list[Part]:
    """How much of the graph leaves each cluster, and to which others."""
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
        where = (
            f"{others[most] / leaving[cluster]:.0%} to cluster {most}" if leaving[cluster] > 0 else "nowhere"
        )
        lines.append([
            Mark(f"Cluster {cluster}", color_name(cluster, subject.n_clusters)),
            Bar(round(float(shares[cluster]), 4), float(shares[cluster] / max(shares.max(), 1e-12))),
            where,
        ])  # fmt: skip
    columns = [Column("cluster"), Column("share of its edges that is cut", True), Column("most of them lead")]
    whole = leaving.sum() / max(volumes.sum(), 1e-300)
    return [
        Table(
            "Cuts of the graph",
            columns,
            lines,
            f"Of the weight of all edges {whole:.2%} lies between two clusters.",
        )
    ]


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
    """What the method's record draws."""
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
