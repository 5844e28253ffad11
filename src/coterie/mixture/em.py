"""EM with a truncated E-step (Hirschberger, Forster & Lücke 2022): iterations, M-step, and convergence test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coterie.arrays import Array, BoolArray, FloatArray, IntArray
from coterie.fitting.deadline import now
from coterie.fitting.report import FitReport
from coterie.mixture.parameters import Directions, MixtureParameters
from coterie.mixture.passes import ChunkPosteriors
from coterie.mixture.posteriors import TruncatedPosteriors

Posteriors = TruncatedPosteriors | ChunkPosteriors

HISTORY_FIELDS = (("n_distances", np.int64),)

# Iterations over which gains are averaged at the least: those that search gain more than others.
_WINDOW = 3

# Passes that look for the directions of the largest variance of each component.
_PASSES_FOR_DIRECTIONS = 4

# Variance of the noise that first factors leave, and that of factors without a direction, relative to all.
_LEAST_NOISE, _WEAK_FACTOR = 0.1, 1e-3


@dataclass(frozen=True, slots=True)
class EMOptions:
    """What EM estimates, and when it ends."""

    covariance_type: str
    n_shared: int = 0  # first iterations, with one variance for all components and no weights
    n_searches: int = 1  # searches of the first E-step
    reg_covar: float = 0.0  # added to every variance
    smallest_variance: float = 0.0  # variances below count as 0
    max_iter: int = 300
    tol: float = 0.0  # relative change of the free energy
    least_gain: float = 0.0  # total gain of all later iterations, as estimated, at which a run ends
    search_every: int = 1  # steps from one search to the next
    n_factors: int = 0
    least_mass: float = 0.0  # components of less weight keep their factors and noise
    diagonal_share: float = 1 / 3  # most iterations with diagonal covariances before factors


@dataclass(frozen=True, slots=True)
class EMResult:
    """The result of EM: parameters, neighbors (C, G) with each component first, and the free energy per weight.
    `reason` is "converged", "max_iter", "max_time" or "callback".
    """

    parameters: MixtureParameters
    neighbors: IntArray
    objective: float
    history: Array
    reason: str

    def without_dropped(self) -> EMResult:
        """Return the same without components of weight 0; the others are numbered in their order."""
        alive = self.parameters.weights > 0
        numbers = np.cumsum(alive, dtype=np.int32) - 1
        neighbors = self.neighbors[alive]
        neighbors = np.where(alive[neighbors], neighbors, neighbors[:, :1])
        return replace(self, parameters=self.parameters.of(alive), neighbors=numbers[neighbors])


def em(posteriors: Posteriors, start: MixtureParameters, options: EMOptions, report: FitReport) -> EMResult:
    """Alternate M-steps and truncated E-steps until the free energy converges. Variances of `start` that are NaN are
    estimated from the first E-step; no variance at all is an error.
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
    has_factors = options.covariance_type == "factors" and options.n_factors > 0
    kind = "diag" if options.covariance_type == "factors" else options.covariance_type
    if has_factors and start.factors is not None:
        kind = "factors"
    window = max(_WINDOW, options.search_every)
    for iteration in range(1, options.max_iter + 1):
        is_shared = iteration <= options.n_shared
        if kind == "factors" and parameters.factors is None:
            found = first_factors(posteriors, parameters, options, report)
            if found is None:
                reason = "max_time"
                break
            parameters, bounds = found, bounds[-1:]
        else:
            parameters = m_step(posteriors, parameters, "tied_spherical" if is_shared else kind, options)
        base = posteriors.e_step(parameters)
        bounds.append(posteriors.update(base) / posteriors.total_weight)
        is_over = report(bounds[-1], parameters.means, n_distances=posteriors.n_distances)
        if not is_shared and has_converged(bounds, options.tol, options.least_gain, window):
            if not has_factors or kind == "factors":
                reason = "converged"
                break
            kind = "factors"
        if has_factors and iteration >= options.diagonal_share * options.max_iter:
            kind = "factors"
        if is_over:
            assert report.reason is not None
            reason = report.reason
            break
    parameters = own_variances(parameters, options.covariance_type, options.n_factors)
    return EMResult(parameters, posteriors.neighbors, bounds[-1], report.history(), reason)


def own_variances(
    parameters: MixtureParameters, covariance_type: str, n_factors: int = 0
) -> MixtureParameters:
    """Return parameters in the shapes of a covariance type: a run can end while components share a variance."""
    shape = parameters.means.shape
    if parameters.variances.ndim == 0 and covariance_type != "tied_spherical":
        own = np.full(shape[:1] if covariance_type == "spherical" else shape, float(parameters.variances))
        parameters = replace(parameters, variances=own)
    if parameters.factors is None and covariance_type == "factors":
        none = np.zeros((shape[0], n_factors, shape[1]))
        parameters = replace(parameters, factors=none)
    return parameters


def has_converged(bounds: Sequence[float], tol: float, least_gain: float, window: int) -> bool:
    """Return whether EM has converged, from the free energies before the first iteration and after each. Mean gains
    fall about as 1 / t^2 with the iteration t: later ones sum to at most t times the last one.
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
    relative = weights / weights.max().astype("float64")  # whose squares do not vanish
    return float(relative.sum() ** 2 / (relative**2).sum())


def m_step(
    posteriors: Posteriors, parameters: MixtureParameters, covariance_type: str, options: EMOptions
) -> MixtureParameters:
    """Return the parameters of the largest free energy at fixed shares, by regression on E[z | x] (Ghahramani and
    Hinton 1996). Components without variance are dropped; those below `least_mass` keep factors and noise.
    """
    reg_covar, smallest_variance = options.reg_covar, options.smallest_variance
    if covariance_type == "factors":
        means, variances, factors, masses = _regression(posteriors, parameters, options.least_mass)
        alive = (masses > 0) & (variances.mean(axis=1) + reg_covar > smallest_variance)
        _check_alive(alive, smallest_variance)
        weights = np.where(alive, masses, 0.0)
        variances = np.maximum(variances, smallest_variance) + reg_covar
        variances[~alive], factors[~alive] = 1.0, 0.0
        return MixtureParameters(means, variances, weights / weights.sum(), factors)
    moments = posteriors.moments(parameters.means, per_column=covariance_type == "diag")
    has_mass = moments.masses > 0
    masses = np.where(has_mass, moments.masses, 1.0)[:, None]
    steps = np.divide(moments.first, masses, out=moments.first)
    # Rounded once, a piece at a time: no sum in float64 is written out.
    means = np.add(parameters.means, steps, out=np.empty_like(parameters.means), casting="same_kind")
    if covariance_type == "diag":
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
    _check_alive(alive, smallest_variance)
    weights = np.where(alive, moments.masses, 0.0)
    variances = np.maximum(variances, smallest_variance) + reg_covar
    variances[~alive] = 1.0
    return MixtureParameters(means, variances, weights / weights.sum())


def _check_alive(alive: BoolArray, smallest_variance: float) -> None:
    if not alive.any():
        raise ValueError(
            "All components have lost their variance: the rows of each are equal, or a few rows are far away from all "
            f"others. Leave such rows out, or set reg_covar to more than {smallest_variance:.3g}."
        )


def _regression(
    posteriors: Posteriors, parameters: MixtureParameters, least_mass: float
) -> tuple[Array, FloatArray, FloatArray, FloatArray]:
    """Return means, variances of the noise, factors and masses from the regression of rows on their factors."""
    directions = parameters.directions
    assert directions is not None
    moments = posteriors.moments(parameters.means, per_column=True, directions=directions)
    n_factors = directions.strengths.shape[1]
    has_mass = moments.masses > 0
    masses = np.where(has_mass, moments.masses, 1.0)
    # Posterior means of the factors are shrunken projections; the posterior covariance is diagonal.
    shrinkages = 1 / (1 + directions.strengths)
    steps = np.sqrt(directions.strengths) * shrinkages
    first = moments.first / masses[:, None]
    z = steps * moments.projections / masses[:, None]
    cross = moments.cross
    cross *= (steps / masses[:, None])[:, :, None]
    cross -= z[:, :, None] * first[:, None, :]
    spread = steps[:, :, None] * steps[:, None, :] * moments.outer / masses[:, None, None]
    spread -= z[:, :, None] * z[:, None, :]
    spread += np.eye(n_factors) * shrinkages[:, None, :]
    # With many columns a product is faster than to solve for each of them.
    factors: FloatArray = np.asarray(np.linalg.inv(spread) @ cross)
    variances = moments.second / masses[:, None]
    variances -= first**2
    variances -= np.einsum("chd,chd->cd", factors, cross)
    too_few = moments.masses < least_mass
    if too_few.any():
        factors[too_few] = directions.factors(too_few)
        variances[too_few] = parameters.variances[too_few]
    first -= np.einsum("chd,ch->cd", factors, z)
    first[~has_mass] = 0
    means = np.add(parameters.means, first, out=np.empty_like(parameters.means), casting="same_kind")
    return means, variances, factors, moments.masses


def first_factors(
    posteriors: Posteriors, parameters: MixtureParameters, options: EMOptions, report: FitReport
) -> MixtureParameters | None:
    """Return parameters with factors from diagonal covariances, None if the time is too short. Of the H directions of
    largest variance v (columns of variance 1), those of v > 1 become factors; the noise is the mean variance of the
    others, at least 0.1 and `reg_covar` (Tipping and Bishop 1999).
    """
    parameters = m_step(posteriors, parameters, "diag", options)
    (n_components, n_columns), dtype = parameters.means.shape, parameters.means.dtype
    scales = 1 / np.sqrt(parameters.variances)
    vectors = np.random.RandomState(0).standard_normal((n_components, options.n_factors, n_columns))
    for number in range(_PASSES_FOR_DIRECTIONS + 1):
        vectors = np.linalg.qr(vectors.transpose(0, 2, 1))[0].transpose(0, 2, 1)
        directions = Directions(
            np.ascontiguousarray(scales, dtype=dtype), Directions.padded(vectors, dtype), np.empty((0, 0))
        )
        begin = now()
        moments = posteriors.moments(parameters.means, per_column=True, directions=directions)
        # The passes that are left, and the next E-step.
        if not report.has_time_for((_PASSES_FOR_DIRECTIONS + 1 - number) * (now() - begin)):
            return None
        masses = np.maximum(moments.masses, np.finfo(np.float64).tiny)
        products = moments.cross * (scales / masses[:, None])[:, None, :]
        if number < _PASSES_FOR_DIRECTIONS:
            # A component without rows keeps its directions.
            vectors = np.where(moments.masses[:, None, None] > 0, products, vectors)
    added = options.reg_covar * scales**2
    total = np.sum(moments.second * scales**2, axis=1) / masses + added.sum(axis=1)
    found, turns = np.linalg.eigh(vectors @ products.transpose(0, 2, 1))
    vectors = turns.transpose(0, 2, 1) @ vectors
    is_strong = (found > 1) & (moments.masses >= options.least_mass)[:, None]
    rest = total - np.sum(found, axis=1, where=is_strong)
    least = np.maximum(added.max(axis=1), _LEAST_NOISE)
    noise = np.clip(rest / (n_columns - is_strong.sum(axis=1)), np.minimum(least, 1.0), 1.0)[:, None]
    strengths = np.where(is_strong, found - noise, _WEAK_FACTOR * noise)
    factors = vectors * np.sqrt(strengths)[:, :, None] * np.sqrt(parameters.variances)[:, None, :]
    return replace(parameters, variances=parameters.variances * noise, factors=factors)


def shared_variance(
    posteriors: Posteriors,
    parameters: MixtureParameters,
    smallest_variance: float,
    n_searches: int = 1,
) -> tuple[MixtureParameters, float]:
    """Make the first E-step with unit variance, then set the variance of its energies (Eq. 8). Return also the base of
    the energies, which are rescaled to it.
    """
    unit = replace(parameters, variances=np.array(1.0))
    posteriors.e_step(unit, n_searches)
    n_columns = parameters.means.shape[1]
    variance = max(2 * posteriors.mean_energy() / n_columns, smallest_variance)
    parameters = replace(parameters, variances=np.array(variance))
    posteriors.rescale(parameters)
    return parameters, parameters.energies()[3]
