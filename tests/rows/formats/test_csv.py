"""Text files: headers, quotes, blank lines, text where numbers should be."""

import numpy as np
import pytest

from coterie.rows import open_rows

CSV_TEXTS = {
    "no final newline": ("a,b\n1,2\n3,4", ["a", "b"], [[1, 2], [3, 4]]),
    "windows": ("a,b\r\n1,2\r\n3,4\r\n", ["a", "b"], [[1, 2], [3, 4]]),
    "blank lines": ("\n\na,b\n\n1,2\n\n3,4\n\n", ["a", "b"], [[1, 2], [3, 4]]),
    "byte order mark": ("\ufeffa,b\n1,2\n", ["a", "b"], [[1, 2]]),
    "byte order mark, no header": ("\ufeff1,2\n3,4\n", None, [[1, 2], [3, 4]]),
    "quotes": ('"a, or\nb","c ""d"""\n"1",2\n', ["a, or\nb", 'c "d"'], [[1, 2]]),
    "spaces": (" a, b\n 1, 2\n", [" a", " b"], [[1, 2]]),
    "same names": ("a,a\n1,2\n", ["a", "a"], [[1, 2]]),
    "one column": ("7\n8\n", None, [[7], [8]]),
    "booleans": ("a,b\ntrue,1\nfalse,2\n", ["a", "b"], [[1, 1], [0, 2]]),
    "exponents": ("1e3,-.5\n+2,1E-2\n", None, [[1000, -0.5], [2, 0.01]]),
    "one row": ("1,2", None, [[1, 2]]),
}


@pytest.mark.parametrize(("text", "names", "X"), CSV_TEXTS.values(), ids=CSV_TEXTS)
def test_csv_texts(text, names, X, tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    source = open_rows(path)
    assert source.column_names == names
    assert source.dtype == np.float64
    assert source.read().tolist() == X


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "has a header, but no rows"),
        ("a,b", "has a header, but no rows"),
        ("\n\n", "the file is empty"),
        ("1,2\n3\n", "line 2 does not have 2 fields as the first has: '3'"),
        ("1,2\n3,4,5\n", "line 2 does not have 2 fields"),
        ("a,b\nz,x\n", "no columns of numbers"),
        ("2020-01-02,2020-01-01\n2020-01-02,2020-01-03\n", "no columns of numbers"),
        ("1;2\n3;4;5\n", "line 2 does not have 2 fields"),
    ],
)
def test_bad_csv_texts(text, message, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"Cannot read .*x\.csv: .*{message}"):
        open_rows(tmp_path / "x.csv")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_dialects_of_spreadsheets(encoding, tmp_path):
    text = "Größe;Ort\r\n1,5;Köln\r\n2,25;Łódź\r\n"
    (tmp_path / "x.csv").write_bytes(text.encode(encoding))
    source = open_rows(tmp_path / "x.csv", exclude="Ort")
    assert source.column_names == ["Größe"]
    assert source.read().tolist() == [[1.5], [2.25]]
    assert source.metadata_columns.to_pydict() == {"Ort": ["Köln", "Łódź"]}


@pytest.mark.parametrize(
    ("text", "options", "X"),
    [
        ("1;2\n3;4\n", {"sep": ";"}, [[1, 2], [3, 4]]),
        ("1:2\n3:4\n", {"sep": ":"}, [[1, 2], [3, 4]]),
        ("1 2\n3 4\n", {"sep": " "}, [[1, 2], [3, 4]]),
        ("1;2\n3;4,5\n", {"decimal": ","}, [[1, 2], [3, 4.5]]),
        ("1,5\n2,5\n", {"decimal": ",", "sep": ";"}, [[1.5], [2.5]]),
        ("a,b|c\n1,2\n", {}, [[1, 2]]),
        ("nan,nan\n2,3\n", {"header": False, "exclude": 0}, [[np.nan], [3]]),
        ("a\tb\n1.5\t-2.25\n1e3\t4\n", {}, [[1.5, -2.25], [1000, 4]]),
        ("a|b\n1.5|-2.25\n1e3|4\n", {}, [[1.5, -2.25], [1000, 4]]),
        ("a ; b\n1.5 ; -2.25\n1000 ; 4\n", {}, [[1.5, -2.25], [1000, 4]]),
        ('"a, or b";"b; or c"\n"1,5";"-2,25"\n1000;4\n', {}, [[1.5, -2.25], [1000, 4]]),
    ],
)
def test_dialect_options(text, options, X, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    _, block = next(open_rows(tmp_path / "x.csv", **options).unchecked_blocks())
    np.testing.assert_array_equal(block, X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "sep must be one character, such as ';' or a tab, got ';;'"),
        ({"sep": ""}, "sep must be one character"),
        ({"sep": '"'}, "sep must be one character"),
        ({"decimal": ";"}, r"decimal must be one of '\.', ',', got ';'"),
    ],
)
def test_dialects_that_make_no_sense(options, message, tmp_path):
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match=message):
        open_rows(tmp_path / "x.csv", **options)


def test_commas_in_text_and_text_with_other_separators(tmp_path):
    """As many bars or semicolons in each line do not make a table of them, where commas make more numbers."""
    (tmp_path / "x.csv").write_text("1,2,a|b\n3,4,c|d\n")
    assert open_rows(tmp_path / "x.csv", columns=[0, 1]).read().tolist() == [[1, 2], [3, 4]]
    (tmp_path / "y.csv").write_text('n;t\n1,5;"a, b"\n2,5;"c, d"\n')
    assert open_rows(tmp_path / "y.csv", columns="n").read().tolist() == [[1.5], [2.5]]
