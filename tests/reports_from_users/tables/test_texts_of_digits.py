"""Digits as text: numbers, codes and single odd cells, in every kind of table (cuml#6267, scikit-learn#10495)."""

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import coterie
from coterie.rows import prepare_rows

N = 120
RNG = np.random.default_rng(0)
X = np.array([0, 5, 10])[np.repeat([0, 1, 2], 40)] + RNG.normal(0, 0.3, N)

CODES = {
    "zip": [f"{i:05d}" for i in RNG.integers(1000, 99_999, N)],
    "lot": [f"{i}e{i % 4}" for i in RNG.integers(10, 99, N)],
    "part": [f"{i}_{i % 1000:03d}" for i in RNG.integers(1, 99, N)],
    "customer_id": [f"{i:06d}" for i in RNG.permutation(N)],
    "product_code": [f"{i}" for i in RNG.integers(10**6, 10**7, N)],
}
NUMBERS = {
    "price": ([f"{v:.2f}" for v in X], X.round(2)),
    "european": ([f"{v:.2f}".replace(".", ",") for v in X], X.round(2)),
    "grade": ([str(i % 5) for i in range(N)], np.arange(N) % 5),
    "empty": (["" if i == 5 else str(v) for i, v in enumerate(X)], np.where(np.arange(N) == 5, np.nan, X)),
    "blank": ([" " if i == 5 else str(v) for i, v in enumerate(X)], np.where(np.arange(N) == 5, np.nan, X)),
    "nan": (["nan" if i == 5 else str(v) for i, v in enumerate(X)], np.where(np.arange(N) == 5, np.nan, X)),
}
KINDS = ["object", "string", "category", "polars", "arrow", "dictionary", "csv"]


def table(kind, name, cells, folder):
    frame = pandas.DataFrame({"x": X, name: cells})
    if kind in ("object", "string", "category"):
        return frame.astype({name: kind})
    if kind == "polars":
        return polars.DataFrame({"x": X, name: cells})
    if kind in ("arrow", "dictionary"):
        texts = pa.array(cells)
        return pa.table({"x": X, name: texts.dictionary_encode() if kind == "dictionary" else texts})
    frame.to_csv(
        folder / "x.csv", index=False, **({"sep": ";", "decimal": ","} if name == "european" else {})
    )
    return folder / "x.csv"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CODES)
def test_codes_are_no_numbers(kind, name, tmp_path):
    roles = prepare_rows(table(kind, name, CODES[name], tmp_path)).roles
    assert roles.features == ("x",)
    assert dict(roles.left_out)[name] in ("id", "category")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NUMBERS)
def test_plain_numbers_are_numbers(kind, name, tmp_path):
    cells, expected = NUMBERS[name]
    X = coterie.prepare_rows(table(kind, name, cells, tmp_path), missing="median")
    assert X.column_names == ["x", name]
    filled = np.where(np.isnan(expected), np.nanmedian(expected), expected)
    np.testing.assert_allclose(X.read()[:, 1], filled)


@pytest.mark.parametrize("columns", [None, ["x", "y"]])
@pytest.mark.parametrize("kind", ["object", "polars", "arrow", "csv"])
def test_a_single_odd_cell_is_named(kind, columns, tmp_path):
    cells = ["n.v." if i == 5 else str(v) for i, v in enumerate(X)]
    message = r"Column 'y': 1 of 120 cells is not a number, the first is 'n\.v\.' in row 5"
    with pytest.raises(ValueError, match=message):
        coterie.prepare_rows(table(kind, "y", cells, tmp_path), columns=columns)


def test_texts_of_several_types():
    mixed = pandas.DataFrame({"x": X, "y": [str(v) if i % 2 else float(v) for i, v in enumerate(X)]})
    np.testing.assert_array_equal(coterie.as_rows(mixed).read(), np.column_stack([X, X]))


def test_codes_that_are_named_are_clustered():
    frame = pandas.DataFrame({"x": X, "zip": CODES["zip"]})
    assert coterie.as_rows(frame, columns=["zip"]).read()[0, 0] == float(CODES["zip"][0])


def test_numbers_in_dictionaries():
    numbers = pa.array(np.resize([1.5, 2.5, 4.5], N)).dictionary_encode()
    expected = np.column_stack([X, np.resize([1.5, 2.5, 4.5], N)])
    arrow = pa.table({"x": X, "y": numbers})
    for kind in (arrow, arrow.to_pandas()):
        np.testing.assert_array_equal(coterie.as_rows(kind).read(), expected)


def test_columns_are_matched_by_names_that_are_no_texts():
    for names in ([0, 1], pandas.MultiIndex.from_tuples([("p", 1), ("p", 2)])):
        frame = pandas.DataFrame(np.column_stack([X, X * -3]), columns=names)
        model = coterie.KMeans(3, random_state=0).fit(frame)
        np.testing.assert_array_equal(model.predict(frame.iloc[:, ::-1]), model.labels_)
