"""The figures and tables of Hirschberger, Forster and Lücke (2019, 2022); here the tables, and Figure S.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score, pairwise_distances_argmin

from benchmarks.harness.cells import number
from benchmarks.harness.papers import Item, PaperRun
from benchmarks.harness.reporting import lines_of
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
from benchmarks.mixture.fits import Point, error_cell, fitted
from benchmarks.mixture.paper_costs import make_costs, make_figure_s1
from benchmarks.mixture.paper_images import make_table_2
from benchmarks.mixture.paper_sets import DATA, STANDS_IN, PaperSet, chosen_sets
from benchmarks.mixture.paper_sweeps import make_figure_1, make_figure_s2, measure_set
from benchmarks.mixture.settings import PUBLISHED, Setting

# The lines of Table 1, and their names there.
LINES = {
    REFERENCE: "k-means++, scikit-learn", OWN_ALL_ROWS: "k-means++, coterie", VAR_GMM_S: "var-GMM-S",
    PEER_CHAIN: "LWCS, scikit-learn", OWN_CHAIN: "LWCS, coterie", VC_GMM: "vc-GMM",
    PUBLISHED_STEPS: "vc-GMM, the papers' steps",
}  # fmt: skip
INITIAL_E_STEPS = (1, 2, 4, 8)
TOLERANCES = (1e-3, 1e-4, 1e-5)
# The contenders of Figure S.3 on coresets, and on all rows.
PARTITIONED = ({"k-means": OWN_CHAIN, "mixture": VC_GMM}, {"k-means": OWN_ALL_ROWS, "mixture": VAR_GMM_S})
REFERENCE_SEED = 1000  # of the partition that others are compared with, in Figure S.3


def make_table_1(run: PaperRun) -> None:
    """Errors and speed-ups of all, above the paper's."""
    run.say(
        'Lines "paper" are published, for the data of the paper. Error and speed-ups are relative to '
        "k-means++ of coterie; in these lines, of the paper. Coreset and seeding: their share of the time. "
        "CPU seconds of one thread are without the labels of all rows. k-means++ and var-GMM-S fit all "
        "rows. k-means++ is greedy, all other fits are seeded by AFK-MC2.",
    )
    wanted = run.select({name: FITS[name] for name in LINES})
    for key, chosen in chosen_sets(run).items():
        names = [name for name in wanted if name != REFERENCE or not chosen.row.large]
        _table_1(run, key, chosen, names)


def _table_1(run: PaperRun, key: str, chosen: PaperSet, names: list[str]) -> None:
    data, row = chosen.prepared(run, key)
    title = f"{key}. {row.title}"
    points = {name: Point(name, "", row.setting) for name in names}
    summaries = measure_set(run, title, data, points)
    if OWN_ALL_ROWS not in summaries:
        return
    own = summaries[OWN_ALL_ROWS]
    measured = {
        "error": lambda s: f"{100 * (s['error'] / own['error'] - 1):+.2f}%",
        "speed-up": lambda s: f"{own['seconds'] / s['seconds']:.1f}",
        "speed-up in distances": lambda s: f"{own['n_distances'] / s['n_distances']:.1f}",
        "iterations": number("n_iter", ".0f"),
        "coreset and seeding": lambda s: f"{(s[CORESET] + s[SEEDING]) / s['seconds']:.0%}",
    }
    columns = measured | {"CPU s": number("seconds", ".3g")}
    rows = lines_of(columns, {LINES[name]: summary for name, summary in summaries.items()})
    rows += [[f"paper: {name}", *line, ""] for name, line in chosen.published.items()]
    run.report.table(title, ["", *columns], rows)
    if REFERENCE not in summaries:
        run.say(f"{LINES[REFERENCE]}: left out, because its seeding takes many minutes on these rows.")


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
        _options(run, f"{key}. vc-GMM, {row.title}", data, points)


def make_initial_e_steps(run: PaperRun) -> None:
    """E-steps before the first M-step, on RNA."""
    for key, chosen in chosen_sets(run, ("RNA",)).items():
        data, row = chosen.prepared(run, key)
        setting = replace(row.setting, **PUBLISHED, random_candidate=False)
        sizes = {"C' = G = 3": {}, "C' = G = 5": dict(n_candidates=5, n_neighbors=5)}
        points = {OWN_ALL_ROWS: Point(OWN_ALL_ROWS, "", row.setting)} | {
            f"var-GMM-S, {name}, {n} E-steps": Point(
                VAR_GMM_S, "", replace(setting, initial_e_steps=n, **change)
            )
            for name, change in sizes.items()
            for n in INITIAL_E_STEPS[: 2 if run.quick else None]
        }
        _options(run, f"{key}. the papers' steps, {row.title}", data, points)


def make_thresholds(run: PaperRun) -> None:
    """Smaller and larger thresholds of convergence."""
    for key, chosen in chosen_sets(run, ("KDD",)).items():
        data, row = chosen.prepared(run, key)
        points = {
            f"{name}, {tol:g}": Point(name, "", replace(row.setting, tol=tol, coreset_tol=0))
            for name in (OWN_ALL_ROWS, VC_GMM)
            for tol in TOLERANCES
        }
        _options(run, f"{key}. {row.title}", data, points)


def _options(run: PaperRun, title: str, data: Path, points: Mapping[str, Point]) -> None:
    """Print a table of settings; errors are relative to the first line's."""
    summaries = measure_set(run, title, data, points)
    if not summaries:
        return
    columns = {
        "error relative to the first line": error_cell(next(iter(summaries.values()))["error"]),
        "CPU s": number("cpu_seconds", ".2f"),
        "distances": number("n_distances", ".2e"),
        "iterations": number("n_iter", ".0f"),
    }
    run.report.columns(title, columns, summaries)


# --- Figure S.3


def run_partition(
    name: str, data: Path, setting: Setting, seed: int, n_threads: int, reference: Path
) -> dict[str, Any]:
    """Fit a contender and compare its hard partition of the tested rows with one that was saved."""
    X, tested = setting.split(np.load(data))
    fit, found = fitted(name, X, setting, seed, n_threads)
    labels = pairwise_distances_argmin(tested, fit.centers)
    return found | {"nmi": float(normalized_mutual_info_score(np.load(reference), labels))}


def save_partition(data: Path, setting: Setting, n_threads: int) -> Path:
    """Save the partition of the tested rows by k-means++ and Lloyd."""
    X, tested = setting.split(np.load(data))
    fit, _ = fitted(OWN_ALL_ROWS, X, setting, REFERENCE_SEED, n_threads)
    path = data.with_name(f"{data.stem}-partition.npy")
    np.save(path, pairwise_distances_argmin(tested, fit.centers))
    return path


def make_figure_s3(run: PaperRun) -> None:
    """Mutual information of partitions with that of k-means++."""
    for key, chosen in chosen_sets(run).items():
        _partitions(run, key, chosen)


def _partitions(run: PaperRun, key: str, chosen: PaperSet) -> None:
    data, row = chosen.prepared(run, key)
    reference = run.isolated(save_partition, data, row.setting, run.threads)
    settings = {"all rows": row.setting} | {
        f"N' = {size:,}": replace(row.setting, coreset_size=size)
        for size in chosen.swept(row)[: 2 if run.quick else None]
    }
    points = {
        point.name: point
        for size, setting in settings.items()
        for point in (
            Point(contender, size, setting) for contender in PARTITIONED[size == "all rows"].values()
        )
    }
    title = f"{key}. {row.title}"
    summaries = measure_set(run, title, data, points, call=run_partition, others=(reference,))
    rows = []
    for method in PARTITIONED[0]:
        found = (summaries.get(f"{PARTITIONED[size == 'all rows'][method]}, {size}") for size in settings)
        rows.append([method, *(f"{s['nmi']:.4f}" if s else "-" for s in found)])
    run.report.table(f"{key}. NMI with k-means++", ["", *settings], rows)


ITEMS = {
    "algorithm": Item(make_algorithm, ("mnist.npz", "cod_rna.npz"), STANDS_IN),
    "figure-1": Item(make_figure_1, DATA, STANDS_IN),
    "table-1": Item(make_table_1, DATA, STANDS_IN),
    "table-2": Item(make_table_2),
    "table-s1": Item(make_costs),
    "figure-s1": Item(make_figure_s1),
    "thresholds": Item(make_thresholds, ("mnist.npz",), STANDS_IN),
    "initial-e-steps": Item(make_initial_e_steps, ("cod_rna.npz",), STANDS_IN),
    "figure-s2": Item(make_figure_s2, ("mnist.npz",), STANDS_IN),
    "figure-s3": Item(make_figure_s3, DATA, STANDS_IN),
}
