"""Random mixtures for tests, and their energies."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie import TruncatedGaussianMixture
from tests.reference import truncated_mixture as oracle

COVARIANCE_TYPES = ["tied_spherical", "spherical", "diag"]
DTYPES = [np.float32, np.float64]


def mixture(n_components, covariance_type="tied_spherical", **parameters):
    return TruncatedGaussianMixture(
        n_components, covariance_type=covariance_type, **(dict(random_state=0) | parameters)
    )


def full(n_components, covariance_type="tied_spherical", **parameters):
    """A mixture that truncates nothing, and regularizes nothing."""
    everything = dict(n_candidates=n_components, n_neighbors=n_components, reg_covar=0, tol=0)
    return mixture(n_components, covariance_type, **(everything | parameters))


def fitted_for(n_iter, model, X, sample_weight=None):
    """Fit for so many iterations, without a word of what may be missing then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(max_iter=n_iter).fit(X, sample_weight=sample_weight)


def energies_of(model, X):
    """Return the energy of each row with each component."""
    return oracle.energies(X, model.means_, model.covariances_, model.weights_)
