"""Compare the speed of this checkout with that of another commit.

    COTERIE_DATA=folder python -m benchmarks.regressions REV [--rows NAME ...] [--repeats 3] [--instruction-set avx2]

Builds REV into `build/regressions`, then runs each row in fresh processes, the two commits in turns, from the same
seeds and with two threads. A row is slower if its least CPU seconds are more than 3% above those of REV; a row that one
of the commits cannot run is named with its error. Exits with 1 where a row is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ROWS", "main"]

ROOT = Path(__file__).parents[1]
BUILDS = ROOT / "build" / "regressions"
# Slower by more than this share is a regression.
TOLERANCE = 0.03
# A fit this short, in seconds, is repeated for a second and the least time counts.
SHORT = 0.2

Fit = Callable[[np.ndarray], object]


def _k_means(k: int, max_iter: int, algorithm: str = "auto") -> Fit:
    def fit(X: np.ndarray) -> object:
        from coterie import KMeans

        start = X[np.linspace(0, len(X) - 1, k).astype(int)]
        return KMeans(k, init=start, max_iter=max_iter, tol=0, algorithm=algorithm, n_threads=2).fit(X)

    return fit


def _estimator(name: str, *sizes: Any, **options: Any) -> Fit:
    def fit(X: np.ndarray) -> object:
        import coterie

        return getattr(coterie, name)(*sizes, random_state=0, n_threads=2, **options).fit(X)

    return fit


def _convex_path(X: np.ndarray) -> object:
    from coterie import ConvexClusterPath

    return ConvexClusterPath(n_neighbors=125, n_gammas=50, n_threads=2).fit(X)


def _graph(X: np.ndarray) -> object:
    from coterie.graphs import nearest_neighbors

    return nearest_neighbors(X, 15, random_state=0, n_threads=2)


def _predict_one(X: np.ndarray) -> object:
    # The model is fitted once, by the run that is not counted.
    model = _MODELS.setdefault("k-means", _estimator("KMeans", 3)(X))
    return model.predict(X[:1])  # type: ignore[attr-defined]


def _import(X: np.ndarray) -> object:
    return subprocess.run([sys.executable, "-c", "import coterie"], check=True)


_MODELS: dict[str, object] = {}

# A name of `_data`, and what is timed.
ROWS: dict[str, tuple[str, Fit]] = {
    "k-means, 1M x 32, k = 1,000, 25 iterations": ("million", _k_means(1000, 25)),
    "the same, Yinyang": ("million", _k_means(1000, 25, "yinyang")),
    "k-means, 100,000 x 768, k = 1,000, 10 iterations": ("embeddings", _k_means(1000, 10)),
    "k-means, MNIST, k = 50, to convergence": ("mnist", _k_means(50, 300)),
    "the same, Elkan": ("mnist", _k_means(50, 300, "elkan")),
    "nested mini-batches, MNIST, k = 100": ("mnist", _estimator("NestedMiniBatchKMeans", 100)),
    "mixture of a coreset, MNIST, C = 500": (
        "mnist", _estimator("TruncatedGaussianMixture", 500, coreset_size=20_000),
    ),
    "Laplacian K-modes, optdigits": ("optdigits", _estimator("LaplacianKModes", 10)),
    "total variation, optdigits, 30 runs": (
        "optdigits", _estimator("TotalVariationClustering", 10, n_init=30),
    ),
    "neighbor graph, MNIST, 15 neighbors": ("mnist", _graph),
    "convex path, 500 x 2, 125 neighbors": ("plane", _convex_path),
    "k-means, 150 x 4, k = 3": ("iris", _estimator("KMeans", 3)),
    "labels of one row": ("iris", _predict_one),
    "import": ("iris", _import),
}  # fmt: skip


def _data(name: str) -> Path:
    """Write the rows of a name as .npy, unless they are there, and return the path."""
    from sklearn.datasets import load_iris

    from benchmarks.harness.data.generated import blobs, embeddings
    from benchmarks.harness.data.images import mnist
    from benchmarks.harness.data.labeled import labeled

    makers: dict[str, Callable[[], np.ndarray]] = {
        "million": lambda: blobs(1_000_000),
        "embeddings": lambda: embeddings(100_000),
        "mnist": lambda: mnist(70_000),
        "optdigits": lambda: labeled("optdigits")[0].astype(np.float32),
        "plane": lambda: blobs(500)[:, :2],
        "iris": lambda: load_iris().data,
    }
    path = BUILDS / f"{name}.npy"
    if not path.exists():
        np.save(path, makers[name]())
    return path


def measure(row: str, data: Path, instruction_set: str) -> float:
    """Return the CPU seconds of a row, in this process and those it starts."""
    X, fit = np.load(data), ROWS[row][1]
    if instruction_set:
        from coterie import _kernels

        _kernels.use_instruction_set(instruction_set)
    # Starts threads and chooses code paths; a run this short is also measured more than once.
    seconds = _cpu_seconds(fit, X) if len(X) < 10_000 else _cpu_seconds(_k_means(3, 1), X[:1000])
    begin = time.perf_counter()
    best = _cpu_seconds(fit, X)
    while seconds < SHORT and time.perf_counter() - begin < 1:
        best = min(best, _cpu_seconds(fit, X))
    return best


def _cpu_seconds(fit: Fit, X: np.ndarray) -> float:
    before = _clock()
    fit(X)
    return _clock() - before


def _clock() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def build(revision: str) -> Path:
    """Install a commit into a folder, unless it is there, and return the folder."""
    commit = subprocess.check_output(
        ["git", "rev-parse", "--short", revision + "^{commit}"], cwd=ROOT, text=True
    ).strip()
    site, tree = BUILDS / commit, BUILDS / f"{commit}-source"
    if not site.exists():
        subprocess.run(["git", "worktree", "add", "--force", "--detach", tree, commit], cwd=ROOT, check=True)
        try:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, tree]
            subprocess.run(command, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    return site


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each row; return 1 where one is slower."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regressions", description=__doc__.split("\n")[0]
    )
    parser.add_argument("revision", help="the commit to compare with")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each commit, in turns")
    parser.add_argument("--instruction-set", default="", help="baseline, avx2 or avx512; default: the best")
    options = parser.parse_args(arguments)

    sites = {"before": build(options.revision), "now": ROOT / "src"}
    print(f"{'row':50} {'before, s':>10} {'now, s':>10} {'ratio':>6}")
    slower = False
    for row in options.rows:
        data = _data(ROWS[row][0])
        seconds: dict[str, float] = {}
        errors = []
        for _ in range(options.repeats):
            for name, site in sites.items():
                done = subprocess.run(
                    [sys.executable, __file__, json.dumps([row, str(data), options.instruction_set])],
                    env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True, text=True,
                )  # fmt: skip
                if done.returncode:
                    errors.append(f"{name}: {(done.stderr.strip() or '?').splitlines()[-1]}")
                else:
                    seconds[name] = min(seconds.get(name, np.inf), float(done.stdout.split()[-1]))
        if errors:
            print(f"{row:50} {errors[0]}")
            continue
        ratio = seconds["now"] / seconds["before"]
        slower |= ratio > 1 + TOLERANCE
        mark = "  slower" if ratio > 1 + TOLERANCE else ""
        print(f"{row:50} {seconds['before']:10.4g} {seconds['now']:10.4g} {ratio:6.2f}{mark}", flush=True)
    return int(slower)


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("["):
        row, data, instruction_set = json.loads(sys.argv[1])
        print(measure(row, Path(data), instruction_set))
    else:
        sys.exit(main())
