"""Every input of the corpus, former findings among them, does what is documented, as it is and with changed bytes.

`make fuzz` tries many mutations: FUZZ_INPUTS of each input, others for each FUZZ_SEED. What fails is in the folder that
pytest keeps of a failed test.
"""

import os
import random

import pytest

pytest.importorskip("cyclopts")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("h5py")
pytest.importorskip("zarr")

from tests.fuzz.targets import CORPUS, TARGETS

INPUTS = sorted(path for path in CORPUS.rglob("*") if path.is_file())
N_MUTATIONS, SEED = int(os.environ.get("FUZZ_INPUTS", "3")), os.environ.get("FUZZ_SEED", "")


def mutated(content, others, draw):
    """Return content with a few bytes changed, left out, inserted, taken from other inputs or repeated."""
    data = bytearray(content)
    for _ in range(draw.randint(1, 5)):
        at, length = draw.randrange(len(data) + 1), 1 << draw.randrange(8)
        other = draw.choice(others)
        begin = draw.randrange(len(other) + 1)
        data[at : at + length] = draw.choice([
            b"", draw.randbytes(length), draw.choice(b"\0\1\x7f\x80\xff-9,\n").to_bytes(1, "little"),
            other[begin : begin + length], data[at : at + length] * 2,
        ])  # fmt: skip
    return bytes(data)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_corpus_has_no_findings(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run, draw = TARGETS[path.parent.name].run, random.Random(SEED)
    others = [other.read_bytes() for other in path.parent.glob(f"*{path.suffix}")]
    run(path.suffix[1:], path.read_bytes())
    for _ in range(N_MUTATIONS):
        changed = mutated(path.read_bytes(), others, draw)
        (tmp_path / "input").write_bytes(changed)
        run(path.suffix[1:], changed)


def test_every_kind_is_in_the_corpus():
    for name, target in TARGETS.items():
        assert {path.suffix[1:] for path in INPUTS if path.parent.name == name} == set(target.kinds)


def test_fault_is_a_finding(tmp_path, monkeypatch):
    """The harness does not take everything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.fuzz.targets.describe", lambda *_: {}["surprise"])
    with pytest.raises(KeyError):
        TARGETS["text"].run("csv", b"a,b\n1,2\n")
