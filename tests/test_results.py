"""Tables of results: the columns of the input, then cluster, name, probability or distance, outlier score."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans as OtherKMeans
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import Normalizer

import coterie
from coterie import KMeans, LaplacianKModes, TotalVariationClustering, TruncatedGaussianMixture
from coterie.results import outlier_share, outlier_threshold, place_rows
from coterie.rows import prepare_rows

pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def X():
    return coterie.datasets.load_digits()[0]


@pytest.fixture
def few():
    return np.array([[0.0], [1.0], [5.0], [20.0], [22.0]])


@pytest.fixture
def frame(few):
    return pandas.DataFrame(
        {"x": few[:, 0], "text": list("vwxyz"), "vector": [[1.0, 2.0]] * 5},
        index=pandas.Index([3, 1, 4, 1, 5], name="day"),
    )


@pytest.fixture
def model(frame):
    return KMeans(2, random_state=0).fit(frame[["x"]])


def test_distances_and_scores(X):
    model = KMeans(10, random_state=0).fit(X)
    table = coterie.results_table(model, X)
    assert table.column_names == ["cluster", "distance", "outlier_score"]
    assert np.array_equal(table["cluster"], model.labels_)
    assert np.array_equal(table["outlier_score"], model.outlier_scores_)
    np.testing.assert_allclose(table["distance"], pairwise_distances(X, model.cluster_centers_).min(axis=1))


def test_ranks_and_borderline_rows(X):
    model = KMeans(10, random_state=0).fit(X)
    placement = place_rows(model, X, model.labels_)
    distances = pairwise_distances(X, model.cluster_centers_)
    two = np.sort(distances, axis=1)[:, :2]
    for cluster in range(10):
        members = np.flatnonzero(model.labels_ == cluster)
        for places, key in ((placement.ranks, two[:, 0]), (placement.borderline, -two[:, 0] / two[:, 1])):
            # Not the rows: two of them may have the same distance but for its last digits.
            in_order = key[members[np.argsort(places[members])]]
            np.testing.assert_allclose(in_order, np.sort(key[members]), rtol=1e-12)
            assert sorted(places[members]) == list(range(1, len(members) + 1))


class TestKinds:
    """A data frame gives a data frame, all else an Arrow table, with the same values."""

    def test_pandas_with_its_index(self, frame, model):
        found = coterie.results_table(model, frame, names={0: "few"})
        assert found.index.equals(frame.index)
        assert found.columns.tolist() == ["x", "text", "cluster", "name", "distance", "outlier_score"]
        assert found["cluster"].tolist() == model.labels_.tolist()
        pandas.testing.assert_frame_equal(found[["x", "text"]], frame[["x", "text"]])
        assert "cluster" not in frame

    def test_arrow_files_and_polars(self, frame, model, tmp_path):
        expected = coterie.results_table(model, frame).reset_index(drop=True)
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        frame.to_parquet(tmp_path / "t.parquet", index=False)
        polars = pytest.importorskip("polars")
        for given, kind in (
            (table, pyarrow.Table),
            (str(tmp_path / "t.parquet"), pyarrow.Table),
            (polars.from_arrow(table), polars.DataFrame),
        ):
            found = coterie.results_table(model, given)
            assert isinstance(found, kind)
            pandas.testing.assert_frame_equal(found.to_pandas(), expected)

    def test_dropped_rows_are_there_without_a_cluster(self, frame):
        frame["x"] = [0.0, 10, np.nan, 0.5, 10.5]
        model = KMeans(2, random_state=0).fit(prepare_rows(frame, columns=["x"], missing="drop"))
        found = coterie.results_table(model, frame)
        assert model.labels_[0] != model.labels_[1]
        assert found["cluster"].isna().tolist() == [False, False, True, False, False]
        assert found["cluster"].dropna().tolist() == model.labels_.tolist()


def test_columns_of_the_same_name(frame, model):
    found = coterie.results_table(model, frame.rename(columns={"text": "distance"}))
    assert found["distance"].tolist() == list("vwxyz")
    assert found["cluster_distance"].dtype == np.float64


def test_posteriors(X):
    model = TruncatedGaussianMixture(10, random_state=0).fit(X)
    table = coterie.results_table(model, X, labels=model.labels_)
    own = model.responsibilities(X).toarray()[np.arange(len(X)), model.labels_]
    np.testing.assert_array_equal(table["probability"], own)


@pytest.mark.parametrize("make", [LaplacianKModes, TotalVariationClustering])
def test_memberships_are_those_of_the_fit(X, make):
    model = make(10, n_init=1, random_state=0).fit(X[:500])
    table = coterie.results_table(model, X[:500], labels=model.labels_)
    assert table.column_names[-2:] == ["probability", "outlier_score"]
    assert np.all(np.asarray(table["probability"]) > 0)
    assert np.array_equal(table["outlier_score"], model.outlier_scores_)
    # Other rows with the same labels are not those of the fit.
    others = coterie.results_table(model, X[:500] + 0.25, labels=model.labels_)
    assert "probability" not in others.column_names
    assert not np.array_equal(others["outlier_score"], model.outlier_scores_)


def test_rows_are_prepared(X):
    model = KMeans(10, random_state=0).fit(prepare_rows(X, Normalizer()))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    table, distances = coterie.results_table(model, X), pairwise_distances(unit, model.cluster_centers_)
    assert np.array_equal(table["cluster"], model.labels_)
    np.testing.assert_allclose(table["distance"], distances.min(axis=1))


def test_rows_in_no_cluster(few):
    model = KMeans(1).fit(few)
    table = coterie.results_table(model, few, labels=[0, 0, -1, 0, 0], names=["all"])
    assert table["cluster"].to_pylist() == [0, 0, -1, 0, 0]
    assert table["name"].to_pylist() == ["all", "all", None, "all", "all"]
    assert table["distance"].to_pylist()[2] is None


def test_models_of_other_libraries(X):
    model = OtherKMeans(10, n_init=1, random_state=0).fit(X)
    table = coterie.results_table(model, X)
    assert np.array_equal(table["cluster"], model.labels_)
    assert table.column_names == ["cluster", "distance"]
    bare = SimpleNamespace(labels_=np.array([0, 0, 1]))
    assert coterie.results_table(bare, X[:3])["cluster"].to_pylist() == [0, 0, 1]


class TestOutliers:
    def test_a_share_is_marked(self, X):
        model = KMeans(10, random_state=0).fit(X)
        plain, marked = (coterie.results_table(model, X, outliers=share) for share in (None, "2%"))
        farthest = np.argsort(-model.outlier_scores_)[:35]  # of 1,797 rows
        assert sorted(np.flatnonzero(np.asarray(marked["cluster"]) == -1)) == sorted(farthest)
        assert marked.drop_columns(["cluster"]) == plain.drop_columns(["cluster"])
        assert model.labels_.min() == 0
        assert coterie.results_table(model, X, outliers=0.02) == marked
        assert coterie.results_table(model, X, outliers=0) == plain

    @pytest.mark.parametrize("share", ["1", "100%", "-1%", -0.1, 1, "few", "", "%", "nan", None])
    def test_invalid_outlier_shares(self, share):
        with pytest.raises(ValueError, match="a share of the rows"):
            outlier_share(share)

    def test_equal_scores_are_marked_together(self):
        scores = np.array([1, 5, 5, 5, 2, np.nan, 9])
        for share, expected in [(0.2, [6]), (0.5, [6]), (0.67, [1, 2, 3, 6]), (0.17, [6]), (0.16, [])]:
            assert np.flatnonzero(scores > outlier_threshold(scores, share)).tolist() == expected
        assert outlier_threshold(np.full(2, np.nan), 0.5) == np.inf

    def test_other_rows_and_other_labels(self, X):
        model = KMeans(10, random_state=0).fit(X[:900])
        labels, scores = model.predict(X[900:]), model.outlier_scores(X[900:])
        for given in (None, labels):
            table = coterie.results_table(model, X[900:], labels=given)
            assert np.array_equal(table["outlier_score"], scores)
        other = coterie.results_table(model, X[900:], labels=(labels + 1) % 10)
        assert np.all(np.asarray(other["distance"]) >= np.asarray(table["distance"]))
        assert coterie.results_table(model, X[:3], labels=[-1, 0, 1])["outlier_score"].null_count == 1
