"""No fit returns numbers that are not finite, and one that fails leaves the model as it was."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.estimators.persistence import first_non_finite
from tests.support.bits import same_bits, same_fits
from tests.support.errors import tried
from tests.support.estimators import every_estimator

pytestmark = pytest.mark.filterwarnings("ignore")

FEW = {"n_clusters": 3, "n_components": 3, "coreset_size": 30, "batch_size": 20, "n_gammas": 3}


def small(case):
    """Return an estimator of a case that is soon done, and rows for it."""
    parameters = {name: value for name, value in FEW.items() if name in case.parameters}
    return case.make(**parameters), case.rows()[:60].copy()


@every_estimator()
def test_overflow_is_an_error_that_names_the_attribute(case):
    """Squares of the numbers are finite, sums of them are not."""
    for scale in (1e150, 3e153, 1e160):
        model, X = small(case)
        X *= scale / np.abs(X).max()
        _, said = tried(model.fit, X)
        assert "\n" not in said
        if not said:
            assert first_non_finite(vars(model), model._fitted_attributes()) is None


@every_estimator(lambda case: case.takes_weights)
def test_weights_that_overflow(case):
    for weight in (1e300, 1e308):
        model, X = small(case)
        if weight == 1e308 and "coreset_size" in case.parameters:
            continue
        _, said = tried(model.fit, 1e3 * X, sample_weight=np.full(len(X), weight))
        assert "\n" not in said
        if not said:
            assert first_non_finite(vars(model), model._fitted_attributes()) is None


@every_estimator()
def test_failed_fit_does_not_change_the_model(case):
    model, X = small(case)
    model.fit(X)
    before, same = dict(vars(model)), case.estimator(**model.get_params()).fit(X)
    bad = X[:, :-1].copy()
    bad[7, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    same_fits(model, same)
    if hasattr(model, "predict"):
        same_bits(model.predict(X), same.predict(X))


@every_estimator()
def test_a_first_fit_that_fails_leaves_nothing(case):
    model, X = small(case)
    X[5] = np.inf
    before = dict(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X)
    assert vars(model) == before


@pytest.mark.parametrize("estimator", [coterie.MiniBatchKMeans, coterie.NestedMiniBatchKMeans])
@pytest.mark.parametrize("sparse", [False, True])
def test_stream_continues_after_a_failed_batch(estimator, sparse):
    """All rows of a batch are added to the sums, or none."""
    random = np.random.default_rng(0)
    batches = [random.normal(size=(50, 4)) for _ in range(3)]
    kind = sp.csr_array if sparse else np.asarray
    model, other = (estimator(3, random_state=0) for _ in range(2))
    broken = batches[0].copy()
    broken[-1, -1] = np.nan
    for batch in batches:
        model.partial_fit(kind(batch))
        other.partial_fit(kind(batch))
        wrong = [
            (kind(broken), None),
            (kind(batch[:, :3]), None),
            (kind(1e200 * batch), None),
            (kind(batch), np.full(50, 1e308)),
            (kind(batch), np.full(50, -1.0)),
            (kind(batch), np.ones(49)),
        ]
        for rows, weights in wrong:
            assert tried(model.partial_fit, rows, sample_weight=weights)[1]
        with pytest.raises(ValueError, match="n_clusters=5 cannot be reached by partial_fit"):
            model.set_params(n_clusters=5).partial_fit(kind(batch))
        model.set_params(n_clusters=3)
        same_fits(model, other)
    same_bits(model.cluster_centers_, other.cluster_centers_)


def test_an_estimator_from_outside_stores_finite_numbers_only():
    class Careless(coterie.estimators.Estimator):
        def fit(self, X, y=None):
            self._store_fitted({"radius_": np.nan})
            return self

        def _fitted_attributes(self):
            return {**super()._fitted_attributes(), "radius_": "float"}

    model = Careless()
    with pytest.raises(ValueError, match="Careless ended with nan in its radius"):
        model.fit([[1.0]])
    assert not hasattr(model, "radius_")
