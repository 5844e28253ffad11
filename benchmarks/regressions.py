"""Compare the CPU seconds of two builds of Coterie, and whether their results are bit-identical.

    COTERIE_DATA=folder python -m benchmarks.regressions REV [--rows NAME ...] [--repeats 3] [--instruction-set avx2]
    python -m benchmarks.regressions gcc=build/gcc clang=build/clang --rows lloyd elkan

A commit REV is built into `build/regressions` and compared with this checkout. NAME=FOLDER is a folder with the
package, such as `CXX=clang++ CC=clang pip install --target FOLDER .` makes it. Rows run in fresh processes, the builds
in turns, from the same seeds. A row is slower if its least CPU seconds are more than 3% above those of the first build;
a row that a build cannot run is named with its error. Exits with 1 where a row is slower.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from benchmarks.harness.contenders import model_of
from benchmarks.harness.data import tables
from benchmarks.harness.data.files import labeled
from benchmarks.harness.data.images import mnist

ROOT = Path(__file__).parents[1]
BUILDS = ROOT / "build" / "regressions"
# Slower by more than this share is a regression.
TOLERANCE = 0.03
# A fit this short, in seconds, is repeated for a second and the least time counts.
SHORT = 0.2

Fit = Callable[[np.ndarray], Any]


def _k_means(X: np.ndarray, k: int, max_iter: int, algorithm: str = "auto", n_threads: int = 2) -> Any:
    start = X[np.linspace(0, len(X) - 1, k).astype(int)]
    options: dict[str, Any] = dict(max_iter=max_iter, tol=0, algorithm=algorithm, n_threads=n_threads)
    return model_of("coterie.KMeans", k, init=start, **options).fit(X).cluster_centers_


def _fit(name: str, *sizes: Any, result: str = "labels_", **options: Any) -> Fit:
    """Return what fits an estimator and returns a part of its result."""
    options = {"random_state": 0, "n_threads": 2} | options
    return lambda X: getattr(model_of(f"coterie.{name}", *sizes, **options).fit(X), result)


def _mixture(X: np.ndarray) -> Any:
    options = {"result": "means_", "init": X[:500], "max_iter": 8, "n_threads": 1}
    return _fit("TruncatedGaussianMixture", 500, **options)(X)


def _neighbors(X: np.ndarray, method: str = "auto", n_threads: int = 2) -> Any:
    from coterie.graphs import nearest_neighbors

    found = nearest_neighbors(X, 15, method=method, random_state=0, n_threads=n_threads)
    # Older commits return a pair.
    return found[1] if isinstance(found, tuple) else found.square_distances


@cache
def _model_of_iris() -> Any:
    return model_of("coterie.KMeans", 3, random_state=0).fit(load_iris().data)


def _import(X: np.ndarray) -> Any:
    subprocess.run([sys.executable, "-c", "import coterie"], check=True)
    return []


def _blobs(n_rows: int, n_columns: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(50, n_columns))
    return (centers[rng.integers(50, size=n_rows)] + rng.normal(size=(n_rows, n_columns))).astype(np.float32)


# What makes the rows of each name.
DATA: dict[str, Callable[[], np.ndarray]] = {
    "million": lambda: tables.blobs(1_000_000),
    "embeddings": lambda: tables.embeddings(100_000),
    "mnist": lambda: mnist(70_000),
    "optdigits": lambda: labeled("optdigits")[0],
    "plane": lambda: tables.blobs(500)[:, :2],
    "iris": lambda: load_iris().data,
    **{
        f"blobs-{d}": partial(_blobs, n, d)
        for n, d in ((6_000, 784), (20_000, 62), (8_000, 200), (3_000, 16))
    },
    "blobs-2": lambda: _blobs(12_000, 2).astype(np.float64),
}
# A name of `DATA`, and what is timed. The last rows take less than a second each, with one thread.
ROWS: dict[str, tuple[str, Fit]] = {
    "k-means, 1M x 32, k = 1,000, 25 iterations": ("million", partial(_k_means, k=1000, max_iter=25)),
    "the same, Yinyang": ("million", partial(_k_means, k=1000, max_iter=25, algorithm="yinyang")),
    "k-means, 100,000 x 768, k = 1,000, 10 iterations": ("embeddings", partial(_k_means, k=1000, max_iter=10)),
    "k-means, MNIST, k = 50, to convergence": ("mnist", partial(_k_means, k=50, max_iter=300)),
    "the same, Elkan": ("mnist", partial(_k_means, k=50, max_iter=300, algorithm="elkan")),
    "nested mini-batches, MNIST, k = 100": ("mnist", _fit("NestedMiniBatchKMeans", 100)),
    "mixture of a coreset, MNIST, C = 500": ("mnist", _fit("TruncatedGaussianMixture", 500, coreset_size=20_000)),
    "Laplacian K-modes, optdigits": ("optdigits", _fit("LaplacianKModes", 10)),
    "total variation, optdigits, 30 runs": ("optdigits", _fit("TotalVariationClustering", 10, n_init=30)),
    "neighbor graph, MNIST, 15 neighbors": ("mnist", _neighbors),
    "convex path, 500 x 2, 125 neighbors": (
        "plane", _fit("ConvexClusterPath", result="centroids_path_", n_neighbors=125, n_gammas=50),
    ),
    "k-means, 150 x 4, k = 3": ("iris", _fit("KMeans", 3)),
    # The model is fitted once, by the run that is not counted.
    "labels of one row": ("iris", lambda X: _model_of_iris().predict(X[:1])),
    "import": ("iris", _import),
    **{
        name: ("blobs-784", partial(_k_means, k=500, max_iter=4, algorithm=name, n_threads=1))
        for name in ("lloyd", "elkan", "yinyang")
    },
    "mixture": ("blobs-62", _mixture),
    "exact graph": ("blobs-200", partial(_neighbors, method="exact", n_threads=1)),
    "approximate graph": ("blobs-200", partial(_neighbors, method="approximate", n_threads=1)),
    "total variation": (
        "blobs-16", _fit("TotalVariationClustering", 10, result="memberships_", n_init=1, n_threads=1),
    ),
    "convex": ("blobs-2", _fit("ConvexClustering", 1.0, result="centroids_", max_iter=300, n_threads=1)),
}  # fmt: skip


def _data(name: str) -> Path:
    """Write the rows of a name as .npy, unless they are there, and return the path."""
    path = BUILDS / f"{name}.npy"
    if not path.exists():
        BUILDS.mkdir(parents=True, exist_ok=True)
        np.save(path, DATA[name]())
    return path


def measure(row: str, data: Path, instruction_set: str) -> tuple[float, str]:
    """Return the CPU seconds of a row, in this process and those it starts, and a hash of its result."""
    warnings.simplefilter("ignore")
    X, fit = np.load(data), ROWS[row][1]
    if instruction_set:
        from coterie import _kernels

        _kernels.use_instruction_set(instruction_set)
    # Starts threads, imports what a first fit imports, and chooses code paths.
    _ = fit(X) if X.size < 10**7 else _k_means(X[:1000], k=3, max_iter=1)
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
    parser = argparse.ArgumentParser("python -m benchmarks.regressions", description=__doc__.splitlines()[0])
    parser.add_argument("builds", nargs="+", help="a commit to compare with, or two of NAME=FOLDER")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each build, in turns")
    parser.add_argument(
        "--instruction-set", default="", help="baseline, avx2, avx512 or avx512vnni; default: the best"
    )
    options = parser.parse_args(arguments)

    if len(options.builds) == 1:
        sites = {"before": build(options.builds[0]), "now": ROOT / "src"}
    else:
        sites = {name: Path(folder) for name, folder in (one.split("=", 1) for one in options.builds)}
    first, second = sites
    print(f"{'row':50} {f'{first}, s':>10} {f'{second}, s':>10} {'ratio':>6}")
    slower = False
    for row in options.rows:
        data = _data(ROWS[row][0])
        seconds: dict[str, float] = {}
        hashes, errors = set(), []
        for _ in range(options.repeats):
            for name, site in sites.items():
                asked = json.dumps([row, str(data), options.instruction_set])
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.regressions", asked],
                    cwd=ROOT, env=os.environ | {"PYTHONPATH": str(site.resolve())}, capture_output=True, text=True,
                )  # fmt: skip
                if done.returncode:
                    errors.append(f"{name}: {(done.stderr.strip() or '?').splitlines()[-1]}")
                else:
                    taken, bits = done.stdout.split()[-2:]
                    seconds[name] = min(seconds.get(name, np.inf), float(taken))
                    hashes.add(bits)
        if errors:
            print(f"{row:50} {errors[0]}")
            continue
        ratio = seconds[second] / seconds[first]
        slower |= ratio > 1 + TOLERANCE
        marks = "  slower" * (ratio > 1 + TOLERANCE) + "  other bits" * (len(hashes) > 1)
        print(f"{row:50} {seconds[first]:10.4g} {seconds[second]:10.4g} {ratio:6.2f}{marks}", flush=True)
    return int(slower)


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("["):
        row, data, instruction_set = json.loads(sys.argv[1])
        print(*measure(row, Path(data), instruction_set))
    else:
        sys.exit(main())
