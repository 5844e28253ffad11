"""EM with a truncated E-step (Hirschberger, Forster & Lücke 2022): the loop, the M-step, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coterie.arrays import Array, IntArray
from coterie.fitting.report import Report
from coterie.mixture.parameters import MixtureParameters
from coterie.mixture.posteriors import Posteriors

__all__ = [
    "HISTORY_FIELDS", "EMOptions", "EMResult", "effective_size", "em", "has_converged", "m_step", "shared_variance",
]  # fmt: skip

HISTORY_FIELDS = (("n_distances", np.int64),)

# Iterations over which gains are averaged at the least: those that search gain more than others.
_WINDOW = 3


@dataclass(frozen=True, slots=True)
class EMOptions:
    """What EM estimates, and when it ends.

    Attributes
    ----------
    covariance_type : {"tied_spherical", "spherical", "diag"}
        Which variances to estimate.
    n_shared : int
        Iterations that estimate one variance for all components, and no weights, before those of `covariance_type`.
    n_searches : int
        Searches of the first E-step.
    reg_covar : float
        Added to every variance.
    smallest_variance : float
        Variances below this count as 0.
    max_iter : int
        Iterations, at most.
    tol : float
        A change of the free energy by less than this, relative to itself, ends the run.
    least_gain : float
        So do later iterations whose gain, all in all, is estimated to be less than this; 0: they do not.
    search_every : int
        One in so many E-steps searches.
    """

    covariance_type: str
    n_shared: int
    n_searches: int
    reg_covar: float
    smallest_variance: float
    max_iter: int
    tol: float
    least_gain: float
    search_every: int


@dataclass(frozen=True, slots=True)
class EMResult:
    """The result of a run of EM.

    Attributes
    ----------
    parameters : MixtureParameters
        Parameters of the mixture.
    neighbors : ndarray of shape (C, G), int32
        Neighbors of each component, the first of which is the component itself.
    objective : float
        Free energy per unit of weight, of these parameters.
    history : record array
        A row for each iteration.
    reason : {"converged", "max_iter", "max_time", "callback"}
        Why the run ended.
    """

    parameters: MixtureParameters
    neighbors: IntArray
    objective: float
    history: Array
    reason: str

    def without_dropped(self) -> EMResult:
        """Return the same without components of weight 0; the others are numbered in their order."""
        means, variances, weights = self.parameters.means, self.parameters.variances, self.parameters.weights
        alive = weights > 0
        left = MixtureParameters(
            means[alive], variances[alive] if variances.ndim else variances, weights[alive]
        )
        numbers = np.cumsum(alive, dtype=np.int32) - 1
        neighbors = self.neighbors[alive]
        neighbors = np.where(alive[neighbors], neighbors, neighbors[:, :1])
        return replace(self, parameters=left, neighbors=numbers[neighbors])


def em(posteriors: Posteriors, start: MixtureParameters, options: EMOptions, report: Report) -> EMResult:
    """Alternate M-steps and truncated E-steps until the free energy has converged.

    Parameters
    ----------
    posteriors : Posteriors
        The rows with their candidates; no E-step has been made.
    start : MixtureParameters
        Initial parameters. Variances that are NaN are estimated from the first E-step.
    options : EMOptions
        What to estimate, and when to end.
    report : Report
        Told of each iteration.

    Returns
    -------
    EMResult

    Raises
    ------
    ValueError
        If no component has any variance.
    """
    smallest = max(options.smallest_variance, float(np.finfo(start.means.dtype).tiny))
    options = replace(options, smallest_variance=smallest)
    if np.isnan(start.variances).any():
        parameters, base = shared_variance(posteriors, start, smallest, options.n_searches)
    else:
        parameters, base = start, posteriors.e_step(start, options.n_searches)
    bounds = [posteriors.update(base) / posteriors.total_weight]
    report.start_run()
    reason = "max_iter"
    for iteration in range(1, options.max_iter + 1):
        is_shared = iteration <= options.n_shared
        parameters = m_step(
            posteriors,
            parameters,
            covariance_type="tied_spherical" if is_shared else options.covariance_type,
            reg_covar=options.reg_covar,
            smallest_variance=smallest,
        )
        base = posteriors.e_step(parameters)
        bounds.append(posteriors.update(base) / posteriors.total_weight)
        is_over = report(bounds[-1], parameters.means, n_distances=posteriors.n_distances)
        window = max(_WINDOW, options.search_every)
        if not is_shared and has_converged(bounds, options.tol, options.least_gain, window):
            reason = "converged"
            break
        if is_over:
            assert report.reason is not None
            reason = report.reason
            break
    return EMResult(parameters, posteriors.neighbors, bounds[-1], report.history(), reason)


def has_converged(bounds: Sequence[float], tol: float, least_gain: float, window: int) -> bool:
    """Return whether EM has converged.

    Parameters
    ----------
    bounds : sequence of float
        Free energies: before the first iteration, and after each.
    tol, least_gain : float
        See `EMOptions`.
    window : int
        Iterations over which the gain is averaged.

    Notes
    -----
    Gains of EM fall about as 1 / t^2, t being the iteration, or faster: later iterations gain at most t times what the
    last one did.
    """
    n_iterations, bound = len(bounds) - 1, bounds[-1]
    if abs(bound - bounds[-2]) < tol * abs(bound):
        return True
    if least_gain <= 0 or n_iterations <= window:  # the first iterations have random candidates
        return False
    gain = (bound - bounds[-1 - window]) / window
    return max(gain, 0.0) * n_iterations < least_gain


def effective_size(weights: Array) -> float:
    """Return the number of rows of equal weight whose mean varies as much as that of these rows (Kish 1965)."""
    total = float(weights.sum(dtype="float64"))
    return total * total / float((weights.astype("float64") ** 2).sum())


def m_step(
    posteriors: Posteriors,
    parameters: MixtureParameters,
    *,
    covariance_type: str,
    reg_covar: float,
    smallest_variance: float,
) -> MixtureParameters:
    """Return the parameters that raise the free energy most while the shares stay as they are.

    Parameters
    ----------
    posteriors : Posteriors
        The shares.
    parameters : MixtureParameters
        Those of the E-step.
    covariance_type : {"tied_spherical", "spherical", "diag"}
        Which variances to estimate. The first keeps all weights equal.
    reg_covar : float
        Added to every variance.
    smallest_variance : float
        Below this a variance counts as 0: a component that varies less in all columns is dropped.

    Returns
    -------
    MixtureParameters
    """
    moments = posteriors.moments(parameters.means, per_column=covariance_type == "diag")
    has_mass = moments.masses > 0
    masses = np.where(has_mass, moments.masses, 1.0)[:, None]
    steps = np.divide(moments.first, masses, out=moments.first)
    # Rounded once, a piece at a time: no sum in float64 is written out.
    means = np.add(parameters.means, steps, out=np.empty_like(parameters.means), casting="same_kind")
    if covariance_type == "diag":
        assert moments.second is not None
        variances = moments.second / masses - steps**2
        own = variances.mean(axis=1)
    else:
        # Squared distances to the former means are in the energies; the new means are closer by their steps.
        _, precisions, offsets, _ = parameters.energies()
        offsets = np.where(has_mass, offsets, 0).astype(np.float64)
        scatters = (moments.energies - offsets * moments.masses) / precisions
        scatters -= moments.masses * np.einsum("ij,ij->i", steps, steps)
        n_columns = means.shape[1]
        if covariance_type == "tied_spherical":
            variance = scatters.sum() / (posteriors.total_weight * n_columns)
            variance = max(variance, smallest_variance) + reg_covar
            return MixtureParameters(means, np.array(variance), parameters.weights)
        own = variances = scatters / (masses[:, 0] * n_columns)
    alive = has_mass & (own + reg_covar > smallest_variance)
    if not alive.any():
        raise ValueError(
            "No component has any variance left beside that of all rows: they are equal within each component, or a "
            "few are far away from all others. Leave those out, or give reg_covar, the variance to add to each, a "
            f"value above {smallest_variance:.3g}."
        )
    weights = np.where(alive, moments.masses, 0.0)
    variances = np.maximum(variances, smallest_variance) + reg_covar
    variances[~alive] = 1.0
    return MixtureParameters(means, variances, weights / weights.sum())


def shared_variance(
    posteriors: Posteriors,
    parameters: MixtureParameters,
    smallest_variance: float,
    n_searches: int = 1,
) -> tuple[MixtureParameters, float]:
    """Make the first E-step with unit variance, then set the variance that its energies call for (Eq. 8).

    Parameters
    ----------
    posteriors : Posteriors
        Where the E-step takes place.
    parameters : MixtureParameters
        Means and weights.
    smallest_variance : float
        The least that is set.
    n_searches : int
        How often rows look for better components before the parameters change for the first time.

    Returns
    -------
    parameters : MixtureParameters
        With the shared variance.
    base : float
        Of the energies, which have been rescaled to it: no distance is computed twice.
    """
    unit = replace(parameters, variances=np.array(1.0))
    posteriors.e_step(unit, n_searches)
    n_columns = parameters.means.shape[1]
    variance = max(2 * posteriors.mean_energy() / n_columns, smallest_variance)
    posteriors.rescale(1 / variance)
    parameters = replace(parameters, variances=np.array(variance))
    return parameters, parameters.energies()[3]
