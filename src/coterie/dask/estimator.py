"""What the estimators of a cluster have in common: their client, their traffic, the same model on one machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_n_features, check_is_fitted

from coterie.arrays import Array
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import Crew
from coterie.dask.predictions import by_chunk, score_of
from coterie.dask.seeding import SEEDINGS
from coterie.dask.worker_rows import WorkerRows
from coterie.estimators.base import link_template
from coterie.estimators.parameters import Param
from coterie.estimators.preparation import remember_preparation
from coterie.fitting.deadline import UNHURRIED, Phase
from coterie.fitting.threads import effective_n_threads
from coterie.fitting.warn import warn

__all__ = ["OnCluster", "WorkerInit"]

# Its words depend on the estimator: see `OnCluster.seedings`.
WorkerInit = Annotated[Any, Param("How centers are initialized.")]

_TRAFFIC = [
    ("name", "U16"),
    ("n_tasks", np.int64),
    ("n_sent", np.int64),
    ("n_received", np.int64),
    ("n_exchanged", np.int64),
    ("n_opened", np.int64),
    ("seconds", np.float64),
]

# What is asked of rows of this process alone, and what to do with others.
_HERE_ALONE = {
    "return_distance": "transform, where a model has it, is lazy, too",
    "sample_weight": "score chunk by chunk with map_blocks",
}

# What belongs to the rows of a fit, and is not sent to workers that are to label others.
_OF_ROWS = ("labels_", "_own_distances", "_outlier_scores", "history_", "runs_", "lower_bounds_")


class OnCluster:
    """An estimator whose rows are on a cluster, beside its class of one machine, `Local`."""

    Local: ClassVar[Callable[..., Any]]
    seedings: ClassVar[Mapping[str, Any]] = SEEDINGS
    init: Any
    client: Any
    open_options: Mapping[str, Any] | None
    traffic_: Any

    _doc_link_template = link_template("coterie.dask")

    def to_local(self) -> Any:
        """Return the same model as an estimator of `coterie`, without labels that are elsewhere."""
        check_is_fitted(self)
        local, own = self._as_local(), self.get_params(deep=False)  # type: ignore[attr-defined]
        for name, value in vars(self).items():
            if name not in (*own, "traffic_"):
                setattr(local, name, value)
        if not isinstance(local.__dict__.get("labels_"), np.ndarray):
            local.__dict__.pop("labels_", None)
        return local

    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the cluster of each row of X; of rows elsewhere as a lazy Dask array.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, path, or anything that the estimator of `coterie` takes
            Any rows.
        return_distance : bool
            For rows of this process only: see the estimator of the same name in `coterie`.

        Returns
        -------
        Dask array or ndarray of shape (n,), int32
        """
        return self._asked("predict", X, return_distance=return_distance)

    def _asked(self, method: str, X: Any, **options: Any) -> Any:
        """Return what a method says of rows: at once, or of rows elsewhere as a lazy array, unless it is a score."""
        check_is_fitted(self)
        if not is_elsewhere(X):
            return getattr(super(), method)(X, **options)
        for name, value in options.items():
            if value is not None and value is not False:
                raise ValueError(f"{name} is for rows of this process: {_HERE_ALONE[name]}.")
        if method == "score":
            return score_of(self._lean(), chunks_of(X, self.open_options))
        return by_chunk(self._lean(), method, chunks_of(X, self.open_options))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this model to a file that `coterie.load` reads, as an estimator of `coterie`."""
        self.to_local().save(path)

    def _as_local(self, **others: Any) -> Any:
        """Return an estimator of `coterie` with the same parameters, but for others."""
        own = self.get_params(deep=False)  # type: ignore[attr-defined]
        known = self.Local().get_params(deep=False)
        parameters = {name: own[name] for name in known if name in own}
        if isinstance(self.init, str) and self.init == "k-means||":
            parameters["init"] = "k-means++"
        return self.Local(**(parameters | others))

    def _lean(self) -> Any:
        """Return what other rows are compared with: a model without what belongs to the rows of the fit."""
        local = self.to_local()
        for name in _OF_ROWS:
            local.__dict__.pop(name, None)
        return local.set_params(callback=None, init="random")

    def _rows_on(self, crew: Crew, sample_weight: Any) -> WorkerRows:
        """Let the workers open their rows, and remember what their columns are."""
        data = WorkerRows(crew, sample_weight, effective_n_threads(None))
        remember_preparation(self, data.rows, data.rows)
        _check_n_features(self, data.rows, reset=True)
        return data

    def _warn_of_end(self, error: ConnectionError) -> None:
        """Say that the cluster is lost, and what is left."""
        n_iter = len(self.history_)  # type: ignore[attr-defined]
        warn(f"{error} What is left is the model of iteration {n_iter}, without labels.", ConvergenceWarning)

    def _note_traffic(self, crew: Crew) -> None:
        passes = [astuple(done) for done in crew.passes]
        self.traffic_ = np.array(passes, dtype=_TRAFFIC).view(np.recarray)

    def _check_init(self) -> None:
        if isinstance(self.init, str) and self.init not in self.seedings:
            raise ValueError(
                f"init must be one of {', '.join(self.seedings)}, an array, a fitted model or a callable, "
                f"got {self.init!r}."
            )

    def _drawn_centers(
        self, X: Any, data: Any, random: np.random.RandomState, phase: Phase = UNHURRIED
    ) -> Array:
        if not isinstance(data, WorkerRows):  # a sample that came here
            return super()._drawn_centers(X, data, random, phase)  # type: ignore[misc,no-any-return]
        n_centers = self._n_centers  # type: ignore[attr-defined]
        if callable(self.init):
            centers = self.init(X, n_centers, random_state=random)
        else:
            centers = SEEDINGS[self.init](data, n_centers, random)
        checked: Array = self._checked_centers(centers, data.rows)  # type: ignore[attr-defined]
        return checked


def is_elsewhere(X: Any) -> bool:
    """Tell whether rows are those of a cluster: a Dask collection, or files by their path."""
    return isinstance(X, str | os.PathLike) or type(X).__module__.partition(".")[0].startswith("dask")
