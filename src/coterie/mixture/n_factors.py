"""Choose the number of factors of a mixture by the likelihood of held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from coterie.arrays import FloatArray
from coterie.figures import FEW_COLORS, new_figure, tidy
from coterie.fitting.checks import random_stream
from coterie.mixture.estimator import TruncatedGaussianMixture
from coterie.rows import as_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FactorScan:
    """Mixtures with several numbers of factors, fitted to the same rows. `print` shows a table.

    Attributes
    ----------
    n_factors : tuple of int
        Numbers of factors, ascending.
    scores : ndarray of shape (n_values,), float64
        Mean log-likelihood of the held-out rows for each of them.
    errors : ndarray of shape (n_values,), float64
        Standard error of each score.
    """

    n_factors: tuple[int, ...]
    scores: FloatArray
    errors: FloatArray

    @property
    def best_n_factors(self) -> int:
        """The number of factors with the highest score."""
        return self.n_factors[int(np.argmax(self.scores))]

    def __str__(self) -> str:
        lines = ["n_factors  held-out log-likelihood  standard error"]
        for n_factors, score, error in zip(self.n_factors, self.scores, self.errors):
            mark = " *" if n_factors == self.best_n_factors else ""
            lines.append(f"{n_factors:9d}  {score:23.3f}  {error:14.3f}{mark}")
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Draw the score over the number of factors.

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        figure = new_figure((4.6, 3.1))
        axes = figure.subplots()
        axes.errorbar(
            self.n_factors,
            self.scores,
            self.errors,
            color=FEW_COLORS[0],
            marker="o",
            markersize=4,
            linewidth=1.8,
        )
        axes.axvline(self.best_n_factors, color="#999999", linewidth=1.0, linestyle=":", zorder=0)
        axes.set(xlabel="factors", title="held-out log-likelihood per row")
        tidy(axes, has_grid=True)
        return figure


def select_n_factors(
    estimator: TruncatedGaussianMixture,
    X: Any,
    n_factors: Sequence[int] = (0, 1, 2, 4, 8),
    *,
    n_rows: int = 20_000,
    held_out: float = 0.2,
) -> FactorScan:
    """Fit mixtures with several numbers of factors to a sample of rows, and score each on other rows.

    Parameters
    ----------
    estimator : TruncatedGaussianMixture
        The estimator with all other parameters; it is not modified. Its `random_state` draws the sample too.
    X : array-like, table, Dask array or Rows of shape (n, d)
        The data.
    n_factors : sequence of int
        Numbers of factors to try, all less than d.
    n_rows : int
        Rows of the sample, at most n.
    held_out : float
        Fraction of the sample that is scored, not fitted.

    Returns
    -------
    FactorScan

    Raises
    ------
    ValueError
        If `n_factors` is empty or has duplicates, `held_out` is not between 0 and 1, or there are fewer rows to fit
        than components; and as `TruncatedGaussianMixture.fit`.

    Notes
    -----
    The likelihood of fitted rows rises with each factor, that of held-out rows falls once factors fit noise. A sample
    has fewer rows for each component than all rows, so it calls for fewer factors, not for more.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import TruncatedGaussianMixture, select_n_factors
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 2)) @ random.normal(size=(2, 10)) + 0.3 * random.normal(size=(2000, 10))
    >>> select_n_factors(TruncatedGaussianMixture(1, random_state=0), X, [0, 1, 2, 3]).scores.argmax() >= 2
    np.True_
    """
    values = sorted(int(value) for value in n_factors)
    if not values or len(set(values)) < len(values):
        raise ValueError(f"n_factors must be different numbers, got {list(n_factors)!r}.")
    if not 0 < held_out < 1:
        raise ValueError(f"held_out must be between 0 and 1, got {held_out!r}.")
    rows = as_rows(X)
    random = random_stream(estimator.random_state)
    sample = random.permutation(rows.shape[0])[: int(n_rows)]
    n_held_out = max(1, round(held_out * len(sample)))
    fitted, scored = (rows.take(np.sort(part)) for part in (sample[n_held_out:], sample[:n_held_out]))
    scores, errors = [], []
    for value in values:
        model = clone(estimator).set_params(covariance_type="factors", n_factors=value, compute_labels=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            densities = model.fit(fitted).score_samples(scored)
        scores.append(densities.mean())
        errors.append(densities.std() / np.sqrt(len(densities)))
    return FactorScan(tuple(values), np.array(scores), np.array(errors))
