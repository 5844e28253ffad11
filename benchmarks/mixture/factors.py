"""Mixtures of factor analyzers: likelihood of held-out rows, and the time of an iteration."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.generated import overlapping_blobs
from coterie import TruncatedGaussianMixture
from coterie.mixture.parameters import count_parameters

REG_COVAR = 1e-3
# Rows of the scaling, and the sizes from which one is changed.
N_ROWS, N_COMPONENTS, N_COLUMNS, N_FACTORS = 262_144, 500, 64, 5
COMPONENTS, COLUMNS, FACTORS = (500, 1000, 2000, 4000, 8000), (32, 64, 128, 256), (1, 2, 4, 8, 16)
# Iterations of a timed fit; components have factors from the sixth on, and one in three searches.
TIMED_ITERATIONS, LAST_ITERATIONS = 18, 9
# Beside scikit-learn.
FEW_ROWS, FEW_COMPONENTS, FEW_ITERATIONS = 16_384, (100, 500), 5


@dataclass(frozen=True)
class HeldOutSet:
    """Rows of which a sixth is held out."""

    file: str
    n_rows: int
    n_components: int
    scale: float | None  # what rows are divided by; None: columns are standardized
    n_factors: tuple[int, ...]
    is_full: bool = True  # whether scikit-learn fits full covariances

    def split(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows to fit and rows to score, at most n_rows together."""
        X = np.load(real_file(self.file))["X"]
        order = np.random.RandomState(0).permutation(len(X))[: min(n_rows, self.n_rows)]
        X = X[order].astype(np.float32)
        if self.scale is not None:
            X /= np.float32(self.scale)
        else:
            X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
        n_scored = len(X) // 6
        return X[n_scored:], X[:n_scored]


HELD_OUT = {
    "MNIST": HeldOutSet("mnist.npz", 24_000, 50, 255, (5, 10, 20), is_full=False),
    "CIFAR-10": HeldOutSet("cifar10_12k.npz", 12_000, 20, 255, (5, 10, 20), is_full=False),
    "optdigits": HeldOutSet("optdigits.npz", 5_620, 20, 16, (5, 10, 20)),
    "pendigits": HeldOutSet("pendigits.npz", 10_992, 20, 100, (4, 8, 12)),
    "shuttle": HeldOutSet("shuttle.npz", 58_000, 20, None, (1, 2, 4)),
}


def _fit_seconds(model: Any, X: np.ndarray) -> float:
    """Fit a model, which need not converge; return the CPU seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return time.process_time() - begin


def _mixture(n_components: int, covariance_type: str, n_factors: int, n_threads: int, **others: Any) -> Any:
    return TruncatedGaussianMixture(
        n_components, covariance_type=covariance_type, n_factors=n_factors, random_state=0, n_threads=n_threads,
        compute_labels=False, **others,
    )  # fmt: skip


def measure_factors(benchmark: Benchmark, key: str) -> None:
    """Print the tables."""
    rows = [line for name in HELD_OUT for line in _held_out(benchmark, name)]
    title = f"factors: mean log-likelihood of a held-out sixth, reg_covar = {REG_COVAR:g}"
    headers = ["data", "model", "fitted rows", "held-out rows", "iterations", "CPU s"]
    benchmark.report.table(title, headers, rows)
    _scaling(benchmark)
    _beside_scikit_learn(benchmark)


def _held_out(benchmark: Benchmark, name: str) -> list[list[str]]:
    data, rows = HELD_OUT[name], []
    if real_file(data.file) is None:
        benchmark.say(f"{data.file} is not in COTERIE_DATA.")
        return []
    fitted, scored = data.split(600 if benchmark.quick else data.n_rows)
    n_components = min(data.n_components, len(fitted) // 25)
    sizes = {"diag": 0} | {f"factors, H = {h}": h for h in data.n_factors}
    models: dict[str, Any] = {
        kind: _mixture(
            n_components, kind.split(",")[0], h, benchmark.threads, init="afk-mc2", reg_covar=REG_COVAR
        )
        for kind, h in sizes.items()
    }
    if data.is_full:
        models["scikit-learn full"] = GaussianMixture(n_components, reg_covar=REG_COVAR, random_state=0)
    shape = f"{name}, {len(fitted) + len(scored):,} x {fitted.shape[1]:,}, C = {n_components}"
    for method, model in models.items():
        seconds = _fit_seconds(model, fitted)
        scores = [f"{model.score(part):.2f}" for part in (fitted, scored)]
        rows.append([shape, method, *scores, str(model.n_iter_), f"{seconds:.1f}"])
    return rows


def _iteration_seconds(
    X: np.ndarray, n_components: int, n_factors: int, covariance_type: str = "factors"
) -> tuple[float, float]:
    """Return the CPU seconds of an iteration on one thread, mean of three cycles, and its distances per row."""
    clock: list[float] = []
    model = _mixture(
        n_components, covariance_type, n_factors, 1, init="random", tol=0.0, max_iter=TIMED_ITERATIONS,
        callback=lambda progress: clock.append(time.process_time()),
    )  # fmt: skip
    _fit_seconds(model, X)
    distances = model.history_["n_distances"][-LAST_ITERATIONS:].mean() / len(X)
    return (clock[-1] - clock[-1 - LAST_ITERATIONS]) / LAST_ITERATIONS, float(distances)


def _scikit_learn_seconds(X: np.ndarray, n_components: int, covariance_type: str) -> float:
    """Return the CPU seconds of an iteration of scikit-learn: two fits differ by `FEW_ITERATIONS` of them.

    With few rows a component, `reg_covar` keeps its covariance regular, whatever the fit is.
    """
    options = {"covariance_type": covariance_type, "init_params": "random", "tol": 0.0, "reg_covar": 1.0}
    seconds = [
        _fit_seconds(GaussianMixture(n_components, max_iter=n, random_state=0, **options), X)
        for n in (1, 1 + FEW_ITERATIONS)
    ]
    return (seconds[1] - seconds[0]) / FEW_ITERATIONS


def _scaling(benchmark: Benchmark) -> None:
    n_rows = 4_096 if benchmark.quick else N_ROWS
    axes: dict[str, tuple[Sequence[int], Callable[[int], tuple[int, int, int]]]] = {
        "C": (COMPONENTS, lambda value: (value, N_COLUMNS, N_FACTORS)),
        "d": (COLUMNS, lambda value: (N_COMPONENTS, value, N_FACTORS)),
        "H": (FACTORS, lambda value: (N_COMPONENTS, N_COLUMNS, value)),
    }
    rows, slopes = [], []
    for name, (values, sizes) in axes.items():
        values = [value for value in values if 8 * sizes(value)[0] <= n_rows]
        found = []
        for value in values:
            c, d, h = sizes(value)
            seconds, distances = _iteration_seconds(overlapping_blobs(n_rows, d), c, h)
            found.append(seconds)
            cells = [f"{1000 * seconds:.0f}", f"{distances:.1f}", f"{count_parameters('factors', c, d, h):,}"]
            rows.append([f"{name} = {value:,}", *cells])
        if len(values) > 1:
            slopes.append(f"{name} {np.polyfit(np.log(values), np.log(found), 1)[0]:.2f}")
    title = f"factors: CPU ms of an iteration, {n_rows:,} rows, C = {N_COMPONENTS}, d = {N_COLUMNS}, H = {N_FACTORS}"
    benchmark.report.table(title, ["", "ms", "distances per row", "parameters"], rows)
    benchmark.say("Log-log slopes: " + ", ".join(slopes) + ".")


def _beside_scikit_learn(benchmark: Benchmark) -> None:
    n_rows = 4_096 if benchmark.quick else FEW_ROWS
    X, rows = overlapping_blobs(n_rows, N_COLUMNS), []
    for n_components in (c for c in FEW_COMPONENTS if 8 * c <= n_rows):
        found = [_iteration_seconds(X, n_components, N_FACTORS, kind)[0] for kind in ("diag", "factors")]
        found += [_scikit_learn_seconds(X, n_components, kind) for kind in ("diag", "full")]
        rows.append([f"C = {n_components:,}", *(f"{1000 * seconds:.1f}" for seconds in found)])
    headers = ["", "diag", f"factors, H = {N_FACTORS}", "scikit-learn diag", "scikit-learn full"]
    benchmark.report.table(f"factors: CPU ms of an iteration, {n_rows:,} x {N_COLUMNS} rows", headers, rows)
