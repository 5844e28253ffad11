"""`report`: an HTML page about a fit."""

from __future__ import annotations

import colorsys
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from coterie.cached import cached_property
from coterie.figures import FEW_COLORS, MANY_COLORS, new_figure, require_matplotlib
from coterie.outputs import OutputFolder
from coterie.plotting.cluster_map import draw_map
from coterie.plotting.layout import Layout, lay_out
from coterie.reports.classes import classes_section
from coterie.reports.describe import Clusters, Names, describe, measures_of
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
    Table,
    Text,
    Warnings,
    require_jinja,
)  # fmt: skip
from coterie.reports.restarts import Restarts, compare_restarts
from coterie.reports.stability import measure_stability
from coterie.reports.subject import Subject, read_subject

# A cluster of less than this part of an equal share is small.
_SMALL = 0.1

_MOST_LINES = 1_000

# The least lightness of a color on a dark page.
_ON_DARK = 0.6

_MEANINGS = {
    "cohesion": "Cohesion: the mean share of the ten nearest rows of a row that are in its cluster, in the sample.",
    "separation": "Separation: the mean simplified silhouette, (b - a) / max(a, b) of the distances a to the own "
    "center and b to the nearest other one, in the sample; from -1 to 1.",
}


@dataclass(frozen=True, repr=False)
class Report:
    """A page about a fit, made by `coterie.report`; a notebook shows it.

    Attributes
    ----------
    page : Page
        The page.
    subject : Subject
        What it is of.
    layout : Layout
        Where the rows of the sample are drawn.
    clusters : Clusters
        What is known of each cluster.
    """

    page: Page
    subject: Subject
    layout: Layout
    clusters: Clusters

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

    @cached_property
    def markdown(self) -> tuple[str, dict[str, bytes]]:
        """The page as Markdown, and its pictures as PNG by the names of their files."""
        return self.page.markdown()

    def _repr_html_(self) -> str:
        # An own frame separates the styles of notebook and page.
        return (
            f'<iframe title="{html.escape(self.page.title)}" srcdoc="{html.escape(self.html)}" '
            'style="width: 100%; height: 800px; border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    def save(self, path: str | Path) -> list[Path]:
        """Write the page.

        Parameters
        ----------
        path : str or Path
            A file that ends in .html, or in .md: pictures are written to its folder, with its name before theirs.

        Returns
        -------
        list of Path
            The files that were written: all of them, or after an error none.

        Raises
        ------
        ValueError
            If the path ends otherwise.
        """
        target = Path(path)
        files = self.files(target.name)
        with OutputFolder(target.parent, target.name) as outputs:
            outputs.write(files)
        return [target.parent / name for name in files]

    def files(self, name: str) -> dict[str, bytes]:
        """Return what `save` writes: the contents of files by their names, the page first."""
        stem, _, ending = name.rpartition(".")
        if not stem or ending not in ("html", "md"):
            raise ValueError(f"A report ends in .html or .md, got {name!r}.")
        if ending == "html":
            return {name: self.html.encode("utf-8")}
        text, pictures = self.markdown
        for picture in pictures:
            text = text.replace(f"]({picture})", f"](<{stem}-{picture}>)")
        return {name: text.encode("utf-8")} | {f"{stem}-{picture}": png for picture, png in pictures.items()}

    def points(self) -> Any:
        """Return the rows of the map as an Arrow table: `x`, `y`, `row`, `cluster`, `label`, `id` and `text`.

        Written as Parquet it is what Embedding Atlas reads: ``embedding-atlas points.parquet --x x --y y --text text``.
        DataMapPlot takes its columns: ``datamapplot.create_plot(points[["x", "y"]].to_numpy(), points["label"])``.
        """
        import pyarrow

        sample, names = self.subject.sample, self.clusters.names
        columns: dict[str, Any] = {
            "x": self.layout.points[:, 0].astype("float32"),
            "y": self.layout.points[:, 1].astype("float32"),
            "row": sample.rows,
            "cluster": sample.labels,
            # DataMapPlot leaves rows with this label unnamed.
            "label": ["Unlabeled" if label < 0 else names[label] for label in sample.labels],
            "id": sample.ids,
        }
        if sample.texts is not None:
            columns["text"] = sample.texts
        return pyarrow.table(columns)


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
    keep: Sequence[str] | None = None,
    text: str | None = None,
    terms: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    names: Names = None,
    projection: Literal["auto", "tsne", "pca"] = "auto",
    stability: int = 4,
    title: str | None = None,
    summary: Mapping[str, Any] | None = None,
) -> Report:
    """Create a report about a fit: a map, named clusters, their quality, and the parameters.

    Parameters
    ----------
    model : estimator
        A fitted one.
    X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
        The rows of the fit, or others that the model can label.
    labels : array-like of shape (n,), optional
        The clusters of the rows; by default those of the fit, else `model.predict(X)`.
    known : array-like of shape (n,), optional
        Their classes, to compare with; None, NaN or -1 where they are not known.
    n_clusters : int, optional
        For a path: where to cut it; by default the number that lasts longest.
    id, keep : str, sequence of str, optional
        The columns of ids, and others to show, as for `coterie.results_table`.
    text : str, optional
        The column of texts; by default that of the longest texts among those that are not clustered.
    terms : sequence of str, optional
        Names of columns that have none, such as the words of a matrix of counts.
    image_shape : tuple of int, optional
        Rows are images: (height, width), or (height, width, 3).
    names : path, mapping or callable, optional
        Names of clusters: a CSV file with the columns `cluster` and `name`, a mapping from cluster to name, or a
        callable ``name_clusters(exemplars, terms) -> str``, which gets the texts of six representative rows and up to
        ten terms of a cluster, and may ask a language model. By default names are distinctive terms or columns.
    projection : {"auto", "tsne", "pca"}, default="auto"
        The layout of the map: t-SNE (openTSNE, which "auto" takes if it is installed), or principal components.
    stability : int, default=4
        Number of fits of half samples that measure whether clusters are found again, in about a second, and are left
        out if they would take longer. After a fit with one restart others are tried for half a second. 0: none of
        either.
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
    Two passes over the rows; all else is of a sample of at most 10,000 rows, some of each cluster.

    Examples
    --------
    >>> import coterie
    >>> X, y = coterie.datasets.load_iris()
    >>> model = coterie.KMeans(3, random_state=0).fit(X)
    >>> page = coterie.report(model, X, known=y)  # doctest: +SKIP
    >>> page.save("iris.html")  # doctest: +SKIP
    """
    require_report()
    subject = read_subject(
        model, X, labels=labels, n_clusters=n_clusters, id=id, keep=keep, text=text, image_shape=image_shape
    )
    facts = dict(summary or {})
    block = subject.sample.block
    layout = lay_out(
        block[:, subject.sample.rows] if subject.is_graph else block,
        projection,
        metric=str(getattr(model, "metric", "euclidean")),
        is_graph=subject.is_graph,
        n_threads=getattr(model, "n_threads", None),
    )
    measured, about_stability = measure_stability(subject, stability)
    starts, about_starts = compare_restarts(subject) if stability > 0 else (None, "")
    clusters = describe(subject, layout.neighbors, measured, names=names, terms=terms)

    def mark(cluster: int) -> Mark:
        return Mark(clusters.names[cluster], _color_name(cluster, subject.n_clusters))

    sections = [
        _clusters_section(subject, layout, clusters, facts, mark),
        _quality_section(subject, clusters, starts, [about_stability, about_starts]),
        *([] if known is None else [classes_section(subject, known, mark)]),
        fit_section(subject, facts, mark),
    ]
    source = facts.get("input", {}).get("file")
    page = Page(
        title=title or (f"Clusters of {Path(str(source)).name}" if source else "Clusters"),
        subtitle=f"{subject.rows.shape[0]:,} rows x {subject.rows.shape[1]:,} columns in {subject.n_clusters:,} "
        f"clusters by {subject.name_of_method}",
        sections=sections,
        properties=color_properties(subject.n_clusters),
    )
    return Report(page, subject, layout, clusters)


def _clusters_section(
    subject: Subject,
    layout: Layout,
    clusters: Clusters,
    facts: Mapping[str, Any],
    mark: Callable[[int], Mark],
) -> Section:
    n_drawn, n_rows = len(subject.sample.rows), subject.rows.shape[0]
    figure = new_figure((7.2, 5.4))
    figure.set_dpi(110)
    draw_map(figure.subplots(), layout.points, subject.sample.labels, clusters.names)
    all_rows, some_rows = f"All {n_rows:,} rows", f"{n_drawn:,} of {n_rows:,} rows, some of each cluster"
    drawn = all_rows if n_drawn == n_rows else some_rows
    kept = distances = ""
    if not np.isnan(layout.kept):
        kept = f" {layout.kept:.0%} of the ten nearest rows of a row are among its ten nearest on the map."
    if layout.method != "PCA":
        distances = " Distances between groups and their sizes mean little."
    picture = Picture(
        figure,
        "map",
        f"Map of {n_drawn:,} rows in {subject.n_clusters:,} clusters; the table of clusters has their names and sizes.",
        f"{drawn}, by {layout.method}.{kept}{distances}",
        is_raster=True,
    )
    explorer = Explorer(picture, _table(subject, clusters, mark), explorer_data(subject, layout, clusters))
    return Section("Clusters", [explorer, Warnings(_size_warnings(subject, facts, clusters.names))])


def _table(subject: Subject, clusters: Clusters, mark: Callable[[int], Mark]) -> Table:
    order = np.argsort(-subject.sizes, kind="stable")
    largest = max(int(subject.sizes.max(initial=1)), 1)
    known = measures_of(clusters)
    lines: list[list[Cell]] = [
        [
            mark(cluster),
            Bar(int(subject.sizes[cluster]), float(subject.sizes[cluster] / largest)),
            f"{subject.sizes[cluster] / len(subject.labels):.1%}",
            *(
                f"{values[cluster]:.2f}" if np.isfinite(values[cluster]) else None
                for values in known.values()
            ),
        ]
        for cluster in order[:_MOST_LINES].tolist()
    ]
    columns = [
        Column("cluster"),
        Column("rows", True),
        Column("share", True),
        *(Column(name, True) for name in known),
    ]
    left = subject.n_clusters - len(lines)
    note = f"The {len(lines):,} largest of {subject.n_clusters:,} clusters." if left else ""
    return Table(f"{subject.n_clusters:,} clusters of {len(subject.labels):,} rows", columns, lines, note)


def _size_warnings(subject: Subject, facts: Mapping[str, Any], names: list[str]) -> list[str]:
    n_rows, sizes, k = len(subject.labels), subject.sizes, subject.n_clusters
    lines = []
    requested = facts.get("clusters") or getattr(
        subject.model, str(getattr(subject.method, "clusters", "")), None
    )
    if isinstance(requested, int) and requested > k:
        lines.append(f"{k:,} of the {requested:,} requested clusters are left.")
    small = np.flatnonzero(sizes < _SMALL * n_rows / k)
    if len(small):
        verb = "cluster holds" if len(small) == 1 else "clusters hold"
        lines.append(
            f"{len(small)} {verb} {sizes[small].sum() / n_rows:.2%} of the rows{_named(small, names)}."
        )
    largest = int(sizes.argmax())
    if k > 2 and sizes[largest] > 0.5 * n_rows:
        lines.append(f"One cluster holds {sizes[largest] / n_rows:.0%} of the rows: {names[largest]}.")
    return lines


def _quality_section(
    subject: Subject, clusters: Clusters, starts: Restarts | None, notes: list[str]
) -> Section:
    lines: list[str] = []
    if clusters.stability is not None:
        lost = np.flatnonzero(clusters.stability < 0.6)
        if len(lost):
            verb = "was" if len(lost) == 1 else "were"
            lines.append(
                f"{len(lost)} of {subject.n_clusters} clusters {verb} not reproduced in fits of half samples"
                f"{_named(lost, clusters.names)}."
            )
    if starts is not None and starts.has_better:
        has_starts = "n_init" in subject.model.get_params(deep=False)
        way = "more restarts (--n-init 10)" if has_starts else "another seed"
        lines.append(f"{starts.sentence(len(subject.labels))} Try {way}.")
    entries: list[tuple[str, Cell]] = []
    parts: list[Part] = []
    for name, values in measures_of(clusters).items():
        known = np.isfinite(values) & (subject.sizes > 0)
        if known.any():
            entries.append((f"mean {name}", f"{np.average(values[known], weights=subject.sizes[known]):.2f}"))
            parts += [Text(_MEANINGS[name])] if name in _MEANINGS else []
    parts += [Text(text) for text in notes if text]
    return Section("Quality", [Warnings(lines), *([Facts(entries)] if entries else []), *parts])


def _named(found: Any, names: list[str]) -> str:
    """Return the names of clusters, where they are few."""
    return "" if len(found) > 8 else f": {'; '.join(names[cluster] for cluster in found)}"


def _color_name(cluster: int, n_clusters: int) -> str:
    """Return the CSS color of a cluster, which follows the theme."""
    return f"var(--c{cluster % len(_colors(n_clusters))})"


def color_properties(n_clusters: int) -> dict[str, dict[str, str]]:
    """Return the custom properties that `color_name` names, by theme.

    Examples
    --------
    >>> from coterie.reports.build import color_properties
    >>> found = color_properties(3)
    >>> found["light"]["--c0"], found["dark"]["--c0"]
    ('#0072B2', '#33b6ff')
    """
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
