"""`coterie compare`: from a file of rows to a table of methods and an advice."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coterie
from coterie.cli import UsageError
from coterie.cli.inputs import about, input_facts, open_prepared, read_classes
from coterie.cli.models import check_seed, check_threads, offered_methods
from coterie.cli.output import output_folder, recorded_warnings, to_json, unguarded_warnings
from coterie.cli.run_file import run_files, write_run_file
from coterie.estimators import find_method
from coterie.outputs import OutputFolder, newest
from coterie.plotting import require_matplotlib
from coterie.reports.page import require_jinja
from coterie.selection.compare import CRITERIA, Comparison, compare
from coterie.selection.pages import comparison_page

__all__ = ["CompareJob", "comparison_lines", "run_comparison"]

TABLE, PICTURE, PAGE = "comparison.csv", "comparison.png", "comparison.html"
SUMMARY = "summary.json"

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class CompareJob:
    """What to compare on, for how long, and where the table goes."""

    file: str
    n_clusters: int
    out: Path
    budget: str = "5m"
    methods: list[str] | None = None
    labels: str | None = None
    sample: int | None = None
    seed: int = 0
    n_threads: int | None = None
    columns: list[str | int] | None = None
    exclude: list[str | int] | None = None
    sep: str | None = None
    decimal: str | None = None
    preparing: Mapping[str, Any] = field(default_factory=dict)
    report: bool = False


def run_comparison(job: CompareJob) -> dict[str, Any]:
    """Compare methods on a file; write the table, a picture and a summary.

    Returns
    -------
    dict
        What `summary.json` holds.
    """
    budget = _budget_of(job.budget)
    _check_job(job)
    files = {
        "table": TABLE,
        "picture": PICTURE,
        **({"page": PAGE} if job.report else {}),
        **{name: path.name for name, path in run_files(job.out).items()},
        "summary": SUMMARY,
    }
    with output_folder(job.out) as outputs:
        outputs.check(*files.values())
        told = unguarded_warnings(outputs, job.out)
        rows = open_prepared(
            str(newest(job.file)),
            columns=job.columns,
            exclude=job.exclude,
            preparing=job.preparing,
            warned=told,
            sep=job.sep,
            decimal=job.decimal,
        )
        known = None if job.labels is None else read_classes(job.labels, rows, "--labels")
        with recorded_warnings() as warned, about(job.file):
            found = compare(
                rows, job.n_clusters, methods=job.methods, labels=known, budget=budget, sample_size=job.sample,
                random_state=job.seed, n_threads=job.n_threads,
            )  # fmt: skip
        summary = {
            **_facts(found),
            "coterie": coterie.__version__,
            "command": "compare",
            "input": input_facts(job.file, rows),
            "preparing": dict(job.preparing),
            "seed": job.seed,
            "known_labels": job.labels,
            "warnings": [*told, *warned],
            "files": {name: str(job.out / file) for name, file in files.items()},
        }
        _write(outputs, found, summary)
    return summary


def _budget_of(text: str) -> float:
    """The seconds of --budget."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if parts is None or not float(parts[1]) > 0:
        raise UsageError(f"--budget must be a time such as 90s, 5m or 1h, got {text!r}.")
    return float(parts[1]) * _SECONDS[parts[2]]


def _check_job(job: CompareJob) -> None:
    if job.n_clusters < 1:
        raise UsageError(f"-k must be at least 1, got {job.n_clusters}.")
    if job.sample is not None and job.sample < 1:
        raise UsageError(f"--sample must be at least 1, got {job.sample}.")
    check_seed(job.seed)
    check_threads(job.n_threads)
    for name in job.methods or []:
        try:
            find_method(name, offered_methods())
        except ValueError as error:
            raise UsageError(str(error)) from error
    require_matplotlib()
    if job.report:
        require_jinja()


def _facts(found: Comparison) -> dict[str, Any]:
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
    with outputs.writing(SUMMARY) as path:
        path.write_text(to_json(summary) + "\n", encoding="utf-8")


def comparison_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines for people: the advice, a table, how alike the methods are, what each criterion favours."""
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
    """Return what a terminal has room for of each method, under short names."""
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
