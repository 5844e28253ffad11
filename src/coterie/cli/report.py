"""`coterie report`: a page about the fit of a folder; `coterie fit --report` writes the same."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from coterie.cli.errors import UsageError
from coterie.cli.inputs import about, lines_of, read_classes
from coterie.cli.options import FileIfAny, Json, Natural, OutIfAny, Quiet, RunOptions, image_shape_of
from coterie.cli.output import file_lines, pyarrow_parquet, tell
from coterie.cli.results import kept_columns
from coterie.cli.run_file import RUN, run_files, write_run_file
from coterie.cli.runs import output_folder, read_fit
from coterie.cli.verify import rows_of_fit
from coterie.names import read_names
from coterie.outputs import OutputFolder
from coterie.reports import Report, require_report
from coterie.reports import report as make_report
from coterie.rows import RowSource
from coterie.rows.remote import without_secrets

REPORT = "report.html"


def report(
    folder: Path,
    file: FileIfAny = None,
    /,
    *,
    out: OutIfAny = None,
    points: Path | None = None,
    known: str | None = None,
    id: str | None = None,
    keep: str | None = None,
    text: str | None = None,
    terms: str | None = None,
    image: str | None = None,
    names: FileIfAny = None,
    projection: Literal["auto", "tsne", "pca"] = "auto",
    stability: Natural = 4,
    json: Json = False,
    quiet: Quiet = False,
    run: RunOptions = RunOptions(),
) -> None:
    """Write an HTML report about a fit: a map, named clusters, their quality, and the parameters.

    Parameters
    ----------
    folder
        What `coterie fit` wrote: model.coterie and summary.json.
    file
        The rows, if they are no longer where the summary says; - for the standard input.
    out
        A .html file, self-contained, or .md with pictures beside it; by default report.html in the folder.
    points
        Also write the projected rows to this .parquet file: x, y, cluster, id, text.
    known
        Known classes to compare with: a column of the table, or a file with a line for each row.
    id
        The column of a table that names the rows; by default as for `coterie fit`.
    keep
        Columns of a table to show, with commas between them; by default all that are not clustered.
    text
        The column with a text of each row; by default the one of the longest texts.
    terms
        A text file with the name of each column on a line, such as the words of a matrix of counts.
    image
        Rows are images of this height and width, such as 28x28, or 32x32x3 in color.
    names
        Names of clusters: names.csv of a report, a .csv file with the columns cluster and name; by default distinctive
        terms or columns.
    projection
        Layout of the map: tsne (auto, if openTSNE is installed) or pca.
    stability
        Number of fits of half samples that measure the stability of the clusters; 0: none.
    """
    options: dict[str, Any] = {
        "image_shape": image_shape_of(image),
        "id": id,
        "keep": kept_columns(None, keep).keep,
        "text": text,
        "projection": projection,
        "stability": stability,
    }
    out = out or folder / REPORT
    if out.suffix not in (".html", ".md"):
        raise UsageError(f"--out must end in .html or .md, got {str(out)!r}.")
    if points is not None and points.suffix != ".parquet":
        raise UsageError(f"--points must end in .parquet, got {str(points)!r}.")
    require_report()
    options["terms"] = None if terms is None else lines_of(terms, "--terms")
    options["names"] = None if names is None else read_names(names)
    fit, model = read_fit(folder)
    with rows_of_fit("report", folder, file, fit, model) as (rows, name):
        options["known"] = None if known is None else read_classes(known, rows, "--known")
        with about(name):
            made = make_report(model, rows, summary=asdict(fit), **options)
        with output_folder(out.parent, out.name) as outputs:
            run_file = run_files(out.parent, f"{out.stem}-{RUN}")
            outputs.check(*(path.name for path in run_file.values()))
            written = write_files(outputs, made, out.name)
            write_run_file(outputs, f"{out.stem}-{RUN}")
        files = {"report": str(out), **{name: str(out.parent / name) for name in written[1:]}}
        files |= {name: str(path) for name, path in run_file.items()}
    if points is not None:
        with output_folder(points.parent, points.name) as outputs:
            outputs.check(points.name)
            with outputs.writing(points.name) as staged:
                pyarrow_parquet().write_table(made.points(), staged)
        files["points"] = str(points)
    facts = {"command": "report", "folder": str(folder), "file": without_secrets(name), "files": files}
    tell(facts, file_lines, json, quiet)


def fit_report(model: Any, rows: RowSource, summary: Mapping[str, Any], options: Mapping[str, Any]) -> Report:
    """Return the report of a fit that this process has just done, with options of `coterie.report`."""
    return make_report(model, rows, summary={**summary, "memory": _peak_memory()}, **options)


def write_files(outputs: OutputFolder, report: Report, name: str) -> Sequence[str]:
    """Write a report to a folder of outputs; return the names of its files, the page first."""
    files = report.files(name)
    outputs.check(*files)
    for file, content in files.items():
        with outputs.writing(file) as path:
            path.write_bytes(content)
    return list(files)


def _peak_memory() -> str | None:
    """Return the peak memory of this process; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    # Kilobytes, on macOS bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{peak / 1e6:,.0f} MB"
