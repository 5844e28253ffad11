"""`coterie report` and `coterie verify`: a page about the fit of a folder, and the same fit again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from sklearn.base import clone

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
    read_graph,
    read_known_labels,
)
from coterie.cli.models import fit_model
from coterie.cli.options import FileIfAny, Json, OutIfAny, Quiet, Threads
from coterie.cli.output import file_lines, table_library, tell
from coterie.cli.results import kept_columns, sample_of
from coterie.cli.runs import (
    SUMMARY,
    Fit,
    hash_of_rows,
    hashes_of_fit,
    output_folder,
    read_fit,
)
from coterie.fitting.threads import effective_n_threads
from coterie.names import read_names
from coterie.reports import Report, require_report
from coterie.reports import report as make_report
from coterie.rows import RowSource
from coterie.rows.remote import has_hidden_parts, without_secrets

REPORT = "report.html"

# Meaning of a different hash.
_DIFFERENCES = {
    "parameters": "the model file has other parameters than the run",
    "labels": "the labels differ",
    "centers": "the centers differ",
}


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
    names: FileIfAny = None,
    projection: Literal["auto", "tsne", "pca"] = "auto",
    stability: Annotated[bool, Parameter(negative="--no-stability")] = True,
    json: Json = False,
    quiet: Quiet = False,
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
    names
        Names of clusters: names.csv of a report, a .csv file with the columns cluster and name; by default distinctive
        terms or columns.
    projection
        Layout of the map: tsne (auto, if openTSNE is installed) or pca.
    stability
        Measure the stability of the clusters in four fits of at most 2,000 rows each.
    """
    options: dict[str, Any] = {
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
            pages = made.page.files(out.name)
            outputs.write(pages)
        files = {"report": str(out), **{name: str(out.parent / name) for name in list(pages)[1:]}}
    if points is not None:
        with output_folder(points.parent, points.name) as outputs:
            outputs.check(points.name)
            with outputs.writing(points.name) as staged:
                table_library(".parquet").write_table(made.points(), staged)
        files["points"] = str(points)
    facts = {"command": "report", "folder": str(folder), "file": without_secrets(name), "files": files}
    tell(facts, file_lines, json, quiet)


def fit_report(model: Any, rows: RowSource, summary: Mapping[str, Any], options: Mapping[str, Any]) -> Report:
    """Return the report of a fit that this process has just done, with options of `coterie.report`."""
    return make_report(model, rows, summary=summary, **options)


def verify(
    folder: Path,
    file: FileIfAny = None,
    /,
    *,
    n_threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the fit of a folder, and check that labels and centers are bit-identical: exit code 0 if so, else 1.

    Parameters
    ----------
    folder
        What `coterie fit` wrote: model.coterie and summary.json.
    file
        The rows, if they are no longer where the summary says; - for the standard input.
    """
    fit, model = read_fit(folder)
    if not fit.hashes:
        raise ValueError(f"{folder / SUMMARY} has no hashes: a fit on a cluster cannot be repeated here.")
    with rows_of_fit("verify", folder, file, fit, model) as (rows, name):
        again = clone(model) if n_threads is None else clone(model).set_params(n_threads=n_threads)
        _compare(fit, folder, {"parameters": hashes_of_fit(model)["parameters"]})
        known = fit.known_labels
        classes = None if known is None else read_known_labels(known, rows, fit.clusters)[0]
        graph = None if fit.graph is None else read_graph(fit.graph, rows.shape[0])
        seconds, warned = fit_model(again, rows, classes, graph=graph, quiet=quiet)
    found = hashes_of_fit(again)
    _compare(fit, folder, found)
    facts: dict[str, Any] = {
        "command": "verify",
        "folder": str(folder),
        "file": without_secrets(name),
        "same": True,
        "seconds": round(seconds, 6),
        "hashes": {**fit.hashes, **found},
        "warnings": warned,
    }
    tell(facts, _verify_lines, json, quiet)


@contextmanager
def rows_of_fit(
    command: str, folder: Path, file: str | None, fit: Fit, model: Any
) -> Iterator[tuple[RowSource, str]]:
    """Give the rows of the fit in a folder, from a file or where the summary says, and the name of their file.

    They must have the hash that the fit has recorded: of all rows after `--verify`, else of a sample.
    """
    if file is None and fit.input.file == STANDARD_INPUT:
        raise ValueError(
            f"{folder}: its rows came through the standard input, which cannot be read again. Pipe the same into "
            f"coterie {command} {folder} {DASH}"
        )
    file = file or fit.input.file
    if has_hidden_parts(file):
        raise ValueError(
            f"{folder / SUMMARY} has the address of the rows without its query, which may be a secret: "
            f"coterie {command} {folder} ADDRESS"
        )
    is_local = "://" not in file and "*" not in file and file != DASH
    if is_local and not os.path.exists(file.partition("::")[0]):
        raise FileNotFoundError(
            f"The rows of {folder} are no longer at {file}: coterie {command} {folder} FILE names where they are."
        )
    format = fit.input.format or Path(fit.input.file).suffix[1:] if file == DASH else None
    check_format(file, format)
    with local_file(file, format) as (path, name):
        with about(name):
            rows = open_for_model(model, path, sep=fit.reading.sep, decimal=fit.reading.decimal)
            rows = kept_on_disk(rows, effective_n_threads(None))
            known = fit.hashes.get("rows")
            found = hash_of_rows(rows, sample_of(rows)[1] if known is None else None)
            if found != (known or fit.hashes.get("sample")):
                raise ValueError(
                    f"{name} does not hold the rows of the fit in {folder}: name their file, or fit again."
                )
        yield rows, name


def _verify_lines(facts: dict[str, Any]) -> list[str]:
    what = "labels and centers are" if "centers" in facts["hashes"] else "labels are"
    return [f"{facts['folder']}: {what} bit-identical, in {facts['seconds']:.3g} s"]


def _compare(fit: Fit, folder: Path, found: dict[str, str]) -> None:
    wrong = [name for name, value in found.items() if fit.hashes.get(name) != value]
    if wrong:
        reasons = " and ".join(_DIFFERENCES[name] for name in wrong)
        raise ValueError(f"{folder}: not bit-identical: {reasons}.")
