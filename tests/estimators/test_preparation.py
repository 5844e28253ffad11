"""Rows that were not fitted get the columns of the fit, in its order, and what was done to its rows."""

import warnings

import numpy as np
import pytest

from coterie import KMeans, open_rows
from coterie.rows import as_rows
from tests.support.bits import same_bits

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

pandas = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pandas.DataFrame(rng.normal(size=(600, 4)) * [1, 2, 3, 4], columns=list("abcd"))


@pytest.fixture
def model(frame):
    return KMeans(8, random_state=0).fit(frame)


def kinds_of(frame, folder):
    """The same table as all that has names."""
    frame.to_csv(folder / "t.csv", index=False)
    yield open_rows(folder / "t.csv")
    yield str(folder / "t.csv")
    yield frame
    yield as_rows(frame)
    yield pytest.importorskip("polars").from_pandas(frame)
    yield pytest.importorskip("pyarrow").Table.from_pandas(frame)


def test_every_kind_of_table(model, frame, tmp_path):
    for rows in kinds_of(frame[list("dbca")], tmp_path):
        same_bits(model.predict(rows), model.labels_)
        fitted = KMeans(8, random_state=0).fit(rows)
        assert list(fitted.feature_names_in_) == list("dbca")
        same_bits(fitted.predict(frame), fitted.labels_)


def test_other_columns_are_listed(model, frame, tmp_path):
    for rows in kinds_of(frame.rename(columns={"a": "e", "c": "f"}), tmp_path):
        with pytest.raises(
            ValueError, match=r"unseen at fit time:\n- e\n- f\n.*yet now missing:\n- a\n- c\n"
        ):
            model.predict(rows)
    with pytest.raises(ValueError, match=r"yet now missing:\n- b\n$"):
        model.predict(frame[["a", "c", "d"]])


def test_columns_are_found_by_name(model, frame):
    """Among others, and in rows of any index."""
    some = frame[::-1][list("dbca")].assign(x=1.0, text="a")
    same_bits(model.predict(some), model.labels_[::-1])
    same_bits(model.predict(as_rows(some)), model.labels_[::-1])


def test_repeated_names(frame, tmp_path):
    frame.insert(4, "a", frame["a"] + 1, allow_duplicates=True)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.iloc[:, [1, 0, 2, 3, 4]].to_csv(tmp_path / "moved.csv", index=False)
    model = KMeans(3, random_state=0).fit(open_rows(tmp_path / "t.csv"))
    same_bits(model.predict(open_rows(tmp_path / "t.csv")), model.labels_)
    with pytest.raises(ValueError, match="must be unique"):
        model.predict(open_rows(tmp_path / "moved.csv"))


def test_only_one_side_has_names(model, frame):
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        same_bits(model.predict(frame.to_numpy()), model.labels_)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        KMeans(3, random_state=0).fit(frame.to_numpy()).predict(frame)


@pytest.mark.parametrize("header", [True, False])
def test_chosen_columns_are_chosen_again(frame, header, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, header=header)
    chosen = ["d", "a"] if header else [3, 0]
    model = KMeans(6, random_state=0).fit(open_rows(path, columns=chosen))
    assert model.preparation_ == (("columns", chosen),)
    same_bits(model.predict(open_rows(path)), model.labels_)
    same_bits(model.predict(open_rows(path, columns=chosen)), model.labels_)
    if header:
        assert np.array_equal(model.predict(frame.assign(name="text")), model.labels_)
        table = pytest.importorskip("pyarrow").Table.from_pandas(frame.assign(name="text"))
        assert np.array_equal(model.predict(table), model.labels_)
        with pytest.raises(ValueError, match=r"no column 'a'. Its columns are 'b', 'c', 'd'"):
            model.predict(frame[["b", "c", "d"]])


@pytest.mark.parametrize("beside", [{}, {"number": np.arange(60.0)}])
@pytest.mark.filterwarnings("ignore:Clustered by the vectors:UserWarning")
def test_a_column_of_vectors_has_no_names_of_features(beside):
    """What `vector[0]` may be called is nobody's: frames, tables and arrays of the same vectors agree."""
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(60, 4))
    frame = pandas.DataFrame({"id": [f"u{i}" for i in range(60)], "vector": list(X), **beside})
    kinds = [frame, pyarrow.Table.from_pandas(frame), X, X.tolist(), frame[frame.columns[::-1]]]
    for own in kinds[:3]:
        model = KMeans(3, random_state=0).fit(own)
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 4
        for other in kinds:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="X ")
                assert np.array_equal(model.predict(other), model.labels_)
