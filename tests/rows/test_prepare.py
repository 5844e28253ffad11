"""`prepare_rows` does what scikit-learn's transformers do, however the table is stored."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)  # fmt: skip

from coterie import KMeans
from coterie.rows import as_rows, open_rows, prepare_rows
from tests.support.bits import same_bits

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

NUMBERS = ["age", "income", "flag", "constant"]
SCALERS = {"standard": StandardScaler, "robust": RobustScaler, "none": lambda: "passthrough"}


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


@pytest.mark.parametrize("missing", ["mean", "median"])
@pytest.mark.parametrize("scale", SCALERS)
def test_as_scikit_learn(frame, missing, scale, tmp_path):
    encoder = OneHotEncoder(sparse_output=False)
    numbers = make_pipeline(SimpleImputer(strategy=missing), SCALERS[scale]())
    theirs = ColumnTransformer(
        [("numbers", numbers, NUMBERS), ("categories", encoder, ["city", "code"])],
        verbose_feature_names_out=False,
    )
    expected = theirs.fit_transform(frame)
    first = None
    for table in kinds_of(frame, tmp_path):
        rows = prepare_rows(table, columns=NUMBERS, missing=missing, scale=scale, categories=["city", "code"])
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


def test_infinities_are_missing_numbers(frame):
    rows = prepare_rows(frame[["age"]], missing="median")
    assert rows.preparation[0][1].statistics_ == [np.nanmedian(frame["age"])]
    ages = frame["age"].to_numpy().copy()
    frame.loc[17, "age"], ages[17] = np.inf, np.nan
    for missing, middle in (("mean", np.nanmean), ("median", np.nanmedian)):
        rows = prepare_rows(frame[["age"]], missing=missing)
        np.testing.assert_allclose(rows.read()[17, 0], middle(ages))
    with pytest.warns(UserWarning, match="Left out"):
        assert len(prepare_rows(frame[["age"]], missing="drop").read()) == np.isfinite(ages).sum()


def test_arrays_that_hold_no_floats():
    X = np.arange(60, dtype=np.int8).reshape(20, 3)
    rows = prepare_rows(X, scale="standard")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows.read(), StandardScaler().fit_transform(X.astype(float)), atol=1e-6)
    assert prepare_rows(X).preparation == prepare_rows(X, scale="none").preparation == ()


def test_table_of_categories_only(frame):
    for table in (frame[["city", "id"]], pyarrow.table({"city": ["b", "a"]})):
        rows = prepare_rows(table, columns=["city"], categories="auto", scale="standard", missing="mean")
        assert rows.shape[1] == len(rows.column_names) == (4 if len(table) > 2 else 2)
        assert np.all(rows.read().sum(axis=1) == 1)
        same_bits(rows.take([0, 1]), rows.read()[:2])
    with pytest.raises(ValueError, match="no columns of numbers"):
        prepare_rows(frame[["city"]], exclude=["city"])


def test_auto_categories_are_columns_of_few_values(frame):
    rows = prepare_rows(frame, categories="auto", missing="mean")
    assert rows.column_names[:4] == ["age", "income", "flag", "city_Oslo"]
    assert prepare_rows(frame[["income"]], categories="auto").column_names == ["income"]
    assert prepare_rows(frame, columns=["age", "city"], categories="auto", missing="mean").shape[1] == 1 + 4


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
    rows = prepare_rows(table, categories=["day", "flag", "level", "text"])
    encoder = rows.preparation[-1][1]
    assert [values.tolist() for values in encoder.categories_] == [
        ["1970-01-02", "1970-01-03"],
        ["False", "True", None],
        ["1.5", None],
        ["b", None],
    ]
    assert rows.read()[1].tolist() == [2, 0, 1, 0, 0, 1, 0, 1, 1, 0]
    for column in (pyarrow.array([[1], [2], [3], [4]]), pyarrow.array([b"1", b"2", b"3", b"4"])):
        with pytest.raises(ValueError, match=r"The column 'v' .* has no categories.*exclude=\['v'\]"):
            prepare_rows(table.append_column("v", column), columns="x", categories="v")


def test_invalid_options_of_prepare_rows(frame):
    for option in ("missing", "scale", "handle_unknown"):
        with pytest.raises(ValueError, match=f"{option} must be one of .*, got 'much'"):
            prepare_rows(frame, **{option: "much"})
    with pytest.raises(ValueError, match=r"'id' has more than 100 different values"):
        prepare_rows(frame, columns=["age", "id"], categories="auto", missing="mean")
    for missing in ("mean", "median"):
        with pytest.raises(ValueError, match=r"without any value .*exclude=\['age'\]"):
            prepare_rows(frame.assign(age=np.nan), columns=["age", "flag"], missing=missing)
    with pytest.raises(ValueError, match=r"categories 'city' has no value at all"):
        prepare_rows(frame.assign(city=None), columns="flag", categories="city")
    with pytest.raises(ValueError, match="no column 'town'"):
        prepare_rows(frame, categories="town")
    with pytest.raises(ValueError, match="categories and exclude both name 'city'"):
        prepare_rows(frame, exclude=["id", "city"], categories=["code", "city"])
    with pytest.raises(ValueError, match="categories has no meaning for X"):
        prepare_rows(np.eye(3), categories=[0])
    with pytest.raises(ValueError, match="are for dense rows"):
        prepare_rows(pytest.importorskip("scipy.sparse").eye_array(3), scale="standard")
    # Scaling does not hide missing values.
    with pytest.raises(ValueError, match=r"Input X contains NaN.*'age' in 40"):
        prepare_rows(frame[NUMBERS], columns=NUMBERS, scale="standard").read()


def test_rows_that_are_open_already(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    opened = open_rows(tmp_path / "t.csv", ["age"])
    rows = prepare_rows(opened, missing="mean", categories="city")
    same_bits(rows.read(), prepare_rows(frame, columns=["age"], missing="mean", categories="city").read())
    assert [step[0] for step in rows.preparation] == ["columns", "transform", "transform"]
    same_bits(pickle.loads(pickle.dumps(rows)).read(), rows.read())
    assert rows.metadata_columns.column_names == opened.metadata_columns.column_names


def test_another_type(frame):
    other = prepare_rows(as_rows(frame, columns="age"), missing="mean").with_dtype(np.float32)
    assert other.read().dtype == np.float32


def test_rows_with_missing_numbers_are_dropped(frame, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=90)
    complete = frame[frame["age"].notna()]
    expected = prepare_rows(complete, columns=["age", "income"], scale="standard", categories="city")
    for table in (frame, tmp_path / "t.parquet"):
        options = {"columns": ["age", "income"], "missing": "drop", "scale": "standard", "categories": "city"}
        with pytest.warns(UserWarning, match="Left out 40 of 700 rows, which have missing numbers"):
            rows = prepare_rows(table, **options)
        same_bits(rows.read(), expected.read())
        same_bits(rows.take([3, 3, 600]), expected.take([3, 3, 600]))
        assert rows.metadata_columns["id"].to_pylist() == complete["id"].tolist()
    with pytest.raises(ValueError, match="Every row has missing numbers"):
        prepare_rows(frame.assign(age=np.nan), columns=["age", "flag"], missing="drop")


class TestTransformers:
    """Transformers of scikit-learn are fitted block by block, with the result of a fit to all rows."""

    @pytest.mark.parametrize(
        "transformer",
        [
            MinMaxScaler(),
            SimpleImputer(strategy="most_frequent"),
            make_pipeline(SimpleImputer(), MaxAbsScaler(), PolynomialFeatures()),
            make_pipeline(SimpleImputer(strategy="median"), QuantileTransformer(n_quantiles=50), PCA(2)),
            FunctionTransformer(np.cbrt),
        ],
        ids=lambda transformer: type(transformer).__name__,
    )
    def test_of_numbers(self, transformer):
        X = np.random.default_rng(0).normal(size=(9000, 4))
        X[::50, 1] = 1.5 if "Imputer" not in str(transformer) else np.nan
        rows = prepare_rows(X, transformer)
        np.testing.assert_allclose(rows.read(), clone(transformer).fit_transform(X), atol=1e-7)
        same_bits(prepare_rows(X, rows.preparation[0][1]).read(), rows.read())  # fitted already
        same_bits(prepare_rows(as_rows(X), transformer).read(), rows.read())  # rows that are open already
        model = KMeans(3, random_state=0).fit(rows)
        same_bits(model.predict(X), model.labels_)

    def test_of_sparse_rows(self):
        X = sp.random_array((300, 20), density=0.2, rng=np.random.default_rng(0), format="csr")
        rows = prepare_rows(X, MaxAbsScaler())
        assert rows.is_sparse
        np.testing.assert_allclose(rows.read().toarray(), MaxAbsScaler().fit_transform(X).toarray())

    def test_refused(self, frame):
        with pytest.raises(TypeError, match="methods fit and transform, got 5"):
            prepare_rows(frame[["income"]], 5)
        with pytest.raises(ValueError, match="transformer takes the place of missing, scale and categories"):
            prepare_rows(frame, StandardScaler(), scale="standard")
        X = np.ones((50, 2))
        X[33, 1] = np.nan
        with pytest.raises(ValueError, match=r"contains NaN\. First bad row: 33"):
            prepare_rows(X, PCA(1))
        fitted = SimpleImputer().fit(X)
        X[44, 0] = np.inf  # is imputed, too
        assert prepare_rows(X, fitted).read()[[33, 44]].tolist() == [[1, 1], [1, 1]]
