"""Cases of fits on a Dask cluster: workers in threads of this process, which give the same bits for any number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
from distributed import Client, LocalCluster

import coterie.dask
from benchmarks.fingerprints.data import blobs, integer_weights
from benchmarks.fingerprints.results import fingerprint
from benchmarks.fingerprints.runs import Case, Cases
from coterie.coresets import lightweight_coreset
from coterie.graphs import nearest_neighbors

WORKERS = (1, 2)

CHUNK_ROWS = 900


def dask_cases() -> Cases:
    """K-means, nested k-means, mixtures, coresets and neighbors of rows on workers, and a resumed checkpoint."""
    X, weights = blobs(4_000, 6, 20), integer_weights(4_000)
    lazy = da.from_array(X, chunks=(CHUNK_ROWS, 6))

    def on_workers(model: Callable[..., Any], **given: Any) -> Case:
        return everywhere(lambda: fitted_here(model(random_state=0), coterie.dask.rows(lazy), **given))

    k_means = partial(coterie.KMeans, 20)
    mixture = partial(coterie.TruncatedGaussianMixture, 20, max_iter=8)
    return {
        "k-means": on_workers(k_means),
        "k-means, weights": on_workers(k_means, sample_weight=weights),
        "k-means, bounds": on_workers(partial(k_means, algorithm="elkan")),
        "k-means||": on_workers(partial(k_means, init="k-means||")),
        "k-means, afk-mc2": on_workers(partial(k_means, init="afk-mc2")),
        "k-means, coreset": on_workers(partial(k_means, coreset_size=500)),
        "k-means, resumed": everywhere(lambda: resumed(k_means, lazy)),
        "nested": on_workers(partial(coterie.NestedMiniBatchKMeans, 20, batch_size=300)),
        "nested, resumed": everywhere(
            lambda: resumed(partial(coterie.NestedMiniBatchKMeans, 20, batch_size=300), lazy)
        ),
        "mixture": on_workers(mixture),
        "mixture, diag, weights": on_workers(partial(mixture, covariance_type="diag"), sample_weight=weights),
        "coreset": everywhere(lambda: lightweight_coreset(coterie.dask.rows(lazy), 500, random_state=0)),
        "coreset, weights": everywhere(
            lambda: lightweight_coreset(coterie.dask.rows(lazy), 500, sample_weight=weights, random_state=0)
        ),
        **{
            f"neighbors, {method}": everywhere(
                lambda method=method: nearest_neighbors(
                    coterie.dask.rows(lazy), 8, method=method, random_state=0
                )
            )
            for method in ("exact", "approximate")
        },
    }


def everywhere(run: Callable[[], Any]) -> Case:
    """Return the case of a function that must give the same bits for any number of workers."""

    def case() -> Any:
        results = []
        for n_workers in WORKERS:
            with (
                LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None
                ) as cluster,
                Client(cluster),
            ):
                results.append(run())
        assert len(set(map(fingerprint, results))) == 1, f"{WORKERS} workers do not give the same bits"
        return results[0]

    return case


def fitted_here(model: Any, rows: Any, **given: Any) -> dict[str, Any]:
    """Fit; return the public results, without times."""
    model.fit(rows, **given)
    names = ("cluster_centers_", "labels_", "inertia_", "n_iter_", "lower_bound_", "means_", "covariances_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def resumed(model: Callable[..., Any], lazy: Any) -> dict[str, Any]:
    """Return a fit that resumes a checkpoint, equal to an uninterrupted one without."""
    with TemporaryDirectory() as folder:
        rows = coterie.dask.rows(lazy, checkpoint=Path(folder) / "checkpoint")
        model(random_state=0, max_iter=3).fit(rows)
        found = fitted_here(model(random_state=0), rows)
    whole = fitted_here(model(random_state=0), coterie.dask.rows(lazy))
    assert fingerprint(found) == fingerprint(whole), "a resumed fit differs from one without a break"
    return found
