"""What users put around an estimator: scikit-learn's pipelines, searches, frames, metadata and pictures of it."""

import inspect
import tomllib

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import coterie
from coterie.estimators import Estimator
from tests.docs.pages import ROOT
from tests.support.bits import same_bits
from tests.support.estimators import CASES, every_estimator

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Where the site is.
DOCUMENTATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"][
    "Documentation"
]


def small(case):
    """Return rows that take no time."""
    return case.rows()[:240]


def has(name):
    return lambda case: hasattr(case.estimator, name)


def test_every_estimator_is_among_them():
    public = (getattr(coterie, name) for name in coterie.__all__)
    estimators = {kind for kind in public if inspect.isclass(kind) and issubclass(kind, Estimator)}
    assert estimators == {case.estimator for case in CASES}


@every_estimator()
def test_in_a_pipeline(case):
    X = small(case)
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), case.make()).fit(X)
    same_bits(getattr(pipeline[-1], case.labels), getattr(case.make().fit(scaled), case.labels))
    if hasattr(case.estimator, "predict"):
        same_bits(pipeline.predict(X), pipeline[-1].predict(scaled))


@every_estimator(has("transform"))
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_frames_come_out(case, container):
    library = pytest.importorskip(container)
    model = case.make().set_output(transform=container).fit(small(case))
    found = model.transform(small(case))
    assert isinstance(found, library.DataFrame)
    names = [f"{case.estimator.__name__.lower()}{number}" for number in range(found.shape[1])]
    assert list(found.columns) == list(model.get_feature_names_out()) == names
    plain = clone(model).set_output(transform="default").fit(small(case)).transform(small(case))
    np.testing.assert_array_equal(found.to_numpy(), plain)


@every_estimator(has("score"))
def test_in_a_search(case):
    name = "n_components" if "n_components" in case.make().get_params() else "n_clusters"
    search = GridSearchCV(case.make(), {name: [2, 5]}, cv=2).fit(small(case))
    assert search.best_params_[name] == 5
    assert search.best_estimator_.score(small(case)) == search.score(small(case))


@every_estimator(lambda case: has("predict")(case) and case.takes_weights)
def test_weights_are_routed(case):
    X = small(case)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = case.make().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, sample_weight=weights)
    alone = case.make().fit(StandardScaler().fit_transform(X), sample_weight=weights)
    same_bits(pipeline[-1].labels_, alone.labels_)


@every_estimator()
def test_shown_in_a_notebook(case):
    model = case.make(n_threads=1)
    before, after = model._repr_html_(), model.fit(small(case))._repr_html_()
    assert type(model).__name__ in before
    assert f'href="{DOCUMENTATION}/reference/made/coterie.{type(model).__name__}.html"' in before
    assert "Not fitted" in before
    assert "Not fitted" not in after
