"""Table 1, the options of the algorithm, and the experiments of supplement F."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result
from benchmarks.mixture.contenders import (
    CORESET,
    FITS,
    OWN_ALL_ROWS,
    OWN_CHAIN,
    PEER_CHAIN,
    PUBLISHED_STEPS,
    REFERENCE,
    SEEDING,
    VAR_GMM_S,
    VC_GMM,
)
from benchmarks.mixture.paper_sets import PaperSet, chosen_sets
from benchmarks.mixture.paper_sweeps import Point, measure_points
from benchmarks.mixture.rows import error_cell
from benchmarks.mixture.settings import PUBLISHED

LINES = (REFERENCE, OWN_ALL_ROWS, VAR_GMM_S, PEER_CHAIN, OWN_CHAIN, VC_GMM, PUBLISHED_STEPS)
INITIAL_E_STEPS = (1, 2, 4, 8)
TOLERANCES = (1e-3, 1e-4, 1e-5)


def make_table_1(run: PaperRun) -> None:
    """Errors and speed-ups of all, beside the paper's."""
    run.report.say(
        "",
        "In brackets: published, for the data of the paper. Error and speed-ups are relative to coterie k-means++ on "
        "all rows. Coreset and seeding: their share of the time. CPU seconds of one thread are without the labels of "
        "all rows. k-means on all rows is seeded by greedy k-means++, all other fits by AFK-MC2.",
    )
    wanted = run.select({name: FITS[name] for name in LINES})
    for key, chosen in chosen_sets(run).items():
        names = [name for name in wanted if name != REFERENCE or not chosen.row.large]
        _table_1(run, key, chosen, names)


def _table_1(run: PaperRun, key: str, chosen: PaperSet, names: list[str]) -> None:
    data, row = chosen.prepared(run, key)
    points = {name: Point(name, "", row.setting) for name in names}
    title = f"{key}: {row.title}"
    summaries = measure_points(run, title, data, points)
    if OWN_ALL_ROWS not in summaries:
        return
    own = summaries[OWN_ALL_ROWS]

    def cells(name: str, s: Result) -> list[str]:
        measured = (
            f"{100 * (s['error'] / own['error'] - 1):+.2f}%",
            f"{own['seconds'] / s['seconds']:.1f}",
            f"{own['n_distances'] / s['n_distances']:.1f}",
            f"{s['n_iter']:.0f}",
            f"{(s[CORESET] + s[SEEDING]) / s['seconds']:.0%}",
        )
        return [
            *(f"{ours} ({paper})" for ours, paper in zip(measured, chosen.published[name])),
            f"{s['seconds']:.3g}",
        ]

    headers = [
        "error",
        "speed-up",
        "speed-up in distances",
        "iterations",
        "coreset and seeding",
        "CPU s",
    ]
    run.table(key, row.title, headers, summaries, cells)
    if REFERENCE not in summaries:
        run.report.say("", f"{REFERENCE}: left out, because its seeding takes many minutes on these rows.")
    run.report.data.setdefault("published", {})[key] = chosen.published


# --- options


def make_algorithm(run: PaperRun) -> None:
    """Algorithms 1 and 2 as written, and what each of our deviations costs and gains."""
    variants = {
        "defaults: groups of 16 rows, search in every third E-step": {},
        "search_every=1": dict(search_every=1),
        "search_group_size=1": dict(search_group_size=1),
        "coreset_tol=0": dict(coreset_tol=0),
        "steps of the papers": PUBLISHED,
        "steps of the papers, 4 initial E-steps": PUBLISHED | dict(initial_e_steps=4),
    }
    for key, chosen in chosen_sets(run, ("KDD", "RNA", "SONG")).items():
        data, row = chosen.prepared(run, key)
        is_drawn = row.setting.random_candidate
        name = f"steps of the papers, {'no' if is_drawn else 'a'} candidate drawn at random"
        changes = variants | {name: PUBLISHED | dict(random_candidate=not is_drawn)}
        points = {name: Point(VC_GMM, "", replace(row.setting, **change)) for name, change in changes.items()}
        _options(run, key, f"vc-GMM, {row.title}", data, points)


def make_initial_e_steps(run: PaperRun) -> None:
    """E-steps before the first M-step, on RNA."""
    for key, chosen in chosen_sets(run, ("RNA",)).items():
        data, row = chosen.prepared(run, key)
        setting = replace(row.setting, **PUBLISHED)
        sizes = {"C' = G = 3": {}, "C' = G = 5": dict(n_candidates=5, n_neighbors=5)}
        points = {OWN_ALL_ROWS: Point(OWN_ALL_ROWS, "", row.setting)} | {
            f"var-GMM-S, {name}, {n} E-steps": Point(
                VAR_GMM_S, "", replace(setting, initial_e_steps=n, random_candidate=False, **change)
            )
            for name, change in sizes.items()
            for n in INITIAL_E_STEPS[: 2 if run.quick else None]
        }
        _options(run, key, f"the papers' steps, {row.title}", data, points)


def make_thresholds(run: PaperRun) -> None:
    """Smaller and larger thresholds of convergence."""
    for key, chosen in chosen_sets(run, ("KDD",)).items():
        data, row = chosen.prepared(run, key)
        points = {
            f"{name}, {tol:g}": Point(name, "", replace(row.setting, tol=tol, coreset_tol=0))
            for name in (OWN_ALL_ROWS, VC_GMM)
            for tol in TOLERANCES
        }
        _options(run, key, row.title, data, points)


def _options(run: PaperRun, key: str, about: str, data: Path, points: Mapping[str, Point]) -> None:
    """Print a table of settings; errors are relative to the first line's."""
    title = f"{key}: {about}"
    summaries = measure_points(run, title, data, points)
    if not summaries:
        return
    first, runs = next(iter(summaries.values())), run.report.data["rows"][title]

    def cells(name: str, s: Result) -> list[str]:
        return [
            error_cell([one["error"] for one in runs[name]], first["error"]),
            f"{s['cpu_seconds']:.2f}",
            f"{s['n_distances']:.2e}",
            f"{s['n_iter']:.0f}",
        ]

    headers = ["", "error relative to the first line", "CPU s", "distances", "iterations"]
    lines = [[name, *cells(name, summary)] for name, summary in summaries.items()]
    run.report.table(f"{key}. {about}", headers, lines)
    run.report.save()
