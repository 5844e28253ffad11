"""`report`: an HTML page about a fit."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from coterie.cached import cached_property
from coterie.figures import FEW_COLORS, MANY_COLORS, new_figure, require_matplotlib
from coterie.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score, purity
from coterie.names import known_classes
from coterie.plotting.cluster_map import draw_map
from coterie.plotting.layout import Layout, lay_out
from coterie.reports.describe import Clusters, Names, Trait, cluster_columns, describe, example_of, means_of
from coterie.reports.explorer import explorer_data
from coterie.reports.fit import fit_section
from coterie.reports.page import (
    Bar,
    Cell,
    Column,
    Explorer,
    Facts,
    Mark,
    Page,
    Part,
    Picture,
    Section,
    Shade,
    Table,
    Text,
    Warnings,
    require_jinja,
)  # fmt: skip
from coterie.reports.quality import Quality, measure_quality
from coterie.reports.subject import Subject, read_subject

# Lines of a table, and columns of the table of means.
_MOST_LINES, _MOST_COLUMNS = 1_000, 8

# The difference of means, in standard deviations, that has the strongest shade.
_STRONGEST = 2.0

# The least lightness of a color on a dark page.
_ON_DARK = 0.6


@dataclass(frozen=True, repr=False)
class Report:
    """A page about a fit, made by `coterie.report`; a notebook shows it.

    `page` is the page; the sample, its layout, and descriptions and quality of the clusters are those it is made of.
    """

    page: Page
    subject: Subject
    layout: Layout
    clusters: Clusters
    quality: Quality

    def __repr__(self) -> str:
        return f"<Report: {self.page.title}, {self.page.subtitle}>"

    @property
    def names(self) -> dict[int, str]:
        """The names of the clusters, as `relabel`, `results_table` and `plotting.cluster_map` take them."""
        return dict(enumerate(self.clusters.names))

    @cached_property
    def html(self) -> str:
        """The page as one HTML document, which needs no other file."""
        return self.page.html()

    def _repr_html_(self) -> str:
        return self.page._repr_html_()

    def save(self, path: str | Path) -> None:
        """Write the page to a file that ends in .html."""
        self.page.save(path)

    def table(self) -> Any:
        """Return the table of clusters, a row for each, as an Arrow table.

        Its columns are ``cluster``, ``name``, ``size``, ``share``, ``example`` (the text, id or number of the most
        representative row), ``terms`` where there are texts, the mean of each column of numbers in its original units,
        and the share of each category, such as ``place=Rome``, also of columns that were not clustered. Components of
        vectors are left out. Missing values that the preparation has replaced count as what they were replaced by.
        """
        import pyarrow

        return pyarrow.table(cluster_columns(self.subject, self.clusters))


def require_report() -> None:
    """Raise an ImportError now if a library of the extra `report` is missing."""
    require_jinja()
    require_matplotlib()
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError("Reports need pyarrow: pip install 'coterie[report]'") from error


def report(
    model: Any,
    X: Any,
    *,
    labels: npt.ArrayLike | None = None,
    known: npt.ArrayLike | None = None,
    n_clusters: int | None = None,
    id: str | None = None,
    text: str | None = None,
    terms: Sequence[str] | None = None,
    names: Names = None,
    projection: Literal["auto", "tsne", "pca"] = "auto",
    stability: bool = True,
    title: str | None = None,
    summary: Mapping[str, Any] | None = None,
) -> Report:
    """Create a report about a fit: a map, named clusters, their quality, and the parameters.

    Parameters
    ----------
    model : estimator
        A fitted one.
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The rows of the fit, or others that the model can label.
    labels : array-like of shape (n,), optional
        The clusters of the rows; by default those of the fit, else `model.predict(X)`.
    known : array-like of shape (n,), optional
        Their classes, to compare with; None, NaN or -1 where they are not known.
    n_clusters : int, optional
        For a path: where to cut it; by default the number that lasts longest.
    id : str, optional
        The column of ids, as for `coterie.results_table`.
    text : str, optional
        The column of texts; by default that of the longest texts among those that are not clustered.
    terms : sequence of str, optional
        Names of columns that have none, such as the words of a matrix of counts.
    names : path, mapping or sequence, optional
        Names of clusters: a CSV file with the columns `cluster` and `name`, a mapping from cluster to name, or a list
        with a name for each cluster. Where it has none (None or NaN), the name is made of the distinctive terms of the
        texts beside vectors, or of columns of a table.
    projection : {"auto", "tsne", "pca"}, default="auto"
        The layout of the map: t-SNE (openTSNE, which "auto" takes if it is installed), or principal components.
    stability : bool, default=True
        Whether to measure how well clusters are found again in four fits of at most 2,000 rows each.
    title : str, optional
        The heading.
    summary : mapping, optional
        What else is known of the fit, as summary.json of `coterie fit` has it.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If labels, classes or names are not those of the rows, or there is no such column.
    ImportError
        If a library of the extra `report` is missing.

    Notes
    -----
    Three passes over the rows; all else is of a sample of at most 10,000 rows, some of each cluster.

    Examples
    --------
    >>> import coterie
    >>> X, y = coterie.datasets.load_iris()
    >>> model = coterie.KMeans(3, random_state=0).fit(X)
    >>> page = coterie.report(model, X, known=y)  # doctest: +SKIP
    >>> page.save("iris.html")  # doctest: +SKIP
    """
    require_report()
    subject = read_subject(model, X, labels=labels, n_clusters=n_clusters, id=id, text=text)
    facts = dict(summary or {})
    block = subject.sample.block
    layout = lay_out(
        block[:, subject.sample.rows] if subject.is_graph else block,
        projection,
        metric=str(getattr(model, "metric", "euclidean")),
        is_graph=subject.is_graph,
        n_threads=getattr(model, "n_threads", None),
    )
    clusters = describe(subject, names=names, terms=terms)
    quality = measure_quality(subject, stability)
    classes = None if known is None else _classes(subject, known)

    def mark(cluster: int) -> Mark:
        return Mark(clusters.names[cluster], f"var(--c{cluster % len(_colors(subject.n_clusters))})")

    sections = [
        _clusters_section(subject, layout, clusters, quality, mark),
        _description_section(subject, clusters, classes, mark),
        _quality_section(subject, clusters, quality, classes),
        fit_section(subject, facts),
    ]
    source = facts.get("input", {}).get("file")
    page = Page(
        title=title or (f"Clusters of {Path(str(source)).name}" if source else "Clusters"),
        subtitle=f"{subject.rows.shape[0]:,} rows x {subject.rows.shape[1]:,} columns in {subject.n_clusters:,} "
        f"clusters by {subject.name_of_method}",
        sections=sections,
        properties=color_properties(subject.n_clusters),
    )
    return Report(page, subject, layout, clusters, quality)


def _clusters_section(
    subject: Subject,
    layout: Layout,
    clusters: Clusters,
    quality: Quality,
    mark: Callable[[int], Mark],
) -> Section:
    n_drawn, n_rows = len(subject.sample.rows), subject.rows.shape[0]
    figure = new_figure((7.2, 5.4))
    figure.set_dpi(110)
    draw_map(figure.subplots(), layout.points, subject.sample.labels, clusters.names)
    drawn = (
        f"All {n_rows:,} rows"
        if n_drawn == n_rows
        else f"{n_drawn:,} of {n_rows:,} rows, some of each cluster"
    )
    caption = f"{drawn}, by {layout.method}."
    if not np.isnan(layout.kept):
        caption += (
            f" {layout.kept:.0%} of the ten nearest rows of a row are among its ten nearest on the map."
        )
    if layout.method != "PCA":
        caption += " Distances between groups and their sizes mean little."
    words = (
        f"Map of {n_drawn:,} rows in {subject.n_clusters:,} clusters, whose names and sizes the table has."
    )
    picture = Picture(figure, words, caption)
    data = explorer_data(subject, layout, clusters, quality)
    return Section("Clusters", [Explorer(picture, _table(subject, quality, mark), data)])


def _table(subject: Subject, quality: Quality, mark: Callable[[int], Mark]) -> Table:
    sizes, known = subject.sizes, quality.measures
    order = np.argsort(-sizes, kind="stable")[:_MOST_LINES].tolist()
    largest = max(int(sizes.max(initial=1)), 1)
    lines: list[list[Cell]] = []
    for cluster in order:
        measured = [values[cluster] for values in known.values()]
        lines.append([
            mark(cluster), Bar(int(sizes[cluster]), float(sizes[cluster] / largest)),
            f"{sizes[cluster] / len(subject.labels):.1%}",
            *(f"{value:.2f}" if np.isfinite(value) else None for value in measured),
        ])  # fmt: skip
    columns = [Column("cluster"), *(Column(name, True) for name in ("rows", "share", *known))]
    left = subject.n_clusters - len(lines)
    note = f"The {len(lines):,} largest of {subject.n_clusters:,} clusters." if left else ""
    return Table(f"{subject.n_clusters:,} clusters of {len(subject.labels):,} rows", columns, lines, note)


@dataclass(frozen=True, slots=True)
class _Classes:
    """Known classes: scores of the clusters, and the commonest class of each with its share."""

    scores: list[tuple[str, Cell]]
    mostly: list[str]


def _classes(subject: Subject, known: npt.ArrayLike) -> _Classes:
    numbers, names = known_classes(known)
    if numbers.shape != subject.labels.shape:
        raise ValueError(
            f"known must have one class for each of {len(subject.labels):,} rows, got shape {numbers.shape}."
        )
    counted = (numbers >= 0) & (subject.labels >= 0)
    if not counted.any():
        raise ValueError("known has no class of a row that is in a cluster.")
    classes, clusters = numbers[counted], subject.labels[counted]
    counts = np.zeros((subject.n_clusters, len(names)), dtype=np.int64)
    np.add.at(counts, (clusters, classes), 1)
    scores: list[tuple[str, Cell]] = [
        ("rows with a known class", int(counted.sum())),
        ("accuracy of the best match", f"{clustering_accuracy(classes, clusters):.1%}"),
        ("purity", f"{purity(classes, clusters):.1%}"),
        ("normalized mutual information", f"{normalized_mutual_info_score(classes, clusters):.2f}"),
        ("adjusted Rand index", f"{adjusted_rand_score(classes, clusters):.2f}"),
    ]
    mostly = [f"{names[own.argmax()]} {own.max() / own.sum():.0%}" if own.any() else "" for own in counts]
    return _Classes(scores, mostly)


def _description_section(
    subject: Subject, clusters: Clusters, classes: _Classes | None, mark: Callable[[int], Mark]
) -> Section:
    """Return the table of clusters: terms or means in original units, and an example of each."""
    order = np.argsort(-subject.sizes, kind="stable")[:_MOST_LINES].tolist()
    means = [other for other in means_of(subject, clusters) if not np.isnan(other.means).all()]
    strengths = np.array([np.abs(other.effects).max(initial=0.0) for other in means])
    shown = [means[i] for i in np.sort(np.argsort(-strengths, kind="stable")[:_MOST_COLUMNS])]
    texts: dict[str, list[Cell]] = {"cluster": [mark(cluster) for cluster in order]}
    if classes:
        texts["mostly"] = [classes.mostly[cluster] for cluster in order]
    if any(clusters.terms):
        texts["terms"] = [", ".join(clusters.terms[cluster]) for cluster in order]
    examples: list[Cell] = [example_of(subject, clusters, cluster) for cluster in order]
    lines = list(
        map(list, zip(*texts.values(), *([_shade(other, i) for i in order] for other in shown), examples))
    )
    notes = []
    if shown:
        lines.append(["all rows", *[""] * (len(texts) - 1), *(_shade(other, -1) for other in shown), ""])
        notes.append(
            "Means in original units and shares; strong colors mark what is far from the mean of all rows."
        )
    if len(means) > len(shown):
        notes.append(f"The {len(shown)} of {len(means)} columns that differ most.")
    columns = [*map(Column, texts), *(Column(other.name, True) for other in shown), Column("example")]
    table = Table("Description of each cluster", columns, lines, " ".join(notes), is_stacked=True)
    return Section("Descriptions", [table])


def _shade(trait: Trait, cluster: int) -> Shade:
    """Return the mean of a column in a cluster, -1 for all rows, shaded by its distance from that of other rows."""
    strength = float(np.clip(trait.effects[cluster] / _STRONGEST, -1, 1)) if cluster >= 0 else 0.0
    return Shade(None if np.isnan(trait.means[cluster]) else trait.amount(cluster), strength)


def _quality_section(
    subject: Subject, clusters: Clusters, quality: Quality, classes: _Classes | None
) -> Section:
    lines: list[str] = []
    stability = quality.measures.get("stability")
    if stability is not None:
        lost = np.flatnonzero(stability < 0.6)
        if len(lost):
            verb = "was" if len(lost) == 1 else "were"
            lines.append(
                f"{len(lost)} of {subject.n_clusters} clusters {verb} not reproduced in fits of half samples"
                f"{_named(lost, clusters.names)}."
            )
    entries: list[tuple[str, Cell]] = []
    for name, values in quality.measures.items():
        known = np.isfinite(values) & (subject.sizes > 0)
        if known.any():
            entries.append((f"mean {name}", f"{np.average(values[known], weights=subject.sizes[known]):.2f}"))
    entries += classes.scores if classes else []
    facts: list[Part] = [Facts(entries)] if entries else []
    return Section("Quality", [Warnings(lines), *facts, *map(Text, quality.notes)])


def _named(found: Any, names: list[str]) -> str:
    """Return the names of clusters, where they are few."""
    return "" if len(found) > 8 else f": {'; '.join(names[cluster] for cluster in found)}"


def color_properties(n_clusters: int) -> dict[str, dict[str, str]]:
    """Return the CSS custom properties of the colors, by theme."""
    colors = _colors(n_clusters)
    return {
        "light": {f"--c{i}": color for i, color in enumerate(colors)},
        "dark": {f"--c{i}": _on_dark(color) for i, color in enumerate(colors)},
    }


def _colors(n_clusters: int) -> tuple[str, ...]:
    return FEW_COLORS if n_clusters <= len(FEW_COLORS) else MANY_COLORS


def _on_dark(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    lighter = colorsys.hls_to_rgb(hue, max(lightness, _ON_DARK), saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in lighter)
