"""Every input of the corpus, with those that were findings, does what is documented."""

import random

import pytest

pytest.importorskip("cyclopts")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("h5py")
pytest.importorskip("zarr")

from tests.fuzz.__main__ import mutated
from tests.fuzz.targets import CORPUS, TARGETS

INPUTS = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_corpus_has_no_findings(path, tmp_path, monkeypatch):
    """As it is, and with a few bytes changed."""
    monkeypatch.chdir(tmp_path)
    content, draw = path.read_bytes(), random.Random(0)
    for changed in (content, *(mutated(content, [content], draw) for _ in range(3))):
        TARGETS[path.parent.name].run(path.suffix[1:], changed)


def test_every_kind_is_in_the_corpus():
    for name, target in TARGETS.items():
        assert {path.suffix[1:] for path in INPUTS if path.parent.name == name} == set(target.kinds)


def test_fault_is_a_finding(tmp_path, monkeypatch):
    """The harness does not take everything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.fuzz.targets.describe", lambda *_: {}["surprise"])
    with pytest.raises(KeyError):
        TARGETS["text"].run("csv", b"a,b\n1,2\n")
