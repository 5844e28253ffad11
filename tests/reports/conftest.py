"""Fits of each kind, each with its report."""

import functools

import numpy as np
import pytest

import coterie
from coterie.datasets import load_iris, load_mammals

MODELS = {
    "k-means": lambda: coterie.KMeans(3, n_init=2, random_state=0),
    "mini-batch": lambda: coterie.MiniBatchKMeans(3, random_state=0),
    "nested": lambda: coterie.NestedMiniBatchKMeans(3, random_state=0),
    "gmm": lambda: coterie.TruncatedGaussianMixture(3, random_state=0),
    "laplacian-kmodes": lambda: coterie.LaplacianKModes(3, n_init=1, random_state=0),
    "total-variation": lambda: coterie.TotalVariationClustering(3, n_init=2, random_state=0),
    "convex-path": lambda: coterie.ConvexClusterPath(n_gammas=20),
    "convex-clustering": lambda: coterie.ConvexClustering(gamma=0.5),
}


@pytest.fixture(scope="session", autouse=True)
def extras():
    """Reports need these."""
    for library in ("jinja2", "matplotlib", "pyarrow"):
        pytest.importorskip(library)


@functools.cache
def fitted(name):
    X = load_mammals().data if name.startswith("convex") else load_iris()[0]
    return MODELS[name]().fit(X), X


@functools.cache
def reported(name):
    model, X = fitted(name)
    known = None if name.startswith("convex") else load_iris()[1]
    return coterie.report(model, X, known=known)


@pytest.fixture(scope="session", params=[name for name in MODELS if name not in ("mini-batch", "nested")])
def each(request):
    """A model, its rows and its report."""
    return *fitted(request.param), reported(request.param)


@pytest.fixture(scope="session")
def iris():
    return *fitted("k-means"), reported("k-means")


NASTY = [
    "<script>alert(1)</script>",
    'it\'s "quoted" & <b>',
    "שלום \u202e right to left",
    "👩‍👩‍👧 emoji",
    "long " * 20_000,
]


@pytest.fixture(scope="session")
def table():
    """A table with ids and texts that are anything but harmless, and its model."""
    import pyarrow

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + np.repeat(np.eye(3) * 9, 40, axis=0)
    words = ["alpha beta", "gamma delta", "omega psi"]
    texts = [NASTY[i] if i < len(NASTY) else f"{words[i // 40]} number{i}" for i in range(120)]
    made = pyarrow.table({
        "id": [f"{NASTY[i][:40]}{i}" if i < len(NASTY) else f"row'{i}\"" for i in range(120)],
        "text": texts,
        **{f"x<{j}>": X[:, j] for j in range(3)},
    })  # fmt: skip
    columns = [f"x<{j}>" for j in range(3)]
    rows = coterie.as_rows(made, columns=columns)
    return coterie.KMeans(3, random_state=0).fit(rows), rows
