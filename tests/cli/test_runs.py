"""Folders of runs that are damaged: each file that is read back ends in one line that names the file and the field."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import failed

PATH = "run/summary.json"


def put(field, value):
    """Return a change of a field of summary.json, which is named with dots between; `...` removes it."""

    def change():
        facts = json.loads(Path(PATH).read_text())
        *outer, name = field.split(".")
        inner = facts
        for key in outer:
            inner = inner[key]
        inner.pop(name, None)
        if value is not ...:
            inner[name] = value
        Path(PATH).write_text(json.dumps(facts))

    return change


def content(text):
    return lambda: Path(PATH).write_bytes(text)


def special(make):
    def change():
        Path(PATH).unlink()
        make(PATH)

    return change


def model_of_others():
    coterie.KMeans(4, random_state=1).fit(np.load("rows.npy")[:200]).save("run/model.coterie")


# What is changed, and what every command says of it; `fields` are named in the message.
DAMAGED = {
    "no text": (content(b""), "run/summary.json is damaged: it is not JSON."),
    "half of it": (content(b'{"command": "fit", "inp'), "is damaged: it is not JSON."),
    "binary": (content(bytes(range(256))), "is damaged: it is not JSON."),
    "another encoding": (content('{"format": 1}'.encode("utf-16")), "is damaged: it is not JSON."),
    "two objects": (content(b"{}{}"), "is damaged: it is not JSON."),
    "deep": (content(b"[" * 100_000), "is damaged: it is not JSON."),
    "digits": (content(b'{"format": ' + b"9" * 5_000 + b"}"), "is damaged: it is not JSON."),
    "null": (content(b"null"), "it must be an object"),
    "a list": (content(b"[1, 2]"), "it must be an object"),
    "empty": (content(b"{}"), "format is missing"),
    "a pipe": (special(os.mkfifo), "is a pipe"),
    "a folder": (special(os.mkdir), "is a folder"),
    "a device": (special(lambda path: os.symlink("/dev/zero", path)), "is a device"),
    "a link to itself": (
        special(lambda path: os.symlink("summary.json", path)),
        "Too many levels of symbolic links",
    ),
    "newer": (put("format", 2), "format 2 is of a newer coterie"),
    "older": (put("format", 0), "format must be at least 1, got 0"),
    "format": (put("format", "1"), 'format must be a whole number, got "1"'),
    "no version": (put("coterie", ...), "coterie is missing"),
    "version null": (put("coterie", None), "coterie must be a text, got null"),
    "no command": (put("command", ...), "command is missing"),
    "command": (put("command", 3), "command must be a text, got 3"),
    "no input": (put("input", ...), "input is missing"),
    "input null": (put("input", None), "input must be an object, got null"),
    "input text": (put("input", "rows.npy"), 'input must be an object, got "rows.npy"'),
    "no file": (put("input.file", ...), "input.file is missing"),
    "file": (put("input.file", None), "input.file must be a text, got null"),
    "negative rows": (put("input.rows", -3), "input.rows must be at least 1, got -3"),
    "no rows": (put("input.rows", 0), "input.rows must be at least 1, got 0"),
    "rows NaN": (put("input.rows", float("nan")), "input.rows must be a whole number, got NaN"),
    "rows true": (put("input.rows", True), "input.rows must be a whole number, got true"),
    "rows 300.0": (put("input.rows", 300.0), "input.rows must be a whole number, got 300.0"),
    "columns": (put("input.columns", [4]), "input.columns must be a whole number, got [4]"),
    "no columns": (put("input.columns", 0), "input.columns must be at least 1, got 0"),
    "columns missing": (put("input.columns", ...), "input.columns is missing"),
    "no seconds": (put("seconds", ...), "seconds is missing"),
    "seconds text": (put("seconds", "1"), 'seconds must be a finite number, got "1"'),
    "seconds NaN": (put("seconds", float("nan")), "seconds must be a finite number, got NaN"),
    "seconds infinite": (put("seconds", float("inf")), "seconds must be a finite number, got Infinity"),
    "seconds negative": (put("seconds", -1.0), "seconds must be at least 0, got -1.0"),
    "files": (put("files", ["a"]), 'files must be an object, got ["a"]'),
    "files of numbers": (put("files.labels", 3), "files.labels must be a text, got 3"),
}

# What `info` does not read.
DAMAGED_FITS = {
    "another command": (put("command", "path"), "run has the results of coterie path, not of coterie fit."),
    "no method": (put("method", ...), "method is missing"),
    "no clusters": (put("clusters", ...), "clusters is missing"),
    "clusters": (put("clusters", -1), "clusters must be at least 1, got -1"),
    "parameters": (put("parameters", []), "parameters must be an object, got []"),
    "hashes": (put("hashes", None), "hashes must be an object, got null"),
    "a hash": (put("hashes.labels", 7), "hashes.labels must be a text, got 7"),
    "reading": (put("reading", "none"), 'reading must be an object, got "none"'),
    "separator": (put("reading.sep", 3), "reading.sep must be a text, got 3"),
    "known labels": (put("known_labels", 1), "known_labels must be a text, got 1"),
    "outliers": (put("outliers", {"marked": -2}), "outliers.marked must be at least 0, got -2"),
    "warnings": (put("warnings", [None]), "warnings[0] must be a text, got null"),
    "other rows": (put("input.rows", 299), "input.rows is 299, but that of model.coterie is 300"),
    "other columns": (put("input.columns", 5), "input.columns is 5, but that of model.coterie is 4"),
    "other parameters": (put("parameters.tol", 1.0), "parameters.tol is 1.0, but that of model.coterie is"),
    "no parameter": (put("parameters.tol", ...), "parameters.tol is null, but that of model.coterie is"),
    "another model": (model_of_others, "input.rows is 300, but that of model.coterie is 200"),
    "no hash": (put("hashes.sample", ...), "rows.npy does not hold the rows of the fit in run"),
    "another hash": (put("hashes.sample", "0"), "rows.npy does not hold the rows of the fit in run"),
}

COMMANDS = {
    "info": ["info", "run"],
    "verify": ["verify", "run", "-q"],
    "report": ["report", "run", "--no-stability", "-q"],
}
# All commands read a run by the same function: each error by the one that reads the most of it, some by the others.
CASES = [(name, "info") for name in DAMAGED] + [(name, "verify") for name in DAMAGED_FITS]
CASES += [(name, "verify") for name in ("half of it", "a pipe", "no file")]
CASES += [
    (name, "report")
    for name in ("half of it", "a pipe", "no file", "another command", "other rows", "no hash")
]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        np.save("rows.npy", np.random.default_rng(0).normal(size=(300, 4)))
        assert main(["fit", "rows.npy", "-k", "3", "-q", "-o", "run"]) == 0
    return folder


@pytest.fixture
def run(fitted, folder):
    shutil.copytree(fitted, folder, dirs_exist_ok=True)


@pytest.mark.parametrize(("name", "command"), CASES, ids=[": ".join(case) for case in CASES])
def test_damaged_runs(run, capsys, name, command):
    pytest.importorskip("jinja2")
    change, message = (DAMAGED | DAMAGED_FITS)[name]
    change()
    told = failed(capsys, 1, *COMMANDS[command])
    assert message in told
    assert "run" in told


@pytest.mark.parametrize("name", ["half of it", "a folder", "a pipe", "newer", "no command"])
def test_a_damaged_run_is_replaced_by_force_only(run, capsys, name):
    DAMAGED[name][0]()
    if name != "a folder":
        told = failed(capsys, 2, "fit", "rows.npy", "-k", "2", "-q", "-o", "run")
        assert DAMAGED[name][1] in told
        assert told.endswith("or replace it with --force.")
        assert main(["fit", "rows.npy", "-k", "2", "-q", "-o", "run", "--force"]) == 0
        assert main(["verify", "run", "-q"]) == 0


def test_no_run(folder, rows, capsys):
    for command in ("verify", "report"):
        assert "nothing is not the folder of a run" in failed(capsys, 1, command, "nothing")


def test_fields_of_a_later_version_of_the_same_format_are_ignored(run):
    put("added", {"by": "a later coterie"})()
    assert main(["verify", "run", "-q"]) == 0
