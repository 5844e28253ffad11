"""`coterie report` and `coterie fit --report`: the page of a folder, and what is said where there can be none."""

import json
import shlex

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed


@pytest.fixture(autouse=True)
def libraries():
    for library in ("jinja2", "matplotlib", "pyarrow"):
        pytest.importorskip(library)


@pytest.fixture
def people(folder, X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "id", [f"p{i}" for i in range(300)])
    frame["words"] = np.repeat(["red apple", "green pear", "blue plum"], 100)
    frame["kind"] = np.repeat(["x", "y", "z"], 100)
    frame.to_parquet(folder / "people.parquet")
    assert main(["fit", "people.parquet", "-k", "3", "--id", "id", "--keep", "words,kind", "-q"]) == 0
    return frame


def test_fit_writes_a_report(folder, rows, capsys):
    assert main(["fit", rows, "-k", "3", "--report"]) == 0
    out = capsys.readouterr().out
    assert "coterie-out/report.html" in out
    page = (folder / "coterie-out/report.html").read_text()
    assert "coterie fit rows.npy -k 3 --report" in page
    summary = json.loads((folder / "coterie-out/summary.json").read_text())
    assert summary["files"]["report"] == "coterie-out/report.html"
    assert summary["hashes"]["sample"][:16] in page


def test_the_report_of_a_folder(folder, people, capsys):
    assert main(["report", "coterie-out", "--known", "kind"]) == 0
    assert capsys.readouterr().out == "wrote\n  coterie-out/report.html\n"
    page = (folder / "coterie-out/report.html").read_text()
    assert "people.parquet" in page
    assert "rows with a known class" in page
    assert "apple" in page
    assert '"p169"' in page


def test_markdown_and_points(folder, people, capsys):
    command = shlex.split("report coterie-out --no-stability --out pages/people.md --points map.parquet")
    assert main([*command, "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files["report"] == "pages/people.md"
    assert files["points"] == "map.parquet"
    assert [name for name in everything(folder / "pages") if name.endswith("-map.png")] == ["people-map.png"]
    import pyarrow.parquet

    points = pyarrow.parquet.read_table("map.parquet")
    assert points["id"].to_pylist() == people["id"].tolist()


def test_known_classes_from_files(folder, rows):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    np.save("known.npy", np.repeat([0, 1, 2], 100))
    (folder / "known.txt").write_text("\n".join(np.repeat(["red", "green", "blue"], 100)))
    for known in ("known.npy", "known.txt"):
        assert main(["report", "coterie-out", "--known", known, "--no-stability", "-q"]) == 0
        assert "100.0%" in (folder / "coterie-out/report.html").read_text()


def test_rows_that_are_gone_or_others(folder, rows, X, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    (folder / "rows.npy").rename(folder / "moved.npy")
    assert "are no longer at rows.npy: coterie report coterie-out FILE" in failed(
        capsys, 1, "report", "coterie-out"
    )
    assert main(["report", "coterie-out", "moved.npy", "--no-stability", "-q"]) == 0
    np.save("rows.npy", X + 1)
    assert "does not hold the rows of the fit" in failed(capsys, 1, "report", "coterie-out")


def test_wrong_options(folder, rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    (folder / "names.csv").write_text("cluster,name\n7,\n")
    before = everything(folder)
    for options, words in (
        (["--out", "page.pdf"], "--out must end in .html or .md"),
        (["--points", "map.csv"], "--points must end in .parquet"),
        (["--known", "kind"], "--known must be a file or a column"),
        (["--names", "names.csv"], "cluster 7 has no name"),
    ):
        code = 1 if words in ("9 numbers", "cluster 7 has no name") else 2
        assert words in failed(capsys, code, "report", "coterie-out", *options)
    np.save("known.npy", np.zeros(7))
    assert "300 classes" in failed(capsys, 1, "report", "coterie-out", "--known", "known.npy")
    assert everything(folder) == sorted([*before, "known.npy"])


def test_a_path_has_a_report(folder, X, capsys):
    np.save("rows.npy", X[::10])
    assert main(["path", "rows.npy", "--gammas", "12", "--clusters", "3", "--report"]) == 0
    assert "coterie-path/report.html" in capsys.readouterr().out
    page = (folder / "coterie-path/report.html").read_text()
    assert "coterie path rows.npy --gammas 12 --clusters 3" in page
    assert 'id="layer"' in page
    assert "30 rows x 4 columns in 3 clusters by convex-path" in page


def test_names_of_a_report_are_those_of_a_prediction(folder, people, capsys):
    (folder / "names.csv").write_text("cluster,name\n0,apples\n2,plums\n")
    assert main(["report", "coterie-out", "--names", "names.csv", "--no-stability", "-q"]) == 0
    page = (folder / "coterie-out/report.html").read_text()
    assert ">apples<" in page
    assert ">plums<" in page
    (folder / "merges.csv").write_text("cluster,into\n1,2\n")
    options = ["--names", "names.csv", "--merge", "merges.csv"]
    assert main(["predict", "coterie-out", "people.parquet", *options, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["clusters"] == 2
    import pyarrow.parquet

    labels = coterie.load(folder / "coterie-out/model.coterie").labels_
    table = pyarrow.parquet.read_table("labels.parquet")
    assert table["cluster"].to_pylist() == np.where(labels == 1, 2, labels).tolist()
    names = {0: "apples", 1: "plums", 2: "plums"}
    assert table["cluster_name"].to_pylist() == [names[label] for label in labels]
    assert set(pyarrow.parquet.read_table("examples.parquet")["cluster"].to_pylist()) == {0, 2}
    assert main(["predict", "coterie-out", "people.parquet", *options, "-o", "-", "-q"]) == 0
    assert capsys.readouterr().out.splitlines() == table["cluster_name"].to_pylist()
    assert (
        main(["predict", "coterie-out", "people.parquet", "--merge", "merges.csv", "-o", "labels.npy", "-q"])
        == 0
    )
    assert np.load("labels.npy").tolist() == table["cluster"].to_pylist()


def test_names_and_merges_that_do_not_fit(folder, people, capsys):
    (folder / "far.csv").write_text("cluster,name,into\n3,x,0\n")
    for option in ("--names", "--merge"):
        words = f"{option} has cluster 3, and the model has 3 clusters, numbered from 0."
        assert words in failed(capsys, 1, "predict", "coterie-out", "people.parquet", option, "far.csv")
    assert "names has cluster 3, and there are 3" in failed(
        capsys, 1, "report", "coterie-out", "--names", "far.csv"
    )
    (folder / "names.csv").write_text("cluster,name\n0,x\n")
    command = ["predict", "coterie-out", "people.parquet", "--names", "names.csv", "-o", "labels.npy"]
    assert "--names needs a table: --out must end in .parquet or .csv, or be -" in failed(capsys, 2, *command)
    assert "missing.csv" in failed(
        capsys, 1, "predict", "coterie-out", "people.parquet", "--merge", "missing.csv"
    )
