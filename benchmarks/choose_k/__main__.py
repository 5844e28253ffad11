"""Run the benchmark of `choose_k`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import numpy as np

import benchmarks.choose_k
from benchmarks.choose_k.cases import KNOWN, NAMED, NONE, Case, draw_blobs
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.options import SystemParser
from coterie import choose_k


def choose_all(benchmark: Benchmark, key: str, cases: Sequence[Case]) -> None:
    """Choose for every case, without the curves, which do not decide."""
    cases = cases[:2] if benchmark.quick else cases
    lines, n_right = [], 0
    for case in cases:
        rows = case.draw()
        began = time.process_time()
        found = choose_k(rows, (2, 100), max_time=1e-9, random_state=0, n_threads=benchmark.threads)
        seconds = time.process_time() - began
        n_right += found.n_clusters == case.n_clusters
        low, high = found.interval
        answer, wanted = str(found.n_clusters or "none"), str(case.n_clusters or "none")
        shown = answer if answer == wanted else f"**{answer}**"
        lines.append([case.name, wanted, shown, f"{low}-{high}", f"{seconds:.2f}"])
    headers = ["data", "clusters", "found", "half samples", "CPU s"]
    benchmark.report.table(key, headers, lines)
    benchmark.say(f"Right: {n_right} of {len(cases)}.")


def huge(benchmark: Benchmark, key: str) -> None:
    """Time the whole choice, curves and all, on many rows."""
    n_rows = 20_000 if benchmark.quick else 1_000_000
    rows = draw_blobs(39_100, 40, 32, n_rows, sizes=3, noise=0.02).astype(np.float32)
    began, cpu = time.perf_counter(), time.process_time()
    found = choose_k(rows, (2, 100), random_state=0, n_threads=benchmark.threads)
    seconds = time.perf_counter() - began
    headers = ["data", "found", "curves", "seconds", "CPU s"]
    line = [
        f"{len(rows):,} x {rows.shape[1]}, 40 clusters", str(found.n_clusters), str(len(found.criteria)),
        f"{seconds:.1f}", f"{time.process_time() - cpu:.1f}",
    ]  # fmt: skip
    benchmark.report.table(key, headers, [line])


CASES = {"known": KNOWN, "none": NONE, "named": NAMED}
STEPS = {key: partial(choose_all, cases=cases) for key, cases in CASES.items()} | {"huge": huge}

if __name__ == "__main__":
    parser = SystemParser("choose_k", benchmarks.choose_k.__doc__, list(STEPS), rounds=None)
    run_steps("choose_k", parser.read(), STEPS)
