"""Lines around tables, blanks as separators and compressed files (pandas#23543, arrow#36628, readr#1198)."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas
import pytest

import coterie
from coterie.rows.checks import TableError

TABLE = "name,x,y\n" + "".join(f"n{i},{i / 4},{i * i / 8}\n" for i in range(30))
EXPECTED = np.array([[i / 4, i * i / 8] for i in range(30)])


def read(path, text, **options):
    path.write_text(text)
    return coterie.open_rows(path, **options).read()


@pytest.mark.parametrize(
    "text",
    [
        *(f"{lines}\n{TABLE}" for lines in ("# made by a program", "# a, b, c\n# d", "% comment", "\n")),
        TABLE.replace("\nn9", "\n# checked until here\nn9"),
        "sep=;\n" + TABLE.replace(",", ";"),
    ],
)
def test_lines_that_are_no_rows(text, tmp_path):
    np.testing.assert_array_equal(read(tmp_path / "x.csv", text), EXPECTED)


def test_titles_above_the_header(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(TableError, match=r"line 1 has 1 field.*skip_lines=2") as caught:
        read(path, "Measurements of 2021\nby the institute\n" + TABLE)
    assert caught.value.parameter == "skip_lines"
    np.testing.assert_array_equal(coterie.open_rows(path, skip_lines=2).read(), EXPECTED)


@pytest.mark.parametrize("blank", [" ", "   ", " \t "])
def test_blanks_between_fields(blank, tmp_path):
    np.testing.assert_array_equal(read(tmp_path / "x.csv", TABLE.replace(",", blank)), EXPECTED)
    X = np.random.default_rng(0).normal(size=(20, 3))
    for name in ("y.csv", "y.txt", "y.txt.gz"):
        np.savetxt(tmp_path / name, X, header="made by a program")
        np.testing.assert_array_equal(coterie.open_rows(tmp_path / name).read(), X)
    (tmp_path / "z.txt").write_text("# a\n  1   2.5\n 3 4 \n# end\n\n5 6\n")
    assert coterie.open_rows(tmp_path / "z.txt").column_names is None
    assert coterie.open_rows(tmp_path / "z.txt").read().tolist() == [[1, 2.5], [3, 4], [5, 6]]
    (tmp_path / "z.txt").write_text("  1   2.5\n 3 4 \n# end\n\n5 x\n")
    with pytest.raises(ValueError, match="'x'"):
        coterie.open_rows(tmp_path / "z.txt", columns=[0, 1])
    (tmp_path / "z.txt").write_text("  1   2.5\n 3 4 \n# end\n\n5 6 7\n")
    with pytest.raises(ValueError, match="line 5 does not have 2 fields"):
        coterie.open_rows(tmp_path / "z.txt")


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zip"])
def test_compressed_files(ending, tmp_path):
    path = tmp_path / f"x.csv.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.csv", TABLE)
    else:
        path.write_bytes({"gz": gzip, "bz2": bz2, "xz": lzma}[ending].compress(TABLE.encode()))
    np.testing.assert_array_equal(coterie.open_rows(path).read(), EXPECTED)


def test_the_same_columns_of_the_same_table(tmp_path):
    """`fit`, `as_rows` and `open_rows` choose alike."""
    rng = np.random.default_rng(0)
    x, n = rng.normal(size=40), rng.integers(0, 9, 40)
    frame = pandas.DataFrame({"OrderNo": rng.permutation(9000)[:40], "x": x, "n": n, "one": 1})
    frame.to_csv(tmp_path / "x.csv", index=False)
    with pytest.warns(UserWarning, match=r"OrderNo \(id\); one \(constant\)"):
        fitted = list(coterie.KMeans(2, random_state=0).fit(frame).feature_names_in_)
    for names in (
        fitted,
        coterie.as_rows(frame).column_names,
        coterie.open_rows(tmp_path / "x.csv").column_names,
    ):
        assert names == ["x", "n"]
