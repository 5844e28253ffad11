"""svmlight files: columns counted over all shards, damage."""

import numpy as np
import pytest

from coterie.rows import open_rows


@pytest.mark.parametrize("content", ["1 1:0.5 7", "1 1:0.5 2:", "1 2:1 1:2\n", "one two\n", "1 -1:3\n"])
def test_damaged_svm_files(content, tmp_path):
    good, bad = tmp_path / "1.svm", tmp_path / "2.svm"
    good.write_text("1 1:0.5 2:3\n")
    bad.write_text(content)
    with pytest.raises(ValueError, match=r"Cannot read .*2\.svm: "):
        open_rows(tmp_path)


def test_svm_columns(tmp_path):
    (tmp_path / "1.svm").write_text("1 1:0.5 2:3 # note\n0\n")
    (tmp_path / "2.svm").write_text("-1 4:1\n")
    X = np.array([[0.5, 3, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(open_rows(tmp_path).read().toarray(), X)
    np.testing.assert_array_equal(open_rows(tmp_path / "1.svm").read().toarray(), X[:2, :2])
    np.testing.assert_array_equal(open_rows(tmp_path / "1.svm", n_columns=4).read().toarray(), X[:2])
    with pytest.raises(ValueError, match="has 4 columns, more than the 3 asked for"):
        open_rows(tmp_path, n_columns=3)
    (tmp_path / "2.svm").write_text("-1 0:1\n")  # now all indices count from 0
    assert open_rows(tmp_path).shape == (3, 3)
