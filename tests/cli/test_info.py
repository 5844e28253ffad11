"""`coterie info`."""

import json
import os

from coterie.cli import main
from tests.cli.running import failed


def test_info(rows, capsys):
    assert main(["info", rows]) == 0
    assert "rows     300\n" in capsys.readouterr().out
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert main(["info", "coterie-out/model.coterie", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["estimator"] == "KMeans"
    assert facts["clusters"] == 3
    assert facts["columns_in"] == 4
    assert facts["normalize"] is False
    os.rename("coterie-out/model.coterie", "renamed")
    assert main(["info", "renamed"]) == 0
    assert "KMeans" in capsys.readouterr().out


def test_bad_models(folder, rows, capsys):
    (folder / "noise.coterie").write_bytes(b"hello")
    for arguments in (["predict", "noise.coterie", rows], ["info", "noise.coterie"]):
        assert "noise.coterie is not a coterie model" in failed(capsys, 1, *arguments)
    assert "no.coterie: No such file" in failed(capsys, 1, "predict", "no.coterie", rows)
    assert "not a coterie model" in failed(capsys, 1, "predict", rows, rows)


def test_info_of_a_run_folder_shows_its_model(folder, rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert main(["info", "coterie-out", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["estimator"], facts["clusters"], facts["made_from"]) == ("KMeans", 3, rows)
    assert facts["files"] == ["labels", "model", "summary"]
    assert main(["predict", "coterie-out", rows, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == os.path.join("coterie-out", "model.coterie")
    assert (folder / "labels.npy").read_bytes() == (folder / "coterie-out/labels.npy").read_bytes()


def test_the_folder_of_a_run_without_a_model(folder, rows, capsys):
    (folder / "q").mkdir()
    (folder / "q/summary.json").write_text(
        '{"format": 1, "coterie": "0.1", "command": "path", "seconds": 1.5, "files": {}, '
        '"input": {"file": "a.npy", "rows": 3, "columns": 2}}'
    )
    assert main(["info", "q"]) == 0
    assert "coterie path" in capsys.readouterr().out
    told = failed(capsys, 1, "predict", "q", rows)
    assert told == "q is a folder without a model.coterie: name a model, or the folder of coterie fit."
    (folder / "q/summary.json").write_text("[]")
    assert "q" in failed(capsys, 1, "info", "q")
