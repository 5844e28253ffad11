"""A coreset of a file larger than what may be held."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.cells import TIME_HEADERS, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.tables import save_huge
from benchmarks.harness.measuring import measured, peak_memory, seconds_of
from benchmarks.harness.rounds import Result, apart
from benchmarks.mixture.benchmark import MixtureBenchmark

HUGE_COLUMNS, HUGE_CORESET = 64, 1_000_000
HUGE_MARGIN = 1 << 30  # free space that is left beside the file
READ_BYTES = 16 << 20

READERS = ("machine: plain reads", "coterie, open_rows", "coterie, memory map")


def run_huge(path: Path, reader: str, size: int, n_threads: int) -> dict[str, Any]:
    """Draw a coreset from a file, or read it as often as that does, from its beginning to its end.

    The peak is what lies above the interpreter with coterie imported.
    """
    from coterie import open_rows
    from coterie.coresets import lightweight_coreset

    lightweight_coreset(np.ones((4096, 8), np.float32), 100, random_state=0, n_threads=n_threads)
    forget(path)
    if reader == READERS[0]:
        with measured() as cost:
            passes = [seconds_of(partial(_read, path)) for _ in range(2)]
        return vars(cost) | {"coreset_bytes": 0, "first_seconds": passes[0], "second_seconds": passes[1]}
    rows = open_rows(path) if reader == READERS[1] else np.load(path, mmap_mode="r")
    with measured() as cost:
        found, _, _ = lightweight_coreset(rows, size, random_state=0, n_threads=n_threads)
    return vars(cost) | {"coreset_bytes": found.nbytes, "process_peak_bytes": peak_memory()}


def _read(path: Path) -> None:
    buffer = bytearray(READ_BYTES)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def forget(path: Path) -> None:
    """Ask the system to drop what its cache holds of a file, where it can be asked."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


# --- tables


def measure_huge(benchmark: MixtureBenchmark, key: str) -> None:
    """Draw a coreset from a generated file, if there is room for it."""
    n_rows = int(benchmark.options.huge_gb * 1e9) // (4 * HUGE_COLUMNS)
    size = 4 * HUGE_COLUMNS * n_rows
    free = shutil.disk_usage(benchmark.folder).free
    if size + HUGE_MARGIN > free:
        benchmark.report.say(
            "",
            f"Huge file not written: it takes {size / 1e9:.1f} GB and a margin of {HUGE_MARGIN / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free. Give --huge-gb or --folder.",
        )
        return
    path = benchmark.isolated(save_huge, benchmark.folder, n_rows, HUGE_COLUMNS)
    try:
        _compare(benchmark, key, path, n_rows)
    finally:
        path.unlink()


def _compare(benchmark: MixtureBenchmark, key: str, path: Path, n_rows: int) -> None:
    size, n_drawn = path.stat().st_size, min(HUGE_CORESET, n_rows // 10)
    title = (
        f"a coreset of {n_drawn:,} rows from a file of {size / 1e9:.1f} GB, float32, {HUGE_COLUMNS} columns"
    )
    summaries = benchmark.measure(
        f"{key}: {title}",
        benchmark.select(dict.fromkeys(READERS, Contender("coterie", run_huge))),
        lambda reader, _: benchmark.isolated(run_huge, path, reader, n_drawn, benchmark.options.threads),
        repeats=benchmark.options.heavy_seeds,
        group_of=apart,
    )
    plain = summaries.get(READERS[0])

    def cells(reader: str, s: Result) -> list[str]:
        return [
            *time_cells(s),
            f"{n_rows / s['seconds'] / 1e6:.2f}",
            f"{2e-9 * size / s['seconds']:.2f}",
            f"{plain['seconds'] / s['seconds']:.0%}" if plain else "-",
            f"{s['peak_bytes'] / 1e6:.0f}",
            f"{s['coreset_bytes'] / 1e6:.0f}",
        ]

    headers = [*TIME_HEADERS, "million rows/s", "GB/s", "of plain reads"]
    headers += ["MB beyond the interpreter", "MB of the coreset"]
    benchmark.table(key, title, headers, summaries, cells)
    if plain:
        rates = [f"{size / plain[name] / 1e9:.2f} GB/s" for name in ("first_seconds", "second_seconds")]
        benchmark.report.say(
            "", f"Plain reads, in pieces of 16 MiB: {rates[0]} the first time, {rates[1]} the second."
        )
    _say_cache(benchmark, size)


def _say_cache(benchmark: MixtureBenchmark, size: int) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    fits = "fits into memory, second readings may be" if size < memory else "is larger than memory: none is"
    benchmark.report.say(
        "",
        "Everybody reads the file twice from its beginning to its end; GB/s counts both, rows count once. Before",
        "each run the system was asked to drop what it had cached of the file (a virtual disk's host may still",
        f"have it). The file of {size / 2**30:.1f} GiB {fits} served from the cache of {memory / 2**30:.1f} GiB.",
    )
