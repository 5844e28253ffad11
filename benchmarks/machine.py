"""The limits of this machine: floating-point rate of the BLAS product and memory bandwidth.

python -m benchmarks.machine
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness.limits import CUBE, gemm_rate, memory_bandwidth
from benchmarks.harness.measuring import isolated
from benchmarks.harness.reporting import Report


def main() -> None:
    """Measure and print for one and two threads."""
    report = Report("machine", "python -m benchmarks.machine")
    gemm = {
        (library, dtype.__name__, n): isolated(gemm_rate, n, CUBE, dtype, library)
        for library in ("numpy", "scipy")
        for dtype in (np.float32, np.float64)
        for n in (1, 2)
    }
    rows = [
        [f"{library} {dtype} product, 2048 cubed (GFLOP/s)", f"{rate:.0f}", f"{gemm[library, dtype, 2]:.0f}"]
        for (library, dtype, n), rate in gemm.items()
        if n == 1
    ]
    bandwidth = {n: isolated(memory_bandwidth, n) for n in (1, 2)}
    rows += [
        [f"memory {kind} (GB/s)", *(f"{bandwidth[n][kind]:.1f}" for n in (1, 2))] for kind in ("read", "copy")
    ]
    report.table("Limits of this machine", ["", "1 thread", "2 threads"], rows)
    report.data["gemm_gflops"] = {" ".join(map(str, key)): rate for key, rate in gemm.items()}
    report.data["bandwidth_gb_s"] = bandwidth
    report.say("", f"Written to {report.save().name}")


if __name__ == "__main__":
    main()
