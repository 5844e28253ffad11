"""What a fit learned of a table (means, scales, categories) is done to other rows, from its file too."""

import numpy as np
import pytest

import coterie
from coterie import KMeans, prepare_rows
from coterie.rows import as_rows, open_rows
from tests.support.bits import same_bits
from tests.support.estimators import every_estimator

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

EVERYTHING = {"missing": "median", "scale": "standard", "categories": ["city"]}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(600, 3)) * [1, 20, 300], columns=list("abc"))
    frame.insert(1, "city", rng.choice(["Rome", "Oslo", "Bonn"], 600))
    frame.loc[rng.choice(600, 50, replace=False), "b"] = np.nan
    return frame


@pytest.fixture
def model(frame):
    return KMeans(8, random_state=0).fit(prepare_rows(frame, **EVERYTHING))


def test_other_rows_are_prepared_by_the_numbers_of_the_fit(model, frame, tmp_path):
    some = frame[100:160].reset_index(drop=True)
    some.to_csv(tmp_path / "t.csv", index=False)
    expected = model.labels_[100:160]
    others = [
        some,
        some[["c", "city", "b", "a"]].assign(more="text"),
        prepare_rows(some, **EVERYTHING),  # by their own numbers, which do not count
        prepare_rows(some, exclude="city", missing="mean"),
        open_rows(tmp_path / "t.csv", ["a", "b", "c"]),
        open_rows(tmp_path / "t.csv", exclude=["city"]),
        prepare_rows(tmp_path / "t.csv", **EVERYTHING),
        pytest.importorskip("polars").from_pandas(some),
        pytest.importorskip("pyarrow").Table.from_pandas(some),
    ]
    for rows in others:
        same_bits(model.predict(rows), expected)
    same_bits(model.predict(as_rows(frame, columns=["a", "b", "c"])), model.labels_)
    assert list(model.feature_names_in_) == ["a", "b", "c", "city_Bonn", "city_Oslo", "city_Rome"]
    assert model.n_features_in_ == 6


def test_from_a_file(model, frame, tmp_path):
    model.save(tmp_path / "m.coterie")
    loaded = coterie.load(tmp_path / "m.coterie")
    assert [step[0] for step in loaded.preparation_] == ["columns", "transform", "transform"]
    same_bits(loaded.predict(frame), model.labels_)
    same_bits(loaded.transform(frame), model.transform(prepare_rows(frame, **EVERYTHING)))


@every_estimator(lambda case: hasattr(case.estimator, "predict"))
def test_every_method_prepares_other_rows(case):
    """By the columns of the fit in their order, and by its scales."""
    X = case.rows()
    frame = pandas.DataFrame(X * np.geomspace(1, 50, X.shape[1])).rename(columns="x{}".format)
    rows = prepare_rows(frame, scale="standard")
    model = case.make().fit(rows)
    for name in ("predict", "transform", "score", "predict_proba", "responsibilities", "score_samples"):
        if hasattr(model, name):
            same_bits(getattr(model, name)(frame[frame.columns[::-1]]), getattr(model, name)(rows), name)
    same_bits(model.predict(frame[:50]), model.predict(rows)[:50])


def test_without_columns_of_numbers(frame):
    model = KMeans(3, random_state=0).fit(prepare_rows(frame, columns=["city"], categories="auto"))
    assert model.inertia_ < 1e-9
    same_bits(model.predict(frame), model.labels_)
    same_bits(model.predict(frame[["city"]][:5]), model.labels_[:5])


def test_unknown_categories(frame):
    other = frame.assign(city=["Rome"] * 599 + ["Lima"], b=0)
    model = KMeans(4, random_state=0).fit(prepare_rows(frame, exclude="b", categories="city"))
    with pytest.raises(
        ValueError, match=r"'city' has a category that the fit did not see: 'Lima'\. .*row: 599\. .*ignore"
    ):
        model.predict(other)
    with pytest.raises(ValueError, match="did not see: None"):
        model.predict(frame.assign(city=None))
    with pytest.raises(ValueError, match="did not see: '7'"):
        model.predict(frame.assign(city=7))
    rows = prepare_rows(frame, exclude="b", categories="city", handle_unknown="ignore")
    model = KMeans(4, random_state=0).fit(rows)
    assert model._rows_of(other).take([599])[0, 2:].tolist() == [0, 0, 0]


def test_numbers_as_categories_are_numbers_in_any_type(frame):
    rows = prepare_rows(frame[["a"]].assign(k=np.arange(600) % 3), categories="k")
    model = KMeans(4, random_state=0).fit(rows)
    same_bits(model.predict(frame[["a"]].assign(k=np.arange(600) % 3.0)), model.labels_)
    same_bits(model.predict(frame[["a"]].assign(k=(np.arange(600) % 3).astype(str))), model.labels_)
    with pytest.raises(ValueError, match=r"did not see: '1\.5'"):
        model.predict(frame[["a"]].assign(k=1.5))


def test_missing_values_and_columns(model, frame):
    bare = KMeans(3, random_state=0).fit(prepare_rows(frame[["a", "c"]], scale="robust"))
    with pytest.raises(ValueError, match=r"Input X contains NaN\. First bad row: 7\. .*'a' in 1"):
        bare.predict(frame[["a", "c"]].assign(a=np.where(np.arange(600) == 7, np.nan, 1)))
    with pytest.raises(ValueError, match="no column 'city', which is encoded"):
        model.predict(frame[["a", "b", "c"]])
    with pytest.raises(ValueError, match="no column 'b'"):
        model.predict(frame[["a", "city"]])


def test_prepared_rows_for_a_fit_without_preparation(frame):
    plain = KMeans(3, random_state=0).fit(frame[["a", "c"]])
    with pytest.raises(ValueError, match="prepared by other transformers than the rows of the fit"):
        plain.predict(prepare_rows(frame[["a", "c"]], scale="standard"))


def test_fit_of_a_table_takes_its_features(frame):
    """The roles of columns decide, in every kind of table."""
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    frame = frame[["a", "city", "c"]].assign(
        who=[f"n{i}" for i in range(600)], when="2024-05-06", number=range(600)
    )
    expected = KMeans(3, random_state=0).fit(frame[["a", "c"]])
    table = pyarrow.Table.from_pandas(frame)
    stream = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for X in (frame, table, polars.from_pandas(frame), stream):
        with pytest.warns(
            UserWarning, match=r"^Used: 2 columns \(a, c\)\. Left out: city \(category\); who, number"
        ):
            model = KMeans(3, random_state=0).fit(X)
        same_bits(model.labels_, expected.labels_)
        assert list(model.feature_names_in_) == ["a", "c"]
        same_bits(model.predict(frame[["number", "c", "a", "who"]]), model.labels_)
    with pytest.warns(UserWarning, match=r"number \(id\)"):
        assert KMeans(3, random_state=0).fit(frame[["a", "number"]]).n_features_in_ == 1
    with pytest.raises(ValueError, match="no columns of numbers"):
        KMeans(3).fit(frame[["who", "when"]])
