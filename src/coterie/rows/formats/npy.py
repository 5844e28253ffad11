"""Files of one array: .npy."""

from __future__ import annotations

from pathlib import Path

from coterie.rows.formats.format import Format
from coterie.rows.formats.mapped import MappedSource

__all__ = ["NPY"]


def _open(path: Path) -> MappedSource:
    """Open a .npy file through a memory map."""
    return MappedSource(path, 0, path.stat().st_size, "npy")


NPY = Format("npy", (".npy",), _open)
