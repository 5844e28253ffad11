"""Headers of numbers, and first rows without one (`to_csv` of arrays, R's `write.csv`, wide panels of years)."""

import numpy as np
import pytest

import coterie
from coterie.rows.checks import TableError
from coterie.rows.dialect import dialect_of

V = np.random.default_rng(0).normal(50, 5, (40, 3)).round(2)
NAMES = [f"Land{i:02d}q" for i in range(40)]
ROWS = [",".join(map(str, row)) for row in V]
NAMED = [f"{name},{row}" for name, row in zip(NAMES, ROWS)]
NUMBERED = [f"{i},{row}" for i, row in enumerate(ROWS)]

INTEGERS = [",".join(map(str, row)) for row in np.random.default_rng(0).integers(0, 99, (40, 10))]

WITH_HEADER = {
    "positions, as pandas writes an array": ("0,1,2", ROWS),
    "positions after an index without a name": (",0,1,2", NUMBERED),
    "positions after an index of texts": ("id,0,1,2", NAMED),
    "positions after an index of numbers": ("id,0,1,2", NUMBERED),
    "years": ("2001,2002,2003", ROWS),
    "years after texts": ("country,2001,2002,2003", NAMED),
    "a data frame of R": ('"","V1","V2","V3"', [f'"{i}",{row}' for i, row in enumerate(ROWS)]),
    "wavelengths": ("sample,400.5,401.0,401.5", NAMED),
    "samples": ("gene,S1,S2,S3", NAMED),
    "dates": ("city,2021-01-01,2021-01-02,2021-01-03", NAMED),
    "quoted numbers": ('"1","2","3"', ROWS),
    "empty numbers in the second row": ("country,a,b,c", [f"{NAMES[0]},,,", *NAMED[1:]]),
    "digits above integers": (",".join(map(str, range(10))), INTEGERS),
}  # fmt: skip

WITHOUT_HEADER = {
    "numbers": ROWS,
    "texts first": NAMED,
    "a second row without its text": [NAMED[0], f",{ROWS[1]}", *NAMED[2:]],
    "a question mark in the first row": [f"{NAMES[0]},?,{V[0, 1]},{V[0, 2]}", *NAMED[1:]],
    "None in the first row": [f"None,{V[0, 1]},{V[0, 2]}", *ROWS[1:]],
    "a dash in the first row": [f"-,{V[0, 1]},{V[0, 2]}", *ROWS[1:]],
    "integers": ["5,3,8", "1,2,2", "7,7,1", "4,0,9"],
    "consecutive integers": ["0,1,2", "3,4,5", "6,7,8", "9,10,11"],
    "binary data": ["0,1", "1,0", "1,1", "0,1"],
    "sorted numbers": ["1.5,2.5,3.5", "0.5,0.7,2.5", "3.5,4.5,8.5"],
}


def names_of(lines):
    dialect = dialect_of([f"{line}\n" for line in lines])
    return dialect.names if dialect.is_named else None


@pytest.mark.parametrize("case", WITH_HEADER)
def test_header_is_recognized(case):
    header, rows = WITH_HEADER[case]
    assert names_of([header, *rows]) == header.replace('"', "").split(",")


@pytest.mark.parametrize("case", WITHOUT_HEADER)
def test_first_row_without_header_is_kept(case):
    assert names_of(WITHOUT_HEADER[case]) is None


TWO_YEARS = ["2001,2002", *(f"{7 * i % 40},{i * i % 50}" for i in range(30))]


@pytest.mark.parametrize("lines", [["0,1,2", "5,3,8", "1,2,2", "7,7,1"], ["0", "1.5", "2.5"], TWO_YEARS])
def test_a_header_that_may_be_data_is_an_error(lines, tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(TableError, match=r"header=True or header=False") as caught:
        coterie.open_rows(tmp_path / "x.csv")
    assert caught.value.parameter == "header"
    assert coterie.open_rows(tmp_path / "x.csv", header=True).shape[0] == len(lines) - 1
    assert coterie.open_rows(tmp_path / "x.csv", header=False).shape[0] == len(lines)


def test_values_below_a_header_of_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(["country,2001,2002,2003", *NAMED]))
    rows = coterie.open_rows(tmp_path / "x.csv")
    assert rows.column_names == ["2001", "2002", "2003"]
    np.testing.assert_array_equal(rows.read(), V)
