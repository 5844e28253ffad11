"""`--outliers`: rows that are labeled -1 in what is written, and nowhere else."""

import json

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import failed

pandas = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def csv(folder, X):
    X[[3, 150, 299]] += [[0, 30, 0, 0], [0, 0, 0, 30], [30, 0, 0, 0]]
    pandas.DataFrame(X, columns=list("abcd")).to_csv("rows.csv", index=False)
    return "rows.csv"


def clusters(name):
    return np.asarray(parquet.read_table(name)["cluster"])


@pytest.mark.parametrize("name", ["k-means", "nested", "gmm", "laplacian-kmodes"])
def test_every_method(folder, csv, name):
    arguments = ["fit", csv, "-k", "3", "--method", name, "-q"]
    assert main([*arguments, "--out", "plain"]) == 0
    assert main([*arguments, "--outliers", "1%", "--out", "marked"]) == 0
    plain, marked = (parquet.read_table(f"{name}/labels.parquet") for name in ("plain", "marked"))
    assert np.flatnonzero(np.asarray(marked["cluster"]) == -1).tolist() == [3, 150, 299]
    assert marked.drop_columns(["cluster"]) == plain.drop_columns(["cluster"])
    model = coterie.load("marked/model.coterie")
    assert np.array_equal(model.labels_, plain["cluster"])
    assert np.array_equal(model.outlier_scores_, plain["outlier_score"])
    assert parquet.read_table("plain/examples.parquet") == parquet.read_table("marked/examples.parquet")
    summaries = [json.loads((folder / name / "summary.json").read_text()) for name in ("plain", "marked")]
    assert summaries[0]["outliers"] is None
    found = summaries[1]["outliers"]
    assert (found["share"], found["marked"]) == (0.01, 3)
    assert found["threshold"] == np.sort(model.outlier_scores_)[-4]
    assert summaries[0]["cluster_sizes"] == summaries[1]["cluster_sizes"]
    assert summaries[0]["hashes"] == summaries[1]["hashes"]
    assert main(["verify", "marked", "-q"]) == 0


def test_arrays(folder, csv, X, capsys):
    np.save("rows.npy", X)
    assert main(["fit", "rows.npy", "-k", "3", "--outliers", "0.01"]) == 0
    assert "3 outliers labeled -1: more than " in capsys.readouterr().out
    labels = np.load("coterie-out/labels.npy")
    assert np.flatnonzero(labels == -1).tolist() == [3, 150, 299]
    assert labels.dtype == np.int32


def test_predict(folder, csv, X, capsys):
    """Rows are marked by the threshold of the fit, or by a share of their own."""
    assert main(["fit", csv, "-k", "3", "--outliers", "1%", "-q"]) == 0
    predict = ["predict", "coterie-out/model.coterie"]
    assert main([*predict, csv, "-q"]) == 0
    assert parquet.read_table("labels.parquet") == parquet.read_table("coterie-out/labels.parquet")
    frame = pandas.read_csv(csv).iloc[[0, 3, 5, 150]]
    frame.to_csv("few.csv", index=False)
    assert main([*predict, "few.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["outliers"]
    assert found["share"] is None
    assert found["marked"] == 2
    assert (clusters("labels.parquet") == -1).tolist() == [False, True, False, True]
    assert main([*predict, "few.csv", "--outliers", "25%", "-q"]) == 0
    assert np.count_nonzero(clusters("labels.parquet") == -1) == 1
    assert main([*predict, "few.csv", "--outliers", "0", "--out", "l.npy", "-q"]) == 0
    assert np.load("l.npy").min() == 0
    assert main([*predict, "few.csv", "--out", "l.npy", "-q"]) == 0
    assert np.count_nonzero(np.load("l.npy") == -1) == 2


def test_a_model_without_a_threshold_marks_none(folder, csv):
    assert main(["fit", csv, "-k", "3", "-q"]) == 0
    assert main(["predict", "coterie-out/model.coterie", csv, "-q"]) == 0
    assert clusters("labels.parquet").min() == 0
    assert main(["predict", "coterie-out/model.coterie", csv, "--outliers", "1%", "-q"]) == 0
    assert np.flatnonzero(clusters("labels.parquet") == -1).tolist() == [3, 150, 299]


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
def test_fits_without_labels(folder, csv, X, capsys):
    coterie.MiniBatchKMeans(3, compute_labels=False, random_state=0).fit(X).save("bare.coterie")
    assert main(["predict", "bare.coterie", csv, "-q"]) == 0
    assert parquet.read_table("labels.parquet").column_names == ["cluster", "distance", "rank"]
    message = failed(capsys, 1, "predict", "bare.coterie", csv, "--outliers", "1%")
    assert "bare.coterie (MiniBatchKMeans) has no outlier scores" in message
