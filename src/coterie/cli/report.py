"""`coterie report`: a page about the fit of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coterie.cli.errors import about
from coterie.cli.inputs import DASH, Opened, local_file, read_classes
from coterie.cli.output import file_lines, show_page, tell
from coterie.cli.runs import REPORT, hash_of_rows, output_folder, read_fit
from coterie.names import read_names
from coterie.reports import report, require_report
from coterie.results import model_rows
from coterie.rows.remote import has_hidden_parts, without_secrets
from coterie_command.options import STANDARD_INPUT, ReportOptions, UsageError
from coterie_command.progress import Progress


def run_report(folder: Path, file: str | None, options: ReportOptions) -> int:
    """Write the page, print the files, and return the exit code."""
    out = options.out or folder / REPORT
    if out.suffix != ".html":
        raise UsageError(f"--out must end in .html, got {str(out)!r}.")
    require_report()
    named = None if options.names is None else read_names(options.names)
    facts, model = read_fit(folder)
    with (
        Progress(options.quiet) as screen,
        rows_of_fit("report", folder, file, facts, model, screen) as (opened, name),
    ):
        classes = None if options.known is None else read_classes(options.known, opened, "--known")
        screen.begin("drawing the report")
        with about(name):
            made = report(
                model, opened.rows, summary=facts, known=classes, names=named, text=options.text,
                id=options.id or facts["columns"]["id"],
            )  # fmt: skip
        with output_folder(out.parent, out.name) as outputs:
            outputs.write({out.name: made.html.encode()})
    found = {
        "command": "report",
        "folder": str(folder),
        "file": without_secrets(name),
        "files": {"report": str(out)},
    }
    tell(found, file_lines, options)
    if options.open:
        show_page(out)
    return 0


@contextmanager
def rows_of_fit(
    command: str, folder: Path, file: str | None, facts: Mapping[str, Any], model: Any, screen: Progress
) -> Iterator[tuple[Opened, str]]:
    """Give the rows of the fit in a folder, from a file or where the summary says, and the name of their file."""
    known = str(facts["input"]["file"])
    if file is None and known == STANDARD_INPUT:
        raise ValueError(
            f"{folder}: its rows came through the standard input, which cannot be read again. Pipe the same into "
            f"coterie {command} {folder} {DASH}"
        )
    if file is None and has_hidden_parts(known):
        raise ValueError(
            f"The summary of {folder} has the address of the rows without its query, which may be a secret: coterie "
            f"{command} {folder} ADDRESS"
        )
    try:
        with local_file(file or known, screen) as (path, name):
            with about(name):
                rows = model_rows(model, path, **facts["reading"])
                if hash_of_rows(rows) != facts["hashes"]["rows"]:
                    raise ValueError(
                        f"its rows are not those of the fit in {folder}: name their file, or fit again."
                    )
            yield Opened(rows, rows.metadata_columns), name
    except FileNotFoundError as error:
        if file is not None:
            raise
        raise FileNotFoundError(
            f"{error} coterie {command} {folder} FILE names where the rows are."
        ) from error
