"""svmlight files: columns, damage."""

import numpy as np
import pytest

from coterie.rows import open_rows


@pytest.mark.parametrize("content", ["1 1:0.5 7", "1 1:0.5 2:", "1 2:1 1:2\n", "one two\n", "1 -1:3\n"])
def test_damaged_svm_files(content, tmp_path):
    (tmp_path / "1.svm").write_text(content)
    with pytest.raises(ValueError, match=r"Cannot read .*1\.svm: "):
        open_rows(tmp_path)


def test_svm_columns(tmp_path):
    (tmp_path / "1.svm").write_text("1 1:0.5 2:3 # note\n0\n")
    X = np.array([[0.5, 3, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(open_rows(tmp_path / "1.svm").read().toarray(), X[:, :2])
    np.testing.assert_array_equal(open_rows(tmp_path / "1.svm", n_columns=4).read().toarray(), X)
    with pytest.raises(ValueError, match="has 2 columns, more than"):
        open_rows(tmp_path / "1.svm", n_columns=1)
    (tmp_path / "1.svm").write_text("-1 0:1 2:4\n")  # indices count from 0
    np.testing.assert_array_equal(open_rows(tmp_path).read().toarray(), [[1, 0, 4]])
    (tmp_path / "2.svm").write_text("-1 1:1\n")
    with pytest.raises(ValueError, match="Join them"):
        open_rows(tmp_path)
