"""The benchmark of mixtures is fair: what is said to be the same is."""

import numpy as np
import pytest

from benchmarks.harness.data.images import cifar10_split
from benchmarks.harness.data.tables import save_images
from benchmarks.harness.measuring import inertia
from benchmarks.mixture.contenders import (
    FITS,
    OWN_CHAIN,
    PEER_CHAIN,
    VC_GMM,
    MixtureRow,
    Setting,
    draw_coreset,
    draw_seeds,
)
from benchmarks.mixture.paper import SETS
from coterie.mixture import estimator as mixture_module

SETTING = Setting(20, 300, chain_length=5)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(2000, 6)).astype(np.float32)


@pytest.mark.parametrize("coreset", [False, True])
def test_k_means_begins_where_the_mixture_does(X, coreset, monkeypatch):
    began = []

    def watched(*args):
        found = mixture_seeding(*args)
        began.append(found[0].copy())
        return found

    mixture_seeding = mixture_module.seed_by_markov_chain
    monkeypatch.setattr(mixture_module, "seed_by_markov_chain", watched)
    SETTING.mixture(7, 2, coreset_size=300 if coreset else None, max_iter=1, tol=0).fit(X)
    random = np.random.RandomState(7)
    drawn = draw_coreset(X, SETTING, random, 2) if coreset else (X, None)
    seeds = draw_seeds(drawn, SETTING, random, 2)
    np.testing.assert_array_equal(seeds, began[0])


@pytest.mark.parametrize("name", FITS)
def test_contenders_return_centers_and_count_distances(X, name):
    fit = FITS[name].call(X, SETTING, 0, 2)
    assert fit.centers.shape == (20, 6)
    assert fit.n_distances > 0


def test_from_the_same_start_k_means_is_the_same(X):
    ours, theirs = (FITS[name].call(X, SETTING, 3, 2).centers for name in (OWN_CHAIN, PEER_CHAIN))
    np.testing.assert_allclose(inertia(X, ours), inertia(X, theirs), rtol=1e-2)


def test_rows_that_are_held_out_are_not_fitted(X):
    held_out = Setting(20, 300, n_test=500)
    fitted, tested = held_out.split(X)
    np.testing.assert_array_equal(fitted, X[:1500])
    np.testing.assert_array_equal(tested, X[1500:])
    assert all(part is X for part in SETTING.split(X))
    assert "errors of the last 500" in MixtureRow("blobs", 2000, held_out).title


def test_published_steps_are_algorithm_2():
    assert FITS[f"{VC_GMM}, the papers' steps"].call.keywords == dict(
        coreset=True, search_group_size=1, search_every=1, coreset_tol=0
    )


def test_every_published_line_of_table_1_has_five_numbers():
    for chosen in SETS.values():
        assert all(len(line) == 5 for line in chosen.published.values())
        assert chosen.row.setting.coreset_size in chosen.swept(chosen.row)


def test_generated_images_have_the_range_of_images(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    rows = cifar10_split(12)
    assert rows.shape == (12, 3072)
    assert 128 < rows.max() <= 256
    assert rows.min() >= 0


def test_generated_files_of_images_hold_different_images(tmp_path):
    path = tmp_path / "images.npy"
    save_images(path, 25, rows_per_block=10)
    rows = np.load(path)
    assert rows.shape == (25, 3072)
    assert rows.dtype == np.uint8
    assert len(np.unique(rows, axis=0)) == 25
    save_images(path, 25, seed=1, rows_per_block=10)
    assert not np.array_equal(np.load(path), rows)
