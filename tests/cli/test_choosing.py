"""`coterie compare`."""

import json
import shlex
import tomllib
from functools import partial

import numpy as np
import pytest

import coterie
from coterie.cli import fit, main
from tests.cli.running import everything, failed

pytest.importorskip("matplotlib")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.RandomState(0)
    X = random.normal(10.0 * np.repeat(np.eye(3), 40, axis=0), 1)
    np.save("rows.npy", X)
    np.savetxt("classes.csv", np.repeat([0, 1, 2], 40), fmt="%d")
    return tmp_path


def test_compare(rows, capsys):
    pytest.importorskip("jinja2")
    line = shlex.split("compare rows.npy -k 3 --methods k-means,gmm --labels classes.csv")
    assert main([*line, "--report", "--out", "out"]) == 0
    printed = capsys.readouterr().out
    assert "Take " in printed
    assert "agreement" in printed
    assert everything(rows / "out") == [
        "comparison.csv",
        "comparison.html",
        "comparison.png",
        "run.toml",
        "summary.json",
    ]
    summary = json.loads((rows / "out" / "summary.json").read_text())
    assert {record["method"] for record in summary["methods"]} == {"k-means", "gmm"}
    assert summary["methods"][0]["accuracy"] > 0.95
    assert np.shape(summary["agreement"]) == (2, 2)


def test_compare_with_a_column_of_classes(rows, capsys):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame(np.load("rows.npy"), columns=list("xyz"))
    table["topic"] = np.repeat(["arts", "law", "sport"], 40)
    table.to_parquet("rows.parquet")
    line = shlex.split("compare rows.parquet -k 3 --methods k-means --columns x,y,z")
    assert main([*line, "--labels", "topic", "--out", "out"]) == 0
    summary = json.loads((rows / "out" / "summary.json").read_text())
    assert summary["methods"][0]["accuracy"] > 0.95
    capsys.readouterr()
    said = failed(capsys, 2, *line, "--labels", "theme")
    assert "--labels must be a file or a column of the table, got 'theme'" in said


def test_fit_by_the_best_of_several_methods(rows, capsys):
    assert main(["fit", "rows.npy", "-k", "3", "--method", "auto", "--max-time", "60s", "--seed", "5"]) == 0
    printed = capsys.readouterr().out
    assert "5 methods compared on all rows; confidence: clear" in printed
    summary = json.loads((rows / "coterie-out" / "summary.json").read_text())
    choice = summary["choice"]
    assert summary["method"] == choice["recommended"] == "k-means"
    assert (summary["clusters"], choice["confidence"]) == (3, "clear")
    with open("coterie-out/run.toml", "rb") as file:
        options = tomllib.load(file)
    assert (options["method"], options["k"], options["max_time"]) == ("k-means", 3, 30.0)
    assert main(["verify", "coterie-out", "-q"]) == 0
    assert main(["fit", "--config", "coterie-out", "-q", "--out", "again"]) == 0
    assert (rows / "again/labels.npy").read_bytes() == (rows / "coterie-out/labels.npy").read_bytes()
    assert (
        coterie.load("again/model.coterie").get_params()
        == coterie.load("coterie-out/model.coterie").get_params()
    )


def test_fit_by_a_method_with_options_of_its_own(rows, monkeypatch):
    """The run is repeated with the options that the comparison has set."""
    from sklearn.datasets import make_moons

    chosen = partial(coterie.compare, methods=["k-means", "total-variation"])
    monkeypatch.setattr(fit, "compare", chosen)
    np.save("moons.npy", make_moons(300, noise=0.05, random_state=0)[0])
    assert main(["fit", "moons.npy", "-k", "2", "--method", "auto", "--scale", "standard", "-q"]) == 0
    model = coterie.load("coterie-out/model.coterie")
    assert (type(model).__name__, model.class_priors, model.max_time) == (
        "TotalVariationClustering",
        "estimate",
        None,
    )
    assert main(["verify", "coterie-out", "-q"]) == 0
    assert main(["fit", "--config", "coterie-out", "-q", "--out", "again"]) == 0
    assert coterie.load("again/model.coterie").get_params() == model.get_params()
    assert main(["predict", "coterie-out", "moons.npy", "-q", "--out", "labels.npy"]) == 0


def test_too_many_clusters_and_missing_files_are_one_line(rows, capsys):
    assert "cannot be compared" in failed(capsys, 1, "compare", "rows.npy", "-k", "100")
    assert "nowhere.npy" in failed(capsys, 1, "compare", "nowhere.npy", "-k", "3")
