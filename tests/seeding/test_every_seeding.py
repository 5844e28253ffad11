"""Contract of every seeding: centers are rows of positive weight, and depend only on the seed."""

import numpy as np
import pytest
import scipy.sparse

from coterie import open_rows
from coterie.seeding import afk_mc2, k_means_plus_plus, random_rows

SEEDINGS = [random_rows, k_means_plus_plus, afk_mc2]


@pytest.mark.parametrize("seeding", SEEDINGS)
class TestEverySeeding:
    def test_centers_are_rows(self, seeding, blobs):
        centers, indices = seeding(blobs, 20, random_state=0)
        np.testing.assert_array_equal(centers, blobs[indices])
        assert len(set(indices)) == 20

    def test_storage_and_threads_do_not_matter(self, seeding, blobs, tmp_path):
        np.save(tmp_path / "rows.npy", blobs)
        _, expected = seeding(blobs, 20, random_state=0, n_threads=1)
        for X in (blobs, np.load(tmp_path / "rows.npy", mmap_mode="r"), open_rows(tmp_path / "rows.npy")):
            np.testing.assert_array_equal(seeding(X, 20, random_state=0, n_threads=3)[1], expected)

    def test_sparse(self, seeding, blobs):
        X = scipy.sparse.csr_matrix(np.maximum(blobs, 0))
        centers, indices = seeding(X, 20, random_state=0)
        np.testing.assert_array_equal(centers, X[indices].toarray())

    def test_rows_of_weight_zero_are_not_chosen(self, seeding, blobs):
        weights = np.zeros(len(blobs))
        weights[100:200] = 1
        for seed in range(5):
            _, indices = seeding(blobs, 10, sample_weight=weights, random_state=seed)
            assert np.all((indices >= 100) & (indices < 200))

    def test_too_many_clusters(self, seeding, blobs):
        with pytest.raises(ValueError, match="n_samples=1500 should be >= n_clusters=1501"):
            seeding(blobs, 1501)

    def test_every_row_is_a_center(self, seeding):
        X = np.arange(12.0).reshape(6, 2)
        assert seeding(X, 6, random_state=0)[0].shape == (6, 2)


@pytest.mark.parametrize(
    ("seeding", "parameters", "message"),
    [
        (afk_mc2, dict(chain_length=0), "chain_length must be"),
        (k_means_plus_plus, dict(n_local_trials=0), "n_local_trials must be"),
        (random_rows, dict(sample_weight=[1.0] + [0.0] * 5), "Fewer than n_clusters=2 rows"),
        (afk_mc2, dict(sample_weight=[0.0] * 6), "weight"),
    ],
)
def test_bad_arguments(seeding, parameters, message):
    with pytest.raises(ValueError, match=message):
        seeding(np.arange(12.0).reshape(6, 2), 2, **parameters)
