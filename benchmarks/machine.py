"""The limits of this machine: floating-point rate of the BLAS product and memory bandwidth.

python -m benchmarks.machine [--quick]
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.measuring import Processes, seconds_of
from benchmarks.harness.reporting import Report, command_line

SIDE, QUICK_SIDE = 2048, 512
BANDWIDTH_BYTES = 2**28
REPEATS = 7
THREADS = (1, 2)


def sgemm_rate(n_threads: int, side: int) -> float:
    """Return the rate of NumPy's float32 product of two square matrices in GFLOP/s."""
    left, right = np.random.default_rng(0).random((2, side, side), dtype=np.float32)
    out = np.empty_like(left)
    with threadpool_limits(n_threads, user_api="blas"):
        return 2e-9 * side**3 / best_seconds(lambda: np.matmul(left, right.T, out=out))


def memory_bandwidth(n_threads: int) -> dict[str, float]:
    """Return GB/s: ``read`` (sum of products over one array), ``copy`` (bytes read plus bytes written)."""
    source = np.ones(BANDWIDTH_BYTES // 4, np.float32)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(source, n_threads), np.array_split(target, n_threads)))
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        # NumPy releases the interpreter lock in both calls, so Python threads suffice.
        read = best_seconds(lambda: list(pool.map(lambda part: np.dot(part[0], part[0]), parts)))
        copy = best_seconds(lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts)))
    return {"read": 1e-9 * source.nbytes / read, "copy": 2e-9 * source.nbytes / copy}


def best_seconds(function: Callable[[], object]) -> float:
    """Return the shortest of several calls, after one that is not counted: the limit, not the average."""
    return min([seconds_of(function) for _ in range(1 + REPEATS)][1:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks.machine", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small products, to see that everything runs")
    side = QUICK_SIDE if parser.parse_args().quick else SIDE
    report, processes = Report("machine", command_line("machine")), Processes()
    rates = [processes.run(sgemm_rate, n, side) for n in THREADS]
    bandwidths = [processes.run(memory_bandwidth, n) for n in THREADS]
    rows = [[f"float32 product, {side} cubed (GFLOP/s)", *(f"{rate:.0f}" for rate in rates)]]
    for kind in ("read", "copy"):
        rows.append([f"memory {kind} (GB/s)", *(f"{found[kind]:.1f}" for found in bandwidths)])
    report.table("Limits of this machine", ["", "1 thread", "2 threads"], rows)
    report.data |= {"sgemm_gflops": rates, "bandwidth_gb_s": bandwidths}
    report.say("", f"Written to {report.save().name}")
