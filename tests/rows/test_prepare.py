"""`prepare_rows` does what scikit-learn's transformers do, however the table is stored."""

import pickle

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

from coterie.rows import as_rows, open_rows, prepare_rows, statistics
from tests.support.bits import same_bits

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

NUMBERS = ["age", "income", "flag", "constant"]
SCALERS = {"standard": StandardScaler, "robust": RobustScaler, None: lambda: "passthrough"}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 700
    frame = pandas.DataFrame(
        {
            "age": rng.integers(1, 90, n).astype(float),
            "city": rng.choice(["Rome", "Oslo", "Årø"], n),
            "income": rng.normal(5e4, 1e4, n),
            "flag": rng.integers(0, 2, n),
            "code": rng.integers(7, 10, n),
            "constant": 3.25,
            "id": [f"r{i}" for i in range(n)],
        }
    )
    frame.loc[rng.choice(n, 40, replace=False), "age"] = np.nan
    frame.loc[rng.choice(n, 7, replace=False), "city"] = None
    return frame


def kinds_of(frame, folder):
    """The same table in memory and in files."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet", row_group_size=90)
    (folder / "shards").mkdir()
    frame[:300].to_parquet(folder / "shards/0.parquet")
    frame[300:].to_parquet(folder / "shards/1.parquet")
    yield frame
    yield pyarrow.Table.from_pandas(frame, preserve_index=False)
    yield pytest.importorskip("polars").from_pandas(frame)
    yield frame.astype({"city": "category"})
    yield from (folder / "t.csv", folder / "t.parquet", folder / "shards")


@pytest.mark.parametrize("impute", ["mean", "median"])
@pytest.mark.parametrize("scale", SCALERS)
def test_as_scikit_learn(frame, impute, scale, tmp_path):
    encoder = OneHotEncoder(sparse_output=False)
    numbers = make_pipeline(SimpleImputer(strategy=impute), SCALERS[scale]())
    theirs = ColumnTransformer(
        [("numbers", numbers, NUMBERS), ("categories", encoder, ["city", "code"])],
        verbose_feature_names_out=False,
    )
    expected = theirs.fit_transform(frame)
    first = None
    for table in kinds_of(frame, tmp_path):
        rows = prepare_rows(table, None, impute=impute, scale=scale, one_hot=["city", "code"], exclude=["id"])
        found = rows.read()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        first = found if first is None else first
        same_bits(found, first)
        names = [*NUMBERS, "city_Oslo", "city_Rome", "city_Årø", "city_None", "code_7", "code_8", "code_9"]
        assert rows.column_names == names
        # Which of its missing values pandas has in a column of texts, depends on its version.
        assert names == [name.replace("_nan", "_None") for name in theirs.get_feature_names_out()]
        some = np.array([0, 3, 3, 88, 650])
        same_bits(rows.take(some), found[some])
        same_bits(np.concatenate([block for _, block in rows.blocks(101)]), found)


def test_medians_are_exact_and_infinities_an_error(frame):
    rows = prepare_rows(frame[["age"]], None, impute="median")
    assert rows.preparation[0][:2] == ("impute", "median")
    assert rows.preparation[0][2] == [np.nanmedian(frame["age"])]
    frame.loc[17, "age"] = np.inf
    for impute in ("mean", "median"):
        with pytest.raises(ValueError, match=r"infinity .*First bad row: 17\."):
            prepare_rows(frame[["age"]], None, impute=impute)


def test_arrays_that_hold_no_floats():
    X = np.arange(60, dtype=np.int8).reshape(20, 3)
    rows = prepare_rows(X, scale="standard")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows.read(), StandardScaler().fit_transform(X.astype(float)), atol=1e-6)
    assert prepare_rows(X).preparation == prepare_rows(X, scale="none").preparation == ()


def test_quartiles_of_a_large_table_are_those_of_some_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(10_000, 3))
    monkeypatch.setattr(statistics, "_HELD_BYTES", 3 * 8 * 3000)
    with pytest.warns(UserWarning, match="those of every 4th row"):
        rows = prepare_rows(X, scale="robust")
    np.testing.assert_array_equal(rows.preparation[0][2], np.median(X[::4], axis=0))


def test_nothing_but_categories(frame):
    for table in (frame[["city", "id"]], pyarrow.table({"city": ["b", "a"]})):
        rows = prepare_rows(table, columns=["city"], one_hot="auto", scale="standard", impute="mean")
        assert rows.shape[1] == len(rows.column_names) == (4 if len(table) > 2 else 2)
        assert np.all(rows.read().sum(axis=1) == 1)
        same_bits(rows.take([0, 1]), rows.read()[:2])
    with pytest.raises(ValueError, match="exclude leaves no column of numbers"):
        prepare_rows(frame[["city"]], None, exclude=["city"])


def test_auto_takes_what_is_no_number(frame):
    rows = prepare_rows(frame, None, exclude="id", one_hot="auto", impute="mean")
    assert rows.shape[1] == 5 + 4
    assert prepare_rows(frame[["income"]], None, one_hot="auto").column_names == ["income"]
    assert prepare_rows(frame, columns=["age", "city"], one_hot="auto", impute="mean").shape[1] == 1 + 4


def test_kinds_of_categories():
    table = pyarrow.table(
        {
            "x": [1.0, 2.0, 3.0, 4.0],
            "day": pyarrow.array([1, 2, 2, 1], pyarrow.date32()),
            "flag": [True, None, False, True],
            "level": [1.5, float("nan"), None, 1.5],
            "text": ["", "b", None, "b"],
        }
    )
    rows = prepare_rows(table, one_hot=["day", "flag", "level", "text"])
    (categories,) = [step[1] for step in rows.preparation if step[0] == "one_hot"]
    assert categories == {
        "day": ["1970-01-02", "1970-01-03"],
        "flag": [False, True, None],
        "level": [1.5, None],
        "text": ["b", None],
    }
    assert rows.read()[1].tolist() == [2, 0, 1, 0, 0, 1, 0, 1, 1, 0]
    for column in (pyarrow.array([[1], [2], [3], [4]]), pyarrow.array([b"1", b"2", b"3", b"4"])):
        with pytest.raises(ValueError, match=r"The column 'v' .* has no categories.*exclude=\['v'\]"):
            prepare_rows(table.append_column("v", column), columns="x", one_hot="v")


def test_what_makes_no_sense(frame):
    for option in ("impute", "scale", "handle_unknown"):
        with pytest.raises(ValueError, match=f"{option} must be one of .*, got 'much'"):
            prepare_rows(frame, **{option: "much"})
    with pytest.raises(ValueError, match=r"'id' has more than 100 different values.*category_limit"):
        prepare_rows(frame, None, one_hot="auto")
    assert prepare_rows(frame, columns="flag", one_hot="id", category_limit=700).shape == (700, 701)
    with pytest.raises(ValueError, match=r"no value at all: 'age'\. Leave them out: exclude=\['age'\]"):
        prepare_rows(frame.assign(age=np.nan), columns=["age", "flag"], impute="mean")
    with pytest.raises(ValueError, match=r"no value at all: 'age'"):
        prepare_rows(frame.assign(age=np.nan), columns=["age", "flag"], impute="median")
    with pytest.raises(ValueError, match=r"Columns of categories have no value at all: 'city'"):
        prepare_rows(frame.assign(city=None), columns="flag", one_hot="city")
    with pytest.raises(ValueError, match="no column 'town'"):
        prepare_rows(frame, one_hot="town")
    with pytest.raises(ValueError, match="one_hot and exclude both name 'city'"):
        prepare_rows(frame, exclude=["id", "city"], one_hot=["code", "city"])
    with pytest.raises(ValueError, match="one_hot has no meaning for X"):
        prepare_rows(np.eye(3), one_hot=[0])
    with pytest.raises(ValueError, match="are for dense rows"):
        prepare_rows(pytest.importorskip("scipy.sparse").eye_array(3), scale="standard")
    # Without imputation missing values are what they are without scaling.
    with pytest.raises(ValueError, match=r"Input X contains NaN.*'age' in 40.*--impute median"):
        prepare_rows(frame[NUMBERS], None, scale="standard")


def test_rows_that_are_open_already(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    opened = open_rows(tmp_path / "t.csv", ["age"])
    rows = prepare_rows(opened, impute="mean", one_hot="city")
    same_bits(rows.read(), prepare_rows(frame, ["age"], impute="mean", one_hot="city").read())
    assert [step[0] for step in rows.preparation] == ["columns", "impute", "one_hot"]
    same_bits(pickle.loads(pickle.dumps(rows)).read(), rows.read())
    assert rows.carried.names == opened.carried.names


def test_order_of_steps(frame):
    rows = prepare_rows(frame, "age", impute="mean", scale="robust", one_hot="city", normalize=True)
    assert [step[0] for step in rows.preparation] == ["columns", "impute", "scale", "one_hot", "normalize"]
    np.testing.assert_allclose(np.linalg.norm(rows.read(), axis=1), 1)
    other = prepare_rows(as_rows(frame, columns="age"), impute="mean").with_dtype(np.float32)
    assert other.read().dtype == np.float32
