"""The M-step of a truncated mixture: parameters from the rows' shares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coterie.mixture.parameters import MixtureParameters
from coterie.mixture.posteriors import Posteriors

__all__ = ["m_step", "shared_variance"]


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
