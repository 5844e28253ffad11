"""Save and load fitted models without pickle.

A model file is a zip archive that skops writes and reads, with one more member: `coterie.json` names the
format version, coterie's version and the estimator, so that a file from the future is refused before the rest
of it is looked at. The state is the estimator's parameters and fitted attributes: numbers, strings, arrays
and CSR matrices. Loading builds only these and an estimator of a class that this process has registered
(`persistable`); it imports nothing and runs no code of the file.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from coterie._kernels import __version__
from coterie.limits.files import check_archive, check_regular_file, shortened
from coterie.outputs import replacing

EstimatorClass = TypeVar("EstimatorClass", bound=type)

FORMAT_VERSION = 1
_HEADER = "coterie.json"
_SPARSE_TYPES = (sp.csr_matrix, sp.csr_array)

# Maximum length of a message of another library.
_TOLD = 200

# Types that are loaded in addition to those that skops trusts; transformers such as `SimpleImputer` have a dtype.
_TRUSTED = [*(f"{known.__module__}.{known.__qualname__}" for known in _SPARSE_TYPES), "numpy.dtype"]
_PLAIN_TYPES = (type(None), bool, int, float, str, np.generic, np.random.RandomState, np.random.Generator)

# Integers of Python can be larger than other libraries accept.
_TOO_LARGE = 1 << 64

# Classes by name; a file can build no others.
_persistable: dict[str, type] = {}


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """Header of a model file, which is read before the model; `metadata` is the argument of `save`."""

    estimator: str
    format_version: int
    coterie_version: str
    metadata: dict[str, Any] = field(default_factory=dict)


def persistable(estimator_class: EstimatorClass) -> EstimatorClass:
    """Allow estimators of this class, not of its subclasses, to be saved and loaded; a decorator.

    A ValueError is raised if another class has the same name, since files contain the bare name.
    """
    name = estimator_class.__name__
    path, known = (
        f"{one.__module__}.{one.__qualname__}"
        for one in (estimator_class, _persistable.get(name, estimator_class))
    )
    if known != path:
        raise ValueError(
            f"{path} has the same name as {known}, and files name a class by its bare name: give it another one."
        )
    _persistable[name] = estimator_class
    return estimator_class


class Persistable:
    """Gives an estimator its `save` method."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this model to a file for `coterie.load`; see `coterie.save`.

        Parameters
        ----------
        path : str or path-like
            The file; an older one of that name is replaced once the new one is complete.
        """
        save(self, path)

    def _check_state(self, fitted: Mapping[str, Any]) -> None:
        """Raise a ValueError or TypeError if a parameter or a fitted attribute is invalid.

        `save` calls this before a file is written, `load` after it is read. `fitted` has no attributes before a fit.
        """


def save(model: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a model to a file, complete or not at all.

    Parameters
    ----------
    model : estimator
        One of coterie's estimators or of another `persistable` class, fitted or not.
    path : str or path-like
        The file to write; `.coterie` is the customary ending.
    metadata : mapping, optional
        Anything that JSON can hold, to be found again by `read_header`.

    Raises
    ------
    TypeError
        If the class of `model` is not persistable, or it holds something that a file cannot.
    ValueError
        If `load` would refuse the model: a parameter makes no sense, arrays do not fit together, or a number is not
        finite that should be.
    ImportError
        If skops is missing.
    OSError
        If the file cannot be written.

    Notes
    -----
    Functions are not saved: a parameter that holds one (`callback`, or a function as `init`) gets its default
    value back on loading, and a warning says so.

    Examples
    --------
    >>> import os, tempfile
    >>> from coterie import KMeans, load, save
    >>> model = KMeans(n_clusters=2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.coterie")
    ...     save(model, path)
    ...     loaded = load(path)
    >>> loaded.inertia_
    0.5
    """
    skops_io = _skops_io()
    name = type(model).__name__
    if _persistable.get(name) is not type(model):
        raise TypeError(
            f"Only coterie's own estimators and registered ones can be saved, got {type(model).__module__}.{name}."
        )
    header = {
        "format": FORMAT_VERSION,
        "coterie": __version__,
        "estimator": name,
        "metadata": dict(metadata or {}),
    }
    content = json.dumps(header, indent=2)
    state = _state_of(model)
    _check_state(model, _fitted_of(state), f"This {name} cannot be saved")
    buffer = BytesIO()
    skops_io.dump(state, buffer)
    unknown = sorted(set(skops_io.get_untrusted_types(data=buffer.getvalue())) - set(_TRUSTED))
    if unknown:
        raise TypeError(
            f"This {name} cannot be saved: it holds {', '.join(unknown)}, which coterie.load refuses. Use "
            "transformers of scikit-learn without user-defined functions."
        )
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(_HEADER, content)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        As it was saved, on any machine.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model, is damaged, comes from a newer format, holds unknown types, or what it holds is
        no model: parameters that make no sense, arrays that do not fit together, numbers that are not finite.
    ImportError
        If skops is missing.

    See Also
    --------
    save : Writes such files, and has an example.
    """
    header = read_header(path)
    estimator_class = _persistable.get(header.estimator)
    if estimator_class is None:
        raise ValueError(
            f"{os.fspath(path)} holds an estimator {header.estimator!r} that this coterie does not know "
            f"(the file was written by coterie {header.coterie_version}, this is {__version__}). "
            "If another package brings it, import that package first."
        )
    state = _read_state(path)
    known = estimator_class().get_params(deep=False)
    unknown = sorted(set(state["parameters"]) - set(known))
    if unknown:
        raise ValueError(
            f"{os.fspath(path)}: {header.estimator} has no parameter {', '.join(unknown)} "
            f"(the file was written by coterie {header.coterie_version}, this is {__version__})."
        )
    model = estimator_class(**state["parameters"])
    preparation = _preparation_of(header.metadata)
    fitted = {**({"preparation_": preparation} if preparation else {}), **_fitted_of(state)}
    _check_state(model, fitted, os.fspath(path))
    model.__setstate__(fitted)
    return model


def _fitted_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a state, record arrays as such."""
    fitted = state["fitted"]
    return {**fitted, **{name: fitted[name].view(np.recarray) for name in state["records"]}}


def _check_state(model: Any, fitted: Mapping[str, Any], whose: str) -> None:
    """Check the parameters and fitted attributes of a model; errors start with `whose`."""
    if not isinstance(model, Persistable):
        return
    try:
        model._check_state(fitted)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{whose}: {_short(error)}") from error


def _preparation_of(metadata: Mapping[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """Return the preparation of rows from the metadata of `coterie fit`, for models without it.

    These are estimators of other libraries, and all models in files of coterie 0.1 that lack a `preparation_`.
    """
    columns = metadata.get("columns")
    steps: list[tuple[Any, ...]] = [] if columns is None else [("columns", columns)]
    return (*steps, ("normalize",)) if metadata.get("normalize") else tuple(steps)


def read_header(path: str | os.PathLike[str]) -> ModelHeader:
    """Return the header of a model file, without reading the model; skops is not needed.

    A file that is not a model, is damaged or of a newer format is a ValueError, a missing one a FileNotFoundError.
    """
    path = Path(path)
    check_regular_file(path, may_be_folder=True)
    try:
        with zipfile.ZipFile(path) as archive:
            check_archive(archive, path)
            header = json.loads(archive.read(_HEADER))
        format_version = int(header["format"])
        result = ModelHeader(
            estimator=str(header["estimator"]),
            format_version=format_version,
            coterie_version=str(header["coterie"]),
            metadata=dict(header["metadata"]),
        )
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever zipfile and json find in a damaged file
        raise ValueError(f"{path} is not a coterie model, or it is damaged ({_short(error)}).") from error
    if format_version > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {format_version}, written by coterie {result.coterie_version}; "
            f"this coterie {__version__} reads up to version {FORMAT_VERSION}: please update it."
        )
    return result


def _state_of(model: Any) -> dict[str, Any]:
    """Return parameters and fitted attributes as plain values, and which of the latter were record arrays."""
    parameters = model.get_params(deep=False)
    fitted = {
        name: value
        for name, value in model.__getstate__().items()
        if name not in parameters and not name.startswith("_skl_callbacks")  # scikit-learn's, not the model's
    }
    functions = sorted(
        name for name, value in parameters.items() if callable(value) and not isinstance(value, BaseEstimator)
    )
    if functions:
        warnings.warn(
            f"Functions are not saved: {', '.join(functions)} will have the default when loaded.",
            UserWarning,
            stacklevel=3,
        )
    state = {
        "parameters": {name: _plain(value) for name, value in parameters.items() if name not in functions},
        "fitted": {name: _plain(value) for name, value in fitted.items()},
        "records": [name for name, value in fitted.items() if isinstance(value, np.recarray)],
    }
    problem = _problem(state)
    if problem:
        raise TypeError(f"This {type(model).__name__} cannot be saved: {problem}.")
    return state


def _read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    skops_io = _skops_io()
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        state = skops_io.load(path, trusted=_TRUSTED)
        problem = _problem(state)
    except (FileNotFoundError, PermissionError, MemoryError):
        raise
    except UntrustedTypesFoundException as error:
        raise ValueError(
            f"{os.fspath(path)} holds types that a coterie model does not: {_short(error)}"
        ) from error
    except Exception as error:  # whatever zipfile, json, NumPy and skops find in a damaged file
        raise ValueError(f"{os.fspath(path)} is damaged ({_short(error)}).") from error
    if problem:
        raise ValueError(f"{os.fspath(path)} is not a coterie model: {problem}.")
    return state


def _plain(value: Any) -> Any:
    """Record arrays, memory maps and other kinds of array as plain arrays; a model to start from as its centroids."""
    value = getattr(value, "cluster_centers_", value)
    return np.asarray(value) if isinstance(value, np.ndarray) else value


def _problem(state: Any) -> str | None:
    """Why this is not a state that a file may hold, or None."""
    if not isinstance(state, dict) or set(state) != {"parameters", "fitted", "records"}:
        return "it has no parameters and fitted attributes"
    for part in ("parameters", "fitted"):
        if not isinstance(state[part], dict):
            return f"its {part} are not named"
        for name, value in state[part].items():
            if not (isinstance(name, str) and name.isidentifier()) or name.startswith("__"):
                return f"{name!r} is not the name of an attribute"
            unsupported = _unsupported_type(value)
            if unsupported:
                return f"{name} holds a {unsupported}"
    records, fitted = state["records"], state["fitted"]
    are_names = isinstance(records, list) and all(isinstance(name, str) for name in records)
    if not are_names or not all(isinstance(fitted.get(name), np.ndarray) for name in records):
        return "it says of other things than arrays that they are records"
    return None


def _unsupported_type(value: Any) -> str | None:
    """Name of the first type inside a value that a model file does not hold, or None."""
    if isinstance(value, np.ndarray):
        return _unsupported_type(value.tolist()) if value.dtype.hasobject else None
    if isinstance(value, dict):
        return _unsupported_type([*value.keys(), *value.values()])
    if isinstance(value, list | tuple):
        return next(filter(None, map(_unsupported_type, value)), None)
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        return "number of more than 64 bits"
    if isinstance(value, _PLAIN_TYPES + _SPARSE_TYPES):
        return None
    if isinstance(value, BaseEstimator):
        return None  # skops trusts what is in estimators of scikit-learn, or names it
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _short(error: BaseException) -> str:
    """Return the message of a library's error, which may contain text of the file, in one short line."""
    return shortened(str(error), _TOLD) or type(error).__name__


def _skops_io() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Saving and loading models needs skops: pip install 'coterie[io]'") from error
    return skops.io
