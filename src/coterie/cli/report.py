"""`coterie report`: a page about the fit of a folder; `coterie fit --report` writes the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from coterie.blocks.kernel_rows import kept_on_disk
from coterie.cli.errors import UsageError
from coterie.cli.inputs import (
    DASH,
    STANDARD_INPUT,
    about,
    check_format,
    lines_of,
    local_file,
    open_for_model,
    read_classes,
)
from coterie.cli.options import FileIfAny, Json, Natural, OutIfAny, Quiet, RunOptions, image_shape_of
from coterie.cli.output import file_lines, pyarrow_parquet, tell
from coterie.cli.results import kept_columns
from coterie.cli.run_file import RUN, run_files, write_run_file
from coterie.cli.runs import SUMMARY, Fit, output_folder, read_fit
from coterie.cli.verify import check_same_rows
from coterie.fitting.threads import effective_n_threads
from coterie.names import read_names
from coterie.outputs import OutputFolder, recovered
from coterie.reports import Report, require_report
from coterie.reports import report as make_report
from coterie.rows import RowSource
from coterie.rows.remote import has_hidden_parts, without_secrets

__all__ = [
    "report",
    "REPORT",
    "ReportJob",
    "ReportOptions",
    "check_report",
    "fit_report",
    "write_files",
    "write_report",
]

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
    job = ReportJob(
        folder=folder, file=file, out=out, points=points, known=known, id=id, keep=kept_columns(None, keep).keep,
        text=text, terms=terms, image_shape=image_shape_of(image), names=names, projection=projection,
        stability=stability,
    )  # fmt: skip
    tell(write_report(job), report_lines, json, quiet)


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Additional content of a report; the parameters of `coterie.report`."""

    known: Any = None
    text: str | None = None
    terms: Sequence[str] | None = None
    image_shape: tuple[int, ...] | None = None
    names: Any = None
    projection: Literal["auto", "tsne", "pca"] = "auto"
    stability: int = 4


@dataclass(frozen=True, slots=True)
class ReportJob:
    """Of which folder a report is written, and where to; files of names and classes are read when it runs."""

    folder: Path
    file: str | None = None
    out: Path | None = None
    points: Path | None = None
    known: str | None = None
    terms: str | None = None
    id: str | None = None
    keep: Sequence[str] | None = None
    text: str | None = None
    image_shape: tuple[int, ...] | None = None
    names: Any = None
    projection: Literal["auto", "tsne", "pca"] = "auto"
    stability: int = 4


def check_report(options: ReportOptions) -> None:
    """Fail now if no report can be made later."""
    require_report()


def fit_report(
    model: Any,
    rows: RowSource,
    summary: Mapping[str, Any],
    options: ReportOptions,
    *,
    id: str | None = None,
    keep: Sequence[str] | None = None,
    n_clusters: int | None = None,
) -> Report:
    """Return the report of a fit that this process has just done; a path is cut at `n_clusters`."""
    facts = {**summary, "memory": _peak_memory()}
    return _report(model, rows, facts, options, id=id, keep=keep, n_clusters=n_clusters)


def write_files(outputs: OutputFolder, report: Report, name: str) -> list[str]:
    """Write a report to a folder of outputs; return the names of its files, the page first."""
    files = report.files(name)
    outputs.check(*files)
    for file, content in files.items():
        with outputs.writing(file) as path:
            path.write_bytes(content)
    return list(files)


def write_report(job: ReportJob) -> dict[str, Any]:
    """Write the report of a folder that `coterie fit` has written.

    Returns
    -------
    dict
        The report of the command.

    Raises
    ------
    ValueError
        If the folder is not that of a fit, or the rows are not those of the fit.
    FileNotFoundError
        If the file of the rows is gone.
    """
    out = job.out or job.folder / REPORT
    if out.suffix not in (".html", ".md"):
        raise UsageError(f"--out must end in .html or .md, got {str(out)!r}.")
    if job.points is not None and job.points.suffix != ".parquet":
        raise UsageError(f"--points must end in .parquet, got {str(job.points)!r}.")
    check_report(ReportOptions(stability=job.stability))
    terms = None if job.terms is None else lines_of(job.terms, "--terms")
    names = None if job.names is None else read_names(job.names)
    fit, model = read_fit(job.folder)
    file, format = _file_of(job, fit)
    with local_file(file, format) as (path, name):
        with about(name):
            rows = kept_on_disk(
                open_for_model(model, path, sep=fit.reading.sep, decimal=fit.reading.decimal),
                effective_n_threads(None),
            )
            check_same_rows(job.folder, name, fit, rows)
        known = None if job.known is None else read_classes(job.known, rows, "--known")
        options = ReportOptions(known, job.text, terms, job.image_shape, names, job.projection, job.stability)
        with about(name):
            made = _report(model, rows, asdict(fit), options, id=job.id, keep=job.keep)
        with output_folder(out.parent, out.name) as outputs:
            run = run_files(out.parent, f"{out.stem}-{RUN}")
            outputs.check(*(path.name for path in run.values()))
            written = write_files(outputs, made, out.name)
            write_run_file(outputs, f"{out.stem}-{RUN}")
        files = {"report": str(out), **{name: str(out.parent / name) for name in written[1:]}}
        files |= {name: str(path) for name, path in run.items()}
    if job.points is not None:
        with output_folder(job.points.parent, job.points.name) as outputs:
            outputs.check(job.points.name)
            with outputs.writing(job.points.name) as staged:
                pyarrow_parquet().write_table(made.points(), staged)
        files["points"] = str(job.points)
    return {"command": "report", "folder": str(job.folder), "file": without_secrets(name), "files": files}


def _report(
    model: Any,
    rows: RowSource,
    summary: Mapping[str, Any],
    options: ReportOptions,
    *,
    id: str | None,
    keep: Sequence[str] | None,
    n_clusters: int | None = None,
) -> Report:
    return make_report(
        model,
        rows,
        n_clusters=n_clusters,
        known=options.known,
        id=id,
        keep=keep,
        text=options.text,
        terms=options.terms,
        image_shape=options.image_shape,
        names=options.names,
        projection=options.projection,
        stability=options.stability,
        summary=summary,
    )


def _peak_memory() -> str | None:
    """Return the peak memory of this process; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    # Kilobytes, on macOS bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{peak / 1e6:,.0f} MB"


def _file_of(job: ReportJob, fit: Fit) -> tuple[str, str | None]:
    """Return the file of the rows, and the format of the standard input."""
    known = fit.input.file
    if job.file is None and known == STANDARD_INPUT:
        raise ValueError(
            f"{job.folder}: its rows came through the standard input, which cannot be read again. Pipe the same into "
            f"coterie report {job.folder} {DASH}"
        )
    file = job.file or known
    if has_hidden_parts(file):
        raise ValueError(
            f"{job.folder / SUMMARY} has the address of the rows without its query, which may be a secret: "
            f"coterie report {job.folder} ADDRESS"
        )
    is_local = "://" not in file and "*" not in file and file != DASH
    if is_local and not os.path.exists(recovered(file.partition("::")[0])):
        raise FileNotFoundError(
            f"The rows of {job.folder} are no longer at {file}: coterie report {job.folder} FILE names where they are."
        )
    format = fit.input.format or Path(known).suffix[1:] if file == DASH else None
    check_format(file, format)
    return file, format


def report_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a report that was written."""
    return file_lines(facts)
