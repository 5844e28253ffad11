"""A single file appears whole or not at all."""

import os

import numpy as np
import pytest

from coterie.outputs import replacing


def test_a_file_is_replaced(tmp_path):
    target = tmp_path / "labels.npy"
    for text in ("old", "new"):
        with replacing(target) as temporary:
            assert temporary.suffix == ".npy"
            temporary.write_text(text)
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["labels.npy"]


def test_an_interruption_leaves_nothing(tmp_path):
    def interrupted():
        with replacing(tmp_path / "labels.npy") as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_folder_in_its_place(tmp_path):
    (tmp_path / "labels.npy").mkdir()
    with (
        pytest.raises(IsADirectoryError, match=r"Is a folder, not a file to write.*labels\.npy'$"),
        replacing(tmp_path / "labels.npy"),
    ):
        pytest.fail("began to write")
    assert os.listdir(tmp_path) == ["labels.npy"]


def test_no_folder_at_all(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "no" / "labels.npy"):
        pass
    assert caught.value.filename == str(tmp_path / "no" / "labels.npy")


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError("200000 requested and 38880 written")]
)
def test_a_full_disk_is_told_with_the_file(tmp_path, error):
    def full():
        with replacing(tmp_path / "labels.npy"):
            raise error

    with pytest.raises(OSError, match="No space left on device") as caught:
        full()
    assert caught.value.filename == str(tmp_path / "labels.npy")
    assert not list(tmp_path.iterdir())


def test_other_errors_stay_as_they_are(tmp_path):
    """Such as those of a file that is read meanwhile."""

    def failing(error):
        with replacing(tmp_path / "labels.npy"):
            raise error

    for error in (OSError(5, "Input/output error"), OSError(28, "No space left", "spool"), ValueError("NaN")):
        with pytest.raises(type(error)) as caught:
            failing(error)
        assert caught.value is error


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows limits no files")
def test_numpy_and_a_file_that_may_not_grow(tmp_path):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def grow():
        with replacing(tmp_path / "labels.npy") as path:
            try:
                resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
                with open(path, "wb") as file:
                    np.save(file, np.zeros(100_000))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    with pytest.raises(OSError, match=r"labels\.npy"):
        grow()
    assert not list(tmp_path.iterdir())
