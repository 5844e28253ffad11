"""Compare the CPU seconds of a commit with those of this checkout, and whether results are bit-identical.

    python -m benchmarks.regressions REV [--rows NAME ...] [--repeats 3] [--instruction-set avx2]

REV is built into `build/regressions`. Rows of work run in fresh processes, on one thread, the builds in turns, from the
same seeds. A row is slower if its least CPU seconds are more than 3% above those of REV; a row that a build cannot run
is named with its error. Exits with 1 where a row is slower.
"""

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.datasets import load_iris

from benchmarks.harness.contenders import model_of

ROOT = Path(__file__).parents[1]
TOLERANCE = 0.03  # Slower by more than this share is a regression.
SHORT = 0.2  # A fit this short, in seconds, is repeated for a second and the least time counts.

Fit = Callable[[np.ndarray], Any]


def _fit(name: str, *sizes: Any, result: str = "labels_", **options: Any) -> Fit:
    """Return what fits an estimator and returns a part of its result."""
    options = {"random_state": 0, "n_threads": 1} | options
    return lambda X: getattr(model_of(f"coterie.{name}", *sizes, **options).fit(X), result)


def _k_means(X: np.ndarray, algorithm: str) -> Any:
    start = X[np.linspace(0, len(X) - 1, 500).astype(int)]
    options = {"init": start, "max_iter": 4, "tol": 0, "algorithm": algorithm}
    return _fit("KMeans", 500, result="cluster_centers_", **options)(X)


def _mixture(X: np.ndarray) -> Any:
    return _fit("TruncatedGaussianMixture", 500, result="means_", init=X[:500], max_iter=8)(X)


def _neighbors(X: np.ndarray, method: str) -> Any:
    from coterie.graphs import nearest_neighbors

    return nearest_neighbors(X, 15, method=method, random_state=0, n_threads=1).square_distances


def _labels_of_one_row(X: np.ndarray) -> Any:
    model = model_of("coterie.KMeans", 3, random_state=0, n_threads=1).fit(X)
    return [model.predict(X[:1]) for _ in range(200)]


def _blobs(n_rows: int, n_columns: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(50, n_columns))
    return (centers[rng.integers(50, size=n_rows)] + rng.normal(size=(n_rows, n_columns))).astype(np.float32)


_SPARSE = partial(scipy.sparse.random, 10_000, 5_000, 0.01, "csr", np.float32, 0)
_WIDE, _GRAPH, _FEW = partial(_blobs, 6_000, 784), partial(_blobs, 8_000, 200), partial(_blobs, 3_000, 16)
# What makes the rows, and what is timed.
ROWS: dict[str, tuple[Callable[[], Any], Fit]] = {
    **{name: (_WIDE, partial(_k_means, algorithm=name)) for name in ("lloyd", "elkan", "yinyang")},
    **{f"{name}MiniBatchKMeans": (_WIDE, _fit(f"{name}MiniBatchKMeans", 100)) for name in ("", "Nested")},
    **{f"sparse {name}": (_SPARSE, _fit(name, 50)) for name in ("KMeans", "MiniBatchKMeans")},
    **{name: (_GRAPH, _fit(name, 40)) for name in ("KMeans", "BisectingKMeans")},
    "multilevel": (_GRAPH, lambda X: model_of("coterie.MultilevelGraphClustering", 40, n_threads=1).fit(X).labels_),
    "SizeConstrainedKMeans": (_FEW, _fit("SizeConstrainedKMeans", 20, size_min=100)),
    "mixture": (partial(_blobs, 20_000, 62), _mixture),
    "Laplacian K-modes": (_FEW, _fit("LaplacianKModes", 10)),
    "exact graph": (_GRAPH, partial(_neighbors, method="exact")),
    "approximate graph": (_GRAPH, partial(_neighbors, method="approximate")),
    "total variation": (_FEW, _fit("TotalVariationClustering", 10, result="memberships_", n_init=1)),
    "density": (_FEW, _fit("DensityClustering")),
    "convex": (
        lambda: _blobs(12_000, 2).astype(np.float64), _fit("ConvexClustering", 1.0, result="centroids_", max_iter=300),
    ),
    "k-means, 150 x 4, k = 3": (lambda: load_iris().data, _fit("KMeans", 3)),
    "labels of one row": (lambda: load_iris().data, _labels_of_one_row),
    "import": (load_iris, lambda _: subprocess.run([sys.executable, "-c", "import coterie"], check=True).returncode),
}  # fmt: skip


def measure(row: str, *instruction_set: str) -> tuple[float, str]:
    """Return the CPU seconds of a row, in this process and those it starts, and a hash of its result."""
    from coterie import _kernels

    warnings.simplefilter("ignore")
    for name in instruction_set:
        _kernels.use_instruction_set(name)
    make, fit = ROWS[row]
    X = make()
    fit(X)  # imports what a first fit imports, and chooses code paths
    begin = time.perf_counter()
    best, result = _timed(fit, X)
    while best < SHORT and time.perf_counter() - begin < 1:
        best = min(best, _timed(fit, X)[0])
    return best, hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()[:16]


def _timed(fit: Fit, X: np.ndarray) -> tuple[float, Any]:
    before = _clock()
    result = fit(X)
    return _clock() - before, result


def _clock() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def build(revision: str) -> Path:
    """Install a commit into a folder, unless it is there, and return the folder."""
    commit = subprocess.check_output(["git", "rev-parse", "--short", revision], cwd=ROOT, text=True).strip()
    site = ROOT / "build" / "regressions" / commit
    tree = site.with_name(f"{commit}-source")
    if not site.exists():
        subprocess.run(["git", "worktree", "add", "--force", "--detach", tree, commit], cwd=ROOT, check=True)
        try:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, tree]
            subprocess.run(command, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    return site


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.regressions", description=__doc__.splitlines()[0])
    parser.add_argument("revision", help="the commit to compare with")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each build, in turns")
    parser.add_argument("--instruction-set", nargs=1, default=[], metavar="NAME", help="default: the best")
    options = parser.parse_args(arguments)
    sites = {"before": build(options.revision), "now": ROOT / "src"}
    print(f"{'row':25} {'before, s':>10} {'now, s':>10} {'ratio':>6}")
    slower = False
    for row in options.rows:
        seconds: dict[str, float] = {}
        hashes, errors = set(), []
        for _ in range(options.repeats):
            for name, site in sites.items():
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.regressions", "--measure", row, *options.instruction_set],
                    cwd=ROOT, env=os.environ | {"PYTHONPATH": str(site.resolve())}, capture_output=True, text=True,
                )  # fmt: skip
                if done.returncode:
                    errors.append(f"{name}: {(done.stderr.strip() or '?').splitlines()[-1]}")
                else:
                    taken, bits = done.stdout.split()[-2:]
                    seconds[name] = min(seconds.get(name, np.inf), float(taken))
                    hashes.add(bits)
        if errors:
            print(f"{row:25} {errors[0]}")
            continue
        ratio = seconds["now"] / seconds["before"]
        slower |= ratio > 1 + TOLERANCE
        marks = "  slower" * (ratio > 1 + TOLERANCE) + "  other bits" * (len(hashes) > 1)
        print(f"{row:25} {seconds['before']:10.4g} {seconds['now']:10.4g} {ratio:6.2f}{marks}", flush=True)
    return int(slower)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(*measure(*sys.argv[2:]))
    else:
        sys.exit(main())
