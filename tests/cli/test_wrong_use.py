"""Wrong commands and wrong inputs end in one line that names what is wrong and what is meant."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coterie.cli import main
from tests.cli.running import ENVIRONMENT, everything, failed

WRONG_USE = {
    "ft customers.csv": ['"ft"', '"fit"'],
    "fit customers.csv -k 3 --colums age": ["--colums", "--columns"],
    "fit customers.csv -k 3 --n-init 5": ["--n-init", "-p n_init"],
    "fit customers.csv": ["-k", "density"],
    "fit customers.csv -k 0": ["-k", "'0'"],
    "fit customers.csv -k 301 --missing mean": ["-k 301", "300 rows"],
    "fit customers.csv -k 3 --method kmean": ["kmean", "k-means"],
    "fit customers.csv -k 3 --method density": ["density", "-k"],
    "fit customers.csv -k 3 -p n_int=4": ["n_int", "n_init"],
    "fit customers.csv -k 3 -p covariance_type=full": ["covariance_type", "gmm"],
    "fit customers.csv -k 3 -p n_init": ["NAME=VALUE", "n_init"],
    "fit customers.csv -k 3 -p n_init=many": ["-p n_init", "many"],
    "fit customers.csv -k 3 -p init=k-means+": ["-p init", "k-means++"],
    "fit customers.csv -k 3 -p n_init=2 -p n_init=3": ["n_init", "more than once"],
    "fit customers.csv -k 3 -p n_clusters=4": ["n_clusters", "-k"],
    "fit customers.csv -k 3 --max-time 5x": ["--max-time", "5x"],
    "fit customers.csv -k 3 --columns aeg": ["--columns", "aeg", "age"],
    "fit customers.csv -k 3 --exclude citi": ["--exclude", "citi", "city"],
    "fit customers.csv -k 3 --id customerid": ["--id", "customer_id"],
    "fit customers.csv -k 3 --sep abc": ["--sep"],
    "fit customers.csv -k 3 --thousands ;": ["--thousands", "';'"],
    "fit customers.csv -k 3 --outliers 100%": ["--outliers", "100%"],
    "fit customers.csv -k 3 --labels city": ["--labels", "total-variation"],
    "fit customers.csv -k 3 --graph g.npz": ["--graph", "k-means"],
    "fit rows.npy -k 3 --columns a": ["rows.npy", "not a table"],
    "compare same.npy -k 3": ["-k", "distinct"],
    "compare rows.npy -k 101": ["-k", "100", "300 rows"],
    "compare rows.npy -k 3 --methods kmean": ["--methods", "k-means"],
    "predict m rows.npy -o labels.txt": ["--out", "labels.txt"],
    "predict m rows.npy -o - --json": ["--json", "--out"],
    "predict model.coterie rows.npy --missing drop": ["--missing", "coterie predict --help"],
    "fit shards -k 2 -o shards/out": ["--out", "shards"],
    "report out -o page.pdf": ["--out", "page.pdf"],
    "path rows.npy -k 301": ["-k 301"],
}

WRONG_INPUT = {
    "fit custmers.csv -k 3": ["custmers.csv", "customers.csv"],
    "predict gone rows.npy": ["gone"],
    "report gone": ["gone"],
    "verify .": ["summary.json"],
    "fit customers.csv -k 3": ["customers.csv", "--missing"],
    "fit customers.csv -k 3 --columns age,city": ["customers.csv", "city", "--categories auto"],
    "fit holes.csv -k 2 --missing drop": ["--exclude", "--missing median"],
    "fit header.csv -k 2": ["header.csv", "--header yes", "--header no"],
    "fit signs.csv -k 2": ["signs.csv", "--decimal ,", "--decimal ."],
    "fit words.csv -k 2": ["words.csv", "--missing-words '?'", "--exclude a"],
    "fit title.csv -k 2": ["title.csv", "--skip-lines 1", "--sep"],
    "fit vectors.jsonl -k 2": ["vectors.jsonl", "--columns u"],
    "fit damaged.npy -k 3": ["damaged.npy"],
    "fit empty.csv -k 2": ["empty.csv"],
    "info damaged.coterie": ["damaged.coterie"],
    "predict damaged.coterie rows.npy": ["damaged.coterie"],
    "fit damaged.coterie -k 2": ["damaged.coterie", "predict"],
    "fit rows.npy --method convex-clustering --graph damaged.npz": ["damaged.npz"],
}


@pytest.fixture
def inputs(rows, table):
    Path("damaged.npy").write_bytes(Path(rows).read_bytes()[:100])
    Path("damaged.npz").write_bytes(b"PK\x03\x04")
    Path("damaged.coterie").write_bytes(b"PK\x03\x04")
    Path("empty.csv").write_text("")
    Path("holes.csv").write_text("a,b\n" + "1.5,\n,2.5\n" * 9)
    Path("header.csv").write_text("0,1,2\n5,3,8\n1,2,2\n7,7,1\n")
    Path("signs.csv").write_text("a;b\n1.234;5\n2.345;6\n3.456;8\n")
    Path("words.csv").write_text(
        "a,b\n" + "".join(f"{'?' if i == 7 else i * i % 17},{i % 5 + 0.5}\n" for i in range(30))
    )
    Path("title.csv").write_text("Measurements\n" + "".join(f"{i * i % 17},{i},{i % 5}\n" for i in range(30)))
    Path("vectors.jsonl").write_text('{"u": [0.5, 1], "v": [1, 2.5]}\n' * 30)
    np.save("same.npy", np.zeros((30, 2)))
    Path("shards").mkdir()


@pytest.mark.parametrize("line", WRONG_USE)
def test_wrong_use(inputs, folder, capsys, line):
    before = everything(folder)
    told = failed(capsys, 2, *line.split())
    for word in WRONG_USE[line]:
        assert word in told
    assert everything(folder) == before


@pytest.mark.parametrize("line", WRONG_INPUT)
def test_wrong_input(inputs, folder, capsys, line):
    before = everything(folder)
    told = failed(capsys, 1, *line.split())
    for word in WRONG_INPUT[line]:
        assert word in told
    assert not re.search(r"\w+=|\[", told)  # as Python writes settings
    assert everything(folder) == before


@pytest.mark.parametrize("command", ["fit", "compare", "path"])
def test_no_progress_before_a_missing_file(folder, capsys, command):
    assert main([command, "gone.npy", "-k", "2"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_help_is_short(capsys):
    assert main(["fit", "--help"]) == 0
    shown = re.findall(r"^│ (--[a-z][\w-]*)", capsys.readouterr().out, re.MULTILINE)
    assert 20 <= len(shown) <= 24


def test_column_called_x_is_called_x(folder, X, capsys):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"X": X[:, 0], "y": X[:, 1]}).assign(X=np.nan).to_csv("t.csv", index=False)
    assert "'X'" in failed(capsys, 1, "fit", "t.csv", "-k", "2", "--columns", "X,y", "-q")


def test_traceback_on_request(folder, monkeypatch):
    monkeypatch.setenv("COTERIE_TRACEBACK", "1")
    with pytest.raises(FileNotFoundError):
        main(["fit", "gone.npy", "-k", "2", "-q"])


@pytest.mark.parametrize(
    ("line", "never"),
    [("--version", ["numpy", "cyclopts", "coterie"]), ("--help", ["numpy", "coterie"]),
     ("fit --help", ["numpy", "coterie"])],
)  # fmt: skip
def test_nothing_heavy_is_imported_before_it_is_needed(line, never):
    program = (
        "import sys, atexit, coterie_command; sys.argv[1:] = "
        f"{line.split()!r}; atexit.register(lambda: print([m for m in {never!r} if m in sys.modules], "
        "file=sys.stderr)); coterie_command.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    assert done.stderr.strip() == "[]"
    assert "coterie" in done.stdout
