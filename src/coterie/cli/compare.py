"""`coterie compare`: compare methods on a file and recommend one."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import coterie
from coterie.cli.inputs import about, input_facts, open_prepared, read_classes
from coterie.cli.models import find_offered
from coterie.cli.options import (
    Count,
    Counted,
    File,
    Force,
    Json,
    Out,
    Quiet,
    RunOptions,
    Seconds,
    Seed,
    Switch,
    TableOptions,
    Threads,
    column_names,
)
from coterie.cli.output import recorded_warnings, tell
from coterie.cli.progress import display, each_step
from coterie.cli.run_file import run_files, write_run_file
from coterie.cli.runs import SUMMARY, run_folder, write_summary
from coterie.outputs import OutputFolder, recovered
from coterie.plotting import require_matplotlib
from coterie.reports.page import require_jinja
from coterie.selection.compare import CRITERIA, Comparison
from coterie.selection.compare import compare as compare_methods
from coterie.selection.pages import comparison_page

__all__ = ["compare", "comparison_facts"]

TABLE, PICTURE, PAGE = "comparison.csv", "comparison.png", "comparison.html"


def compare(
    file: File,
    /,
    *,
    k: Annotated[Count, Parameter(name=["-k", "--clusters", "--n-clusters"])],
    budget: Seconds = 300.0,
    methods: str | None = None,
    labels: str | None = None,
    sample: Counted = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    report: Switch = False,
    out: Out = Path("coterie-compare"),
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    tables: TableOptions = TableOptions(),
    run: RunOptions = RunOptions(),
) -> None:
    """Cluster a file by several methods, and recommend one.

    Parameters
    ----------
    file
        Any file that `coterie fit` reads.
    k
        Number of clusters of each method.
    budget
        Time limit of all fits, such as 90s, 5m or 1h.
    methods
        Only these methods, with commas between them; by default those that suit the rows.
    labels
        Known classes, which add accuracy, NMI and ARI: a column of the table, or a file with a line for each row.
    sample
        Number of rows to compare on; by default at most 20,000.
    report
        Also write comparison.html.
    out
        Folder for comparison.csv, comparison.png, run.toml and summary.json.
    """
    requested = column_names(methods, "--methods") or []
    names = [find_offered(str(name), "--methods").name for name in requested] or None
    require_matplotlib()
    if report:
        require_jinja()
    files = {
        "table": TABLE,
        "picture": PICTURE,
        **({"page": PAGE} if report else {}),
        **{name: path.name for name, path in run_files(out).items()},
        "summary": SUMMARY,
    }
    with run_folder(out, "compare", file, force=force) as outputs:
        outputs.check(*files.values())
        reading_warnings: list[str] = []
        rows = open_prepared(
            str(recovered(file)),
            warned=reading_warnings,
            **tables.for_jobs(),
        )
        known = None if labels is None else read_classes(labels, rows, "--labels")
        with display(quiet) as screen, recorded_warnings() as warned, about(file):
            found = compare_methods(
                rows, k, methods=names, labels=known, budget=budget, sample_size=sample,
                random_state=seed, n_threads=n_threads, callback=each_step(screen),
            )  # fmt: skip
        summary = {
            **comparison_facts(found),
            "coterie": coterie.__version__,
            "command": "compare",
            "input": input_facts(file, rows),
            "preparing": tables.for_jobs()["preparing"],
            "seed": seed,
            "known_labels": labels,
            "warnings": [*reading_warnings, *warned],
            "files": {name: str(out / file) for name, file in files.items()},
        }
        _write(outputs, found, summary)
    tell(summary, comparison_lines, json, quiet)


def comparison_facts(found: Comparison) -> dict[str, Any]:
    """Return the summary of a comparison."""
    return {
        "recommended": found.recommended,
        "confidence": found.confidence,
        "reasons": list(found.reasons),
        "methods": [dict(record) for record in found.records],
        "agreement": found.agreement.tolist(),
        "criteria": dict(CRITERIA),
        "left_out": list(found.left_out),
        **found.facts,
    }


def _write(outputs: OutputFolder, found: Comparison, summary: dict[str, Any]) -> None:
    with outputs.writing(TABLE) as path, open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found.records[0]))
        writer.writeheader()
        writer.writerows(found.records)
    with outputs.writing(PICTURE) as path:
        found.plot().savefig(path)
    if "page" in summary["files"]:
        page = comparison_page(found, Path(summary["input"]["file"]).name, summary["warnings"])
        with outputs.writing(PAGE) as path:
            path.write_text(page.html(), encoding="utf-8")
    write_run_file(outputs, seed=summary["seed"])
    write_summary(outputs, summary)


def comparison_lines(facts: dict[str, Any]) -> list[str]:
    """Return the printed lines: recommendation, table, agreement of the methods, and criteria."""
    source, records = facts["input"], facts["methods"]
    whole = facts["sample_rows"] == facts["rows"]
    lines = [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns in {facts['clusters']:,} clusters"
        + ("" if whole else f", compared on a sample of {facts['sample_rows']:,} rows"),
        *facts["reasons"],
        "",
        *_table_of(_shown(records)),
        "",
        "adjusted Rand index of any two methods",
        *_table_of(
            [{"": record["method"], **{other["method"]: value for other, value in zip(records, values)}}
             for record, values in zip(records, facts["agreement"])]
        ),
        "",
        *(f"{name}: {sentence}" for name, sentence in facts["criteria"].items()),
        *(f"not compared: {what}" for what in facts["left_out"]),
    ]  # fmt: skip
    return [*lines, f"{facts['seconds']:.3g} s", "wrote", *(f"  {path}" for path in facts["files"].values())]


def _shown(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns of each method that fit a terminal, under short names."""
    scores = [name for name in ("accuracy", "nmi", "ari") if name in records[0]]
    return [
        {
            "method": record["method"],
            "seconds": record["seconds"],
            "objective": record["objective"],
            "sizes": f"{record['smallest']:,}-{record['largest']:,}",
            "lost": record["clusters_lost"],
            **{name: record[name] for name in (*CRITERIA, *scores)},
        }
        for record in records
    ]


def _table_of(records: list[dict[str, Any]]) -> list[str]:
    """A line of names, and one for each record; texts on the left, numbers on the right."""
    names = list(records[0])
    cells = [[_cell(record[name]) for name in names] for record in records]
    widths = [max(map(len, column)) for column in zip(names, *cells)]
    return [
        "  ".join(f"{cell:<{width}}" if place == 0 else f"{cell:>{width}}"
                  for place, (cell, width) in enumerate(zip(line, widths))).rstrip()
        for line in [names, *cells]
    ]  # fmt: skip


def _cell(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"
