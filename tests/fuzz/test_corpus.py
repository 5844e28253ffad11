"""Every input of the corpus, with those that were findings, does what is documented."""

import pytest

pytest.importorskip("cyclopts")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("h5py")
pytest.importorskip("zarr")

from tests.fuzz.inputs import as_input, run_input
from tests.fuzz.seeds import CORPUS, SEEDS
from tests.fuzz.targets import TARGETS

INPUTS = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_corpus_has_no_findings(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_input(path.parent.name, as_input(path.parent.name, path))


def test_fault_is_a_finding(tmp_path, monkeypatch):
    """The harness does not take everything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.fuzz.targets.describe", lambda *_: {}["surprise"])
    with pytest.raises(KeyError):
        run_input("text", b"\x00a,b\n1,2\n")


def test_the_corpus_is_whole_and_small():
    """`python -m tests.fuzz.seeds` writes seeds of all kinds."""
    for target, seeds in SEEDS.items():
        assert {name.rpartition(".")[2] for name, _ in seeds()} == set(TARGETS[target].kinds)
    assert sum(path.stat().st_size for path in INPUTS) < 10**6
