"""Names of clusters and merges from files, and what they do to labels and results."""

import numpy as np
import pytest

import coterie
from coterie.names import known_classes, read_merges, read_names


def test_relabel_merges_and_names():
    labels = np.array([0, 1, 2, 2, -1, 3])
    np.testing.assert_array_equal(coterie.relabel(labels), labels)
    merged = coterie.relabel(labels, merges={3: 2, 2: 0})
    assert merged.dtype == np.int32
    assert merged.tolist() == [0, 1, 0, 0, -1, 0]
    names = coterie.relabel(labels, merges={2: 0}, names={0: "zero"})
    assert names.tolist() == ["zero", "Cluster 1", "zero", "zero", "", "Cluster 3"]
    assert coterie.relabel(np.empty(0, dtype=np.int64), merges={1: 0}).shape == (0,)
    with pytest.raises(ValueError, match="labels must be one whole number for each row, got float64"):
        coterie.relabel([0.5])


def test_files_of_a_report(tmp_path):
    lines = 'cluster,name\n0,größer\u202e\n3,"a ""quoted"", name"\n11,x\n'
    (tmp_path / "names.csv").write_text(lines, encoding="utf-8")
    assert read_names(tmp_path / "names.csv") == {3: 'a "quoted", name', 0: "größer\u202e", 11: "x"}
    (tmp_path / "merges.csv").write_text("﻿cluster,into\r\n2,1\r\n1,0\r\n", encoding="utf-8")
    assert read_merges(tmp_path / "merges.csv") == {2: 0, 1: 0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,first\n", "the first line must name the columns cluster and name"),
        ("cluster,name\nx,first\n", "'x' is not a cluster"),
        ("cluster,name\n0\n", "cluster 0 has no name"),
        ("cluster,name\n0,a\n0,b\n", "cluster 0 occurs twice"),
    ],
)
def test_wrong_files_of_names(tmp_path, text, words):
    (tmp_path / "names.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        read_names(tmp_path / "names.csv")


@pytest.mark.parametrize(
    "merges",
    [{1: 1}, {1: 2, 2: 1}, {0: 1, 1: 2, 2: 3, 3: 1}],
    ids=["itself", "pair", "circle behind a cluster"],
)
def test_circular_merges_are_refused(merges):
    with pytest.raises(ValueError, match="is merged into itself"):
        read_merges(merges)


def test_known_classes_of_numbers_are_in_their_order():
    numbers, names = known_classes([10, 9, -1, 10])
    assert (numbers.tolist(), names) == ([1, 0, -1, 1], ["9", "10"])


@pytest.mark.parametrize("missing", [None, np.nan, "", -1])
def test_known_classes_of_texts(missing):
    numbers, names = known_classes(np.array(["b", missing, "a", "b"], dtype=object))
    assert (numbers.tolist(), names) == ([1, -1, 0, 1], ["a", "b"])
