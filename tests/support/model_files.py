"""Modified model files."""

import io
import json
import zipfile

import skops.io

from coterie import persistence

__all__ = ["state_of", "write_model"]


def state_of(model):
    """Return what the file of a model holds: parameters, fitted attributes, and which of these are records."""
    return persistence._state_of(model)


def write_model(path, model, state, **header):
    """Write a file that says it holds such a model, with another state and other words in its header.

    Parameters
    ----------
    path : Path
        The file.
    model : estimator
        Whose name the file has.
    state : object
        What is written, right or wrong.
    header
        Entries of the header in the place of the right ones.
    """
    right = {
        "format": 1,
        "coterie": persistence.__version__,
        "estimator": type(model).__name__,
        "metadata": {},
    }
    buffer = io.BytesIO()
    skops.io.dump(state, buffer)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("coterie.json", json.dumps({**right, **header}))
    path.write_bytes(buffer.getvalue())
