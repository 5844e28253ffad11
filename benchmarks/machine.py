"""The limits of this machine: floating-point rate of the BLAS product and memory bandwidth.

python -m benchmarks.machine [--quick]
"""

from __future__ import annotations

import argparse

from benchmarks.harness.limits import CUBE, QUICK_CUBE, memory_bandwidth, sgemm_rate
from benchmarks.harness.processes import Processes
from benchmarks.harness.reporting import Report, command_line

THREADS = (1, 2)


def main() -> None:
    """Measure and print for one and two threads."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.machine", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="small products, to see that everything runs")
    cube = QUICK_CUBE if parser.parse_args().quick else CUBE
    report, processes = Report("machine", command_line("machine")), Processes()
    rates = [processes.run(sgemm_rate, n, cube) for n in THREADS]
    bandwidths = [processes.run(memory_bandwidth, n) for n in THREADS]
    rows = [[f"float32 product, {cube[0]} cubed (GFLOP/s)", *(f"{rate:.0f}" for rate in rates)]]
    rows += [
        [f"memory {kind} (GB/s)", *(f"{found[kind]:.1f}" for found in bandwidths)]
        for kind in ("read", "copy")
    ]
    report.table("Limits of this machine", ["", "1 thread", "2 threads"], rows)
    report.data |= {"sgemm_gflops": rates, "bandwidth_gb_s": bandwidths}
    report.say("", f"Written to {report.save().name}")


if __name__ == "__main__":
    main()
