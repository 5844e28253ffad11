"""`run.toml`: what every run writes, and `--config` reads."""

import tomllib

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import failed


def written(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def hashes(folder):
    model = coterie.load(f"{folder}/model.coterie")
    return np.load(f"{folder}/labels.npy").tobytes(), model.cluster_centers_.tobytes(), model.get_params()


@pytest.mark.parametrize(
    "line",
    [
        "-k 3",
        "-k 4 --n-init 2 --seed 7 --scale standard --max-iter 9 --tol 1e-3 --threads 2",
        "-k 3 --method gmm --random-candidate --coreset 100",
        "-k 3 --no-diagonal-shift --graph-weight 2 --memory 4GB",
    ],
)
def test_a_run_is_repeated_to_the_bit(rows, line):
    assert main(["fit", rows, *line.split(), "-q", "--out", "one"]) == 0
    assert main(["fit", "--config", "one/run.toml", "-q", "--out", "two"]) == 0
    assert hashes("one") == hashes("two")
    one, two = written("one/run.toml"), written("two/run.toml")
    assert {**one, "out": "two"} == two
    assert one["command"] == "fit"
    assert one["file"] == "rows.npy"
    assert {"method", "seed", "k"} <= one.keys()


def test_the_command_line_comes_first(rows):
    assert main(["fit", rows, "-k", "3", "--tol", "0.1", "-q", "--out", "one"]) == 0
    assert main(["fit", "--config=one", "-k", "5", "--random-state", "3", "-q", "--out", "two"]) == 0
    model = coterie.load("two/model.coterie")
    assert (model.n_clusters, model.random_state, model.tol) == (5, 3, 0.1)


def test_names_are_those_of_options_or_parameters(folder, rows):
    text = "n_clusters = 3\nmax-iter = 7\nn_threads = 1\ncolumns = []\nn_init = 2\nquiet = true\n"
    (folder / "mine.toml").write_text(text.replace("columns = []\n", ""))
    assert main(["fit", rows, "--config", "mine.toml"]) == 0
    found = coterie.load("coterie-out/model.coterie").get_params()
    assert [found[name] for name in ("n_clusters", "max_iter", "n_threads", "n_init")] == [3, 7, 1, 2]


def test_predict_and_path(rows):
    pytest.importorskip("matplotlib")
    assert main(["fit", rows, "-k", "3", "-q", "--out", "one"]) == 0
    assert main(["predict", "one/model.coterie", rows, "--out", "new.npy", "-q"]) == 0
    labels = np.load("new.npy")
    assert written("new-run.toml") == {
        "command": "predict", "model": "one/model.coterie", "file": rows, "out": "new.npy",
    }  # fmt: skip
    assert main(["predict", "--config", "new-run.toml", "--out", "again.npy", "-q"]) == 0
    assert np.array_equal(np.load("again.npy"), labels)
    assert main(["path", rows, "--gammas", "3", "--norm", "l1", "-q", "--out", "path"]) == 0
    assert main(["path", "--config", "path/run.toml", "-q", "--out", "path2"]) == 0
    with np.load("path/path.npz") as one, np.load("path2/path.npz") as two:
        assert all(np.array_equal(one[name], two[name]) for name in one.files)


def test_a_table(table):
    assert main(["fit", table, "-k", "3", "--columns", "a,b", "--keep", "name", "-q", "--out", "one"]) == 0
    assert main(["fit", "--config", "one/run.toml", "-q", "--out", "two"]) == 0
    assert written("two/run.toml")["columns"] == "a,b"


def test_a_list_of_columns(folder, table):
    (folder / "mine.toml").write_text('k = 3\ncolumns = ["a", "c"]\n')
    assert main(["fit", table, "--config", "mine.toml", "-q"]) == 0
    assert coterie.load("coterie-out/model.coterie").n_features_in_ == 2


WRONG = [
    ("n_clutsers = 3", "mine.toml: coterie fit has no option 'n_clutsers'. Did you mean n_clusters?"),
    ("zzz = 3", "mine.toml: coterie fit has no option 'zzz'."),
    ("config = 'other.toml'", "has no option 'config'"),
    ("k = 'three'", "three"),
    ("k = 2.5", "mine.toml: k must be a positive integer"),
    ("k = true", "k"),
    ("k = [3, 4]", "k"),
    ("k = {a = 3}", "mine.toml: k must be a text, a number, true, false, or a list of such."),
    ("k = 1979-05-27", "mine.toml: k must be"),
    ("k = 3\nmethod = 'magic'", "--method must be k-means, nested"),
    ("k = 3\nnormalize = 'perhaps'", "normalize"),
    ("k == 3", "mine.toml is not a TOML file"),
    ("command = 'path'", "mine.toml has options of coterie path, not of coterie fit."),
    ("\xff", "mine.toml is not a TOML file"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text for text, _ in WRONG])
def test_invalid_run_files(folder, rows, capsys, text, message):
    (folder / "mine.toml").write_bytes(text.encode("latin-1"))
    assert message in failed(capsys, 2, "fit", rows, "--config", "mine.toml")


def test_addresses_with_secrets_are_not_written(folder):
    from coterie.cli import run_file
    from coterie.outputs import OutputFolder

    asked = {"file": "https://host/rows.npy?token=secret", "k": 3}
    with run_file.running_command("fit", asked), OutputFolder(folder / "out") as outputs:
        run_file.write_run_file(outputs, seed=1)
    text = (folder / "out" / "run.toml").read_text()
    assert "secret" not in text.replace("may be a secret", "")
    assert tomllib.loads(text) == {"command": "fit", "k": 3, "seed": 1}


def test_options_of_a_repeated_run_are_equal(rows):
    pytest.importorskip("matplotlib")
    line = "compare rows.npy -k 3 --methods k-means --scale standard -q --out one"
    assert main(line.split()) == 0
    assert main(["compare", "--config", "one", "-q", "--out", "two"]) == 0
    one, two = written("one/run.toml"), written("two/run.toml")
    assert {**one, "out": "two"} == two
    assert (one["command"], one["scale"], one["seed"]) == ("compare", "standard", 0)


def test_a_report_is_repeated(rows):
    pytest.importorskip("jinja2")
    assert main(["fit", rows, "-k", "3", "-q", "--out", "one"]) == 0
    assert main(["report", "one", "--no-stability", "-q"]) == 0
    assert written("one/report-run.toml") == {"command": "report", "folder": "one", "stability": False}
    assert written("one/run.toml")["command"] == "fit"
    assert main(["report", "--config", "one/report-run.toml", "--out", "other.html", "-q"]) == 0
