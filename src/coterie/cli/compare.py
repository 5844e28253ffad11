"""`coterie compare`: which method suits a file."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import coterie
from coterie.cli.errors import about
from coterie.cli.fit import command_line
from coterie.cli.inputs import input_facts, local_file, open_input, read_classes
from coterie.cli.output import file_lines, recorded_warnings, show_page, tell
from coterie.cli.parameters import find_offered
from coterie.cli.runs import SUMMARY, run_folder, write_summary
from coterie.comparison.compare import compare
from coterie.comparison.scores import CRITERIA
from coterie.plotting import require_matplotlib
from coterie.reports.page import require_jinja
from coterie_command.options import CompareOptions
from coterie_command.progress import Progress

TABLE, PAGE = "comparison.csv", "comparison.html"


def run_compare(file: str, options: CompareOptions) -> int:
    """Compare, write the results, print the answer, and return the exit code."""
    require_matplotlib()
    require_jinja()
    named, out, labels = options.methods, options.out, options.labels
    asked = None if named is None else [find_offered(name, "--methods").name for name in named.split(",")]
    with (
        Progress(options.quiet) as screen,
        local_file(file, screen) as (path, name),
        run_folder(out, "compare", file, force=options.force) as outputs,
    ):
        files = {"table": out / TABLE, "page": out / PAGE, "summary": out / SUMMARY}
        outputs.check(*(place.name for place in files.values()))
        opened = open_input(path, name, options, labels=labels)
        known = None if labels is None else read_classes(labels, opened, "--labels")
        with recorded_warnings() as warned, about(name):
            found = compare(
                opened.rows, options.k, methods=asked, labels=known, max_time=options.max_time,
                random_state=options.seed, n_threads=options.threads, callback=screen.begin,
            )  # fmt: skip
        facts = {
            "coterie": coterie.__version__,
            "command": "compare",
            "command_line": command_line(),
            **found.facts,
            "input": input_facts(name, opened.rows),
            "seed": options.seed,
            "known_labels": labels,
            "used": opened.used,
            "recommended": found.recommended,
            "best": found.best,
            "confidence": found.confidence,
            "reasons": list(found.reasons),
            "methods": [dict(record) for record in found.records],
            "differences": list(found.differences),
            "lines": found.lines(),
            "agreement": found.agreement.tolist(),
            "criteria": dict(CRITERIA),
            "left_out": list(found.left_out),
            "warnings": [*opened.warnings, *warned],
            "files": {kind: str(place) for kind, place in files.items()},
        }
        screen.begin("drawing the page")
        with outputs.writing(TABLE) as place, open(place, "w", newline="", encoding="utf-8") as table:
            writer = csv.DictWriter(table, list(found.records[0]))
            writer.writeheader()
            writer.writerows(found.records)
        page = found.page(Path(name).name, facts["warnings"])
        outputs.write({PAGE: page.html().encode()})
        write_summary(outputs, facts)
    tell(facts, lines_of_run, options)
    if options.open:
        show_page(out / PAGE)
    return 0


def lines_of_run(facts: Mapping[str, Any]) -> list[str]:
    source = facts["input"]
    whole = facts["sample_rows"] == facts["rows"]
    where = "" if whole else f", compared on a random sample of {facts['sample_rows']:,} rows"
    best = str(facts["best"]).partition(",")[0]
    return [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns in {facts['clusters']:,} clusters"
        f"{where}",
        *facts["reasons"],
        "",
        *facts["lines"],
        "",
        *facts["differences"],
        *(f"not compared: {what}" for what in facts["left_out"]),
        *file_lines(facts),
        f"next: coterie fit {shlex.quote(source['file'])} -k {facts['clusters']} --method {best}",
    ]
