"""`coterie compare`: which method."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import coterie
from coterie.cli.inputs import about, input_facts, open_prepared, read_classes
from coterie.cli.models import find_offered
from coterie.cli.options import (
    Count,
    File,
    Force,
    Json,
    MaxTime,
    Out,
    Quiet,
    Seed,
    Switch,
    TableOptions,
    Threads,
    column_names,
)
from coterie.cli.output import file_lines, recorded_warnings, tell
from coterie.cli.progress import display, each_step
from coterie.cli.runs import SUMMARY, run_folder, write_summary
from coterie.comparison.compare import Comparison
from coterie.comparison.compare import compare as compare_methods
from coterie.comparison.scores import CRITERIA
from coterie.outputs import OutputFolder
from coterie.plotting import require_matplotlib
from coterie.reports.page import require_jinja
from coterie.rows import RowSource


def compare(
    file: File,
    /,
    *,
    k: Annotated[Count, Parameter(name=["-k", "--clusters", "--n-clusters"])],
    max_time: MaxTime = None,
    methods: str | None = None,
    labels: str | None = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    report: Switch = False,
    out: Out = Path("coterie-compare"),
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    tables: TableOptions = TableOptions(),
) -> None:
    """Cluster a file by several methods, and recommend one.

    Parameters
    ----------
    file
        Any file that `coterie fit` reads.
    k
        Number of clusters of each method.
    max_time
        Time limit of all fits, such as 90s, 5m or 1h.
    methods
        Only these methods, with commas between them; by default those that suit the rows.
    labels
        Known classes, which add accuracy, NMI and ARI: a column of the table, or a file with a line for each row.
    report
        Also write comparison.html.
    out
        Folder for comparison.csv, comparison.png and summary.json.
    """
    requested = column_names(methods, "--methods") or []
    names = [find_offered(str(name), "--methods").name for name in requested] or None
    _require(report)
    with run_folder(out, "compare", file, force=force) as outputs:
        files = _files(outputs, out, "comparison.csv", "comparison", report)
        rows, reading_warnings, _ = open_prepared(file, labels=labels, **tables.for_jobs())
        known = None if labels is None else read_classes(labels, rows, "--labels")
        with display(quiet) as screen, recorded_warnings() as warned, about(file):
            found = compare_methods(
                rows, k, methods=names, labels=known, max_time=max_time,
                random_state=seed, n_threads=n_threads, callback=each_step(screen),
            )  # fmt: skip
        summary = {
            **_common_facts("compare", file, rows, tables, seed),
            **comparison_facts(found),
            "known_labels": labels,
            "warnings": [*reading_warnings, *warned],
            "files": files,
        }
        _write(outputs, found, summary, list(found.records[0]), found.records)
    tell(summary, _comparison_lines, json, quiet)


def _require(report: bool) -> None:
    require_matplotlib()
    if report:
        require_jinja()


def _files(outputs: OutputFolder, out: Path, table: str, name: str, report: bool) -> dict[str, str]:
    """Return the files of a selection by their kinds, which must not be folders."""
    names = {"table": table, "picture": f"{name}.png"}
    names |= {"page": f"{name}.html"} if report else {}
    files = {**{kind: out / file for kind, file in names.items()}, "summary": out / SUMMARY}
    outputs.check(*(path.name for path in files.values()))
    return {kind: str(path) for kind, path in files.items()}


def _common_facts(
    command: str, file: str, rows: RowSource, tables: TableOptions, seed: int
) -> dict[str, Any]:
    return {
        "coterie": coterie.__version__,
        "command": command,
        "input": input_facts(file, rows),
        "preparing": tables.for_jobs()["preparing"],
        "seed": seed,
    }


def _write(
    outputs: OutputFolder,
    found: Comparison,
    summary: Mapping[str, Any],
    fields: Sequence[str],
    records: Iterable[Mapping[str, Any]],
) -> None:
    table, picture, *_ = (Path(path).name for path in summary["files"].values())
    with outputs.writing(table) as path, open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(records)
    with outputs.writing(picture) as path:
        found.plot().savefig(path)
    if "page" in summary["files"]:
        page = found.page(Path(summary["input"]["file"]).name, summary["warnings"])
        with outputs.writing(Path(summary["files"]["page"]).name) as path:
            path.write_text(page.html(), encoding="utf-8")
    write_summary(outputs, summary)


def comparison_facts(found: Comparison) -> dict[str, Any]:
    """Return the summary of a comparison."""
    return {
        "recommended": found.recommended,
        "confidence": found.confidence,
        "reasons": list(found.reasons),
        "methods": [dict(record) for record in found.records],
        "differences": list(found.differences),
        "lines": found.lines(),
        "agreement": found.agreement.tolist(),
        "criteria": dict(CRITERIA),
        "left_out": list(found.left_out),
        **found.facts,
    }


def _comparison_lines(facts: dict[str, Any]) -> list[str]:
    source = facts["input"]
    whole = facts["sample_rows"] == facts["rows"]
    lines = [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns in {facts['clusters']:,} clusters"
        + ("" if whole else f", compared on a random sample of {facts['sample_rows']:,} rows"),
        *facts["reasons"],
        "",
        *facts["lines"],
        "",
        *facts["differences"],
        *(f"not compared: {what}" for what in facts["left_out"]),
    ]
    return [*lines, *file_lines(facts)]
