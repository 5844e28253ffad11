"""Where commands write: looked at before anything is computed."""

import json
import os
import shutil
from pathlib import Path

import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed

COMMANDS = {
    "fit": ["fit", "rows.npy", "-k", "3", "--out", "q"],
    "path": ["path", "rows.npy", "--gammas", "3", "--out", "q"],
    "demo": ["demo", "--out", "q"],
}
PLACES = {
    "fit": ["model.coterie", "labels.npy", "summary.json"],
    "path": ["path.npz", "path.png"],
    "demo": ["modes.png"],
}


@pytest.fixture
def nothing_is_computed(monkeypatch):
    pytest.importorskip("matplotlib")
    for name in ("KMeans", "ConvexClusterPath", "TotalVariationClustering"):
        monkeypatch.setattr(getattr(coterie, name), "fit", lambda *_: pytest.fail("computed first"))


@pytest.fixture
def fitted(rows, capsys):
    """A folder with a model of three clusters."""
    assert main(["fit", rows, "-k", "3", "-q", "--out", "q"]) == 0
    return Path("q")


@pytest.mark.usefixtures("nothing_is_computed")
@pytest.mark.parametrize(
    ("command", "place"), [(command, place) for command, places in PLACES.items() for place in places]
)
def test_a_folder_in_the_place_of_a_file(folder, rows, capsys, command, place):
    (folder / "q" / place).mkdir(parents=True)
    told = failed(capsys, 1, *COMMANDS[command])
    assert told == f"{os.path.join('q', place)}: Is a folder, not a file to write"
    assert everything(folder / "q") == [place]


def test_a_folder_in_the_place_of_labels(fitted, rows, capsys, monkeypatch):
    monkeypatch.setattr(coterie.KMeans, "predict", lambda *_: pytest.fail("computed first"))
    Path("labels.npy").mkdir()
    told = failed(capsys, 1, "predict", "q/model.coterie", rows)
    assert told == "labels.npy: Is a folder, not a file to write"


def test_a_folder_holds_one_run(table, capsys):
    assert main(["fit", table, "-k", "5", "--report", "-q", "-o", "o"]) == 0
    Path("o/mine.txt").write_text("of the user")
    assert main(["report", "o", "--no-stability", "-q"]) == 0
    assert main(["fit", table, "-k", "3", "-q", "-o", "o"]) == 0
    assert everything(Path("o")) == [
        "examples.parquet", "labels.parquet", "mine.txt", "model.coterie", "summary.json",
    ]  # fmt: skip
    told = failed(capsys, 2, "compare", table, "-k", "3", "-o", "o")
    assert told.startswith(f"o has the results of coterie fit {table}: choose another --out")


REPLACED = [
    ("fit others.npy -k 3 --out q", "q has the results of coterie fit rows.npy: choose another --out"),
    ("path rows.npy --gammas 3 --out q", "q has the results of coterie fit rows.npy"),
    ("demo --out q", "q has the results of coterie fit rows.npy"),
    (
        "predict q others.npy --out q/labels.npy",
        "q/labels.npy is a result of the run that wrote q: choose another --out",
    ),
]


@pytest.mark.parametrize(("line", "message"), REPLACED, ids=[line for line, _ in REPLACED])
def test_results_of_another_run_are_not_replaced(fitted, capsys, monkeypatch, line, message):
    pytest.importorskip("matplotlib")
    shutil.copy("rows.npy", "others.npy")
    before = {path: path.read_bytes() for path in fitted.iterdir()}
    told = failed(capsys, 2, *line.split())
    assert told.startswith(message)
    assert "--force" in told
    assert {path: path.read_bytes() for path in fitted.iterdir()} == before


def test_results_of_another_run_are_replaced_by_force(fitted):
    shutil.copy("rows.npy", "others.npy")
    assert main(["fit", "others.npy", "-k", "4", "-q", "--out", "q", "--force"]) == 0
    assert json.loads((fitted / "summary.json").read_text())["input"]["file"] == "others.npy"
    assert main(["predict", "q", "rows.npy", "-q", "--out", "q/labels.npy", "--force"]) == 0


def test_the_same_rows_may_be_clustered_once_more(fitted):
    assert main(["fit", "rows.npy", "-k", "5", "--method", "gmm", "-q", "--out", "q"]) == 0
    assert main(["fit", "rows.npy", "-k", "3", "-q", "--out", "q"]) == 0
