"""Where real data sets are.

The folder is ``$COTERIE_DATA``, by default ``../shared/data`` beside the repository if that exists.
"""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path | None:
    """Return the folder of real data sets, or None."""
    named = os.environ.get("COTERIE_DATA")
    folder = Path(named) if named else Path(__file__).parents[4] / "shared" / "data"
    return folder if folder.is_dir() else None


def real_file(name: str) -> Path | None:
    """Return a file of the folder of real data sets, or None."""
    folder = data_folder()
    return folder / name if folder is not None and (folder / name).is_file() else None


def needed_file(name: str) -> Path:
    """Return a file of the folder of real data sets, or fail."""
    path = real_file(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not in COTERIE_DATA")
    return path
