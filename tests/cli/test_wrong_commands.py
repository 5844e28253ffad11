"""Wrong commands: the exact text of each error, which names options and files and says what to do."""

import shlex
from pathlib import Path

import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything

_, *WRONG = [
    line.split("\t") for line in Path(__file__).with_name("wrong_commands.tsv").read_text().splitlines()
]


@pytest.mark.parametrize(("code", "line", "text"), WRONG, ids=[line for _, line, _ in WRONG])
def test_wrong_commands(folder, rows, capsys, monkeypatch, code, line, text):
    if any(word in line for word in ("--image", "path", "compare", "report")):
        pytest.importorskip("matplotlib")
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: pytest.fail("fitted first"))
    assert main(shlex.split(line)) == int(code)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.replace(f"{folder}/", "") == f"coterie: error: {text}\n"
    assert everything(folder) == ["rows.npy"]
