"""HDF5 files: .h5, .hdf5."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from coterie.rows.checks import reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.stored import NOTHING_WRITTEN, choose_array
from coterie.rows.memory import SlicedSource, sliced

__all__ = ["HDF5"]


def _open(path: Path, key: str | None) -> SlicedSource:
    """Open the dataset `key` of an HDF5 file, else its only two-dimensional dataset of numbers."""
    import h5py

    with h5py.File(path, "r") as file:
        found: dict[str, tuple[int, ...]] = {}

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item.shape if item.dtype.kind in "fiubc" else ()

        file.visititems(note)
        name = choose_array(found, key.strip("/") if key else None, path)
        dataset = file[name]
        if not dataset.id.get_storage_size() and not dataset.is_virtual and not dataset.external:
            raise ValueError(NOTHING_WRITTEN.format(name))
        return sliced(dataset, partial(_dataset, path, name), "h5")


@contextmanager
def _dataset(path: Path, name: str) -> Iterator[Any]:
    import h5py

    with reading(path), h5py.File(path, "r") as file:
        yield file[name]


HDF5 = Format("hdf5", (".h5", ".hdf5"), _open, ("key",), library="h5py", install="coterie[io]")
