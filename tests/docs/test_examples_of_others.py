"""Examples with libraries of other people, which few have: where they are missing the tests say so."""

import runpy

import pytest

from tests.docs.pages import ROOT

NEEDED = "pip install --no-deps bertopic plotly tqdm pyyaml narwhals"


def test_topics_with_bertopic(capsys):
    pytest.importorskip("bertopic", reason=f"BERTopic is not installed: {NEEDED}")
    found = runpy.run_path(str(ROOT / "examples" / "topics_with_bertopic.py"))
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert found["topics"].hdbscan_model.labels_.shape == (300,)


def test_topics_with_toponymy(capsys):
    pytest.importorskip("toponymy", reason="Toponymy is not installed: pip install toponymy")
    found = runpy.run_path(str(ROOT / "examples" / "topics_with_toponymy.py"))
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert [len(layer.centroid_vectors) for layer in found["layers"]] == [16, 4]
