"""Files of one array: .npy."""

from __future__ import annotations

from pathlib import Path

from coterie.rows.formats.format import Format
from coterie.rows.formats.raw import RawSource, open_remote_array
from coterie.rows.remote import RemoteFile
from coterie.rows.source import RowSource

__all__ = ["NPY"]


def _open(path: Path | RemoteFile) -> RowSource:
    """Open a .npy file here or elsewhere."""
    if isinstance(path, RemoteFile):
        return open_remote_array(path, "npy")
    return RawSource(path, 0, path.stat().st_size, "npy")


NPY = Format("npy", (".npy",), _open, elsewhere=True)
