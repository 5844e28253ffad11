"""Warnings that point at the line of the user's code."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

__all__ = ["warn"]

# Pipelines, searches, callbacks and workers stand between a user and a fit, as do our own functions.
_BETWEEN = tuple(
    f"{Path(file).parent}{os.sep}" for file in (Path(__file__).parent, sklearn.__file__, joblib.__file__)
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called coterie, itself or by way of scikit-learn.

    Parameters
    ----------
    message : str
        What to say.
    category : class
        Of the warning.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
