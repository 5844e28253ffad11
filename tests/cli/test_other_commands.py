"""`predict`, `verify`, `report`, `compare`, `path`, `info`, `demo` and the standard input."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed

pandas = pytest.importorskip("pandas")


@pytest.fixture
def fitted(table):
    """The folder of a fit of the customers."""
    assert (
        main(["fit", table, "-k", "3", "--missing", "drop", "--scale", "standard", "-q", "-o", "fitted"]) == 0
    )
    return "fitted"


@pytest.fixture
def fitted_array(rows):
    assert main(["fit", rows, "-k", "3", "-q", "-o", "fitted"]) == 0
    return "fitted"


class TestPredict:
    def test_rows_of_the_fit_give_its_labels(self, fitted, table):
        assert main(["predict", fitted, table, "-q"]) == 0
        assert Path("labels.csv").read_text() == Path("fitted/labels.csv").read_text()

    def test_columns_in_another_order_and_new_ones(self, fitted, frame):
        frame[::-1][["visits", "city", "income", "age"]].assign(new=1.5).to_csv("new.csv", index=False)
        assert main(["predict", fitted, "new.csv", "-q", "-o", "out.parquet"]) == 0
        expected = pandas.read_csv("fitted/labels.csv")["cluster"][::-1]
        found = pandas.read_parquet("out.parquet")
        assert found["cluster"].fillna(-1).tolist() == expected.fillna(-1).tolist()
        assert found.columns[:5].tolist() == ["visits", "city", "income", "age", "new"]

    def test_standard_output(self, fitted_array, rows, capsys):
        assert main(["predict", fitted_array, rows, "-o", "-"]) == 0
        labels = np.load("fitted/labels.npy")
        assert capsys.readouterr().out.split() == [str(label) for label in labels]

    def test_names_and_merges(self, fitted, table):
        Path("names.csv").write_text("cluster,name\n0,ours\n1,yours\n")
        Path("merges.csv").write_text("cluster,into\n2,1\n")
        line = f"predict {fitted} {table} --names names.csv --merges merges.csv -q"
        assert main(line.split()) == 0
        found = pandas.read_csv("labels.csv").dropna(subset="cluster")
        assert set(zip(found["cluster"], found["name"])) == {(0, "ours"), (1, "yours")}

    def test_outliers_of_the_fit_are_those_of_predict(self, rows):
        assert main(["fit", rows, "-k", "3", "--outliers", "2%", "-q", "-o", "fitted"]) == 0
        assert main(["predict", "fitted", rows, "-q"]) == 0
        np.testing.assert_array_equal(np.load("labels.npy"), np.load("fitted/labels.npy"))

    def test_files_are_not_replaced(self, fitted, table, capsys):
        assert "--force" in failed(capsys, 2, "predict", fitted, table, "-o", "fitted/labels.csv", "-q")
        assert main(["predict", fitted, table, "-o", "fitted/labels.csv", "-q", "--force"]) == 0


class TestVerify:
    def test_same_on_another_number_of_threads(self, fitted, capsys):
        assert main(["verify", fitted, "--threads", "3"]) == 0
        assert "bit-identical" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("method", "gmm"), ("parameters.tol", 1.0), ("clusters_left", 4), ("objective", 1.0), ("iterations", 77),
            ("cluster_sizes.largest", 5), ("noise", 2), ("input.dropped", 0), ("input.columns", 9), ("clusters", 2),
        ],
    )  # fmt: skip
    def test_each_changed_fact_is_found(self, fitted, capsys, name, value):
        path = Path(fitted, "summary.json")
        facts = json.loads(path.read_text())
        inner = facts
        *outer, last = name.split(".")
        for part in outer:
            inner = inner[part]
        inner[last] = value
        path.write_text(json.dumps(facts))
        assert name in failed(capsys, 1, "verify", fitted, "-q")

    def test_model_of_another_run(self, fitted, table, capsys):
        assert main(["fit", table, "-k", "2", "--missing", "drop", "-q", "-o", "other"]) == 0
        Path("other/model.coterie").replace("fitted/model.coterie")
        assert "not of the same run" in failed(capsys, 1, "verify", fitted, "-q")

    def test_other_rows_and_rows_elsewhere(self, fitted, table, frame, capsys):
        Path(table).rename("moved.csv")
        assert "coterie verify fitted FILE" in failed(capsys, 1, "verify", fitted, "-q")
        assert main(["verify", fitted, "moved.csv", "-q"]) == 0
        frame.assign(age=1 + frame.age).to_csv("moved.csv", index=False)
        assert "not those of the fit" in failed(capsys, 1, "verify", fitted, "moved.csv", "-q")


class TestReport:
    @pytest.fixture(autouse=True)
    def extras(self):
        pytest.importorskip("jinja2")
        pytest.importorskip("matplotlib")

    def test_of_a_folder(self, fitted, table):
        Path("names.csv").write_text("cluster,name\n0,our friends\n")
        assert main(["report", fitted, "--names", "names.csv", "--known", "city", "-q"]) == 0
        page = Path("fitted/report.html").read_text()
        assert "our friends" in page
        assert "coterie fit customers.csv" in page

    def test_opened(self, rows, monkeypatch):
        opened = []
        monkeypatch.setattr("webbrowser.open", opened.append)
        assert main(["fit", rows, "-k", "3", "-q"]) == 0
        assert main(["report", "coterie-out", "--open", "-q"]) == 0
        assert opened == [Path("coterie-out/report.html").resolve().as_uri()]


def test_compare(rows, folder, capsys):
    pytest.importorskip("jinja2")
    np.save("classes.npy", np.repeat([0, 1, 2], 100))
    line = f"compare {rows} -k 3 --methods k-means,gmm --labels classes.npy"
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert everything(folder / "coterie-compare") == ["comparison.csv", "comparison.html", "summary.json"]
    expected = coterie.compare(np.load(rows), 3, methods=["k-means", "gmm"], random_state=0)
    assert expected.reasons[0] in out
    assert "accuracy" in out
    command = re.search(r"next: coterie (fit .*)", out)[1]
    assert main([*command.split(), "-q"]) == 0


class TestPath:
    def test_labels_and_pictures(self, table, folder):
        pytest.importorskip("matplotlib")
        line = f"path {table} --missing drop --scale standard -p n_gammas=4 -q"
        assert main(line.split()) == 0
        assert everything(folder / "coterie-path") == [
            "dendrogram.png", "labels.csv", "model.coterie", "path.png", "summary.json",
        ]  # fmt: skip
        labels = pandas.read_csv("coterie-path/labels.csv")
        assert len(labels) == 300
        assert labels.isna().any(axis=1).tolist() == [row == 3 for row in range(300)]
        facts = json.loads(Path("coterie-path/summary.json").read_text())
        counts = labels.nunique().tolist()
        assert counts == facts["clusters"]

    def test_sparse_rows_are_refused(self, folder, X, capsys):
        import scipy.sparse as sp

        sp.save_npz("sparse.npz", sp.csr_array(np.maximum(X, 0)))
        assert "sparse" in failed(capsys, 1, "path", "sparse.npz", "-q")


class TestInfo:
    def test_table_with_the_command_that_clusters_it(self, table, capsys):
        assert main(["info", table]) == 0
        out = capsys.readouterr().out
        for word in ("customer_id", "age", "city", "category"):
            assert word in out
        command = re.search(r"coterie (fit .*)", out)[1]
        assert main([*command.split(), "-q"]) == 0

    def test_rows_that_describe_a_long_table(self, folder, capsys):
        pandas.DataFrame({"x": np.arange(70_000) % 7, "y": 0.5}).to_csv("long.csv", index=False)
        assert main(["info", "long.csv"]) == 0
        out = capsys.readouterr().out
        assert "first 65,536 rows" in out
        assert re.search(r"^x +int64 .* 0 to 6 ", out, re.MULTILINE)

    def test_table_that_cannot_be_clustered_as_it_is(self, folder, capsys):
        Path("texts.csv").write_text("x,y,z\nRome,red,late\nOslo,blue,soon\n")
        assert main(["info", "texts.csv", "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (facts["rows"], facts["table"][0]["type"]) == (2, "string")
        assert "no columns of numbers" in facts["problem"]

    def test_model_and_folder(self, fitted_array, rows, capsys):
        assert main(["info", "fitted/model.coterie", "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (facts["kind"], facts["clusters"], facts["columns"]) == ("model", 3, 4)
        assert main(["fit", rows, "-k", "3", "-o", "fitted"]) == 0
        printed = capsys.readouterr().out
        assert main(["info", "fitted"]) == 0
        assert capsys.readouterr().out == f"coterie fit {rows} -k 3 -o fitted\n{printed}"

    def test_installation(self, capsys):
        assert main(["--version", "--verbose"]) == 0
        out = capsys.readouterr().out
        assert f"coterie {coterie.__version__}" in out
        assert f"numpy {np.__version__}" in out


class TestStandardInput:
    def pipe(self, monkeypatch, content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    @pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
    def test_format_is_found_in_the_first_bytes(self, folder, frame, monkeypatch, ending):
        frame = frame.fillna(40)
        content = {
            "csv": lambda: frame.to_csv(index=False).encode(),
            "parquet": lambda: frame.to_parquet(),
            "jsonl": lambda: frame.to_json(orient="records", lines=True).encode(),
        }[ending]()
        self.pipe(monkeypatch, content)
        assert main(["fit", "-", "-k", "3", "-q"]) == 0
        assert Path(f"coterie-out/labels.{ending}").exists()
        self.pipe(monkeypatch, content)
        assert main(["verify", "coterie-out", "-", "-q"]) == 0

    def test_array(self, rows, monkeypatch):
        self.pipe(monkeypatch, Path(rows).read_bytes())
        assert main(["fit", "-", "-k", "3", "-q"]) == 0
        assert len(np.load("coterie-out/labels.npy")) == 300

    def test_nothing(self, folder, monkeypatch, capsys):
        self.pipe(monkeypatch, b"")
        assert "empty" in failed(capsys, 1, "fit", "-", "-k", "3", "-q")


@pytest.mark.slow
def test_demo(folder):
    pytest.importorskip("jinja2")
    pytest.importorskip("openTSNE")
    assert main(["demo", "-q"]) == 0
    for name in ("topics", "digits"):
        facts = json.loads(Path(f"coterie-demo/{name}/summary.json").read_text())
        assert all(Path(path).exists() for path in facts["files"].values())
        assert main(["verify", f"coterie-demo/{name}", "-q"]) == 0
    assert main(["demo", "-q"]) == 0  # the same again replaces the results
