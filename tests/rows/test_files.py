"""`open_rows`: paths, folders and globs of shards, options."""

import numpy as np
import pytest

from coterie.rows import open_rows
from tests.rows.formats import write_text


def test_unknown_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nothing\.npy"):
        open_rows(tmp_path / "nothing.npy")
    with pytest.raises(FileNotFoundError, match=r"No file matches .*\*\.npy"):
        open_rows(tmp_path / "*.npy")
    (tmp_path / "notes.docx").touch()
    with pytest.raises(
        ValueError, match=r"format of .*notes\.docx\. Known extensions are \.npy, \.npz, .*svm"
    ):
        open_rows(tmp_path / "notes.docx")
    with pytest.raises(ValueError, match=r"format of .*notes\.docx"):
        open_rows(tmp_path / "notes.*")
    with pytest.raises(ValueError, match=r"has no files of rows\. Known extensions are"):
        open_rows(tmp_path)


def test_shards_must_be_alike(tmp_path):
    np.save(tmp_path / "1.npy", np.ones((2, 3)))
    np.save(tmp_path / "2.npy", np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"2\.npy: its columns are not those of .*1\.npy"):
        open_rows(tmp_path)
    (tmp_path / "2.npy").unlink()
    write_text(tmp_path / "2.csv", np.eye(3))
    with pytest.raises(ValueError, match=r"one format, found .*1\.npy, .*2\.csv"):
        open_rows(tmp_path)
    write_text(tmp_path / "1.csv", np.eye(3), header="a,b,c")
    with pytest.raises(ValueError, match=r"2\.csv: no column 'a'"):
        open_rows(tmp_path / "*.csv")


@pytest.mark.parametrize(
    ("path", "options", "option"),
    [
        ("x.npy::a", {}, "::a"),
        ("x.npy", {"columns": ["a"]}, "columns"),
        ("x.npy", {"exclude": ["a"]}, "exclude"),
        ("x.npy", {"header": True}, "header"),
        ("x.npy", {"sep": ";"}, "sep"),
        ("x.npy", {"decimal": ","}, "decimal"),
        ("x.npy", {"n_columns": 3}, "n_columns"),
    ],
)
def test_options_without_meaning(path, options, option, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    with pytest.raises(ValueError, match=rf"^{option} has no meaning for .*x\.npy"):
        open_rows(tmp_path / path, **options)
