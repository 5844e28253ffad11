"""scikit-learn's KMeans with the centroids of ours."""

import pickle

import numpy as np
import pytest
import sklearn.cluster

import coterie
from tests.support.bits import same_bits


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(600, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [coterie.KMeans, coterie.MiniBatchKMeans, coterie.NestedMiniBatchKMeans])
def test_as_sklearn_predicts_the_same(kind, dtype, rows):
    rows = rows.astype(dtype)
    model = kind(7, random_state=0).fit(rows)
    other = model.as_sklearn()
    assert type(other) is sklearn.cluster.KMeans
    same_bits(other.predict(rows), model.labels_)
    np.testing.assert_allclose(other.transform(rows), model.transform(rows), rtol=1e-4)
    assert other.score(rows) == pytest.approx(-model.inertia_, rel=1e-5)
    assert other.inertia_ == model.inertia_
    same_bits(pickle.loads(pickle.dumps(other)).predict(rows), model.labels_)


def test_names_of_columns_are_kept(rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    other = coterie.KMeans(3, random_state=0).fit(frame).as_sklearn()
    assert other.feature_names_in_.tolist() == ["a", "b", "c"]
    assert other.set_output(transform="pandas").transform(frame).shape == (600, 3)


def test_as_sklearn_exports_to_onnx(rows):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from skl2onnx import to_onnx

    some = rows.astype(np.float32)
    model = coterie.KMeans(5, random_state=0).fit(some)
    session = runtime.InferenceSession(to_onnx(model.as_sklearn(), some[:1]).SerializeToString())
    np.testing.assert_array_equal(session.run(None, {"X": some})[0], model.labels_)


def test_models_without_as_sklearn(rows):
    with pytest.raises(ValueError, match="no KMeans with metric='cosine'"):
        coterie.KMeans(3, metric="cosine", random_state=0).fit(rows).as_sklearn()
    with pytest.raises(ValueError, match="does not predict the nearest centroid"):
        coterie.BisectingKMeans(3, random_state=0).fit(rows).as_sklearn()


def test_as_sklearn_warns_of_prepared_rows(rows):
    prepared = coterie.prepare_rows(rows, scale="standard")
    model = coterie.KMeans(3, random_state=0).fit(prepared)
    with pytest.warns(UserWarning, match="does not prepare any"):
        other = model.as_sklearn()
    same_bits(other.predict(model._prepared(rows).read()), model.labels_)
