"""`coterie verify`: a run that can be repeated, and what is said of one that cannot."""

import json

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import failed


@pytest.mark.parametrize(
    "options",
    [[], ["--normalize"], ["--method", "mini-batch"], ["--method", "total-variation", "--n-init", "1"]],
)
def test_results_are_bit_identical(folder, rows, options, capsys):
    assert main(["fit", rows, "-k", "3", "-q", *options]) == 0
    assert main(["verify", "coterie-out", "--threads", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["hashes"] == json.loads((folder / "coterie-out/summary.json").read_text())["hashes"]


def test_known_labels(folder, rows, capsys):
    known = np.full(300, -1)
    known[::50] = [0, 0, 1, 1, 2, 2]
    np.save("known.npy", known)
    assert main(["fit", rows, "-k", "3", "--labels", "known.npy", "-q"]) == 0
    assert main(["verify", "coterie-out"]) == 0
    assert "coterie-out: labels" in capsys.readouterr().out


def test_a_table_elsewhere_with_columns_in_another_order(folder, X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.to_csv("rows.csv", index=False)
    assert main(["fit", "rows.csv", "-k", "3", "--columns", "d,a", "-q"]) == 0
    frame[list("cbad")].to_csv("moved.csv", index=False)
    (folder / "rows.csv").unlink()
    assert main(["verify", "coterie-out", "-q"]) == 1
    assert main(["verify", "coterie-out", "moved.csv", "-q"]) == 0


def test_differences_are_named(folder, rows, X, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    other = X.copy()
    other[7, 2] = np.nextafter(other[7, 2], 1e9)
    np.save("other.npy", other)
    assert "other.npy does not hold the rows of the fit" in failed(
        capsys, 1, "verify", "coterie-out", "other.npy"
    )
    summary = json.loads((folder / "coterie-out/summary.json").read_text())
    summary["hashes"]["labels"] = "0"
    (folder / "coterie-out/summary.json").write_text(json.dumps(summary))
    assert "the labels differ" in failed(capsys, 1, "verify", "coterie-out", "-q")
    coterie.KMeans(3, random_state=1).fit(X).save("coterie-out/model.coterie")
    assert "parameters.random_state is 0, but that of model.coterie is 1" in failed(
        capsys, 1, "verify", "coterie-out", "-q"
    )


def test_all_rows_are_hashed_on_request(folder, capsys):
    """By default the hash is one of 20,000 rows."""
    rows = np.random.default_rng(0).normal(size=(40_000, 2)).astype(np.float32)
    np.save("rows.npy", rows)
    others = rows.copy()
    others[1] += 1e-3
    np.save("others.npy", others)
    fit = ["fit", "rows.npy", "-k", "2", "--max-iter", "1", "-q"]
    assert main(fit) == 0
    assert "not bit-identical: the centers differ" in failed(capsys, 1, "verify", "coterie-out", "others.npy")
    assert main([*fit, "--verify"]) == 0
    assert "does not hold the rows of the fit" in failed(capsys, 1, "verify", "coterie-out", "others.npy")
    assert main(["verify", "coterie-out", "-q"]) == 0
