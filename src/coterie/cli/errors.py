"""Errors of commands in one line: files and options come from what was given and from attributes of the error."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError

from coterie.estimators.base import FeatureCountError
from coterie.estimators.parameters import ParameterError
from coterie.figures import counted
from coterie.limits.files import shortened
from coterie.rows.checks import BadRowError, NotATableError, Setting, TableError
from coterie.rows.remote import without_secrets
from coterie_command import may_exist
from coterie_command.app import did_you_mean
from coterie_command.options import Columns, UsageError

# An error is one line for people; names of columns and texts of libraries may be of any length.
_MOST_CHARACTERS = 600

# The options of parameters that have one of their own.
_OPTIONS = {"max_time": "--max-time", "random_state": "--seed", "n_threads": "--threads"}
_COUNTS = ("n_clusters", "n_components")


def is_wrong_use(error: Exception) -> bool:
    """Return whether an error is one of the command line, with the exit code 2, rather than of the data."""
    return isinstance(error, UsageError | ParameterError | InvalidParameterError)


def message_of(error: Exception) -> str:
    """Return what went wrong in one line, without the signature of an address."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, ParameterError):
        text = f"{option_of(error.parameter)} {error.problem}"
    elif isinstance(error, MemoryError):
        text = str(error) or "not enough memory"
    elif isinstance(error, OSError | ValueError | ImportError | UsageError):
        text = str(error) or type(error).__name__
    else:
        text = f"{type(error).__name__}: {error}"
    return shortened(without_secrets(" ".join(text.split())), _MOST_CHARACTERS)


def option_of(parameter: str) -> str:
    """Return the option of a parameter of a method."""
    return "-k" if parameter in _COUNTS else _OPTIONS.get(parameter, f"-p {parameter}")


_ON_MISSING = (
    "--missing drop leaves such rows out, --missing median fills such cells in, --exclude leaves columns out."
)


@contextmanager
def about(file: str, advice: str = _ON_MISSING, options: type = Columns) -> Iterator[None]:
    """Make errors about rows name the file and the options that help; `advice` is that on missing numbers."""
    try:
        yield
    except (ParameterError, InvalidParameterError):
        raise
    except FeatureCountError as error:
        raise ValueError(
            f"{file} has {counted(error.n_columns, 'column')} to cluster, and the model was fitted to "
            f"{error.n_expected:,}."
        ) from error
    except NotATableError as error:
        raise UsageError(
            f"{file} is not a table: it has no columns for --columns, --exclude or --id to name."
        ) from error
    except BadRowError as error:
        missing = ["Numbers are missing, first in row", f"{error.where}.", error.detail, advice]
        text = " ".join(filter(None, missing)) if error.is_missing else str(error)
        raise ValueError(_beginning(file, text)) from error
    except TableError as error:
        has_all = all(hasattr(options, setting.parameter) for setting in error.settings)
        text = (error.problem + error.advice.format(*map(_worded, error.values)) * has_all).strip()
        if not error.problem:
            raise UsageError(text) from error
        raise ValueError(_beginning(file, text)) from error
    except (ValueError, MemoryError) as error:
        kind = MemoryError if isinstance(error, MemoryError) else ValueError
        raise kind(_beginning(file, str(error))) from error


def _worded(part: Any) -> Any:
    """Return a value in the advice of an error, a setting as an option."""
    if not isinstance(part, Setting):
        return part
    value = part.value
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, list):
        value = ",".join(map(str, value))
    option = f"--{part.parameter.replace('_', '-')}"
    return option if value is None else f"{option} {shlex.quote(str(value))}"


def _beginning(file: str, text: str) -> str:
    """Return a message that names the file."""
    return text if file in text else f"{file}: {text}"


def check_exists(file: str) -> None:
    """Raise an error with the name that may be meant if there is no such file on this machine."""
    path = file.partition("::")[0]
    if may_exist(file) or os.path.lexists(path) or os.path.lexists(file):
        return
    folder = Path(path).parent
    names = os.listdir(folder) if folder.is_dir() else []
    near = {str(folder / name): name for name in names if not name.startswith(".")}
    raise FileNotFoundError(f"There is no file {file!r}.{did_you_mean(str(Path(path)), near)}")
