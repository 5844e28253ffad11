"""The command line: what it writes, what it prints, and how it fails."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import coterie
from coterie import persistence
from coterie.cli import main, progress

pytest.importorskip("cyclopts")
pytest.importorskip("skops")

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 4)) + np.repeat(np.eye(4)[:3] * 10, 100, axis=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rows(folder, X):
    np.save(folder / "rows.npy", X)
    return "rows.npy"


@pytest.fixture
def table(folder, X):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.insert(1, "name", "somebody")
    frame.to_parquet(folder / "rows.parquet")
    return "rows.parquet"


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def run(*arguments):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "coterie", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
        check=False,
    )


def failed(capsys, code, *arguments):
    """Run a command that must fail; gives its one line of error without the beginning."""
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("coterie: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("coterie: error: ").strip()


def test_fit_writes_model_labels_and_summary(folder, rows, X, capsys):
    assert main(["fit", rows, "-k", "3", "--out", "out"]) == 0
    assert everything(folder / "out") == ["labels.npy", "model.coterie", "summary.json"]
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X)
    labels = np.load("out/labels.npy")
    assert labels.dtype == np.int32
    assert np.array_equal(labels, expected.labels_)
    model = coterie.load("out/model.coterie")
    assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.callback is None
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["input"] == {
        "file": rows,
        "rows": 300,
        "columns": 4,
        "dtype": "float64",
        "sparse": False,
        "source": summary["input"]["source"],
    }
    assert summary["objective"] == pytest.approx(expected.inertia_)
    assert summary["iterations"] == expected.n_iter_
    assert summary["cluster_sizes"] == {"smallest": 100, "median": 100, "largest": 100}
    assert summary["parameters"]["random_state"] == 0
    printed = capsys.readouterr()
    for name in ("labels.npy", "model.coterie", "summary.json"):
        assert os.path.join("out", name) in printed.out
    assert "iteration 1/300" in printed.err


@pytest.mark.parametrize(
    ("options", "estimator"),
    [
        ("", "NestedMiniBatchKMeans"),
        ("--algorithm lloyd", "KMeans"),
        ("--n-init 2", "KMeans"),
        ("--method k-means", "KMeans"),
        ("--method mini-batch --batch-size 50 --n-init 2", "MiniBatchKMeans"),
        ("--batch-size 50 --n-init 2", "MiniBatchKMeans"),
        ("--coreset 100", "KMeans"),
        ("--covariance diag", "TruncatedGaussianMixture"),
        ("--candidates 3 --coreset 100", "TruncatedGaussianMixture"),
        ("--method gmm", "TruncatedGaussianMixture"),
    ],
)
def test_many_rows_are_clustered_by_nested_batches(folder, rows, X, monkeypatch, options, estimator):
    monkeypatch.setattr("coterie.cli.jobs.NESTED_ROWS", len(X) - 1)
    assert main(["fit", rows, "-k", "3", "--quiet", *options.split()]) == 0
    assert type(coterie.load("coterie-out/model.coterie")).__name__ == estimator


def test_a_batch_size_asks_for_batches(folder, rows, X):
    assert main(["fit", rows, "-k", "3", "--batch-size", "50", "--quiet"]) == 0
    model = coterie.load("coterie-out/model.coterie")
    expected = coterie.NestedMiniBatchKMeans(3, batch_size=50, random_state=0).fit(X)
    assert np.array_equal(model.labels_, expected.labels_)
    assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert json.loads((folder / "coterie-out" / "summary.json").read_text())["method"] == "nested"


def test_options_reach_the_estimator(folder, rows):
    options = (
        "--algorithm lloyd --init random --n-init 4 --max-iter 7 --max-time 60 --tol 0.5 --seed 9 --threads 1"
    )
    assert main(["fit", rows, "-k", "2", *options.split()]) == 0
    parameters = coterie.load("coterie-out/model.coterie").get_params()
    expected = {
        "n_clusters": 2,
        "algorithm": "lloyd",
        "init": "random",
        "n_init": 4,
        "max_iter": 7,
        "max_time": 60.0,
        "tol": 0.5,
        "random_state": 9,
        "n_threads": 1,
    }
    assert {name: parameters[name] for name in expected} == expected


def test_laplacian_kmodes(folder, rows, X, capsys):
    options = "--lam 1.5 --neighbors 4 --modes mean_shift --n-init 2"
    assert main(["fit", rows, "-k", "3", *options.split()]) == 0
    expected = coterie.LaplacianKModes(
        3, lam=1.5, n_neighbors=4, mode_update="mean_shift", n_init=2, random_state=0
    ).fit(X)
    model = coterie.load("coterie-out/model.coterie")
    assert np.array_equal(model.modes_, expected.modes_)
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    summary = json.loads((folder / "coterie-out" / "summary.json").read_text())
    assert summary["method"] == "laplacian-kmodes"
    capsys.readouterr()
    assert main(["predict", "coterie-out/model.coterie", rows, "--out", "labels.npy"]) == 0
    assert np.mean(np.load("labels.npy") == expected.labels_) > 0.9
    assert main(["info", "coterie-out/model.coterie"]) == 0
    assert "LaplacianKModes" in capsys.readouterr().out


@pytest.mark.parametrize(
    "method", ["k-means", "nested", "mini-batch", "gmm", "laplacian-kmodes", "laplacian-kmodes --normalize"]
)
def test_images(folder, rows, capsys, method):
    pytest.importorskip("matplotlib")
    assert main(["fit", rows, "-k", "3", "--image", "2x2", "--method", *method.split()]) == 0
    written = ["labels.npy", "model.coterie", "modes.png", "summary.json"]
    assert everything(folder / "coterie-out") == written
    assert (folder / "coterie-out" / "modes.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert os.path.join("coterie-out", "modes.png") in capsys.readouterr().out
    summary = json.loads((folder / "coterie-out" / "summary.json").read_text())
    assert sorted(os.path.basename(path) for path in summary["files"].values()) == written


def test_images_of_sparse_rows_and_tables(folder, table, X):
    from scipy import sparse

    pytest.importorskip("matplotlib")
    sparse.save_npz("sparse.npz", sparse.csr_matrix(np.where(X > 1, X, 0)))
    for file, columns in (("sparse.npz", []), (table, ["--columns", "a,b,c,d"])):
        assert main(["fit", file, "-k", "3", "--image", "1x4", "-q", *columns]) == 0
        assert (folder / "coterie-out" / "modes.png").is_file()


def test_failure_while_drawing_leaves_nothing(folder, rows, capsys, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure.Figure, "savefig", full)
    assert main(["fit", rows, "-k", "3", "--image", "2x2", "-q"]) == 1
    assert everything(folder) == ["rows.npy"]


def test_images_without_matplotlib(folder, rows, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: pytest.fail("fitted first"))
    assert "coterie[plot]" in failed(capsys, 1, "fit", rows, "-k", "3", "--image", "2x2")
    assert everything(folder) == ["rows.npy"]


def test_objectives_are_told_apart(rows, capsys):
    assert main(["fit", rows, "-k", "3", "--method", "laplacian-kmodes", "--n-init", "1"]) == 0
    printed = capsys.readouterr()
    assert ", relaxed objective -" in printed.err
    assert ", objective -" in printed.out
    assert "relaxed" not in printed.out


def test_one_is_no_plural(folder, capsys):
    np.save("one.npy", np.ones((1, 1)))
    assert main(["fit", "one.npy", "-k", "1"]) == 0
    assert main(["predict", "coterie-out/model.coterie", "one.npy"]) == 0
    first, second, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("one.npy: 1 row x 1 column in 1 cluster by")
    assert second.startswith("1 iteration in")
    assert "1 to 1 row a cluster" in second
    assert any(line.startswith("one.npy: 1 row labelled") for line in others)


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


@pytest.mark.parametrize(
    ("label", "n_labels", "message"),
    [
        ("0", 2, "300 labels"),
        ("x", 300, "one integer on each line"),
        ("3", 300, "from 0 to 2"),
        ("0.5", 300, "to 2"),
    ],
)
def test_wrong_labels(folder, rows, capsys, label, n_labels, message):
    (folder / "known.csv").write_text(f"{label}\n" * n_labels)
    assert message in failed(capsys, 1, "fit", rows, "-k", "3", "--labels", "known.csv")


def test_mixture(folder, rows, X, capsys):
    options = (
        "--method gmm --covariance diag --candidates 2 --neighbors 3 --assignment truncated --init random"
    )
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


def test_inertia_is_told_by_its_name(rows, capsys):
    assert main(["fit", rows, "-k", "3"]) == 0
    printed = capsys.readouterr()
    for told in (printed.out, printed.err):
        assert "inertia " in told
        assert "higher is better" not in told
    with open("coterie-out/summary.json") as file:
        summary = json.load(file)
    assert summary["objective_name"] == "inertia"
    assert summary["higher_is_better"] is False


def test_mixture_of_a_coreset(folder, rows, X):
    options = "--method gmm --coreset 60 --covariance spherical --seed 4 -q"
    assert main(["fit", rows, "-k", "3", *options.split()]) == 0
    expected = coterie.TruncatedGaussianMixture(
        3, coreset_size=60, covariance_type="spherical", random_state=4
    ).fit(X)
    model = coterie.load("coterie-out/model.coterie")
    assert np.array_equal(model.means_, expected.means_)
    labels = np.load("coterie-out/labels.npy")
    assert len(labels) == len(X)
    assert np.array_equal(labels, expected.labels_)


def test_dropped_components(folder, rows, capsys):
    assert main(["fit", rows, "-k", "200", "--covariance", "spherical"]) == 0
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


def test_same_seed_same_labels(folder, rows):
    labels = []
    for out, seed in (("a", "1"), ("b", "1")):
        assert main(["fit", rows, "-k", "5", "--seed", seed, "--out", out, "--quiet"]) == 0
        labels.append(np.load(f"{out}/labels.npy"))
    assert np.array_equal(*labels)


def test_json_is_all_of_the_standard_output(rows, capsys):
    assert main(["fit", rows, "-k", "3", "--json", "--n-init", "auto"]) == 0
    printed = json.loads(capsys.readouterr().out)
    with open("coterie-out/summary.json") as file:
        assert printed == json.load(file)


def test_quiet(rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert main(["predict", "coterie-out/model.coterie", rows, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_table(folder, table, X, capsys):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    assert main(["fit", table, "-k", "3", "--columns", "d, a", "--out", "out"]) == 0
    assert everything(folder / "out") == ["labels.parquet", "model.coterie", "summary.json"]
    labels = pyarrow.read_table("out/labels.parquet")
    assert labels.column_names == ["label"]
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X[:, [3, 0]]).labels_
    assert np.array_equal(labels["label"], expected)
    # The columns are remembered, so prediction takes the same ones.
    assert main(["predict", "out/model.coterie", table]) == 0
    assert np.array_equal(pyarrow.read_table("labels.parquet")["label"], expected)
    assert main(["predict", "out/model.coterie", table, "--out", "labels.npy"]) == 0
    assert np.array_equal(np.load("labels.npy"), expected)


def test_columns_that_are_not_there(table, rows, capsys):
    assert "nothing" in failed(capsys, 1, "fit", table, "-k", "3", "--columns", "a,nothing")
    assert "name" in failed(capsys, 1, "fit", table, "-k", "3")  # text, and nobody left it out
    assert "column" in failed(capsys, 1, "fit", rows, "-k", "3", "--columns", "a")
    assert "with commas" in failed(capsys, 2, "fit", table, "-k", "3", "--columns", "a,,b")


def test_text_table(folder, X, capsys):
    np.savetxt("rows.csv", X, delimiter=",", header="a,b,c,d", comments="")
    assert main(["info", "rows.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["column_names"] == ["a", "b", "c", "d"]
    for columns in ("b,c", "1,2"):
        assert main(["fit", "rows.csv", "-k", "3", "--columns", columns, "-q"]) == 0
        model = coterie.load("coterie-out/model.coterie")
        expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X[:, 1:3])
        assert np.allclose(model.cluster_centers_, expected.cluster_centers_)


@pytest.mark.parametrize("options", [[], ["--normalize"]])
def test_sparse(folder, X, options):
    from sklearn.datasets import dump_svmlight_file

    sparse = np.where(X > 1, X, 0)
    sparse[0] = 1
    np.save("rows.npy", sparse)
    dump_svmlight_file(sparse, np.zeros(300), "rows.svm")
    labels = []
    for file in ("rows.npy", "rows.svm"):
        assert main(["fit", file, "-k", "3", "--init", "random", "-q", *options]) == 0
        assert main(["predict", "coterie-out/model.coterie", file, "-q"]) == 0
        labels += [np.load("coterie-out/labels.npy"), np.load("labels.npy")]
    for other in labels[1:]:
        assert np.array_equal(labels[0], other)


def test_kept_in_memory_or_not_the_bits_are_the_same(folder, monkeypatch):
    np.save("rows.npy", np.random.default_rng(0).integers(0, 255, size=(5000, 9), dtype=np.uint8))
    found = []
    for kept in (2**30, 0):
        monkeypatch.setattr("coterie.blocks.kernel_rows.KEPT_BYTES", kept)
        assert main(["fit", "rows.npy", "-k", "20", "--max-iter", "5", "--normalize", "-q"]) == 0
        found.append(coterie.load("coterie-out/model.coterie").cluster_centers_)
    assert np.array_equal(*found)


def test_normalize_is_remembered(folder, X):
    X = X * np.random.default_rng(1).uniform(1, 50, size=(300, 1))
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    np.save("rows.npy", X)
    assert main(["fit", "rows.npy", "-k", "3", "--normalize", "-q"]) == 0
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(unit)
    model = coterie.load("coterie-out/model.coterie")
    assert np.allclose(model.cluster_centers_, expected.cluster_centers_)
    assert json.loads((folder / "coterie-out/summary.json").read_text())["normalize"] is True
    assert main(["predict", "coterie-out/model.coterie", "rows.npy", "-q"]) == 0
    assert np.array_equal(np.load("labels.npy"), expected.labels_)


def test_predict(folder, rows, X, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    np.save("others.npy", X[::-1].astype(np.float32))
    arguments = ["predict", "coterie-out/model.coterie", "others.npy", "--out", "new/l.npy", "--threads", "1"]
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == {"labels": os.path.join("new", "l.npy")}
    assert report["input"]["rows"] == 300
    assert np.array_equal(np.load("new/l.npy"), np.load("coterie-out/labels.npy")[::-1])
    np.save("narrow.npy", X[:, :2])
    message = failed(capsys, 1, "predict", "coterie-out/model.coterie", "narrow.npy")
    assert "narrow.npy has 2 columns" in message
    assert "4" in message


def test_info(rows, capsys):
    assert main(["info", rows]) == 0
    assert "rows     300\n" in capsys.readouterr().out
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert main(["info", "coterie-out/model.coterie", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["estimator"] == "KMeans"
    assert facts["clusters"] == 3
    assert facts["columns_in"] == 4
    assert facts["normalize"] is False
    os.rename("coterie-out/model.coterie", "renamed")
    assert main(["info", "renamed"]) == 0
    assert "KMeans" in capsys.readouterr().out


def test_path(folder, rows, X, capsys):
    pytest.importorskip("matplotlib")
    line = ["path", rows, "--neighbors", "10", "--phi", "0.1", "--gammas", "15", "--connect", "--out", "out"]
    assert main([*line, "--clusters", "3"]) == 0
    printed = capsys.readouterr()
    assert "15 gammas" in printed.out
    assert "300 to 1 clusters" in printed.out
    assert "gamma 15/15" in printed.err
    assert os.path.join("out", "path.npz") in printed.out
    assert everything(folder / "out") == [
        "dendrogram.png", "labels.csv", "path.npz", "path.png", "summary.json",
    ]  # fmt: skip
    path = coterie.ConvexClusterPath(n_gammas=15, n_neighbors=10, phi=0.1, connect=True).fit(X)
    labels = np.loadtxt(folder / "out" / "labels.csv", delimiter=",", skiprows=1, dtype=int)
    np.testing.assert_array_equal(labels.T, path.labels_path_)
    with np.load(folder / "out" / "path.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["centroids"], path.centroids_path_)
        np.testing.assert_array_equal(arrays["linkage"], path.linkage_)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["clusters"] == path.n_clusters_path_.tolist()
    assert summary["largest_gap"] <= 1e-5


def test_path_of_a_table(folder, table, X, capsys):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("matplotlib")
    line = ["path", table, "--columns", "a,b,c,d", "--gammas", "4", "--norm", "l1", "--quiet", "--out", "out"]
    assert main(line) == 0
    labels = pyarrow.read_table(folder / "out" / "labels.parquet")
    assert labels.num_rows == 300
    assert labels.num_columns == 4
    assert labels.column_names[0] == "gamma=0"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gammas", "0"], "n_gammas"),
        (["--phi", "-1"], "phi"),
        (["--tol", "-1"], "tol"),
        (["--clusters", "0"], "--clusters must be at least 1"),
        (["--norm", "l3"], "l3"),
    ],
)
def test_wrong_paths(folder, rows, capsys, options, message):
    assert main(["path", rows, *options]) == 2
    assert message in capsys.readouterr().err
    assert everything(folder) == ["rows.npy"]


def test_demo(folder, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("coterie.cli.demo.RACE_ROWS", 3000)
    monkeypatch.setattr("coterie.cli.demo.MANY_ROWS", 3000)
    assert main(["demo", "--out", "demo"]) == 0
    pictures = ["centroids.png", "clusters.png", "memberships.png", "mixture.png", "modes.png", "race.png"]
    pictures += ["mammals_path.png", "mammals_tree.png"]
    names = sorted([*pictures, "digits.npy", "labels.npy", "model.coterie", "summary.json"])
    assert everything(folder / "demo") == names
    out = capsys.readouterr().out
    listed = out[out.index("wrote\n") :].split("\n")[1:-1]
    assert sorted(line.strip() for line in listed) == [os.path.join("demo", name) for name in names]
    assert "3,000 moved digits in 1,000 clusters:\n" in out
    table = [line.split("  ") for line in out.splitlines() if line.startswith("  gmm")]
    assert [line[1] for line in table] == ["gmm", "gmm, coreset of 1,500"]
    assert all(0.7 < float(line[-1]) <= 1 for line in table)  # purity
    assert "1,797 digits in 10 clusters:\n" in out
    modes = [line for line in out.splitlines() if line.startswith("  laplacian-kmodes, SLK-")]
    assert len(modes) == 2
    assert all(0.7 < float(line.split()[-1]) <= 1 for line in modes)  # accuracy
    scores = json.loads((folder / "demo" / "summary.json").read_text())["scores"]
    assert scores["accuracy"] > 0.7
    assert scores["accuracy_with_2_labels_a_class"] > 0.9
    assert scores["normalized_mutual_information"] > 0.7
    digits, labels = np.load("demo/digits.npy"), np.load("demo/labels.npy")
    assert np.array_equal(coterie.load("demo/model.coterie").predict(digits), labels)


BAD_USAGE = [
    ("fit", 'Command "fit" parameter'),
    ("fit rows.npy", "-k requires an argument"),
    ("fit rows.npy -k", "-k requires an argument"),
    ("fit rows.npy -k three", "unable to convert"),
    ("fit rows.npy -k 0", "-k must be at least 1, got 0"),
    ("fit rows.npy -k -2", "-k must be at least 1, got -2"),
    ("fit rows.npy -k 301", "-k 301 is more than the 300 rows of rows.npy"),
    ("fit rows.npy -k 3 --colour red", "Unknown option"),
    ("fit rows.npy -k 3 more", "more"),
    ("fit rows.npy -k 3 --method magic", "'magic' is unknown. Choose from: k-means"),
    ("fit rows.npy -k 3 --algorithm magic", "lloyd"),
    ("fit rows.npy -k 3 --init magic", "k-means++"),
    ("fit rows.npy -k 3 --n-init 0", "n_init"),
    ("fit rows.npy -k 3 --max-iter 0", "max_iter"),
    ("fit rows.npy -k 3 --max-time -1", "max_time"),
    ("fit rows.npy -k 3 --tol -1", "tol"),
    ("fit rows.npy -k 3 --seed -1", "--seed must be from 0"),
    ("fit rows.npy -k 3 --threads 0", "n_threads"),
    ("fit rows.npy -k 302 --method gmm", "-k 302 is more than the 300 rows of rows.npy"),
    ("fit rows.npy -k 3 --method k-means --covariance diag", "k-means has no parameter covariance_type"),
    ("fit rows.npy -k 3 --method gmm --n-init 2", "gmm has no parameter n_init"),
    ("fit rows.npy -k 3 --covariance diag --algorithm lloyd", "No method has all"),
    ("fit rows.npy -k 3 --covariance full", "tied_spherical, spherical, diag, got 'full'"),
    ("fit rows.npy -k 3 --assignment magic", "auto, exact, truncated, got 'magic'"),
    ("fit rows.npy -k 3 --candidates 0", "n_candidates"),
    ("fit rows.npy -k 3 --method gmm --neighbors 0", "n_neighbors"),
    ("fit rows.npy -k 3 --method gmm --labels known.csv", "takes no --labels"),
    ("fit rows.npy -k 3 --neighbors 5", "--method is meant: gmm or laplacian-kmodes or total-variation"),
    ("fit rows.npy -k 3 --lam -1", "lam"),
    ("fit rows.npy -k 3 --modes median", "byproduct, mean_shift, got 'median'"),
    ("fit rows.npy -k 3 --lam 1 --covariance diag", "No method has all"),
    ("fit rows.npy -k 3 --method gmm --coreset 0", "coreset_size"),
    ("fit rows.npy -k 9 --method gmm --coreset 8", "--coreset 8 is fewer rows than -k 9"),
    ("fit rows.npy -k 9 --coreset 8", "--coreset 8 is fewer rows than -k 9"),
    ("fit rows.npy -k 3 --image 3x3", "--image: Images of 3x3 have 9 numbers, but the rows have 4 columns"),
    ("fit rows.npy -k 3 --image 4", "must be like 28x28"),
    ("fit rows.npy -k 3 --image 4xx1", "must be like 28x28"),
    ("fit rows.npy -k 3 --image 0x4", "must be like 28x28"),
    ("fit rows.npy -k 3 --image 2x1x2", "must be like 28x28"),
    ("fit rows.npy -k 3 --image -2x-2", "must be like 28x28|requires an argument|Unknown option"),
    ("cook rows.npy", "Unknown command"),
    ("predict", "requires an argument"),
    ("predict m.coterie rows.npy --out labels.txt", "must end in .npy or .parquet"),
]


@pytest.mark.parametrize(("line", "message"), BAD_USAGE, ids=[line for line, _ in BAD_USAGE])
def test_wrong_usage(folder, rows, capsys, monkeypatch, line, message):
    if "--image" in line:
        pytest.importorskip("matplotlib")
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: pytest.fail("fitted first"))
    told = failed(capsys, 2, *line.split())
    assert any(part in told.replace('"-k"', "-k") for part in message.split("|"))
    assert everything(folder) == ["rows.npy"]


def test_seed_and_threads_are_checked_before_the_data(folder, capsys):
    """A wrong parameter is told even where the file is missing too."""
    failed(capsys, 2, "fit", "missing.npy", "-k", "3", "--tol", "-1")


def bad_inputs(folder, X):
    bad = X.copy()
    bad[17, 2] = np.nan
    np.save(folder / "nan.npy", bad)
    np.save(folder / "one.npy", X[0])
    np.save(folder / "empty.npy", X[:0])
    np.save(folder / "words.npy", np.array([["a", "b"]]))
    whole = (folder / "rows.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[: len(whole) // 2])
    (folder / "noise.npy").write_bytes(b"hello")
    (folder / "rows.xyz").write_bytes(b"hello")
    (folder / "folder").mkdir()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.npy", "missing.npy"),
        ("nan.npy", "17"),
        ("one.npy", "2D"),
        ("empty.npy", "0 sample"),
        ("words.npy", "numbers"),
        ("cut.npy", "cut.npy"),
        ("noise.npy", "noise.npy"),
        ("rows.xyz", ".npy"),
        ("folder", "folder"),
    ],
)
def test_bad_input(folder, rows, X, capsys, name, message):
    bad_inputs(folder, X)
    before = everything(folder)
    for method in ("k-means", "gmm"):
        assert message in failed(capsys, 1, "fit", name, "-k", "1", "--method", method, "--out", "a/b/out")
        assert everything(folder) == before
    if name in ("missing.npy", "cut.npy", "noise.npy", "rows.xyz"):
        assert message in failed(capsys, 1, "info", name)


def test_bad_models(folder, rows, capsys):
    (folder / "noise.coterie").write_bytes(b"hello")
    for arguments in (["predict", "noise.coterie", rows], ["info", "noise.coterie"]):
        assert "noise.coterie is not a coterie model" in failed(capsys, 1, *arguments)
    assert "no.coterie: No such file" in failed(capsys, 1, "predict", "no.coterie", rows)
    assert "not a coterie model" in failed(capsys, 1, "predict", rows, rows)


@pytest.mark.parametrize("out", ["rows.npy", "rows.npy/deeper/out"])
def test_unwritable_folder_is_found_before_the_fit(folder, rows, capsys, monkeypatch, out):
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: pytest.fail("fitted first"))
    assert "rows.npy: Not a folder" in failed(capsys, 1, "fit", rows, "-k", "3", "--out", out)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is writable for root")
def test_folder_without_permission(folder, rows, capsys):
    (folder / "closed").mkdir(mode=0o500)
    assert "closed: Cannot write" in failed(capsys, 1, "fit", rows, "-k", "3", "--out", "closed/out")


def test_label_file_that_cannot_be(folder, rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    (folder / "taken.npy").mkdir()
    model = "coterie-out/model.coterie"
    assert "taken.npy: Is a folder" in failed(capsys, 1, "predict", model, rows, "--out", "taken.npy")


def test_failure_while_writing_leaves_nothing(folder, rows, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    assert main(["fit", rows, "-k", "3", "--out", "a/out", "-q"]) == 1
    assert "No space left" in capsys.readouterr().err
    assert everything(folder) == ["rows.npy"]


def test_older_results_survive_a_failure(folder, rows, capsys, monkeypatch):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    before = {path: path.read_bytes() for path in (folder / "coterie-out").iterdir()}
    monkeypatch.setattr(persistence, "save", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["fit", rows, "-k", "4", "-q"]) == 130
    assert {path: path.read_bytes() for path in (folder / "coterie-out").iterdir()} == before


def test_interrupted_fit(folder, rows, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(coterie.KMeans, "fit", interrupted)
    assert main(["fit", rows, "-k", "3"]) == 130
    assert capsys.readouterr() == ("", "coterie: interrupted\n")
    assert everything(folder) == ["rows.npy"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("method", ["k-means", "gmm"])
def test_control_c(folder, method):
    np.save("rows.npy", np.random.default_rng(0).random((60_000, 16), dtype=np.float32))
    command = [sys.executable, "-m", "coterie", "fit", "rows.npy", "-k", "500", "--tol", "0"]
    command += ["--method", method]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=ENVIRONMENT) as process:
        assert process.stderr.readline().startswith("iteration 1/300")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "coterie: interrupted"
    assert "Traceback" not in err
    assert everything(folder) == ["rows.npy"]


def test_exit_codes_of_the_process(folder, rows):
    version = run("--version")
    assert (version.returncode, version.stdout.split()[0]) == (0, "coterie")
    helped = run("fit", "--help")
    assert helped.returncode == 0
    options = (
        "out max-time normalize columns json quiet threads coreset covariance candidates neighbors assignment"
    )
    for option in (*options.split(), "lam", "modes", "image"):
        assert f"--{option}" in helped.stdout
    bad = run("fit", rows, "-k", "nine")
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    missing = run("fit", "missing.npy", "-k", "9")
    assert (missing.returncode, missing.stdout, missing.stderr.count("\n")) == (1, "", 1)


def test_reader_that_goes_away(folder, rows):
    command = f'"{sys.executable}" -m coterie info {rows} | true'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.stderr == ""


def test_unexpected_error_is_one_line(rows, capsys, monkeypatch):
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: {}["surprise"])
    assert failed(capsys, 1, "fit", rows, "-k", "3") == "KeyError: 'surprise'"
    monkeypatch.setenv("COTERIE_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["fit", rows, "-k", "3"])


def test_warnings_are_lines(rows, capsys, monkeypatch):
    import warnings

    fit = coterie.KMeans.fit

    def warning_fit(self, X):
        for _ in range(2):
            warnings.warn("The fit\nwas cut short.", UserWarning, stacklevel=1)
        return fit(self, X)

    monkeypatch.setattr(coterie.KMeans, "fit", warning_fit)
    assert main(["fit", rows, "-k", "3", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["warnings"] == ["The fit was cut short."]
    assert printed.err.splitlines()[-1] == "coterie: warning: The fit was cut short."


@pytest.mark.parametrize(("module", "extra"), [("cyclopts", "cli"), ("skops.io", "io")])
def test_missing_extra(rows, capsys, monkeypatch, module, extra):
    monkeypatch.delitem(sys.modules, "coterie.cli.commands", raising=False)
    monkeypatch.delattr("coterie.cli.commands", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    assert f"coterie[{extra}]" in failed(capsys, 1, "fit", rows, "-k", "3", "-q")


def test_demo_without_matplotlib(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "coterie[plot]" in failed(capsys, 1, "demo")
    assert everything(folder) == []


def steps(seconds):
    return [progress.Step(i + 1, 9, "iteration", s, 4.0, 61.4) for i, s in enumerate(seconds)]


def test_plain_lines_come_at_most_once_a_second(capsys):
    with progress.display(quiet=False) as screen:
        for step in steps([0.1, 0.2, 1.0, 1.2, 1.9, 2.3, 2.4]):
            screen.show(step)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"iteration {i}/9" for i in (1, 4, 6, 7)]
    assert lines[0] == "iteration 1/9, 4.0 iterations/s, at most 1:01 left"


def test_live_line_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.display(quiet=False) as screen:
        assert type(screen).__name__ == "_LiveLine"
        for step in steps([0.1, 0.2]):
            screen.show(step)
    assert "iteration 2/9" in capsys.readouterr().err


def test_several_starts_share_one_rate():
    shown = []

    class Screen:
        show = staticmethod(shown.append)

    callback = progress.fit_callback(Screen, max_iter=10)
    for iteration, seconds in ((1, 1.0), (2, 2.0), (1, 3.0), (2, 4.0)):
        fit_progress = type("P", (), {"iteration": iteration, "seconds": seconds, "objective": 5.0})
        fit_progress.remaining = None
        callback(fit_progress)
    assert [step.rate for step in shown] == [1.0] * 4
    assert [step.parts()[0] for step in shown] == ["iteration 1/10", "iteration 2/10", "start 2", "start 2"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0:00"), (59.6, "1:00"), (3599, "59:59"), (7322, "2:02:02")]
)
def test_clock(seconds, text):
    assert progress._clock(seconds) == text


def test_importing_coterie_needs_no_extra():
    """scikit-learn itself imports pandas and rich where it finds them, so they are hidden here."""
    code = """
import sys
extras = "matplotlib rich cyclopts skops pandas pyarrow h5py zarr dask polars".split()
sys.modules.update(dict.fromkeys(extras))
import coterie, coterie.cli, coterie.plotting, coterie.metrics, coterie.datasets
coterie.KMeans(n_clusters=2).fit([[0.0], [1.0], [5.0]])
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.stderr == ""
