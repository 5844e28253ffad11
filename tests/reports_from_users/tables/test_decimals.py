"""Numbers of other countries and of spreadsheets in CSV (readr#521, jasp#403, SheetJS#43, csvlint#171, readr#799)."""

import re

import numpy as np
import pandas
import pytest

import coterie
from coterie.rows import prepare_rows
from coterie.rows.checks import TableError

RNG = np.random.default_rng(0)
VALUE = np.array([520.0, 3020.0, 900_059.0])[np.repeat([0, 1, 2], 20)] + RNG.integers(0, 90, 60)
OTHER = RNG.normal(10, 2, 60).round(2)
GERMAN = str.maketrans(",.", ".,")


def point(x):
    return f"{x:,.2f}"


def comma(x):
    return str(x).replace(".", ",")


# What separates fields, and the cells of the columns "value" and "other".
READABLE = {
    "1,234.50 quoted": (",", lambda v: f'"{point(v)}"', str),
    "1,234 quoted": (",", lambda v: f'"{int(v):,}"', str),
    "1,234.50 between tabs": ("\t", point, str),
    "1,234.50 between semicolons": (";", point, str),
    "1,234 between semicolons": (";", lambda v: f"{int(v):,}", str),
    "1.234,50": (";", lambda v: point(v).translate(GERMAN), comma),
    "1.234 beside 12,5": (";", lambda v: f"{int(v):,}".replace(",", "."), comma),
    "12,5 quoted between commas": (",", lambda v: f'"{comma(v)}"', lambda b: f'"{comma(b)}"'),
    "1 234,50": (";", lambda v: point(v).replace(",", " ").replace(".", ","), comma),
    "1 234,50 with no-break spaces": (
        ";",
        lambda v: point(v).replace(",", "\u00a0").replace(".", ","),
        comma,
    ),
    "1'234.50": (";", lambda v: point(v).replace(",", "'"), str),
    "1’234.50": (";", lambda v: point(v).replace(",", "’"), str),
    "$12.5": (",", lambda v: f"${v}", str),
    "12.5 EUR": (",", lambda v: f"{v} EUR", str),
    "45%": (",", lambda v: f"{v}%", str),
    "12 kg": (",", lambda v: f"{v} kg", str),
    "+12.5": (",", lambda v: f"+{v}", str),
    "a trailing blank": (",", lambda v: f"{v} ", str),
    "quoted": (",", lambda v: f'"{v}"', lambda b: f'"{b}"'),
    "single-quoted": (",", lambda v: f"'{v}'", str),
    "three decimals everywhere": (",", lambda v: f"{v:.3f}", str),
    "scientific": (",", lambda v: f"{v:.5e}", str),
}


def write(path, sep, value, other):
    lines = [f"p{i}{sep}{value(v)}{sep}{other(b)}" for i, (v, b) in enumerate(zip(VALUE, OTHER))]
    path.write_text("\n".join([sep.join(("name", "value", "other")), *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("case", READABLE)
def test_every_cell_has_its_value(case, tmp_path):
    rows = coterie.open_rows(write(tmp_path / "x.csv", *READABLE[case]))
    assert rows.column_names == ["value", "other"]
    np.testing.assert_allclose(rows.read(), np.column_stack([VALUE, OTHER]), rtol=1e-12)


def test_the_minus_sign_of_typesetting(tmp_path):
    rows = coterie.open_rows(write(tmp_path / "x.csv", ",", lambda v: f"−{v}", str))
    np.testing.assert_array_equal(rows.read()[:, 0], -VALUE)


def test_units_that_are_left_out_are_said(tmp_path):
    path = write(tmp_path / "x.csv", ",", lambda v: f"{v} kg", str)
    assert "value without 'kg'" in str(prepare_rows(path).roles)


AMBIGUOUS = {
    "1.234": (";", lambda v: f"{v / 1000:.3f}", lambda b: str(int(b))),
    "1,234": (";", lambda v: f"{v / 1000:.3f}".replace(".", ","), lambda b: str(int(b))),
    "596.0 beside 7,98": (";", str, comma),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_two_readings_are_an_error(case, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.reports_from_users.tables.test_decimals.VALUE", np.abs(VALUE) + 1000.5)
    with pytest.raises(TableError) as caught:
        coterie.open_rows(write(tmp_path / "x.csv", *AMBIGUOUS[case]))
    assert caught.value.parameter == "decimal"


def test_given_signs_decide(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n" + "1.234;5\n2.345;6\n3.456;8\n")
    with pytest.raises(TableError, match=r"'1\.234' of 'a' is 1\.234 with .* '\.', and 1234 with .* ','"):
        coterie.open_rows(path)
    assert coterie.open_rows(path, decimal=".").read()[0].tolist() == [1.234, 5]
    assert coterie.open_rows(path, decimal=",").read()[0].tolist() == [1234, 5]
    assert coterie.open_rows(path, thousands=".").read()[0].tolist() == [1234, 5]


@pytest.mark.parametrize(
    ("cell", "parameter"),
    [
        (lambda i, v: f"{v} {('kg', 'lb')[i % 2]}", "exclude"),
        (lambda i, v: f"${v}" if i % 3 else f"{v}", "exclude"),
        (lambda i, v: f"{v}K" if i % 2 else f"{v}M", "exclude"),
        (lambda i, v: "#DIV/0!" if i == 7 else f"{v}", "missing_words"),
        (lambda i, v: "?" if i == 7 else f"{v}", "missing_words"),
        (lambda i, v: "oops" if i == 7 else f"{v}", "exclude"),
    ],
)
def test_a_column_that_is_not_read_is_never_left_out_silently(cell, parameter, tmp_path):
    lines = [f"{cell(i, v)},{b}" for i, (v, b) in enumerate(zip(VALUE, OTHER))]
    (tmp_path / "x.csv").write_text("\n".join(["value,other", *lines]))
    for table in (tmp_path / "x.csv", pandas.read_csv(tmp_path / "x.csv", dtype=str)):
        with pytest.raises(TableError, match="'value'") as caught:
            prepare_rows(table)
        assert caught.value.parameter == parameter


@pytest.mark.parametrize("word", ["?", "-", "--", "None", "#DIV/0!", "-999"])
def test_words_for_missing_values(word, tmp_path):
    lines = [f"{word if i == 7 else v},{b}" for i, (v, b) in enumerate(zip(VALUE, OTHER))]
    (tmp_path / "x.csv").write_text("\n".join(["value,other", *lines]))
    if word != "-999":  # which may be a number
        with pytest.raises(TableError, match=re.escape(repr(word))):
            coterie.open_rows(tmp_path / "x.csv")
    for table in (tmp_path / "x.csv", pandas.read_csv(tmp_path / "x.csv", dtype=str, keep_default_na=False)):
        rows = coterie.prepare_rows(table, missing_words=[word], missing="median")
        assert rows.read()[7, 0] == np.median(np.delete(VALUE, 7))


@pytest.mark.parametrize(("cell", "odd"), [("2.5", "1'000"), ("7 kg", "7"), ("7,5", "7.5")])
def test_a_cell_deep_in_the_file_is_named_with_its_row(cell, odd, tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n" + f"1;{cell}\n" * 300_000 + f"3;{odd}\n")
    with pytest.raises(ValueError, match=rf"'b' has {odd!r} in row 300000"):
        coterie.open_rows(tmp_path / "x.csv").read()


def test_a_text_deep_in_a_column_that_is_not_clustered_is_kept(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n" + "1.5,2,3\n" * 300_000 + "2.5,n.v.,4\n")
    rows = coterie.open_rows(tmp_path / "x.csv", columns=["a"])
    assert rows.metadata_columns["b"][-2:].to_pylist() == ["2", "n.v."]
    assert rows.metadata_columns["c"][-2:].to_pylist() == [3, 4]
    (tmp_path / "x.csv").write_text("a;b\n1,5;1.234\n2,5;5.678\n")
    assert coterie.open_rows(tmp_path / "x.csv", columns=["a"]).metadata_columns["b"][0].as_py() == "1.234"


def test_digits_in_groups_deep_in_a_file_are_read_as_the_others(tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n" + "1,5;7\n1.234,5;8\n" * 50_000 + "2,5;1.234\n")
    assert coterie.open_rows(tmp_path / "x.csv").read()[-1].tolist() == [2.5, 1234]
