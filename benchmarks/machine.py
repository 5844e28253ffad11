"""The limits of this machine: floating-point rate of the BLAS product and memory bandwidth.

python -m benchmarks.machine [--quick]
"""

from __future__ import annotations

import argparse
from contextlib import closing

import numpy as np

from benchmarks.harness.limits import CUBE, QUICK_CUBE, gemm_rate, memory_bandwidth
from benchmarks.harness.processes import FreshProcesses, KeptProcess, Processes
from benchmarks.harness.reporting import Report, command_line

THREADS = (1, 2)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.machine", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="small products, to see that everything runs")
    return parser


def measure_limits(report: Report, processes: Processes, cube: tuple[int, int, int]) -> None:
    """Measure and print for one and two threads."""
    gemm = {
        (library, dtype.__name__, n): processes.run(gemm_rate, n, cube, dtype, library)
        for library in ("numpy", "scipy")
        for dtype in (np.float32, np.float64)
        for n in THREADS
    }
    rows = [
        [
            f"{library} {dtype} product, {cube[0]} cubed (GFLOP/s)",
            f"{rate:.0f}",
            f"{gemm[library, dtype, 2]:.0f}",
        ]
        for (library, dtype, n), rate in gemm.items()
        if n == 1
    ]
    bandwidth = {n: processes.run(memory_bandwidth, n) for n in THREADS}
    rows += [
        [f"memory {kind} (GB/s)", *(f"{bandwidth[n][kind]:.1f}" for n in THREADS)]
        for kind in ("read", "copy")
    ]
    report.table("Limits of this machine", ["", "1 thread", "2 threads"], rows)
    report.data["gemm_gflops"] = {" ".join(map(str, key)): rate for key, rate in gemm.items()}
    report.data["bandwidth_gb_s"] = bandwidth
    report.say("", f"Written to {report.save().name}")


def main() -> None:
    """Measure what the command line asks for."""
    quick = parser().parse_args().quick
    report = Report("machine", command_line("machine"))
    with closing(KeptProcess() if quick else FreshProcesses()) as processes:
        measure_limits(report, processes, QUICK_CUBE if quick else CUBE)


if __name__ == "__main__":
    main()
