"""`coterie report`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from coterie.cli.arguments import Quiet, Switch, WholeNumber, column_names, image_shape_of
from coterie.cli.lines import report_lines
from coterie.cli.options import with_memory
from coterie.cli.output import report as tell
from coterie.cli.run_file import with_run_file

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return with_run_file(with_memory(report))


def report(
    folder: Path,
    file: str | None = None,
    /,
    *,
    out: Path | None = None,
    points: Path | None = None,
    known: str | None = None,
    id: str | None = None,
    keep: str | None = None,
    text: str | None = None,
    terms: str | None = None,
    image: str | None = None,
    projection: Literal["auto", "centres", "graph", "umap", "opentsne"] = "auto",
    stability: WholeNumber = 4,
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about a fit: what was clustered, a map, a card for each cluster, how the fit went.

    Parameters
    ----------
    folder
        What `coterie fit` wrote: model.coterie and summary.json.
    file
        The rows, if they are no longer where the summary says; - for the standard input, piped in as before.
    out
        Where to write it: a .html file, which needs no other, or .md with pictures beside it. By default report.html in
        the folder. Beside it stands report-run.toml, which does the same again.
    points
        Write the rows of the map to this .parquet file, too: x, y, cluster, id, text, as Embedding Atlas and
        DataMapPlot read them.
    known
        Classes of the rows to compare with: a column of the table, a .npy file, or a text file with a line for each
        row.
    id
        The column of a table that says which row is which; by default as for `coterie fit`.
    keep
        Columns of a table to show, with commas between them; by default all that are not clustered.
    text
        The column that says what a row is; by default that of the longest texts.
    terms
        A text file with the name of each column on a line, such as the words of a matrix of counts.
    image
        Rows are images of this height and width, such as 28x28, or 32x32x3 in colour.
    projection
        How rows are placed on the map: by the centres, by the graph of the method (auto, where it has one), or by
        umap-learn or openTSNE if it is installed.
    stability
        How many fits of half samples say whether clusters are found again; 0 for none.
    json
        Print one JSON object on the standard output.
    quiet
        No report on the standard output; errors only.
    """
    from coterie.cli.report import ReportJob, write_report

    names = column_names(keep, "--keep")
    job = ReportJob(
        folder=folder,
        file=file,
        out=out,
        points=points,
        known=known,
        id=id,
        keep=None if names is None else [str(name) for name in names],
        text=text,
        terms=terms,
        image_shape=image_shape_of(image),
        projection=projection,
        stability=stability,
    )
    tell(write_report(job), report_lines, json, quiet)
