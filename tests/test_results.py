"""Tables of results: ids, clusters, distances and ranks of rows, and the examples of each cluster."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.cluster import KMeans as OtherKMeans
from sklearn.metrics import pairwise_distances

import coterie
from coterie import KMeans, LaplacianKModes, TotalVariationClustering, TruncatedGaussianMixture
from coterie.results import Examples, find_outliers, outlier_share, place_rows, result_batches
from coterie.rows import as_rows
from coterie.rows.derived import NormalizedRows
from tests.support.counting import CountingSource

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.compute")


@pytest.fixture(scope="module")
def X():
    return coterie.datasets.load_digits()[0]


@pytest.fixture
def few():
    return np.array([[0.0], [1.0], [5.0], [20.0], [22.0]])


@pytest.fixture
def pair(few):
    return KMeans(2, random_state=0).fit(few)


class OtherColumns:
    """What a table has beside its clustered columns, in batches that are cut anywhere."""

    def __init__(self, columns, cuts):
        self.names = list(columns)
        self._table = pyarrow.table(columns)
        self._cuts = cuts

    def batches(self, columns):
        for start, stop in zip([0, *self._cuts], [*self._cuts, self._table.num_rows]):
            yield from self._table.select(columns).slice(start, stop - start).to_batches()


def with_columns(X, **columns):
    rows = as_rows(X)
    rows.metadata_columns = OtherColumns(columns, [2, 3])
    return rows


def test_distances_and_ranks(X):
    model = KMeans(10, random_state=0).fit(X)
    table = coterie.results_table(model, X)
    distances = pairwise_distances(X, model.cluster_centers_)
    assert table.column_names == ["cluster", "distance", "outlier_score", "rank"]
    assert np.array_equal(table["cluster"], model.labels_)
    assert np.array_equal(table["outlier_score"], model.outlier_scores_)
    np.testing.assert_allclose(table["distance"], distances.min(axis=1))
    for cluster in range(10):
        frame = table.filter(pyarrow.compute.equal(table["cluster"], cluster)).sort_by("rank")
        assert frame["rank"].to_pylist() == list(range(1, frame.num_rows + 1))
        assert np.all(np.diff(frame["distance"]) >= 0)


def test_examples(X):
    model = KMeans(10, random_state=0).fit(X)
    placement = place_rows(model, X, model.labels_)
    examples = Examples(placement)
    for batch in result_batches(placement, as_rows(X), []):
        examples.look_at(batch)
    table = examples.table().to_pandas()
    distances = pairwise_distances(X, model.cluster_centers_)
    two = np.sort(distances, axis=1)[:, :2]
    closeness = two[:, 0] / two[:, 1]
    for cluster in range(10):
        members = np.flatnonzero(model.labels_ == cluster)
        own = table[table.cluster == cluster]
        assert own.example.tolist() == ["nearest"] * 10 + ["borderline"] * 10
        assert own.place.tolist() == [*range(1, 11), *range(1, 11)]
        rows = own.row.to_numpy()
        assert rows[:10].tolist() == members[np.argsort(distances[members, cluster])][:10].tolist()
        assert rows[10:].tolist() == members[np.argsort(-closeness[members])][:10].tolist()


def test_columns_are_kept(few, pair):
    ids, texts = list("vwxyz"), ["a b", None, "c", "d", "e"]
    rows = with_columns(few, text=texts, _id=ids, rank=[5, 4, 3, 2, 1])
    table = coterie.results_table(pair, rows)
    assert table.column_names == ["_id", "text", "rank_kept", "cluster", "distance", "outlier_score", "rank"]
    assert table["_id"].to_pylist() == ids
    assert table["text"].to_pylist() == texts
    assert table["rank"].to_pylist() == [2, 1, 3, 1, 2]
    assert coterie.results_table(pair, rows, keep=[]).column_names[:2] == ["_id", "cluster"]
    chosen = coterie.results_table(pair, rows, id="text", keep=["_id"])
    assert chosen.column_names[:3] == ["text", "_id", "cluster"]
    for options in (dict(id="nothing"), dict(keep=["nothing"])):
        with pytest.raises(ValueError, match=r"There is no column 'nothing' .*: 'text', '_id', 'rank'"):
            coterie.results_table(pair, rows, **options)


def test_examples_of_batches(few, pair):
    rows = with_columns(few, id=list("vwxyz"))
    placement = place_rows(pair, rows, pair.labels_)
    examples = Examples(placement)
    for batch in result_batches(placement, rows, ["id"]):
        examples.look_at(batch)
    table = examples.table()
    assert table.column_names[:6] == ["example", "place", "row", "id", "cluster", "distance"]
    ids = np.array(list("vwxyz"))
    assert table["id"].to_pylist() == ids[table["row"]].tolist()
    assert table.num_rows == 10  # both clusters have fewer rows than there is room for


def test_a_clustered_column_is_no_id(pair):
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"id": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'id' is clustered"):
        coterie.results_table(KMeans(2).fit(rows), rows, id="id")


def test_posteriors(X):
    model = TruncatedGaussianMixture(10, random_state=0).fit(X)
    table = coterie.results_table(model, X, labels=model.labels_)
    own = model.responsibilities(X).toarray()[np.arange(len(X)), model.labels_]
    np.testing.assert_array_equal(table["posterior"], own)
    for cluster in range(10):
        members = table.filter(pyarrow.compute.equal(table["cluster"], cluster)).sort_by("rank")
        assert np.all(np.diff(members["posterior"]) <= 0)


@pytest.mark.parametrize("make", [LaplacianKModes, TotalVariationClustering])
def test_memberships_are_those_of_the_fit(X, make):
    model = make(10, n_init=1, random_state=0).fit(X[:500])
    table = coterie.results_table(model, X[:500], labels=model.labels_)
    assert table.column_names[-3:] == ["membership", "outlier_score", "rank"]
    assert np.all(np.asarray(table["membership"]) > 0)
    assert np.array_equal(table["outlier_score"], model.outlier_scores_)
    assert "membership" not in coterie.results_table(model, X[500:]).column_names
    # As many other rows with the same labels are not those of the fit.
    moved = X[:500] + 0.25
    others = coterie.results_table(model, moved, labels=model.labels_)
    assert "membership" not in others.column_names
    assert not np.array_equal(others["outlier_score"], model.outlier_scores_)


def test_rows_are_prepared(X):
    model = KMeans(10, random_state=0).fit(NormalizedRows(as_rows(X)))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    table = coterie.results_table(model, X)
    assert np.array_equal(table["cluster"], model.labels_)
    np.testing.assert_allclose(
        table["distance"], pairwise_distances(unit, model.cluster_centers_).min(axis=1)
    )


def test_sparse_rows(X):
    import scipy.sparse as sp

    model = KMeans(10, random_state=0).fit(X)
    dense, sparse = (coterie.results_table(model, rows) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense["distance"], sparse["distance"])


def test_one_cluster_and_rows_in_none(few):
    model = KMeans(1).fit(few)
    table = coterie.results_table(model, few, labels=[0, 0, -1, 0, 0])
    assert table["rank"].to_pylist() == [2, 1, None, 3, 4]  # the center is at 9.6
    assert table["distance"].to_pylist()[2] is None


def test_models_without_predict(few):
    model = AgglomerativeClustering(2).fit(few)
    assert coterie.results_table(model, few)["cluster"].to_pylist() == model.labels_.tolist()
    with pytest.raises(ValueError, match="the rows of its fit only"):
        coterie.results_table(model, few[:3])


def test_models_of_other_libraries(X):
    model = OtherKMeans(10, n_init=1, random_state=0).fit(X)
    table = coterie.results_table(model, X)
    assert np.array_equal(table["cluster"], model.labels_)
    assert table.column_names == ["cluster", "distance", "rank"]
    bare = SimpleNamespace(labels_=np.array([0, 0, 1]))
    assert coterie.results_table(bare, X[:3])["rank"].to_pylist() == [1, 2, 1]


def test_labels_of_other_rows(few, pair):
    with pytest.raises(ValueError, match="one number for each of 5 rows"):
        coterie.results_table(pair, few, labels=[0, 1])


class TestOutliers:
    def test_a_share_is_marked(self, X):
        model = KMeans(10, random_state=0).fit(X)
        plain, marked = (coterie.results_table(model, X, outliers=share) for share in (None, "2%"))
        scores = model.outlier_scores_
        farthest = np.argsort(-scores)[:35]  # of 1,797 rows
        assert sorted(np.flatnonzero(np.asarray(marked["cluster"]) == -1)) == sorted(farthest)
        others = np.delete(np.arange(len(X)), farthest)
        assert np.array_equal(np.asarray(marked["cluster"])[others], model.labels_[others])
        assert marked.drop_columns(["cluster"]) == plain.drop_columns(["cluster"])
        assert model.labels_.min() == 0
        assert coterie.results_table(model, X, outliers=0.02) == marked
        assert coterie.results_table(model, X, outliers=0) == plain

    @pytest.mark.parametrize("share", ["1", "100%", "-1%", -0.1, 1, "few", "", "%", "nan", None])
    def test_invalid_outlier_shares(self, share):
        with pytest.raises(ValueError, match="a share of the rows from 0 to less than 1, or such as '1%'"):
            outlier_share(share)

    def test_equal_scores_are_marked_together(self):
        scores = np.array([1, 5, 5, 5, 2, np.nan, 9])
        for share, expected in [(0.2, [6]), (0.5, [6]), (0.67, [1, 2, 3, 6]), (0.17, [6]), (0.16, [])]:
            assert np.flatnonzero(find_outliers(scores, share).marks).tolist() == expected
        assert not find_outliers(np.full(2, np.nan), 0.5).marks.any()

    def test_a_share_is_rounded_down(self):
        scores = np.arange(100.0)
        for percent in range(100):
            assert find_outliers(scores, outlier_share(f"{percent}%")).marks.sum() == percent

    def test_examples_stay(self, X):
        model = KMeans(10, random_state=0).fit(X)
        placement = place_rows(model, X, model.labels_)
        tables = []
        for outliers in (None, find_outliers(model.outlier_scores_, 0.3)):
            examples = Examples(placement)
            for batch in result_batches(placement, as_rows(X), [], outliers):
                examples.look_at(batch)
            tables.append(examples.table())
        assert tables[0] == tables[1]

    def test_other_rows_and_other_labels(self, X):
        model = KMeans(10, random_state=0).fit(X[:900])
        labels, scores = model.predict(X[900:]), model.outlier_scores(X[900:])
        for given in (None, labels):
            table = coterie.results_table(model, X[900:], labels=given)
            assert np.array_equal(table["outlier_score"], scores)
        other = coterie.results_table(model, X[900:], labels=(labels + 1) % 10)
        assert np.all(np.asarray(other["distance"]) >= np.asarray(table["distance"]))
        nowhere = coterie.results_table(model, X[:3], labels=[-1, 0, 1])
        assert nowhere["outlier_score"].null_count == 1

    def test_models_without_scores(self, X):
        model = OtherKMeans(10, n_init=1, random_state=0).fit(X)
        with pytest.raises(ValueError, match="This KMeans has no outlier scores"):
            coterie.results_table(model, X, outliers="1%")

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    def test_files_are_read_twice(self, X, metric, kept_bytes):
        """Once for labels with scores, once for distances and closeness."""
        model = KMeans(10, metric=metric, random_state=0).fit(X)
        kept_bytes(0)
        rows = CountingSource(as_rows(X))
        table = coterie.results_table(model, rows, outliers="1%")
        assert rows.n_passes == 2
        assert np.array_equal(table["outlier_score"], model.outlier_scores_)
