"""`coterie fit` with each of the methods."""

import json

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import failed

# What Python calls the options.
SAME = {
    "--algorithm lloyd --init random --n-init 4 --max-iter 7 --tol 0.5 --seed 9": coterie.KMeans(
        3, algorithm="lloyd", init="random", n_init=4, max_iter=7, tol=0.5, random_state=9),
    "--method k-means --metric cosine --max-time 60 --threads 1": coterie.KMeans(
        3, metric="cosine", max_time=60.0, n_threads=1),
    "--chain-length 5 --random-candidate --max-iter 2": coterie.TruncatedGaussianMixture(
        3, chain_length=5, random_candidate=True, max_iter=2),
    "--method nested --metric cosine": coterie.NestedMiniBatchKMeans(3, metric="cosine"),
    "--batch-size 50": coterie.NestedMiniBatchKMeans(3, batch_size=50),
    "--bounds off": coterie.NestedMiniBatchKMeans(3, bounds="off"),
    "--doubling-threshold 3 --min-improvement 0.01": coterie.NestedMiniBatchKMeans(
        3, doubling_threshold=3.0, min_improvement=0.01),
    "--method mini-batch --metric cosine": coterie.MiniBatchKMeans(3, metric="cosine"),
    "--method mini-batch --max-no-improvement none --init-size 50": coterie.MiniBatchKMeans(
        3, max_no_improvement=None, init_size=50),
    "--method bisecting --metric cosine": coterie.BisectingKMeans(3, metric="cosine"),
    "--method size-constrained --size-min 100 --size-max 0.4": coterie.SizeConstrainedKMeans(
        3, size_min=100, size_max=0.4),
    "--graph-weight 1.5 --neighbors 4 --modes mean_shift --n-init 2": coterie.LaplacianKModes(
        3, graph_weight=1.5, n_neighbors=4, mode_update="mean_shift", n_init=2),
    "--modes densest --symmetrize max --diagonal-shift --bandwidth 2": coterie.LaplacianKModes(
        3, mode_update="densest", symmetrize="max", diagonal_shift=True, bandwidth=2.0),
    "--no-diagonal-shift": coterie.LaplacianKModes(3, diagonal_shift=False),
    "--method total-variation --steps paper --balance-weight 1.5 --n-init 2 --seed 3": coterie.TotalVariationClustering(
        3, steps="paper", balance_weight=1.5, n_init=2, random_state=3),
    "--inner-tol 0.01 --n-neighbors 4 --n-init 1": coterie.TotalVariationClustering(
        3, inner_tol=0.01, n_neighbors=4, n_init=1),
    "--method gmm --search-group-size 1 --search-every 1 --initial-e-steps 2": coterie.TruncatedGaussianMixture(
        3, search_group_size=1, search_every=1, initial_e_steps=2),
    "--method gmm --covariance-type factors --n-factors 2": coterie.TruncatedGaussianMixture(
        3, covariance_type="factors", n_factors=2),
    "--method gmm --coreset 60 --covariance-type spherical --seed 4": coterie.TruncatedGaussianMixture(
        3, coreset_size=60, covariance_type="spherical", random_state=4),
    "--method multilevel --neighbors 6 --metric cosine": coterie.MultilevelGraphClustering(
        3, n_neighbors=6, metric="cosine"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), SAME.items(), ids=SAME)
def test_fit_and_predict_as_in_python(rows, X, options, expected):
    assert main(["fit", rows, "-k", "3", "-q", *options.split()]) == 0
    model = coterie.load("coterie-out/model.coterie")
    if "random_state" in expected.get_params() and expected.random_state is None:
        expected.set_params(random_state=0)
    assert type(model) is type(expected)
    assert model.get_params() == expected.get_params()
    expected.fit(X)
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    assert main(["predict", "coterie-out", rows, "--out", "labels.npy", "-q"]) == 0
    assert np.array_equal(np.load("labels.npy"), expected.predict(X))


@pytest.mark.usefixtures("shown_at_once")
def test_summary_names_the_objective_of_each_method(rows, capsys):
    assert main(["fit", rows, "-k", "3", "--method", "laplacian-kmodes", "--n-init", "1"]) == 0
    printed = capsys.readouterr()
    assert ", relaxed objective -" in printed.err
    assert ", objective -" in printed.out
    assert "relaxed" not in printed.out


def test_priors_and_bounds_of_a_cut(rows, X):
    options = "--method total-variation --balance degrees --size-max 0.6 --n-init 2 --seed 3"
    given = dict(balance="degrees", size_max=0.6, n_init=2, random_state=3)
    for text, priors in (("0.5,0.3,0.2", [0.5, 0.3, 0.2]), ("estimate", "estimate")):
        assert main(["fit", rows, "-k", "3", "--force", "--class-priors", text, *options.split()]) == 0
        expected = coterie.TotalVariationClustering(3, class_priors=priors, **given).fit(X)
        np.testing.assert_array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
        kept = coterie.load("coterie-out/model.coterie")
        np.testing.assert_array_equal(kept.class_priors_, expected.class_priors_)


@pytest.mark.usefixtures("shown_at_once")
def test_total_variation(folder, rows, X, capsys):
    known = np.full(len(X), -1)
    known[:3] = [2, 0, 1]
    np.savetxt("known.csv", known, fmt="%d")
    np.save("known.npy", known)
    expected = coterie.TotalVariationClustering(3, n_neighbors=5, random_state=0).fit(X, known)
    for options in (
        "--labels known.csv --neighbors 5",
        "--labels known.npy --method total-variation --neighbors 5",
    ):
        assert main(["fit", rows, "-k", "3", *options.split()]) == 0
        printed = capsys.readouterr()
        assert "balanced cut" in printed.out
        assert "outer step 1, " in printed.err
        assert "relaxed cut" in printed.err
        found = np.load("coterie-out/labels.npy")
        np.testing.assert_array_equal(found, expected.labels_)
        np.testing.assert_array_equal(found[:3], [2, 0, 1])
        summary = json.loads((folder / "coterie-out" / "summary.json").read_text())
        assert summary["method"] == "total-variation"
        assert summary["clusters_left"] == 3
    assert main(["predict", "coterie-out/model.coterie", rows, "--out", "labels.npy"]) == 0
    np.testing.assert_array_equal(np.load("labels.npy"), expected.predict(X))
    assert main(["info", "coterie-out/model.coterie"]) == 0
    assert "balanced cut" in capsys.readouterr().out
    assert main(["fit", rows, "-k", "3", "--method", "total-variation", "--n-init", "2"]) == 0
    assert len(coterie.load("coterie-out/model.coterie").energies_) == 2


@pytest.mark.usefixtures("shown_at_once")
def test_mixture(folder, rows, X, capsys):
    options = "--method gmm --covariance-type diag --candidates 2 --neighbors 3 --assignment truncated --init random"
    assert main(["fit", rows, "-k", "3", *options.split()]) == 0
    expected = coterie.TruncatedGaussianMixture(
        3,
        covariance_type="diag",
        n_candidates=2,
        n_neighbors=3,
        assignment="truncated",
        init="random",
        random_state=0,
    ).fit(X)
    model = coterie.load("coterie-out/model.coterie")
    assert np.array_equal(model.means_, expected.means_)
    assert np.array_equal(model.covariances_, expected.covariances_)
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    summary = json.loads((folder / "coterie-out" / "summary.json").read_text())
    assert summary["method"] == "gmm"
    assert summary["objective"] == expected.lower_bound_
    assert summary["objective_name"] == "free energy"
    assert summary["higher_is_better"] is True
    assert summary["clusters"] == summary["clusters_left"] == 3
    assert summary["parameters"]["covariance_type"] == "diag"
    printed = capsys.readouterr()
    for told in (printed.out, printed.err):
        assert "free energy -" in told
        assert "(higher is better)" in told
        assert "inertia" not in told
    assert main(["predict", "coterie-out/model.coterie", rows]) == 0
    assert np.array_equal(np.load("labels.npy"), expected.labels_)
    assert "3 clusters" in capsys.readouterr().out
    assert main(["info", "coterie-out/model.coterie", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["estimator"] == "TruncatedGaussianMixture"
    assert facts["free_energy"] == expected.lower_bound_
    assert (facts["clusters"], facts["clusters_dropped"]) == (3, 0)


def test_dropped_components(folder, rows, capsys):
    assert main(["fit", rows, "-k", "200", "--covariance-type", "spherical"]) == 0
    model = coterie.load("coterie-out/model.coterie")
    left = model.n_components_
    assert left < 200
    printed = capsys.readouterr()
    assert f"in {left} clusters ({200 - left} of 200 dropped) by gmm" in printed.out
    assert "were dropped" in printed.err
    summary = json.loads((folder / "coterie-out" / "summary.json").read_text())
    assert (summary["clusters"], summary["clusters_left"]) == (200, left)
    sizes = np.bincount(np.load("coterie-out/labels.npy"), minlength=left)
    assert summary["cluster_sizes"]["smallest"] == sizes.min()
    assert main(["predict", "coterie-out/model.coterie", rows, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["clusters"] == left
    assert report["cluster_sizes"] == summary["cluster_sizes"]
    assert main(["info", "coterie-out/model.coterie", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["clusters"], facts["clusters_dropped"]) == (left, 200 - left)


def test_mixture_of_sparse_rows(folder, rows, X, capsys):
    from scipy import sparse

    sparse.save_npz("sparse.npz", sparse.csr_matrix(np.where(X > 1, X, 0)))
    message = failed(capsys, 1, "fit", "sparse.npz", "-k", "3", "--method", "gmm")
    assert "sparse.npz has sparse rows" in message
    assert "k-means, nested, mini-batch" in message
    assert not (folder / "coterie-out").exists()
    assert main(["fit", rows, "-k", "3", "--method", "gmm", "-q"]) == 0
    message = failed(capsys, 1, "predict", "coterie-out/model.coterie", "sparse.npz")
    assert "sparse.npz has sparse rows" in message


def test_density(folder, X, rows, capsys):
    assert main(["fit", rows, "--method", "density", "--min-samples", "4", "--min-cluster-size", "8"]) == 0
    model = coterie.load("coterie-out/model.coterie")
    assert (model.min_samples, model.min_cluster_size) == (4, 8)
    assert np.array_equal(np.load("coterie-out/labels.npy"), model.predict(X))
    assert main(["fit", rows, "-k", "3", "--method", "density"]) == 2
    assert "takes no -k" in capsys.readouterr().err


def test_density_where_all_rows_are_noise(folder, capsys):
    np.save("one.npy", np.ones((6, 2)))
    assert main(["fit", "one.npy", "--method", "density"]) == 0
    assert "6 rows in no cluster (100.0%), label -1" in capsys.readouterr().out
    assert main(["predict", "coterie-out", "one.npy", "-o", "labels.npy"]) == 0
    assert np.load("labels.npy").tolist() == [-1] * 6
