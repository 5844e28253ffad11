"""`coterie choose-k` and `coterie compare`: which number of clusters, and which method."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import coterie
from coterie.cli.errors import UsageError
from coterie.cli.inputs import about, input_facts, open_prepared, read_classes
from coterie.cli.models import find_offered
from coterie.cli.options import (
    Count,
    Counted,
    File,
    Force,
    Json,
    MaxTime,
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
from coterie.cli.output import file_lines, recorded_warnings, table_lines, tell
from coterie.cli.progress import display, each_step
from coterie.cli.run_file import run_files, write_run_file
from coterie.cli.runs import SUMMARY, run_folder, write_summary
from coterie.outputs import OutputFolder
from coterie.plotting import require_matplotlib
from coterie.reports.page import Page, require_jinja
from coterie.rows import RowSource
from coterie.selection.choose_k import KChoice
from coterie.selection.choose_k import choose_k as choose_number
from coterie.selection.compare import CRITERIA, Comparison
from coterie.selection.compare import compare as compare_methods
from coterie.selection.pages import choice_page, comparison_page

# Steps that `coterie.choose_k` reports.
_STEPS = 7


def choose_k(
    file: File,
    /,
    *,
    k: Annotated[str, Parameter(name=["-k", "--clusters", "--n-clusters"])] = "2:50",
    sample: Count = 5_000,
    max_time: MaxTime = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    report: Switch = False,
    out: Out = Path("coterie-choose-k"),
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    tables: TableOptions = TableOptions(),
    run: RunOptions = RunOptions(),
) -> None:
    """Estimate the number of clusters of a file (experimental), or find that it has no natural one.

    Parameters
    ----------
    file
        Any file that `coterie fit` reads.
    k
        Range of the numbers of clusters that are tried.
    sample
        Number of rows that decide; of a larger file a sample is drawn.
    max_time
        Time limit such as 30s or 5m, after which no further criterion is computed.
    report
        Also write choose-k.html.
    out
        Folder for curves.csv, choose-k.png, run.toml and summary.json.
    """
    k_range = _range_of(k)
    _require(report)
    with run_folder(out, "choose-k", file, force=force) as outputs:
        files = _files(outputs, out, "curves.csv", "choose-k", report)
        rows, reading_warnings, _ = open_prepared(file, **tables.for_jobs())
        if k_range[0] >= rows.shape[0]:
            raise UsageError(f"-k {k} begins above the {rows.shape[0]} rows of {file}.")
        with display(quiet) as screen, recorded_warnings() as warned, about(file):
            found = choose_number(
                rows, (k_range[0], min(k_range[1], rows.shape[0] - 1)), sample_size=sample, max_time=max_time,
                random_state=seed, n_threads=n_threads, callback=each_step(screen, _STEPS),
            )  # fmt: skip
        summary = {
            **_common_facts("choose-k", file, rows, tables, seed),
            **_choice_facts(found),
            "warnings": [*reading_warnings, *warned],
            "files": files,
        }
        records = [record for curve in found.criteria for record in curve.records()]
        table = [{**record, "chosen": int(record["chosen"])} for record in records]
        fields = ["criterion", "k", "value", "low", "high", "chance", "chosen"]
        _write(outputs, found, summary, fields, table, choice_page)
    tell(summary, _choice_lines, json, quiet)


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
    _require(report)
    with run_folder(out, "compare", file, force=force) as outputs:
        files = _files(outputs, out, "comparison.csv", "comparison", report)
        rows, reading_warnings, _ = open_prepared(file, labels=labels, **tables.for_jobs())
        known = None if labels is None else read_classes(labels, rows, "--labels")
        with display(quiet) as screen, recorded_warnings() as warned, about(file):
            found = compare_methods(
                rows, k, methods=names, labels=known, budget=budget, sample_size=sample,
                random_state=seed, n_threads=n_threads, callback=each_step(screen),
            )  # fmt: skip
        summary = {
            **_common_facts("compare", file, rows, tables, seed),
            **comparison_facts(found),
            "known_labels": labels,
            "warnings": [*reading_warnings, *warned],
            "files": files,
        }
        _write(outputs, found, summary, list(found.records[0]), found.records, comparison_page)
    tell(summary, _comparison_lines, json, quiet)


def _require(report: bool) -> None:
    require_matplotlib()
    if report:
        require_jinja()


def _files(outputs: OutputFolder, out: Path, table: str, name: str, report: bool) -> dict[str, str]:
    """Return the files of a selection by their kinds, which must not be folders."""
    names = {"curves" if name == "choose-k" else "table": table, "picture": f"{name}.png"}
    names |= {"page": f"{name}.html"} if report else {}
    files = {**{kind: out / file for kind, file in names.items()}, **run_files(out), "summary": out / SUMMARY}
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
    found: KChoice | Comparison,
    summary: Mapping[str, Any],
    fields: Sequence[str],
    records: Iterable[Mapping[str, Any]],
    make_page: Callable[..., Page],
) -> None:
    table, picture, *_ = (Path(path).name for path in summary["files"].values())
    with outputs.writing(table) as path, open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(records)
    with outputs.writing(picture) as path:
        found.plot().savefig(path)
    if "page" in summary["files"]:
        page = make_page(found, Path(summary["input"]["file"]).name, summary["warnings"])
        with outputs.writing(Path(summary["files"]["page"]).name) as path:
            path.write_text(page.html(), encoding="utf-8")
    write_run_file(outputs, seed=summary["seed"])
    write_summary(outputs, summary)


def _range_of(text: str) -> tuple[int, int]:
    ends = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if ends is None:
        raise UsageError(
            f"-k must be two whole numbers with a colon between them, such as 2:50, got {text!r}."
        )
    lowest, highest = int(ends[1]), int(ends[2])
    if not 2 <= lowest <= highest:
        raise UsageError(f"-k must be a range from 2 or more upward, such as 2:50, got {text}.")
    return lowest, highest


def _choice_facts(found: KChoice) -> dict[str, Any]:
    return {
        "clusters": found.n_clusters,
        "interval": list(found.interval),
        "support": found.support,
        "plausible": list(found.plausible),
        "reasons": list(found.reasons),
        "threshold": found.threshold,
        "prominences": found.prominences[:100].tolist(),
        "criteria": [
            {
                "name": curve.name,
                "title": curve.title,
                "choice": curve.choice,
                "why": curve.why,
                **{
                    name: record[name]
                    for record in curve.records()
                    if record["chosen"]
                    for name in ("value", "low", "high")
                },
            }
            for curve in found.criteria
        ],
        "left_out": list(found.left_out),
        **found.facts,
    }


def _choice_lines(facts: dict[str, Any]) -> list[str]:
    source, curves = facts["input"], facts["criteria"]
    width = max((len(curve["name"]) for curve in curves), default=0) + 2
    whole = facts["sample_rows"] == facts["rows"]
    lines = [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns"
        + ("" if whole else f", by a sample of {facts['sample_rows']:,} rows"),
        *facts["reasons"][: len(facts["reasons"]) - bool(curves)],
    ]
    if curves:
        lines.append("choices of other criteria:")
    for curve in curves:
        k = "none" if curve["choice"] in (None, 1) else f"{curve['choice']:,}"
        shown = ""
        if "value" in curve:
            shown = f"  {curve['value']:.3g} [{curve['low']:.3g}, {curve['high']:.3g}]"
        lines.append(f"  {curve['name']:<{width}}{k:>5}{shown}")
    lines += [f"not computed: {what}" for what in facts["left_out"]]
    return [*lines, f"{facts['seconds']:.3g} s", *file_lines(facts)]


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


def _comparison_lines(facts: dict[str, Any]) -> list[str]:
    source, records = facts["input"], facts["methods"]
    whole = facts["sample_rows"] == facts["rows"]
    scores = [name for name in ("accuracy", "nmi", "ari") if name in records[0]]
    lines = [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns in {facts['clusters']:,} clusters"
        + ("" if whole else f", compared on a sample of {facts['sample_rows']:,} rows"),
        *facts["reasons"],
        "",
        *_table_of([
            {
                "method": record["method"],
                "seconds": record["seconds"],
                "objective": record["objective"],
                "sizes": f"{record['smallest']:,}-{record['largest']:,}",
                "lost": record["clusters_lost"],
                **{name: record[name] for name in (*CRITERIA, *scores)},
            }
            for record in records
        ]),
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
    return [*lines, f"{facts['seconds']:.3g} s", *file_lines(facts)]


def _table_of(records: list[dict[str, Any]]) -> list[str]:
    """Return a line of names, and one for each record."""
    cells = [
        [
            "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"
            for value in record.values()
        ]
        for record in records
    ]
    return table_lines([list(records[0]), *cells], "<>")
