"""Errors of the command line: one line that names options, files, rows and columns."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Sequence

from coterie.estimators.parameters import ParameterError, parameters_of
from coterie.methods import methods
from coterie.rows.columns import column_word

# An error is one line for people; names of columns and texts of libraries may be of any length.
_MOST_CHARACTERS = 500

# What to do in Python, and in parentheses on the command line: exclude=['b'] (--exclude b), or just (--exclude).
_BOTH_WAYS = re.compile(
    r"(?:\bprepare_rows\(X, )?\b[a-z_]+=(?P<value>\[[^\]]*\]|'[^']*'|\w+)\)? \((?P<option>--[^)]+)\)"
)

# The rows of an estimator, which the command line has no name for.
_ROWS = re.compile(r"(?P<input>\bInput )?(?<![\w(.\[=:])X(?![\w(\]=,)]|\.\w)")


class UsageError(Exception):
    """A command line that cannot be run: a wrong option, a wrong value, or options that exclude each other."""


def listed(words: Sequence[str], last: str) -> str:
    """Return words with commas between them, and `last` before the last one."""
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final


def is_usage(error: Exception) -> bool:
    """Return whether an error is one of the command line, with the exit code 2, rather than of the data."""
    from sklearn.utils._param_validation import InvalidParameterError

    return isinstance(error, UsageError | ParameterError | InvalidParameterError)


def message_of(error: Exception) -> str:
    """Return what went wrong in one line, without the signature of an address."""
    from coterie.limits.files import shortened
    from coterie.rows.remote import without_secrets

    return shortened(without_secrets(_without_python_words(_text_of(error))), _MOST_CHARACTERS)


def _without_python_words(text: str) -> str:
    """Return a message without its Python variant.

    Examples
    --------
    >>> from coterie.cli.errors import _without_python_words
    >>> _without_python_words("Input X contains NaN. Leave out columns: exclude=['a', 'b'] (--exclude).")
    'The input contains NaN. Leave out columns: --exclude a,b.'
    """

    def option(match: re.Match[str]) -> str:
        option, value = match["option"], match["value"]
        if " " in option or not value.startswith("["):
            return option
        words = [column_word(0, str(name)) for name in ast.literal_eval(value)]
        return option if "0" in words else f"{option} {shlex.quote(','.join(words))}"

    def rows(match: re.Match[str]) -> str:
        before = text[: match.start()].rstrip()
        return "The input" if not before or before.endswith((".", ":")) else "the input"

    text = _BOTH_WAYS.sub(option, text)
    return _ROWS.sub(rows, text)


def warning_of(text: str) -> str:
    """Return a warning of a library in one line, in the words of the command line.

    Examples
    --------
    >>> from coterie.cli.errors import warning_of
    >>> warning_of("X has feature names, but KMeans was fitted without feature names")
    'The input has column names, but the model was fitted without column names'
    """
    text = re.sub(r"\bbut \w+ was fitted", "but the model was fitted", " ".join(text.split()))
    return in_options(_without_python_words(text.replace("feature names", "column names")))


def in_options(text: str) -> str:
    """Return a message of an estimator with options in the place of its parameters.

    Examples
    --------
    >>> from coterie.cli.errors import in_options
    >>> in_options("coreset_size=8 should be >= n_clusters=9.")
    '--coreset 8 should be >= -k 9.'
    >>> in_options("tol must be a non-negative number, got -1.")
    '--tol must be a non-negative number, got -1.'
    """
    text = re.sub(r"\bn_samples=(\d+)", r"the \1 rows", text)
    for name, flag in _flags():
        # A name with an underscore is a parameter wherever it stands; a word is one before "=" and at the beginning.
        start = rf"(?<![\w-]){name}" if "_" in name else rf"(?:^|(?<![\w-])(?=\w+=)){name}"
        text = re.sub(rf"{start}=(?:'([^']*)'|\"([^\"]*)\"|([\w.+-]*\w))", rf"{flag} \1\2\3", text)
        text = re.sub(rf"{start}(?![\w=-])", flag, text)
    return text


def _flags() -> Iterable[tuple[str, str]]:
    """Return the parameters of all methods and their shortest options, the longest name first."""
    declared = (entry for method in methods() for entry in parameters_of(method.estimator).values())
    flags = {entry.name: entry.flags[0] for entry in declared if entry.flags}
    return sorted(flags.items(), key=lambda pair: -len(pair[0]))


def _text_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return text if "of memory" in text else f"not enough memory. {text}".strip()
    if isinstance(error, ParameterError):
        return in_options(text)
    if isinstance(error, OSError | ValueError | ImportError | UsageError):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}"
