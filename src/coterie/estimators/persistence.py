"""Save and load fitted models without pickle.

A model file is a zip archive of `coterie.json` (format version, estimator, parameters and fitted attributes) and of
`.npy` files, which the JSON refers to by number. Loading builds numbers, texts, arrays, CSR matrices, generators of
random numbers, public transformers of scikit-learn, and an estimator of a given list; it runs no code of the file.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from coterie._kernels import __version__
from coterie.limits.files import check_archive, check_regular_file, shortened
from coterie.outputs import replacing

FORMAT_VERSION = 1
_HEADER = "coterie.json"

# Modules whose public transformers are saved and loaded, as steps of the preparation of rows.
_TRANSFORMERS = tuple(
    f"sklearn.{module}"
    for module in (
        "compose", "decomposition", "feature_selection", "frozen", "impute", "kernel_approximation", "pipeline",
        "preprocessing", "random_projection",
    )
)  # fmt: skip
_SPARSE = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}

# Attributes of scikit-learn's machinery, which are not those of a model.
_NOT_FITTED = ("_skl_callbacks", "_sklearn_output_config", "_metadata_request")

_FLOATS, _INTEGERS = (np.float32, np.float64), (np.int32, np.int64)
_TYPES: dict[str, tuple[tuple[type, ...], tuple[type, ...]]] = {
    "float": (_FLOATS, (int, float)), "real": (_FLOATS, (int, float)), "rows": (_FLOATS, ()),
    "int": (_INTEGERS, (int,)), "label": (_INTEGERS, (int,)), "size": (_INTEGERS, (int,)),
    "bool": ((np.bool_,), (bool,)), "names": ((np.object_,), ()),
}  # fmt: skip


def save(model: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a model to a file, complete or not at all.

    Parameters
    ----------
    model : estimator
        One of coterie's estimators, fitted or not.
    path : str or path-like
        The file to write; `.coterie` is the customary ending.
    metadata : mapping, optional
        Anything that JSON can hold, to be found again by `read_header`.

    Raises
    ------
    TypeError
        If `model` is no estimator of coterie, or it holds something that a file cannot.
    OSError
        If the file cannot be written.

    Notes
    -----
    Functions are not saved: a parameter that holds one (`callback`, or a function as `init`) gets its default
    value back on loading, with a warning.

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
    name = type(model).__name__
    if not hasattr(model, "_fitted_attributes") or not type(model).__module__.startswith("coterie."):
        raise TypeError(f"Only estimators of coterie can be saved, got {type(model).__module__}.{name}.")
    parameters = model.get_params(deep=False)
    functions = sorted(key for key, value in parameters.items() if callable(value))
    if functions:
        warnings.warn(
            f"Functions are not saved: {', '.join(functions)} will have the default when loaded.",
            UserWarning,
            stacklevel=2,
        )
    fitted = {
        key: value
        for key, value in model.__getstate__().items()
        if key not in parameters and key not in _NOT_FITTED
    }
    arrays: list[np.ndarray] = []
    try:
        check_fitted(fitted, model._fitted_attributes())
        content = {
            "format": FORMAT_VERSION,
            "coterie": __version__,
            "estimator": name,
            "metadata": dict(metadata or {}),
            "parameters": {
                key: _encoded(getattr(value, "cluster_centers_", value), arrays)
                for key, value in parameters.items()
                if key not in functions
            },
            "fitted": {key: _encoded(value, arrays) for key, value in fitted.items()},
        }
    except (TypeError, ValueError) as error:
        raise TypeError(f"This {name} cannot be saved: {error}") from None
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_HEADER, json.dumps(content, indent=1))
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON of a model file: "format", "coterie" (the version), "estimator", "metadata", "parameters" and
    "fitted". A file that is not a model, is damaged or has a newer format is a ValueError.
    """
    return _read_content(Path(path))[0]


def load_as(path: str | os.PathLike[str], classes: Sequence[type]) -> Any:
    """Return the estimator in a model file, which is of one of these classes; see `coterie.load`."""
    path = Path(path)
    content, arrays = _read_content(path, with_arrays=True)
    estimator: Any = next((known for known in classes if known.__name__ == content["estimator"]), None)
    if estimator is None:
        raise ValueError(
            f"{path} holds an estimator {content['estimator']!r} that this coterie does not know "
            f"(the file was written by coterie {content['coterie']}, this is {__version__})."
        )
    try:
        parameters, fitted = (
            {str(key): _decoded(value, arrays) for key, value in content[part].items()}
            for part in ("parameters", "fitted")
        )
        model = estimator(**parameters)
        model.check_parameters()
        if fitted:
            check_fitted(fitted, model._fitted_attributes())
        model.__setstate__(fitted)
    except MemoryError:
        raise
    except Exception as error:  # whatever is wrong in a file that others have written
        raise ValueError(f"{path} is not a coterie model, or it is damaged: {_short(error)}") from error
    return model


def check_fitted(fitted: Mapping[str, Any], declared: Mapping[str, str]) -> None:
    """Raise a ValueError unless fitted attributes have the declared types and shapes, such as "float k d". "int<k" are
    numbers from 0 below k, "label<k" from -1, "real" may be infinite, a final "?" allows None.
    """
    unknown = sorted(fitted.keys() - declared.keys())
    if unknown:
        raise ValueError(f"{', '.join(unknown)} is not among its fitted attributes.")
    sizes: dict[str, int] = {}
    for name, declaration in declared.items():
        kind, *axes = declaration.removesuffix("?").split()
        value = fitted.get(name)
        if value is not None:
            _check_attribute(name, value, kind, axes, sizes)
        elif fitted and not declaration.endswith("?"):
            raise ValueError(f"{name} is missing.")


def first_non_finite(fitted: Mapping[str, Any], declared: Mapping[str, str]) -> tuple[str, float] | None:
    """Return the first declared attribute with a number that is not finite and must be, and the number; or None."""
    for name, value in fitted.items():
        declaration = declared.get(name, "any")
        if value is None or not declaration.startswith(("float", "rows", "csr", "records")):
            continue
        numbers = np.asarray(value.data if sp.issparse(value) else value)
        if declaration.startswith("records"):
            numbers = numbers["objective"]
        finite = np.isfinite(numbers)
        if not finite.all():
            return name, float(numbers[~finite].flat[0])
    return None


def _check_attribute(name: str, value: Any, kind: str, axes: list[str], sizes: dict[str, int]) -> None:
    """Check one fitted attribute, and add the sizes of its axes to those that are known."""
    kind, _, below = kind.partition("<")
    if kind == "any":
        return
    allowed, python = _TYPES.get(kind, ((), ()))
    if kind == "records":
        is_right, axes = isinstance(value, np.recarray) and "objective" in (value.dtype.names or ()), ["*"]
    elif kind in ("csr", "rows") and sp.issparse(value):
        value.check_format(full_check=True)
        is_right = value.format == "csr" and value.dtype in _FLOATS
    elif not axes or kind == "size":
        is_right = isinstance(value, (*allowed, *python))
    else:
        is_right = isinstance(value, np.ndarray) and value.dtype in allowed
        is_right = is_right and (kind != "names" or all(isinstance(entry, str) for entry in value.flat))
    shape = () if not is_right else (int(value),) if kind == "size" else np.shape(value)
    if not is_right or len(shape) != len(axes):
        found = [type(value).__name__, *(getattr(value, part, "") for part in ("dtype", "shape"))]
        raise TypeError(f"{name} must be {kind} {axes or ''}, not {' '.join(map(str, found))}.")
    for axis, size in zip(axes, shape):
        symbol, _, less = axis.partition("-")
        whole = int(axis) if axis.isdecimal() else sizes.setdefault(symbol, size + int(less or 0))
        expected = whole - int(less or 0)
        if axis != "*" and size != expected:
            raise ValueError(f"{name} has the shape {shape}, {axis} is {expected}.")
    if below and np.size(value):
        least = -1 if kind == "label" else 0
        if np.min(value) < least or np.max(value) >= sizes.get(below, np.inf):
            raise ValueError(
                f"{name} has numbers that are not from {least} below {below}={sizes.get(below)}."
            )


def _read_content(path: Path, *, with_arrays: bool = False) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the JSON of a model file, and its arrays if they are wanted."""
    check_regular_file(path, may_be_folder=True)
    arrays: list[np.ndarray] = []
    try:
        with zipfile.ZipFile(path) as archive:
            check_archive(archive, path)
            content = json.loads(archive.read(_HEADER))
            if content["format"] == FORMAT_VERSION:
                numbers = range(len(archive.namelist()) - 1) if with_arrays else ()
                files = (io.BytesIO(archive.read(f"{number}.npy")) for number in numbers)
                arrays = [np.lib.format.read_array(file, allow_pickle=False) for file in files]
                types = dict(coterie=str, estimator=str, metadata=dict, parameters=dict, fitted=dict)
                if not all(isinstance(content[part], of_type) for part, of_type in types.items()):
                    raise ValueError("its header is of other types")
                return content, arrays
            version, writer = int(content["format"]), str(content["coterie"])
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever zipfile, json and NumPy find in a damaged file
        raise ValueError(f"{path} is not a coterie model, or it is damaged ({_short(error)}).") from error
    raise ValueError(
        f"{path} has format version {version}, written by coterie {writer}; this coterie {__version__} reads version "
        f"{FORMAT_VERSION}: please update it."
    )


def _encoded(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a value as JSON, and append its arrays to `arrays`; what JSON has no type for is an object with a tag."""

    def added(array: Any) -> int:
        arrays.append(np.asarray(array))
        return len(arrays) - 1

    def encoded(entries: Any) -> Any:
        return [_encoded(entry, arrays) for entry in entries]

    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            return {"objects": encoded(np.ravel(value)), "shape": list(np.shape(value))}
        return {"scalar" if isinstance(value, np.generic) else "array": added(value)}
    if type(value) in _SPARSE.values():
        parts = [added(part) for part in (value.data, value.indices, value.indptr)]
        return {type(value).__name__: parts, "shape": list(value.shape)}
    if isinstance(value, np.random.RandomState):
        return {"random": encoded(value.get_state())}
    if type(value) is list:
        return encoded(value)
    if type(value) is tuple:
        return {"tuple": encoded(value)}
    if type(value) is dict:
        return {"dict": [encoded(item) for item in value.items()]}
    if type(value) is slice:
        return {"slice": encoded((value.start, value.stop, value.step))}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"type" if isinstance(value, type) else "dtype": np.dtype(value).str}
    path = ".".join([*type(value).__module__.split(".")[:2], type(value).__name__])
    if _transformer_class(path) is type(value):
        state: Any = value.__getstate__()
        return {"transformer": path, "state": _encoded(dict(state), arrays)}
    raise TypeError(
        f"it holds {type(value).__module__}.{type(value).__qualname__}, which coterie.load refuses. Use transformers "
        "of scikit-learn without functions of your own."
    )


def _decoded(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return the value that `_encoded` has encoded."""
    if isinstance(value, list):
        return [_decoded(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind in ("array", "scalar"):
        array = arrays[content]
        return array[()] if kind == "scalar" else array.view(np.recarray) if array.dtype.names else array
    if kind in _SPARSE:
        parts = tuple(arrays[number] for number in content)
        return _SPARSE[kind](parts, shape=tuple(value["shape"]))
    if kind in ("type", "dtype"):
        dtype = np.dtype(str(content))
        return dtype.type if kind == "type" else dtype
    if kind == "transformer":
        found: Any = _transformer_class(content)
        if found is None:
            raise ValueError(f"it holds {content}, which is no transformer of scikit-learn")
        transformer = found.__new__(found)
        transformer.__setstate__(_decoded(value["state"], arrays))
        return transformer
    entries: Any = _decoded(content, arrays)
    if kind == "objects":
        return np.fromiter(entries, dtype=object, count=len(entries)).reshape(value["shape"])
    if kind == "random":
        random = np.random.RandomState()
        random.set_state(tuple(entries))
        return random
    if kind == "slice":
        return slice(*entries)
    if kind in ("tuple", "dict"):
        return tuple(entries) if kind == "tuple" else dict(entries)
    raise ValueError(f"it holds {_short(ValueError(str(kind)))}, which is unknown")


def _transformer_class(path: Any) -> type | None:
    """Return a public transformer of scikit-learn by the name of its public module and its own, or None."""
    module, _, name = str(path).rpartition(".")
    if module not in _TRANSFORMERS:
        return None
    found = vars(import_module(module)).get(name)
    return found if isinstance(found, type) and issubclass(found, BaseEstimator) else None


def _short(error: BaseException) -> str:
    """Return the message of an error, which may contain text of the file, in one short line."""
    return shortened(str(error), 200) or type(error).__name__
