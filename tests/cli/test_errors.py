"""How commands fail: exit codes, one line of error, nothing left behind."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import coterie
from coterie.cli import main
from coterie.cli.output import to_json
from tests.cli.running import ENVIRONMENT, everything, failed, run


def test_whole_numbers_may_be_written_as_floats(folder, rows, capsys):
    assert main(["fit", "rows.npy", "-k", "3.0", "--n-init", "2.0", "--quiet"]) == 0


def test_json_knows_no_infinite_numbers():
    report = {"a": np.float32(np.inf), "b": [np.nan, {"c": np.array([1.0, -np.inf])}], 3: (True, None, 2)}
    found = json.loads(to_json(report), parse_constant=pytest.fail)
    assert found == {"a": "inf", "b": ["nan", {"c": [1.0, "-inf"]}], "3": [True, None, 2]}


def test_seed_and_threads_are_checked_before_the_data(folder, capsys):
    """A wrong parameter is told even where the file is missing too."""
    failed(capsys, 2, "fit", "missing.npy", "-k", "3", "--tol", "-1")


def bad_inputs(folder, X):
    bad = X.copy()
    bad[17, 2] = np.nan
    np.save(folder / "nan.npy", bad)
    np.save(folder / "one.npy", X[0])
    np.save(folder / "empty.npy", X[:0])
    np.save(folder / "words.npy", np.array([["a", "b"]]))
    whole = (folder / "rows.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[: len(whole) // 2])
    (folder / "noise.npy").write_bytes(b"hello")
    (folder / "rows.xyz").write_bytes(b"hello")
    (folder / "folder").mkdir()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.npy", "missing.npy"),
        ("nan.npy", "17"),
        ("one.npy", "2D"),
        ("empty.npy", "0 sample"),
        ("words.npy", "numbers"),
        ("cut.npy", "cut.npy"),
        ("noise.npy", "noise.npy"),
        ("rows.xyz", ".npy"),
        ("folder", "folder"),
    ],
)
def test_bad_input(folder, rows, X, capsys, name, message):
    bad_inputs(folder, X)
    before = everything(folder)
    for method in ("k-means", "gmm"):
        assert message in failed(capsys, 1, "fit", name, "-k", "1", "--method", method, "--out", "a/b/out")
        assert everything(folder) == before
    if name in ("missing.npy", "cut.npy", "noise.npy", "rows.xyz"):
        assert message in failed(capsys, 1, "info", name)


@pytest.mark.parametrize("out", ["rows.npy", "rows.npy/deeper/out"])
def test_unwritable_folder_is_found_before_the_fit(folder, rows, capsys, monkeypatch, out):
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: pytest.fail("fitted first"))
    assert "rows.npy: Not a folder" in failed(capsys, 1, "fit", rows, "-k", "3", "--out", out)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is writable for root")
def test_folder_without_permission(folder, rows, capsys):
    (folder / "closed").mkdir(mode=0o500)
    assert "closed: Cannot write" in failed(capsys, 1, "fit", rows, "-k", "3", "--out", "closed/out")


def test_interrupted_fit(folder, rows, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(coterie.KMeans, "fit", interrupted)
    assert main(["fit", rows, "-k", "3"]) == 130
    assert capsys.readouterr() == ("", "coterie: interrupted\n")
    assert everything(folder) == ["rows.npy"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_control_c(folder):
    np.save("rows.npy", np.random.default_rng(0).random((60_000, 16), dtype=np.float32))
    command = [sys.executable, "-m", "coterie", "fit", "rows.npy", "-k", "200", "--tol", "0"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=ENVIRONMENT) as process:
        assert any(line.startswith("iteration ") for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "coterie: interrupted"
    assert "Traceback" not in err
    assert everything(folder) == ["rows.npy"]


def test_exit_codes_of_the_process(folder, rows):
    bad = run("fit", rows, "-k", "nine")
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)


def test_closed_output_pipe(folder, rows):
    command = f'"{sys.executable}" -m coterie info {rows} | true'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.stderr == ""


def test_unexpected_error_is_one_line(rows, capsys, monkeypatch):
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: {}["surprise"])
    assert failed(capsys, 1, "fit", rows, "-k", "3") == "KeyError: 'surprise'"
    monkeypatch.setenv("COTERIE_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["fit", rows, "-k", "3"])


@pytest.mark.parametrize(("module", "extra"), [("cyclopts", "cli"), ("skops.io", "io")])
def test_missing_extra(rows, capsys, monkeypatch, module, extra):
    monkeypatch.delitem(sys.modules, "coterie.cli.app", raising=False)
    monkeypatch.delattr("coterie.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    assert f"coterie[{extra}]" in failed(capsys, 1, "fit", rows, "-k", "3", "-q")


def test_importing_coterie_needs_no_extra():
    """scikit-learn itself imports pandas and rich where it finds them, so they are hidden here."""
    code = """
import sys
extras = "matplotlib rich cyclopts skops pandas pyarrow h5py zarr dask distributed polars".split()
sys.modules.update(dict.fromkeys(extras))
import numpy as np, scipy.sparse as sp
import coterie, coterie.cli, coterie.dask, coterie.plotting, coterie.metrics, coterie.datasets
for X in ([[0.0], [1.0], [5.0]], sp.eye_array(3), np.eye(3).astype(object)):
    coterie.KMeans(n_clusters=2).fit(X)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.stderr == ""
