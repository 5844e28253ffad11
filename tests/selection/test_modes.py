"""Modes of the density, serial dependence of rows, rows on a path."""

import numpy as np

from coterie.selection.choose_k import path_likeness, serial_dependence
from coterie.selection.modes import find_modes, local_sides


def blobs(centers, n, seed=0):
    random = np.random.RandomState(seed)
    return np.concatenate([random.normal(center, 1, (n, 2)) for center in centers])


def test_each_blob_is_one_mode():
    points = blobs([(0, 0), (12, 0), (0, 12)], 80)
    modes = find_modes(points, 1, 10)
    assert modes.count(2.0) == 3
    labels = modes.labels(2.0)
    assert [len(np.unique(labels[start : start + 80])) for start in (0, 80, 160)] == [1, 1, 1]
    assert len(np.unique(labels)) == 3


def test_threshold_above_all_prominences_gives_one_cluster():
    points = np.random.RandomState(0).standard_normal((200, 2))
    modes = find_modes(points, 1, 10)
    assert modes.count(modes.second) == 1
    assert not modes.labels(modes.second).any()
    assert np.all(np.diff(modes.prominences) <= 0)


def test_prominence_is_the_fall_on_the_best_way():
    # Densities along a line of points: the way between the dense ends leads over the middle, ten times as far apart.
    steps = np.concatenate([np.full(60, 0.1), np.full(20, 1.0), np.full(50, 0.1)])
    modes = find_modes(np.cumsum(steps)[:, None], 1, 6)
    assert modes.count(0.5) == 2
    # On a line the dimension is 1, which distances to few neighbors, all equal, overrate.
    assert np.log(10) < modes.second < 2 * np.log(10)


def test_few_points_far_out_are_no_mode():
    points = np.concatenate([blobs([(0, 0)], 100), blobs([(50, 50)], 8)])
    assert find_modes(points, 1, 6).count(3.0) == 1
    assert find_modes(points, 1, 5).count(3.0) == 2


def test_equal_rows_do_not_make_modes_of_infinite_density():
    points = np.round(np.random.RandomState(0).standard_normal((300, 2)), 1)
    assert np.isfinite(find_modes(points, 1, 10).prominences[1:]).all()


def test_band_has_the_local_dimension():
    random = np.random.RandomState(0)
    assert local_sides(1.0, 300, 10, random, 1).tolist() == [1.0]
    assert local_sides(9.3, 300, 10, random, 1).tolist() == [1.0] * 9
    thin, thick = (local_sides(dimension, 300, 10, random, 1) for dimension in (1.3, 1.8))
    assert thin[0] == thick[0] == 1.0
    assert thin[1] < thick[1] < 1.0


def test_random_walk_is_a_path_and_shuffled_rows_are_not():
    random = np.random.RandomState(1)
    walk = np.cumsum(random.standard_normal((800, 3)), axis=0)
    labels = find_modes(walk, 1, 12).labels(0.5)
    assert serial_dependence(walk[:-1], labels[:-1], walk[1:], labels[1:]).is_path
    order = random.permutation(800)
    mixed, of_mixed = walk[order], labels[order]
    assert not serial_dependence(mixed[:-1], of_mixed[:-1], mixed[1:], of_mixed[1:]).is_path


def test_states_that_are_left_by_leaps_are_no_path():
    random = np.random.RandomState(2)
    state = np.repeat([0, 1, 0, 1], 150)
    slow = np.cumsum(random.standard_normal((600, 2)) * 0.05, axis=0)
    points = slow + 20.0 * state[:, None]
    found = serial_dependence(points[:-1], state[:-1], points[1:], state[1:])
    assert found.step < 0.5
    assert not found.is_path


def test_sorted_clusters_are_no_path():
    points = blobs([(0, 0), (12, 0)], 100)
    labels = np.repeat([0, 1], 100)
    assert not serial_dependence(points[:-1], labels[:-1], points[1:], labels[1:]).is_path


def test_a_walk_in_many_directions_is_a_path_in_any_order():
    random = np.random.RandomState(3)
    walk = random.permutation(np.cumsum(random.standard_normal((800, 15)), axis=0))
    labels = find_modes(walk, 1, 12).labels(0.5)
    found = path_likeness(walk, labels, 1)
    assert labels.any()
    assert found.leaves < 0.15
    assert found.is_path


def test_scattered_points_have_many_ends():
    random = np.random.RandomState(4)
    labels = np.repeat([0, 1], 150)
    ends = [path_likeness(random.standard_normal((300, d)), labels, 1).leaves for d in (2, 3, 10)]
    assert 0.2 < ends[0] < ends[1] < ends[2]


def test_paths_that_are_apart_are_clusters():
    random = np.random.RandomState(5)
    tracks = np.cumsum(random.standard_normal((600, 20)), axis=0)
    labels = np.repeat([0, 1, 2], 200)
    tracks += 200.0 * np.eye(3, 20)[labels]
    found = path_likeness(tracks, labels, 1)
    assert found.leaves < 0.15
    assert found.jump > 2
    assert not found.is_path


def test_points_on_a_line_are_not_reported_as_a_path():
    points = np.random.RandomState(6).normal(np.repeat([0.0, 5.0], 100), 1)[:, None]
    assert not path_likeness(points, np.repeat([0, 1], 100), 1).is_path


def test_equal_points_have_a_tree():
    assert path_likeness(np.zeros((30, 3)), np.zeros(30, dtype=np.int32), 1).leaves < 1
