"""`coterie choose-k` and `coterie compare`."""

import csv
import json

import numpy as np
import pytest

from coterie.cli import main
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


def test_choose_k(rows, capsys):
    pytest.importorskip("jinja2")
    assert main(["choose-k", "rows.npy", "-k", "2:4", "--report", "--out", "out"]) == 0
    printed = capsys.readouterr().out
    assert "The data have 3 clusters." in printed
    assert everything(rows / "out") == [
        "choose-k.html",
        "choose-k.png",
        "curves.csv",
        "run.toml",
        "summary.json",
    ]
    summary = json.loads((rows / "out" / "summary.json").read_text())
    assert (summary["clusters"], summary["sample_rows"], summary["k_range"]) == (3, 120, [2, 4])
    page = (rows / "out" / "choose-k.html").read_text()
    assert "Number of clusters in rows.npy: 3 clusters" in page
    with open(rows / "out" / "curves.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["criterion"] for line in lines} == {"gap", "stability", "eigengap", "bic", "convex path"}
    assert all(float(line["low"]) <= float(line["value"]) <= float(line["high"]) for line in lines)


def test_compare(rows, capsys):
    pytest.importorskip("jinja2")
    line = [
        "compare",
        "rows.npy",
        "-k",
        "3",
        "--methods",
        "k-means,gmm",
        "--labels",
        "classes.csv",
        "--budget",
        "30s",
    ]
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
    assert [record["method"] for record in summary["methods"]] == ["k-means", "gmm"]
    assert summary["methods"][0]["accuracy"] > 0.95
    assert np.shape(summary["agreement"]) == (2, 2)


def test_compare_with_a_column_of_classes(rows, capsys):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame(np.load("rows.npy"), columns=list("xyz"))
    table["topic"] = np.repeat(["arts", "law", "sport"], 40)
    table.to_parquet("rows.parquet")
    line = [
        "compare",
        "rows.parquet",
        "-k",
        "3",
        "--methods",
        "k-means",
        "--budget",
        "30s",
        "--columns",
        "x,y,z",
    ]
    assert main([*line, "--labels", "topic", "--out", "out"]) == 0
    summary = json.loads((rows / "out" / "summary.json").read_text())
    assert summary["methods"][0]["accuracy"] > 0.95
    capsys.readouterr()
    said = failed(capsys, 2, *line, "--labels", "theme")
    assert "--labels must be a file or a column of the table, got 'theme'" in said


def test_too_many_clusters_and_missing_files_are_one_line(rows, capsys):
    assert "cannot be compared" in failed(capsys, 1, "compare", "rows.npy", "-k", "100")
    assert "nowhere.npy" in failed(capsys, 1, "choose-k", "nowhere.npy")
