"""`report`: a page for people of any fit."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from coterie.figures import require_matplotlib
from coterie.outputs import OutputFolder
from coterie.reports.classes import classes_section
from coterie.reports.clusters import clusters_section
from coterie.reports.colors import properties
from coterie.reports.export import points_table
from coterie.reports.fits import fit_section
from coterie.reports.map import map_part, require_bokeh
from coterie.reports.page import Page, Section, require_jinja
from coterie.reports.projection import Projection, project
from coterie.reports.stability import measure_stability
from coterie.reports.starts import compare_starts
from coterie.reports.subject import Subject, read_subject
from coterie.reports.top import top_section

__all__ = ["Report", "report", "require_report"]


@dataclass(frozen=True, repr=False)
class Report:
    """A page about a fit: `html`, `markdown`, `save`; a notebook shows it.

    Made by `coterie.report`.
    """

    page: Page
    subject: Subject
    projection: Projection

    def __repr__(self) -> str:
        return f"<Report: {self.page.title}, {self.page.subtitle}>"

    @cached_property
    def html(self) -> str:
        """The page as one HTML document, which needs no other file."""
        return self.page.html()

    @cached_property
    def markdown(self) -> tuple[str, dict[str, bytes]]:
        """The page as Markdown, and its pictures as PNG by the names of their files."""
        return self.page.markdown()

    def _repr_html_(self) -> str:
        # A frame of its own: styles of notebook and page do not touch.
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
            outputs.check(*files)
            for name, content in files.items():
                with outputs.writing(name) as staged:
                    staged.write_bytes(content)
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
        """Return the rows of the map as an Arrow table: `x`, `y`, `row`, `cluster`, id and text.

        Written as Parquet it is what Embedding Atlas reads: ``embedding-atlas points.parquet --x x --y y --text text``.
        DataMapPlot takes its columns: ``datamapplot.create_plot(points[["x", "y"]].to_numpy(), points["label"])``.
        """
        return points_table(self.subject, self.projection)


def require_report() -> None:
    """Fail now if no report can be written later.

    Raises
    ------
    ImportError
        If a library of the extra `report` is missing.
    """
    require_jinja()
    require_matplotlib()
    require_bokeh()
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
    projection: Literal["auto", "centers", "graph", "umap", "opentsne"] = "auto",
    stability: int = 4,
    title: str | None = None,
    summary: Mapping[str, Any] | None = None,
) -> Report:
    """Make a page about a fit: what was clustered, a map, a card for each cluster, how the fit went.

    Parameters
    ----------
    model : estimator
        A fitted one.
    X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
        The rows of the fit, or others that the model can label.
    labels : array-like of shape (n,), optional
        The clusters of the rows; by default those of the fit, else what `model.predict` says.
    known : array-like of shape (n,), optional
        Their classes, to compare with; None, NaN or -1 where they are not known.
    n_clusters : int, optional
        For a path: where to cut it; by default the number that lasts longest.
    id, keep : str, sequence of str, optional
        The columns that say which row is which, and others to show, as for `coterie.results_table`.
    text : str, optional
        The column that says what a row is; by default that of the longest texts among those that are not clustered.
    terms : sequence of str, optional
        What the columns are called, where the rows do not say it, such as the words of a matrix of counts.
    image_shape : tuple of int, optional
        Rows are images: (height, width), or (height, width, 3).
    projection : {"auto", "centers", "graph", "umap", "opentsne"}, default="auto"
        How rows are placed on the map: by principal components of the centers, by the eigenvectors of the model's
        graph (the default where it has one), or by one of two libraries if it is installed.
    stability : int, default=4
        How many fits of half samples say whether clusters are found again. They take about a second in all, or are
        left out if they would take longer; where the fit had one start only, others are tried for half a second. 0 for
        none of either.
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
        If labels or classes are not those of the rows, or there is no such column.
    ImportError
        If a library of the extra `report` is missing.

    Notes
    -----
    Two passes over the rows; then a sample of at most 20,000 rows, which is held in memory, is all that is looked at.

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
    placed = project(subject, projection)
    measured, about_stability = measure_stability(subject, stability)
    starts, about_starts = compare_starts(subject) if stability > 0 else (None, "")
    sections = [
        top_section(subject, facts, measured, starts),
        Section("Map", [map_part(subject, placed)]),
        clusters_section(subject, measured, about_stability, terms),
        fit_section(subject, about_starts),
        *([] if known is None else [classes_section(subject, known)]),
    ]
    source = facts.get("input", {}).get("file")
    page = Page(
        title=title or (f"Clusters of {Path(str(source)).name}" if source else "Clusters"),
        subtitle=f"{subject.rows.shape[0]:,} rows x {subject.rows.shape[1]:,} columns in {subject.n_clusters:,} "
        f"clusters by {subject.name_of_method}",
        sections=sections,
        properties=properties(subject.n_clusters),
    )
    return Report(page, subject, placed)
