"""What is done in a case. Verbs return a case, to be run later; participles do it. All seeds are 0."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

import coterie
from benchmarks.fingerprints.results import fingerprint

Case = Callable[[], Any]
Cases = dict[str, Case]

THREADS = (1, 2, 3)

# Iterations after which a callback stops a fit.
WATCHED = 4


def fit(model: Any, X: Any, others: Any = None, *uses: str, **given: Any) -> Case:
    """See `fitted`."""
    return partial(fitted, model, X, others, *uses, **given)


def fitted(model: Any, X: Any, others: Any = None, *uses: str, **given: Any) -> dict[str, Any]:
    """Fit; return the model and what its methods make of other rows."""
    model.set_params(random_state=0).fit(X, **given)
    return {"model": model} | {use: getattr(model, use)(others) for use in uses}


def fit_on_threads(model: Any, X: Any, others: Any = None, *uses: str, **given: Any) -> Case:
    """Do as `fitted`, see `on_threads`."""
    return on_threads(lambda n: fitted(clone(model).set_params(n_threads=n), X, others, *uses, **given))


def on_threads(run: Callable[[int], Any]) -> Case:
    """Return the case of a function of the number of threads, which must give the same bits for all."""

    def case() -> Any:
        results = [run(n_threads) for n_threads in THREADS]
        assert len(set(map(fingerprint, results))) == 1, f"{THREADS} threads do not give the same bits"
        return results[0]

    return case


def stream(model: Any, others: Any, *batches: Any, weights: npt.NDArray[Any] | None = None) -> Case:
    """See `streamed`."""
    return partial(streamed, model, others, *batches, weights=weights)


def streamed(model: Any, others: Any, *batches: Any, weights: npt.NDArray[Any] | None = None) -> list[Any]:
    """Call `partial_fit` with one batch after the other; return a hash after each, and labels of other rows."""
    model.set_params(random_state=0)
    hashes = []
    for batch in batches:
        own = None if weights is None else weights[: batch.shape[0]]
        hashes.append(fingerprint(model.partial_fit(batch, sample_weight=own)))
    return [*hashes, model.predict(others)]


def watch(model: Any, X: Any) -> Case:
    """See `watched`."""
    return partial(watched, model, X)


def watched(model: Any, X: Any) -> list[Any]:
    """Fit until a callback says stop; return the model and what the callback saw."""
    seen: list[Any] = []

    def note(progress: coterie.FitProgress) -> bool:
        seen.append((progress.iteration, progress.objective, np.array(progress.centers)))
        return len(seen) == WATCHED

    return [model.set_params(random_state=0, callback=note).fit(X), seen]


def keep(model: Any, X: Any, others: Any = None) -> Case:
    """See `kept`."""
    return partial(kept, model, X, others)


def kept(model: Any, X: Any, others: Any = None) -> list[Any]:
    """Fit; save and load, pickle and unpickle; return both copies, and what they predict of other rows."""
    model.set_params(random_state=0).fit(X)
    copies = [saved_and_loaded(model), pickle.loads(pickle.dumps(model))]
    return [[copy, None if others is None else copy.predict(others)] for copy in copies]


def saved_and_loaded(model: Any) -> Any:
    """Return a model as its file has it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.coterie"
        coterie.save(model, path)
        return coterie.load(path)
