"""Hashes of the results of many small fits: a refactoring leaves all of them equal.

    python -m benchmarks.fingerprints --instruction-set all --out before.txt       # before
    python -m benchmarks.fingerprints --instruction-set all --compare before.txt   # after: lists what differs
    python -m benchmarks.fingerprints --groups mixture convex --compare before.txt

Each line is a hash, an instruction set, a group and a fit: estimator, changed parameters, rows. The hash is that of all
fitted public attributes, histories but for their seconds, and predictions of other rows. Only the public interface is
used (and the choice of the instruction set), so that the same file runs before and after modules move. Hashes of two
machines differ, because their libraries round differently.
"""

import argparse
import hashlib
import inspect
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_limits

import coterie
from coterie import (
    BisectingKMeans,
    ConvexClustering,
    ConvexClusterPath,
    DensityClustering,
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    MultilevelGraphClustering,
    NestedMiniBatchKMeans,
    SizeConstrainedKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
    coresets,
    datasets,
    graphs,
    metrics,
    seeding,
)
from coterie._kernels import available_instruction_sets, use_instruction_set

Array = np.ndarray
Cases = Iterator[tuple[str, Callable[[], Any]]]

FAILED = "failed"
METHODS = (
    "predict", "transform", "score", "responsibilities", "predict_proba", "score_samples", "bic", "aic", "denoise",
    "memberships",
)  # fmt: skip


# --- rows


@cache
def blobs(n_rows: int, n_columns: int, n_blobs: int = 12, dtype: str = "float64") -> Array:
    """Return normal blobs; as integers they are small and not negative."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3, size=(n_blobs, n_columns))
    rows = centers[rng.integers(n_blobs, size=n_rows)] + rng.normal(size=(n_rows, n_columns))
    return (np.abs(9 * rows) if np.dtype(dtype).kind in "iu" else rows).astype(dtype)


@cache
def words(n_rows: int = 3_000, dtype: str = "float64") -> sp.csr_array:
    """Return sparse rows of few words of some topic."""
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(400, 0.1), size=10)
    counts = rng.poisson(20 * topics[rng.integers(10, size=n_rows)])
    return sp.csr_array(counts * rng.uniform(0.5, 1.5, size=counts.shape), dtype=dtype)


def moons(n_rows: int) -> Array:
    """Return two half moons with noise."""
    return make_moons(n_rows, noise=0.05, random_state=3)[0]


def weights(n_rows: int) -> Array:
    """Return weights from 0 to 3."""
    return np.random.default_rng(4).integers(4, size=n_rows).astype(np.float64)


# --- fits


def fit(model: Any, X: Any, *fitted_with: Any, **given: Any) -> tuple[str, Callable[[], Any]]:
    """Return the name of a fit, and what runs it: the model, and what its methods make of other rows."""

    def run() -> dict[str, Any]:
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, *fitted_with, **given)
        return {"model": model} | {
            name: getattr(model, name)(others) for name in METHODS if hasattr(model, name)
        }

    rows, others = X, X[: min(300, X.shape[0])]
    if not sp.issparse(rows) and getattr(model, "affinity", "") != "precomputed" and rows.dtype.kind == "f":
        others = (others + 0.5).astype(rows.dtype)
    defaults = inspect.signature(type(model)).parameters
    changed = [
        f"{name}={_word(value)}"
        for name, value in model.get_params(deep=False).items()
        if value is not defaults[name].default
    ]
    beside = "".join(f", {name}" for name in given) + ", y" * len(fitted_with)
    kind = "sparse" if sp.issparse(rows) else rows.dtype.name
    return f"{type(model).__name__}({', '.join(changed)}): {kind} {rows.shape}{beside}", run


def fits(models: Iterable[Any], X: Any, *fitted_with: Any, **given: Any) -> Cases:
    """Yield the fits of several models on the same rows."""
    return (fit(model, X, *fitted_with, **given) for model in models)


def _word(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {fingerprint(value)[:4]}"
    return repr(value) if isinstance(value, str | int | float | list) else type(value).__name__


def stream(model: Any, *batches: Any) -> tuple[str, Callable[[], Any]]:
    """Return the name of a stream, and what runs it: a hash after each batch."""
    kinds = ["sparse" if sp.issparse(batch) else batch.dtype.name for batch in batches]

    def run() -> list[str]:
        model.set_params(random_state=0)
        return [fingerprint(model.partial_fit(batch)) for batch in batches]

    return f"{type(model).__name__}: stream of {', '.join(kinds)}", run


def k_means() -> Cases:
    """Exact k-means: algorithms, initializations, float types, weights, sizes; constrained sizes; bisections."""
    X, wide = blobs(6_000, 20), blobs(2_000, 300)
    far = X[:6] + 40 * np.arange(6)[:, None]  # clusters that lose all rows
    for algorithm, dtype in product(("lloyd", "elkan", "yinyang", "auto"), ("float32", "float64")):
        yield fit(KMeans(40, algorithm=algorithm, tol=0), blobs(6_000, 20, 12, dtype))
    inits = ("k-means++", "afk-mc2", "random", "k-means||", X[:5], KMeans(5, random_state=0).fit(X[:900]))
    yield from fits([
        *(KMeans(5, init=init) for init in inits), KMeans(12, n_init=5, max_iter=20), KMeans(12, coreset_size=800),
        KMeans(6, init=far), BisectingKMeans(12), SizeConstrainedKMeans(12, 300),
    ], X)  # fmt: skip
    models = KMeans(12), KMeans(12, algorithm="elkan"), KMeans(12, coreset_size=800), BisectingKMeans(7)
    yield from fits(models, X, sample_weight=weights(6_000))
    yield fit(KMeans(100, tol=0), wide)
    yield fit(KMeans(300, max_iter=10), wide.astype(np.float32))
    for dtype in ("uint8", "int64", "float16"):
        yield fit(KMeans(30), blobs(6_000, 20, 12, dtype))
    yield from fits([KMeans(25, tol=0), KMeans(25, algorithm="elkan"), KMeans(8, coreset_size=500)], words())
    yield fit(KMeans(25), words(), sample_weight=weights(3_000))
    yield fit(KMeans(9, n_init=2), np.repeat(X[:5], 40, axis=0))


def mini_batches() -> Cases:
    """Nested and independent mini-batches: initializations, thresholds, weights, streams."""
    X, single = blobs(20_000, 12, 30), blobs(20_000, 12, 30, "float32")
    nested = partial(NestedMiniBatchKMeans, 20, batch_size=300)
    batches = partial(MiniBatchKMeans, 20, batch_size=200)
    far = X[:20] + 40 * np.arange(20)[:, None]
    yield from fits([
        NestedMiniBatchKMeans(), NestedMiniBatchKMeans(200, batch_size=1_000),
        nested(init="random", doubling_threshold=1), nested(doubling_threshold=0, tol=0), nested(init=far),
        *(nested(bounds=b) for b in ("elkan", "yinyang", "off")),
        MiniBatchKMeans(), batches(init="random", init_size=300), batches(init="afk-mc2"), batches(tol=1e-3),
        batches(metric="cosine"),
    ], X)  # fmt: skip
    for model in (nested, batches):
        yield fit(model(), single)
        yield fit(model(), blobs(20_000, 12, 30, "uint8"))
        yield fit(model(), X, sample_weight=weights(20_000))
        yield fit(model(), words())
        yield fit(model(), words(dtype="float32"), sample_weight=weights(3_000))
        yield stream(model(), *np.split(X, 10))
        yield stream(model(), words()[:900].toarray(), words()[900:], words()[:90].toarray())


def mixtures() -> Cases:
    """Kinds of covariances, coresets, initializations, and components enough for cells of means."""
    X, single = blobs(8_000, 6, 60), blobs(8_000, 6, 60, "float32")
    mixture, kinds = partial(TruncatedGaussianMixture, 60), ("tied_spherical", "spherical", "diag")
    start = TruncatedGaussianMixture(60, covariance_type="diag", random_state=1, max_iter=3).fit(X)
    for kind in kinds:
        yield fit(mixture(covariance_type=kind), X)
        yield fit(mixture(covariance_type=kind, coreset_size=3_000), single, sample_weight=weights(8_000))
        yield fit(TruncatedGaussianMixture(1_100, max_iter=6, covariance_type=kind), X)
    yield from fits([
        TruncatedGaussianMixture(1_100, max_iter=6, assignment="exact"),
        TruncatedGaussianMixture(2, covariance_type="spherical"), mixture(covariance_type="factors", n_factors=3),
        mixture(assignment="truncated"), mixture(random_candidate=True), mixture(init="k-means++"),
        mixture(init="k-means"), mixture(n_candidates=3, n_neighbors=9, tol=1e-6), mixture(init="random", max_iter=5),
        mixture(covariance_type="diag", init=start), mixture(search_group_size=1, search_every=1, initial_e_steps=2),
    ], X)  # fmt: skip
    yield fit(mixture(covariance_type="spherical"), X, sample_weight=weights(8_000))
    yield fit(TruncatedGaussianMixture(50, covariance_type="diag"), np.repeat(X[:30], 5, axis=0))
    yield fit(mixture(reg_covar=0.01), blobs(8_000, 6, 60, "uint8"))


def laplacian_k_modes() -> Cases:
    """Modes, graphs, initializations, choice of lambda."""
    X, larger = datasets.load_digits()[0][:1_200], blobs(6_000, 20)
    modes = partial(LaplacianKModes, 10, graph_weight=1.3, init="k-means++", n_init=3)
    graph = graphs.knn_graph(X, 8, weights="gaussian")
    for update in ("byproduct", "mean_shift"):
        yield fit(modes(mode_update=update), X)
        yield fit(modes(mode_update=update, metric="cosine"), X.astype(np.float32))
        yield fit(modes(mode_update=update), words(1_000))
        yield fit(modes(mode_update=update, n_init=1), larger)
    yield from fits([
        LaplacianKModes(10), *(modes(init=init) for init in ("k-means", "spectral", "random", X[:10])),
        *(modes(diagonal_shift=shift) for shift in (True, False)),
        modes(weights="gaussian", bandwidth=20.0),
        modes(graph_weight=0.1, tol=0, init="random", max_iter=12),
    ], X)  # fmt: skip
    for given in (graph, graph.toarray()):
        yield fit(modes(affinity="precomputed", init="random"), given)
    some = np.where(np.arange(1_200) % 10, -1, datasets.load_digits()[1][:1_200])
    for y in (None, some):
        scan = partial(coterie.select_graph_weight, modes(n_init=2, random_state=0), X, [1.0, 1.6, 3.0], y=y)
        yield f"select_graph_weight, y={_word(y)}", scan


def total_variation() -> Cases:
    """Initializations, labels, and graphs of so many vertices that these are ordered and cut into blocks."""
    (X, classes), large = datasets.load_digits(), blobs(20_000, 8)
    known = np.full(len(X), -1)
    known[np.unique(classes, return_index=True)[1]] = np.arange(10)
    memberships = np.random.default_rng(6).dirichlet(np.ones(10), size=len(X))
    cut = partial(TotalVariationClustering, 10, n_init=2, max_iter=400)
    isolated = sp.csr_array(sp.block_diag([graphs.knn_graph(blobs(900, 3, 30), 4), sp.csr_array((5, 5))]))
    yield from fits([
        cut(n_init=4), cut(init=memberships), cut(tol=0, n_init=1), cut(steps="paper"),
        TotalVariationClustering(1), cut(class_priors=np.append(0.28, np.full(9, 0.08))),
    ], X)  # fmt: skip
    yield fit(cut(), X, known)
    yield fit(cut(), X.astype(np.float32))
    yield fit(TotalVariationClustering(2, n_init=3), moons(250))
    yield fit(cut(), words(1_500))
    yield fit(cut(affinity="precomputed"), isolated)
    yield fit(cut(affinity="precomputed"), graphs.knn_graph(X, 10, metric="cosine", weights="gaussian"))
    yield fit(cut(), large[:3_000])
    yield fit(cut(n_init=1, max_iter=200), large[:3_000].astype(np.float32))
    yield fit(cut(n_init=1, max_iter=150), large)
    yield fit(cut(max_iter=150), large, np.where(np.arange(20_000) < 10, np.arange(20_000), -1))


def convex() -> Cases:
    """Norms, solvers, weights; for one gamma and along paths."""
    teeth, X = datasets.load_mammals().data, blobs(400, 4, 6)
    one = partial(ConvexClustering, 1.5, distance_decay=0.1)
    path = partial(ConvexClusterPath, n_gammas=10, distance_decay=0.1, connect=True)
    large: dict[str, Any] = {"n_neighbors": 10, "distance_decay": 50.0, "tol": 1e-3}
    graph = graphs.knn_graph(X, 6, weights="gaussian", symmetrize="mean")
    for norm in ("l2", "l1", "linf", [[0, 3], [1, 2, 5], [4, 6, 7]]):
        for solver in ("ama", "plain-ama", "admm"):
            yield fit(one(norm=norm, solver=solver), teeth)
        yield fit(path(norm=norm), teeth)
    yield from fits([
        *(path(solver=solver) for solver in ("ama", "plain-ama", "admm")), one(), one(connect=True, n_neighbors=3),
        ConvexClustering(0.1, weights="dense", distance_decay=0.2), one(step_size=0.2, solver="admm"),
        path(connect=False, n_neighbors=2), ConvexClusterPath(), ConvexClustering(1.5, weights="tree", norm="l1"),
    ], X)  # fmt: skip
    yield from fits([one(weights="precomputed"), path(weights="precomputed")], X, graph=graph)
    yield fit(path(tol=1e-3), X.astype(np.float32))
    yield fit(ConvexClusterPath(n_gammas=15, weights="dense"), datasets.load_senate(complete=True).data)
    few: dict[str, Any] = {"n_gammas": 3, "max_iter": 20}
    yield fit(ConvexClusterPath(**few, **large), moons(21_000))
    yield fit(ConvexClustering(1.0, solver="admm", max_iter=20, **large), moons(21_000))
    yield fit(ConvexClusterPath(n_gammas=9, weights="tree", norm="l1"), blobs(400, 30, 4))
    yield fit(ConvexClusterPath(n_gammas=20), blobs(40, 90, 4))


def density() -> Cases:
    """Trees, layers, diffused rows; multilevel clustering of graphs."""
    X, larger = datasets.load_digits()[0][:1_200], blobs(6_000, 20)
    yield from fits([
        DensityClustering(), DensityClustering(min_cluster_size=20, cluster_selection_method="leaf"),
        DensityClustering(min_samples=9, min_cluster_size=20, metric="cosine"),
        DensityClustering(assign_noise="nearest"), MultilevelGraphClustering(10),
    ], X)  # fmt: skip
    yield fit(DensityClustering(space="rows"), X.astype(np.float32))
    yield fit(DensityClustering(), X[:, 20:22])
    yield fit(DensityClustering(), np.repeat(X[:300], 3, axis=0))
    models = DensityClustering(), DensityClustering(search="approximate"), MultilevelGraphClustering(12)
    yield from fits(models, larger)


def steps() -> Cases:
    """What the methods share: neighbors, graphs, seeds, coresets, cuts."""
    X, zeros = blobs(4_000, 20), np.vstack([blobs(600, 20), np.zeros((3, 20))])
    for rows, method, metric in (
        *product((X, X.astype(np.float32)), ("exact", "approximate"), ("euclidean",)), (words(), "exact", "euclidean"),
        *product((zeros, words(dtype="float32")), ("exact",), ("cosine",)),
        (blobs(40_000, 20), "auto", "euclidean"), (blobs(4_000, 20, 12, "uint8"), "auto", "euclidean"),
        (np.repeat(X[:200], 4, axis=0) + 1e4, "auto", "euclidean"), (blobs(2_000, 300), "auto", "euclidean"),
    ):  # fmt: skip
        search = partial(graphs.nearest_neighbors, rows, 10, method=method, metric=metric, random_state=0)
        kind = f"{method}, {metric}: {rows.dtype} {type(rows).__name__} {rows.shape}"
        yield f"neighbors, {kind}", search
        yield f"neighbors of others, {kind}", partial(search, queries=rows[:500] * 1.5)
    for kind, symmetrize in product(("binary", "distance", "gaussian"), ("max", "mean", "none")):
        options: dict[str, Any] = {"weights": kind, "symmetrize": symmetrize}
        yield f"graph, {kind}, {symmetrize}", partial(graphs.knn_graph, X[:900], 7, **options)
    for rows in (blobs(6_000, 20), blobs(6_000, 20, 12, "float32"), words()):
        weight = weights(rows.shape[0])
        for seeds in (seeding.k_means_plus_plus, seeding.afk_mc2, seeding.random_rows):
            name = f"{seeds.__name__}: {rows.dtype} {rows.shape}"
            yield name, partial(seeds, rows, 40, random_state=0)
            yield f"{name}, weights", partial(seeds, rows, 40, sample_weight=weight, random_state=0)
        coreset = partial(coresets.lightweight_coreset, rows, 500, sample_weight=weight, random_state=0)
        yield f"coreset: {rows.dtype} {rows.shape}", coreset
    digits, y = datasets.load_digits()
    yield "balanced_cut", lambda: metrics.balanced_cut(graphs.knn_graph(digits, 5, weights="gaussian"), y)


GROUPS: dict[str, Callable[[], Cases]] = {
    "k-means": k_means, "mini-batches": mini_batches, "mixture": mixtures, "laplacian": laplacian_k_modes,
    "total variation": total_variation, "convex": convex, "density": density, "steps": steps,
}  # fmt: skip


# --- hashes


def fingerprint(result: Any) -> str:
    """Return a short hash of all bits of a result."""
    return hashlib.sha256(b"|".join(_content(result))).hexdigest()[:16]


def _content(value: Any) -> Iterator[bytes]:
    if isinstance(value, BaseEstimator):
        names = sorted(name for name in dir(value) if name.endswith("_") and not name.startswith("_"))
        yield from _content({name: getattr(value, name) for name in names if hasattr(value, name)})
    elif is_dataclass(value):
        yield from _content(vars(value))
    elif sp.issparse(value):
        yield from _content([value.shape, value.data, value.indices, value.indptr])
    elif isinstance(value, dict):
        for name, part in value.items():
            yield str(name).encode()
            yield from _content(part)
    elif isinstance(value, list | tuple):
        yield f"{len(value)} parts".encode()
        for part in value:
            yield from _content(part)
    else:
        array = np.asarray(value)
        if array.dtype.names:  # a history: no clock decides a result
            yield from _content({n: array[n] for n in array.dtype.names if n not in ("seconds", "algorithm")})
        elif array.dtype.kind == "O":
            yield repr(array.tolist()).encode()
        else:
            yield f"{array.dtype.str} {array.shape}".encode()
            yield array.tobytes()


# --- the run


def _hash_of(run: Callable[[], Any]) -> str:
    try:
        return fingerprint(run())
    except Exception as error:
        traceback.print_exc()
        return f"{FAILED}-{type(error).__name__}"


def main() -> int:
    """Print the hash of each fit; return 1 if one failed or differs from the file to compare with."""
    available = available_instruction_sets()
    parser = argparse.ArgumentParser("python -m benchmarks.fingerprints", description=__doc__.splitlines()[0])
    parser.add_argument("--instruction-set", default=available[0], choices=[*available, "all"])
    parser.add_argument("--out", type=Path, help="write the lines to this file too")
    parser.add_argument("--compare", type=Path, help="a file that --out wrote: list what differs from it")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS), help="all by default")
    options = parser.parse_args()
    sets = available if options.instruction_set == "all" else [options.instruction_set]
    warnings.simplefilter("ignore")
    found: dict[str, str] = {}
    with threadpool_limits(1, user_api="blas"):
        for instruction_set, group in product(sets, options.groups):
            use_instruction_set(instruction_set)
            began = time.perf_counter()
            for case, run in GROUPS[group]():
                name = f"{instruction_set}: {group}: {case}"
                assert name not in found, f"two fits are called {name}"
                found[name] = _hash_of(run)
                print(found[name], name, flush=True)
            print(f"{instruction_set}, {group}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    if options.out:
        options.out.write_text("".join(f"{hash_} {name}\n" for name, hash_ in found.items()))
    wrong = [f"{name}: {hash_}" for name, hash_ in found.items() if hash_.startswith(FAILED)]
    if options.compare:
        lines = (line.split(" ", 1) for line in options.compare.read_text().splitlines())
        before = {name: hash_ for hash_, name in lines}
        wrong += [
            f"{name}: {before.get(name, 'nothing')} before, {now} now"
            for name, now in found.items()
            if before.get(name) != now
        ]
    print(*wrong, f"{len(found)} fits, {len(wrong)} wrong", sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
