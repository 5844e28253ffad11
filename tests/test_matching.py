import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import match_clusters

LABELS = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=1, max_size=30)


@given(LABELS)
def test_no_other_ids_keep_more_rows(pairs):
    before, after = np.array(pairs).T
    match = match_clusters(before, after)
    kept = np.sum((match.labels == before) & (before >= 0))
    n_old, n_new = before.max() + 1, after.max() + 1
    names = range(max(n_old, 0) + max(n_new, 0))
    for ids in itertools.permutations(names, int(n_new)):
        others = np.append(np.array(ids, dtype=int), -1)[after]
        assert np.sum((others == before) & (before >= 0)) <= kept
    assert len(np.unique(match.ids)) == len(match.ids)
    assert np.array_equal(match.labels < 0, after < 0)
    assert match.changes.kept.sum() == kept


def test_renumbered_clusters_continue():
    before = np.repeat([0, 1, 2, -1], 5)
    match = match_clusters(before, np.repeat([2, 0, 1, -1], 5))
    assert np.array_equal(match.labels, before)
    assert match.changes.event.tolist() == ["continued"] * 3


def test_events():
    before = np.repeat([0, 0, 1, 2, 3, -1], [4, 3, 5, 4, 3, 3])
    after = np.repeat([0, 1, 2, 2, -1, 3], [4, 3, 5, 4, 3, 3])
    changes = match_clusters(before, after).changes
    assert changes[["id", "event"]].tolist() == [
        (0, "split"), (1, "merged"), (2, "died"), (3, "died"), (4, "born"), (5, "born"),
    ]  # fmt: skip
    assert changes[0].tolist() == (0, "split", 7, 4, 4)


def test_rows_that_came_and_went():
    match = match_clusters([0, 0, 1, 1], [1, 1, 0, 0, 0], rows=[2, -1, 1, 0, -1])
    assert match.labels.tolist() == [1, 1, 0, 0, 0]
    assert match.changes[["before", "after", "kept"]].tolist() == [(2, 3, 2), (2, 2, 1)]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [([0, 0], "twice"), ([0, 2], "from 0 to 1"), ([0], "2 integers"), ([0, -2], "from 0")],
)
def test_wrong_rows(rows, problem):
    with pytest.raises(ValueError, match=problem):
        match_clusters([0, 1], [0, 1], rows=rows)


def test_ids_of_new_clusters_begin_at_next_id():
    match = match_clusters([0, 0, -1], [0, 0, 1], next_id=7)
    assert match.labels.tolist() == [0, 0, 7]
    with pytest.raises(ValueError, match="next_id must be above all labels of before, at least 1, got 0"):
        match_clusters([0, 0, -1], [0, 0, 1], next_id=0)
