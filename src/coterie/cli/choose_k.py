"""`coterie choose-k`: estimate the number of clusters of a file."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import coterie
from coterie.cli.errors import UsageError
from coterie.cli.inputs import about, input_facts, open_prepared
from coterie.cli.options import (
    Count,
    File,
    Force,
    Json,
    MaxTime,
    Out,
    Quiet,
    RunOptions,
    Seed,
    Switch,
    TableOptions,
    Threads,
)
from coterie.cli.output import recorded_warnings, tell
from coterie.cli.progress import display, each_step
from coterie.cli.run_file import run_files, write_run_file
from coterie.cli.runs import SUMMARY, run_folder, write_summary
from coterie.outputs import OutputFolder, recovered
from coterie.plotting import require_matplotlib
from coterie.reports.page import require_jinja
from coterie.selection.choose_k import KChoice
from coterie.selection.choose_k import choose_k as choose_number
from coterie.selection.pages import choice_page

__all__ = ["choose_k"]

# Steps that `coterie.choose_k` reports.
_STEPS = 7

CURVES, PICTURE, PAGE = "curves.csv", "choose-k.png", "choose-k.html"


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
    require_matplotlib()
    if report:
        require_jinja()
    files = {
        "curves": CURVES,
        "picture": PICTURE,
        **({"page": PAGE} if report else {}),
        **{name: path.name for name, path in run_files(out).items()},
        "summary": SUMMARY,
    }
    with run_folder(out, "choose-k", file, force=force) as outputs:
        outputs.check(*files.values())
        reading_warnings: list[str] = []
        rows = open_prepared(
            str(recovered(file)),
            warned=reading_warnings,
            **tables.for_jobs(),
        )
        if k_range[0] >= rows.shape[0]:
            raise UsageError(f"-k {k} begins above the {rows.shape[0]} rows of {file}.")
        k_range = k_range[0], min(k_range[1], rows.shape[0] - 1)
        with display(quiet) as screen, recorded_warnings() as warned, about(file):
            found = choose_number(
                rows, k_range, sample_size=sample, max_time=max_time, random_state=seed,
                n_threads=n_threads, callback=each_step(screen, _STEPS),
            )  # fmt: skip
        summary = {
            **_facts(found),
            "preparing": tables.for_jobs()["preparing"],
            "seed": seed,
            "input": input_facts(file, rows),
            "warnings": [*reading_warnings, *warned],
            "files": {name: str(out / file) for name, file in files.items()},
        }
        _write(outputs, found, summary)
    tell(summary, choice_lines, json, quiet)


def _range_of(text: str) -> tuple[int, int]:
    """The numbers on both sides of the colon of -k."""
    ends = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if ends is None:
        raise UsageError(
            f"-k must be two whole numbers with a colon between them, such as 2:50, got {text!r}."
        )
    lowest, highest = int(ends[1]), int(ends[2])
    if not 2 <= lowest <= highest:
        raise UsageError(f"-k must be a range from 2 or more upward, such as 2:50, got {text}.")
    return lowest, highest


def _facts(found: KChoice) -> dict[str, Any]:
    return {
        "coterie": coterie.__version__,
        "command": "choose-k",
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


def _write(outputs: OutputFolder, found: KChoice, summary: dict[str, Any]) -> None:
    with outputs.writing(CURVES) as path, open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["criterion", "k", "value", "low", "high", "chance", "chosen"])
        writer.writeheader()
        for curve in found.criteria:
            writer.writerows({**record, "chosen": int(record["chosen"])} for record in curve.records())
    with outputs.writing(PICTURE) as path:
        found.plot().savefig(path)
    if "page" in summary["files"]:
        page = choice_page(found, Path(summary["input"]["file"]).name, summary["warnings"])
        with outputs.writing(PAGE) as path:
            path.write_text(page.html(), encoding="utf-8")
    write_run_file(outputs, seed=summary["seed"])
    write_summary(outputs, summary)


def choice_lines(facts: dict[str, Any]) -> list[str]:
    """Return the printed lines: the answer, its reasons, and the choice of each criterion."""
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
    return [*lines, f"{facts['seconds']:.3g} s", "wrote", *(f"  {path}" for path in facts["files"].values())]
