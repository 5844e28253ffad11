"""Input files of commands: prepared rows, graphs and known classes."""

from __future__ import annotations

import errno
import os
import stat
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import InvalidParameterError

from coterie.arrays import IntArray
from coterie.cli.errors import UsageError
from coterie.cli.output import recorded_warnings
from coterie.estimators.preparation import prepared_rows
from coterie.graphs import given_neighbors, graph_of_neighbors
from coterie.limits.files import check_archive, check_regular_file
from coterie.names import known_classes
from coterie.outputs import naming, remove_leftovers
from coterie.rows import RowSource, as_rows, open_rows, prepare_rows, table_roles
from coterie.rows.checks import BadRowError, NotATableError
from coterie.rows.columns import NO_COLUMNS
from coterie.rows.derived import complete_rows
from coterie.rows.formats import formats
from coterie.rows.landing import has_space, spool_folder
from coterie.rows.remote import without_secrets
from coterie_command import cleaned_up

DASH = "-"
"""The standard input where a command reads a file, the standard output where it writes one."""

STANDARD_INPUT = "standard input"
"""What reports call it."""


def open_prepared(
    file: str,
    *,
    columns: list[str | int] | None = None,
    exclude: list[str | int] | None = None,
    kept: Sequence[str] = (),
    labels: str | None = None,
    preparing: Mapping[str, Any] | None = None,
    affinities: bool = False,
    **reading: Any,
) -> tuple[RowSource, list[str], str | None]:
    """Open the rows of a file and prepare them to be clustered.

    `kept` columns are left out, too, and one of known `labels`; `preparing` has options of `prepare_rows`, `reading`
    those of `open_rows`. With `affinities` the file may hold the neighbors that a graph is made of. Also returned are
    warnings, and a sentence that names the features of a table and the columns that are left out.
    """
    if file.endswith(".coterie") and os.path.isfile(file):
        raise ValueError(
            f"{file} is a model, not a file of rows: coterie predict {file} ROWS labels rows by it."
        )
    # Encoded columns can be kept in the results.
    encoded = (preparing or {}).get("categories") or []
    left_out = [*(exclude or []), *(name for name in kept if name not in encoded)] or None
    with (
        recorded_warnings() as recorded,
        about(file),
        _only_tables_have(exclude, kept, file),
    ):
        told_how = {option: value for option, value in reading.items() if value is not None}
        given = _graph_of_given(file) if affinities and not told_how else None
        X = file if given is None else given
        steps = dict(preparing or {})
        roles = None
        if columns is None and given is None:
            roles_without = partial(table_roles, file, categories=steps.get("categories"), **told_how)
            roles = roles_without(exclude=left_out)
            if labels is not None and roles is not None and labels in roles.features:
                roles = roles_without(exclude=[*(left_out or []), labels])
        if roles is not None:
            columns = [*roles.features, *roles.categories]
            steps["categories"] = list(roles.categories) or None
        rows = prepare_rows(X, columns=columns, exclude=None if roles else left_out, **steps, **told_how)
    if roles is not None and roles.scales is not None and steps.get("scale") is None:
        largest, smallest = roles.scales
        recorded.append(
            f"The columns {largest!r} and {smallest!r} differ in scale by more than 100: --scale standard gives all "
            "columns the same weight."
        )
    return rows, recorded, None if roles is None else str(roles)


def open_for_model(
    model: Any,
    file: str,
    *,
    exclude: list[str | int] | None = None,
    kept: Sequence[str] = (),
    **reading: Any,
) -> RowSource:
    """Open the rows of a file in the columns of the fit, prepared as its rows were."""
    chosen = next((step[1] for step in getattr(model, "preparation_", ()) if step[0] == "columns"), None)
    columns = chosen if chosen is None else chosen or NO_COLUMNS
    left_out = [*(exclude or []), *kept] or None
    with about(file), _only_tables_have(exclude, kept, file):
        given = _graph_of_given(file) if getattr(model, "affinity", None) == "precomputed" else None
        if given is not None:
            return as_rows(given)
        try:
            rows = open_rows(file, columns, exclude=left_out, **reading)
        except NotATableError as error:
            if left_out is not None or error.option != "columns":
                raise
            rows = open_rows(file, **reading)  # an array, which has the columns in their order
        if ("drop_missing",) in getattr(model, "preparation_", ()):
            rows = complete_rows(rows)
    try:
        return prepared_rows(model, rows)
    except ValueError as error:
        known = set(getattr(model, "feature_names_in_", []))
        is_new = any(name not in known for name in rows.column_names or [])
        way_out = " --keep NAME leaves a column to the results, --exclude NAME out." if is_new else ""
        raise ValueError(f"{file}: {error}{way_out}") from error


@contextmanager
def about(file: str) -> Iterator[None]:
    """Make errors about rows name the file, and give advice on missing numbers."""
    try:
        yield
    except InvalidParameterError:
        raise
    except MemoryError as error:
        if (file.rpartition("::")[0] or file) in str(error):
            raise
        raise MemoryError(f"{file}: {error}") from error
    except ValueError as error:
        text = str(error)
        if isinstance(error, BadRowError) and not error.is_advised:
            text += " Leave such rows out" + (
                " (--missing drop), or fill in numbers: --missing median." if error.is_missing else "."
            )
        is_named = (file.rpartition("::")[0] or file) in text
        if is_named and text == str(error):
            raise
        raise ValueError(text if is_named else f"{file}: {text}") from error


@contextmanager
def _only_tables_have(exclude: Sequence[str | int] | None, kept: Sequence[str], file: str) -> Iterator[None]:
    """Raise an error for options that name columns if the file is not a table."""
    try:
        yield
    except NotATableError as error:
        options = "--exclude names" if exclude else "--id and --keep name" if kept else "--columns names"
        raise UsageError(f"{options} columns of a table, and {file} is not a table.") from error


def input_facts(file: str, rows: RowSource) -> dict[str, Any]:
    """Return facts about a file of rows, for reports."""
    return {
        "file": without_secrets(file),
        "rows": rows.shape[0],
        "columns": rows.shape[1],
        "dtype": rows.dtype.name,
        "sparse": rows.is_sparse,
        "source": rows.description,
    }


def read_graph(file: str, n_rows: int) -> Any:
    """Read the matrix of a graph of the rows, which its method checks; or the neighbors that it is made of."""
    with about(file):
        given = _graph_of_given(file)
        graph = open_rows(file).read() if given is None else given
    if graph.shape != (n_rows, n_rows):
        raise ValueError(
            f"{file} must have a row and a column for each of the {n_rows} rows, got shape {graph.shape}."
        )
    return graph


def _graph_of_given(file: str) -> sp.csr_array | None:
    """Return the graph of the neighbors in a .npz file of `ids` and `distances`; None for any other file."""
    if not (file.endswith(".npz") and os.path.isfile(file)):
        return None
    if not zipfile.is_zipfile(file):
        return None  # its reader raises the error
    with zipfile.ZipFile(file) as archive:
        if not {"ids.npy", "distances.npy"} <= set(archive.namelist()):
            return None
        check_archive(archive, Path(file))
    with np.load(file) as arrays:
        ids, distances = arrays["ids"], arrays["distances"]
    return graph_of_neighbors(*given_neighbors(ids, distances))


def read_known_labels(file: str, rows: RowSource, n_clusters: int) -> tuple[IntArray, list[str]]:
    """Read the classes of rows, a column or a file: numbers, -1 if not known, and the names of texts in a column."""
    n_rows, metadata = rows.shape[0], rows.metadata_columns
    is_column = metadata is not None and file in metadata.names
    names: list[str] = []
    if is_column or (rows.is_table and not os.path.exists(file)):
        classes = read_classes(file, rows, "--labels")
        labels, names = known_classes(classes)
        known = labels >= 0
        if all(isinstance(value, (int, float)) for value in classes[known]):
            names, labels = [], np.where(known, classes, -1).astype(float)
        elif len(names) > n_clusters:
            raise ValueError(f"{file} has {len(names)} classes, more than {n_clusters} clusters.")
    else:
        labels = _loaded_labels(file)
    if labels.dtype.kind not in "biuf":
        raise ValueError(
            f"{file} must hold whole numbers, -1 where a class is not known, not {labels.dtype}. Number the names of "
            "classes from 0: numpy.unique(names, return_inverse=True)."
        )
    if labels.shape != (n_rows,):
        raise ValueError(f"{file} must have {n_rows} labels, one for each row, got shape {labels.shape}.")
    with np.errstate(invalid="ignore"):
        wrong = (labels != np.floor(labels)) | (labels < -1) | (labels >= n_clusters)
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"{file} must hold classes from 0 to {n_clusters - 1}, and -1 where they are not known, but holds "
            f"{labels[first]} for the row {first}, counted from 0."
        )
    return labels.astype(np.int32), names


def read_classes(known: str, rows: RowSource, flag: str) -> Any:
    """Return classes of any names: a column of the table, a .npy file, or a text with a line for each row."""
    metadata = rows.metadata_columns
    if metadata is not None and known in metadata.names:
        return np.array(metadata.read([known])[known].to_pylist(), dtype=object)
    if not os.path.exists(known):
        columns = "" if metadata is None else f" Columns that are not clustered: {', '.join(metadata.names)}."
        raise UsageError(f"{flag} must be a file or a column of the table, got {known!r}.{columns}")
    check_regular_file(known)
    classes: Any = (
        load_array(known, "numbers or texts")
        if known.endswith(".npy")
        else np.array(lines_of(known, flag), dtype=object)
    )
    if np.shape(classes) != (rows.shape[0],):
        raise ValueError(
            f"{known} must have {rows.shape[0]} classes, one for each row, got shape {np.shape(classes)}."
        )
    return classes


def lines_of(file: str, flag: str) -> list[str]:
    """Return the lines of a text that an option names."""
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag}: {file} is not text in UTF-8.") from error


def _loaded_labels(file: str) -> Any:
    """Read a file of labels: an array in a .npy file, otherwise a text with a number on each line."""
    if file.endswith(".npy"):
        return load_array(file)
    check_regular_file(file)
    os.stat(file)  # its error says that there is no such file, that of NumPy does not
    try:
        with recorded_warnings():  # of files without a line
            return np.loadtxt(file, delimiter=",", ndmin=1)
    except (FileNotFoundError, PermissionError):
        raise
    except (ValueError, EOFError, OSError) as error:  # also what is compressed by its name only
        raise ValueError(
            f"{file} must have one integer on each line, -1 where a class is not known. Number the names of classes "
            "from 0."
        ) from error


def load_array(file: str, what: str = "numbers") -> Any:
    """Return the array of any shape in a .npy file."""
    check_regular_file(file)
    try:
        array = np.load(file, allow_pickle=False)
    except (FileNotFoundError, PermissionError):
        raise
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is not an array of {what}, or it is damaged.") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{file} is an archive of several arrays: save one alone, with numpy.save.")
    return array


_COPIED_BYTES = 4 * 2**20


def check_format(file: str, format: str | None) -> None:
    """Fail now if the standard input has no format that is known, or a file is given one."""
    if file != DASH:
        if format is not None:
            raise UsageError(
                f"--format is for the standard input ({DASH}); {file} has the format of its ending."
            )
        return
    listed = ", ".join(known.name for known in formats() if not known.is_folder)
    if format is None:
        raise UsageError(f"The standard input ({DASH}) needs --format, one of {listed}.")
    if _ending(format) is None:
        raise UsageError(f"--format must be one of {listed}, got {format!r}.")
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(f"Nothing is piped into the standard input ({DASH}).")
    if _is_endless():
        raise UsageError(f"The standard input ({DASH}) is a device, which has no end. Pipe a file into it.")


@contextmanager
def local_file(file: str, format: str | None) -> Iterator[tuple[str, str]]:
    """Give the path of a file to read, and its name in messages.

    What comes through the standard input is copied to a temporary file, since fits read rows more than once and most
    formats are not read from the beginning to the end. It is removed in the end, also after Ctrl-C or SIGTERM.
    """
    if file != DASH:
        yield file, file
        return
    prefix = "coterie-input-"
    remove_leftovers(Path(spool_folder()), prefix)
    folder = TemporaryDirectory(prefix=prefix, dir=spool_folder())
    with cleaned_up(folder.cleanup), folder as name:
        path = str(Path(name, f"standard-input{_ending(str(format))}"))
        _copy(path)
        try:
            yield path, STANDARD_INPUT
        except (UsageError, ValueError, ImportError) as error:
            message = str(error).replace(f"coterie fit {path}", f"coterie fit {DASH} --format {format}")
            raise type(error)(message.replace(path, STANDARD_INPUT)) from error


def _is_endless() -> bool:
    """Whether the standard input is a device such as /dev/zero; /dev/null has an end."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):  # not of a file at all
        return False
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    return is_device and status.st_rdev != os.stat(os.devnull).st_rdev


def _ending(format: str) -> str | None:
    """Return the ending of the files of a format, which is called by its name or by one of its endings."""
    offered = {known.name: known.extensions for known in formats() if not known.is_folder}
    if any(f".{format}" in extensions for extensions in offered.values()):
        return f".{format}"
    return offered[format][0] if format in offered else None


def _copy(path: str) -> None:
    copied = 0
    with naming(Path(path)), open(path, "wb") as file:
        while block := sys.stdin.buffer.read(_COPIED_BYTES):
            if not has_space(len(block)):
                told = f"No space for the standard input after {copied / 1e9:.1f} GB of it; TMPDIR names another folder"
                raise OSError(errno.ENOSPC, told, spool_folder())
            file.write(block)
            copied += len(block)
    if not copied:
        raise ValueError("The standard input is empty.")
