"""Which columns of a table are features, on tables of different kinds."""

import warnings

import numpy as np
import pytest

import coterie
from coterie.rows import open_rows, prepare_rows, table_roles

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 60
F = "feature"
draw = np.random.default_rng(0)


def normal(scale=1.0):
    return draw.normal(size=N) * scale


def sentences():
    return [f"customer {i} wrote that the delivery came {i % 7} days late and was damaged" for i in range(N)]


def codes(prefix="C"):
    return [f"{prefix}{number:05}" for number in draw.permutation(10 * N)[:N]]


def vectors(width=4):
    return list(draw.normal(size=(N, width)).astype(np.float32))


NAMES = [f"{first} {last}" for first in ("Ann", "Bo", "Cy", "Di", "Ed", "Flo") for last in "ABCDEFGHIJ"]

# Of each table: its columns, each with its role and its cells.
TABLES = {
    "customers": {
        "id": ("id", np.arange(N) + 1000),
        "age": (F, draw.integers(18, 90, N)),
        "income": (F, normal()),
    },
    "ids": {
        "customer_id": ("id", draw.integers(1, 9, N)),
        "customerId": ("id", draw.integers(1, 9, N)),
        "PatientID": ("id", codes()),
        "uuid": ("id", codes("f3a-")),
        "key": ("id", draw.integers(2**45, 2**60, N)),  # hashes
        "Unnamed: 0": ("id", np.arange(N)),  # an index written by pandas
        "n": ("id", np.arange(N)),
        "no": ("id", np.arange(1, N + 1)),
        "member": ("id", NAMES),
        "x": (F, normal()),
    },
    "zip codes as text": {"zip": ("id", codes("")), "x": (F, normal())},
    "dates": {
        "timestamp": ("date", pandas.date_range("2024-01-01", periods=N)),
        "time": ("date", 1.7e9 + np.arange(N) * 60),
        "created_at": ("date", 1_600_000_000_000 + np.arange(N)),
        "x": (F, normal()),
    },
    "integers that are features": {
        "count": (F, draw.permutation(10**5)[:N]),
        "total": (F, np.cumsum(draw.integers(1, 50, N))),
        "population": (F, np.sort(draw.permutation(10**7)[:N])),
        "rank": (F, draw.permutation(N) + 1),
        "year": (F, np.arange(1950, 1950 + N)),
        "humid": (F, draw.integers(0, 2, N)),
        "grid": (F, draw.integers(0, 9, N)),
        "vote_1": (F, draw.integers(-1, 2, N)),
        "smokes": (F, np.arange(N) % 3 == 0),
    },
    "numbers that are features": {
        "acid": (F, normal()),
        "pressure": (F, normal(100) + 1000),
        "missing": (F, np.where(np.arange(N) % 9, normal(), np.nan)),
    },
    "constant columns": {
        "x": (F, normal()),
        "version": ("constant", np.full(N, 2)),
        "source": ("constant", ["web"] * N),
    },
    "empty columns": {
        "x": (F, normal()),
        "note": ("empty", pyarrow.nulls(N, pyarrow.string())),
        "z": ("empty", np.full(N, np.nan)),
    },
    "categories": {
        "city": ("category", ["Rome", "Oslo", "Lima"] * (N // 3)),
        "x": (F, normal()),
        "y": (F, normal()),
    },
    "free text": {
        "review": ("text", sentences()),
        "comment": ("text", [None if i % 3 else sentences()[i] for i in range(N)]),
        "stars": (F, draw.integers(1, 6, N)),
    },
    "embeddings with id": {"id": ("id", np.arange(N)), "embedding": (F, vectors())},
    "embeddings with text and numbers": {
        "id": ("id", codes()),
        "text": ("text", sentences()),
        "tokens": ("beside the vectors", draw.integers(1, 99, N)),
        "embedding": (F, vectors()),
    },
    "embeddings and dates": {
        "day": ("date", pandas.date_range("2024-01-01", periods=N)),
        "embedding": (F, vectors(3)),
        "topic": ("category", ["a", "b"] * (N // 2)),
    },
    "decimals": {
        "amount": (F, pyarrow.array([None, *range(3, 3 * N, 3)], pyarrow.decimal128(9, 2))),
        "x": (F, normal()),
    },
    "nested": {"meta": ("nested", [{"a": i} for i in range(N)]), "x": (F, normal())},
}


def table_of(name):
    return pyarrow.table({
        column: cells if isinstance(cells, pyarrow.Array) else pyarrow.array(cells)
        for column, (_, cells) in TABLES[name].items()
    })  # fmt: skip


def found_roles(roles):
    return {**dict.fromkeys(roles.features, F), **dict(roles.left_out)}


@pytest.mark.parametrize("kind", ["arrow", "pandas", "csv"])
@pytest.mark.parametrize("name", TABLES)
def test_role_of_each_column(name, kind, tmp_path):
    expected = {column: role for column, (role, _) in TABLES[name].items()}
    table = table_of(name)
    if kind == "pandas" and name not in ("nested", "decimals", "empty columns"):
        table = table.to_pandas()
    elif kind == "csv" and not {"embedding", "meta"} & set(expected):
        table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
        table = tmp_path / "t.csv"
        if name == "zip codes as text":  # digits in a text file are numbers unless they begin with zeros
            expected["zip"] = found_roles(prepare_rows(table).roles)["zip"]
    assert found_roles(prepare_rows(table).roles) == expected


def test_arrays_have_no_roles():
    X = np.arange(12.0).reshape(6, 2)
    assert prepare_rows(X).roles is None
    np.testing.assert_array_equal(prepare_rows(X).read(), X)


def test_excluded_columns_and_categories():
    table = table_of("categories")
    assert prepare_rows(table, exclude=["x"]).roles.features == ("y",)
    encoded = prepare_rows(table, categories="auto").roles
    assert (encoded.features, encoded.categories, encoded.left_out) == (("x", "y"), ("city",), ())
    rows = prepare_rows(table, categories="auto")
    assert rows.column_names == ["x", "y", "city_Lima", "city_Oslo", "city_Rome"]


def test_summary_in_words():
    roles = prepare_rows(table_of("embeddings with text and numbers")).roles
    assert str(roles) == (
        "Used: 1 column (embedding). Left out: id (id); text (text); tokens (beside the vectors)."
    )


def test_unlike_scales_are_named():
    for spread, scales in ((5000, ("b", "a")), (20, None)):
        table = pyarrow.table({"a": normal(), "b": normal(spread), "c": normal(3)})
        assert prepare_rows(table).roles.scales == scales


def test_text_alone_shows_how_to_make_vectors():
    table = pyarrow.table({"id": codes(), "review": sentences()})
    with pytest.raises(ValueError, match=r"review \(text\).*SentenceTransformer"):
        prepare_rows(table)


def test_a_long_table_is_judged_by_its_first_rows():
    n = 200_000
    values = np.r_[np.zeros(100_000), np.ones(n - 100_000)]
    table = pyarrow.table({"flag": values, "x": draw.normal(size=n)})
    assert prepare_rows(table).roles.features == ("flag", "x")


def test_a_short_text_of_several_words_is_no_id():
    table = pyarrow.table(
        {"note": [f"order {i} came late" for i in range(N)], "who": [f"Ann Lee {i}" for i in range(N)]}
    )
    with pytest.raises(ValueError, match=r"note \(text\)"):
        prepare_rows(table)
    with pytest.raises(ValueError, match=r"no columns of numbers or vectors to cluster: who \(id\)\."):
        prepare_rows(table, exclude=["note"])


def test_a_fit_leaves_out_ids_with_a_warning():
    frame = table_of("customers").to_pandas()[["age", "income"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = coterie.KMeans(3, random_state=0).fit(frame)
    frame.insert(0, "customer_id", np.arange(len(frame)))
    with pytest.warns(UserWarning, match=r"Left out: customer_id \(id\)"):
        model = coterie.KMeans(3, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["age", "income"]
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(frame), plain.labels_)


def test_an_index_of_a_data_frame_is_not_noted():
    frame = pandas.DataFrame({"x": [0.0, 1.0, 5.0, 6.0]}, index=["a", "b", "c", "d"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coterie.KMeans(2, random_state=0).fit(frame)


def test_roles_of_a_file_choose_its_columns(tmp_path):
    """Also without names of columns."""
    path = tmp_path / "x.csv"
    for header in ("", "age,income,place\n"):
        path.write_text(header + "".join(f"{i % 50}.5,{i % 7}.25,town {i}\n" for i in range(N)))
        roles = table_roles(path)
        assert roles.names == roles.features == (("age", "income") if header else ("0", "1"))
        assert open_rows(path, columns=list(roles.features)).shape == (N, 2)
