"""`coterie fit`: what it writes and prints, and how it chooses."""

import json
import os

import numpy as np
import pytest

import coterie
from coterie import methods
from coterie.cli import main
from coterie.cli.results import cluster_table, sample_of
from coterie.estimators import persistence
from coterie.rows import as_rows
from tests.cli.running import everything


@pytest.mark.usefixtures("shown_at_once")
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
        ("--covariance-type diag", "TruncatedGaussianMixture"),
        ("--candidates 3 --coreset 100", "TruncatedGaussianMixture"),
        ("--method gmm", "TruncatedGaussianMixture"),
    ],
)
def test_many_rows_are_clustered_by_nested_batches(rows, X, monkeypatch, options, estimator):
    monkeypatch.setattr(methods, "_NESTED_ROWS", 299)
    assert main(["fit", "rows.npy", "-k", "3", "--quiet", *options.split()]) == 0
    assert type(coterie.load("coterie-out/model.coterie")).__name__ == estimator
    if not options:
        np.save("rows.npy", X[1:])
        assert main(["fit", "rows.npy", "-k", "3", "--quiet"]) == 0
        assert type(coterie.load("coterie-out/model.coterie")) is coterie.KMeans


def test_singular_and_plural_of_counts(folder, capsys):
    np.save("one.npy", np.ones((1, 1)))
    assert main(["fit", "one.npy", "-k", "1"]) == 0
    assert main(["predict", "coterie-out/model.coterie", "one.npy"]) == 0
    first, second, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("one.npy: 1 row x 1 column in 1 cluster by")
    assert second.startswith("1 iteration in")
    assert "1 to 1 row a cluster" in second
    assert any(line.startswith("one.npy: 1 row labeled") for line in others)


@pytest.mark.usefixtures("shown_at_once")
def test_objective_is_named_inertia(rows, capsys):
    assert main(["fit", rows, "-k", "3"]) == 0
    printed = capsys.readouterr()
    for told in (printed.out, printed.err):
        assert "inertia " in told
        assert "higher is better" not in told
    with open("coterie-out/summary.json") as file:
        summary = json.load(file)
    assert summary["objective_name"] == "inertia"
    assert summary["higher_is_better"] is False


def test_json_is_all_of_the_standard_output(rows, capsys):
    assert main(["fit", rows, "-k", "3", "--json", "--n-init", "auto"]) == 0
    printed = json.loads(capsys.readouterr().out)
    with open("coterie-out/summary.json") as file:
        assert {"format": 1, **printed} == json.load(file)


def test_quiet(rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert main(["predict", "coterie-out/model.coterie", rows, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_older_results_survive_a_failure(folder, rows, capsys, monkeypatch):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    before = {path: path.read_bytes() for path in (folder / "coterie-out").iterdir()}
    monkeypatch.setattr(persistence, "save", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["fit", rows, "-k", "4", "-q"]) == 130
    assert {path: path.read_bytes() for path in (folder / "coterie-out").iterdir()} == before


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


def test_ids_and_texts_of_a_table_are_not_clustered(folder, X, capsys):
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "id", np.arange(1000, 1300))
    frame.insert(1, "name", [f"somebody with the number {i}" for i in range(300)])
    frame.to_csv("people.csv", index=False)
    assert main(["fit", "people.csv", "-k", "3"]) == 0
    found = capsys.readouterr()
    assert "Used: 4 columns (a, b, c, d). Left out: id (id); name (text)." in found.out
    lines = found.out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("cluster"))
    assert [line.split()[1:3] for line in lines[start + 1 : start + 4]] == [["100", "33.3%"]] * 3
    assert lines[-1] == "next: coterie report coterie-out"
    assert found.err == ""
    table = parquet.read_table("coterie-out/labels.parquet")
    assert table.column_names[:3] == ["id", "name", "cluster"]
    assert np.bincount(table["cluster"]).tolist() == [100, 100, 100]


def test_table_of_clusters_names_distinctive_features(X):
    rows = as_rows(X)
    table = cluster_table(rows, np.repeat([0, 1, 2], 100).astype(np.int32), *sample_of(rows))
    assert [row["rows"] for row in table] == [100, 100, 100]
    for row in table:
        members = X[100 * row["cluster"] : 100 * row["cluster"] + 100]
        assert row["spread"] == pytest.approx(np.sqrt(members.var(axis=0).sum()))
        score = (members.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0)
        assert row["features"][f"column {row['cluster']}"] == pytest.approx(score[row["cluster"]])
