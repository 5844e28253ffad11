"""Model files that are not regular files, or unpack to far more than their size."""

import os
import zipfile

import numpy as np
import pytest

import coterie
from coterie import persistence
from coterie.limits.memory import limited_memory

pytest.importorskip("skops")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.coterie"
    coterie.KMeans(2, random_state=0).fit(np.eye(4)).save(path)
    return path


def zipped_anew(path, **more):
    """Compress a model, and add members to it."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**members, **more}.items():
            archive.writestr(name, content)


def test_a_model_that_was_compressed_by_others_is_read(model):
    zipped_anew(model)
    assert coterie.load(model).n_clusters == 2


@pytest.mark.parametrize("name", ["coterie.json", "schema.json"])
def test_compressed_metadata_above_the_limit(model, name):
    zipped_anew(model, **{name: b'{"metadata": "' + b" " * (80 * 2**20) + b'"}'})
    assert model.stat().st_size < 2e6
    with pytest.raises(ValueError, match=r"model\.coterie is not a coterie model.*unpack from .* to 84 MB"):
        persistence.read_header(model)


def test_arrays_larger_than_memory(tmp_path):
    path = tmp_path / "large.coterie"
    coterie.KMeans(2, random_state=0).fit(np.zeros((2, 500_000)) + [[0], [1]]).save(path)
    zipped_anew(path)
    with limited_memory(2**20), pytest.raises(MemoryError, match=r"large\.coterie: needs about"):
        coterie.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are those of Unix")
def test_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "model.coterie")
    with pytest.raises(ValueError, match="is a pipe, not a file"):
        coterie.load(tmp_path / "model.coterie")
