"""What is fuzzed: functions that take any bytes, and raise only what is a finding.

Whatever the bytes are, coterie either works or raises an error that its documentation lists, with a message that a
person can read. Anything else is a finding: other exceptions, endless messages, and more memory than `MOST_BYTES`.
"""

from __future__ import annotations

import contextlib
import io
import resource
import shlex
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np

import coterie
from coterie.cli.info import describe
from coterie_command.app import parsed
from coterie_command.options import InfoOptions, UsageError

CORPUS = Path(__file__).with_name("corpus")

# What one input may add to the memory of the process.
MOST_BYTES = 2**30

_DOCUMENTED = (ValueError, OSError, MemoryError, ImportError)
_LONGEST_MESSAGE = 1_000

# So many blocks of so many rows are read: a small file may well hold very many rows.
_BLOCKS, _ROWS = 8, 1_000


class Finding(Exception):
    """Something that coterie must not do, whatever its input is."""


@dataclass(frozen=True)
class Target:
    """Inputs that are fuzzed together."""

    kinds: tuple[str, ...]  # what the bytes of an input may be; a file of the corpus ends in its kind
    run: Callable[[str, bytes], None]  # takes kind and bytes, in an empty working folder


@contextlib.contextmanager
def _documented(*allowed: type[Exception]) -> Iterator[None]:
    """Let pass what the documentation lists, with a short message; make a finding of more memory than is allowed."""
    before = _peak_bytes()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except allowed as error:
        text = str(error)
        if len(text) > _LONGEST_MESSAGE:
            raise Finding(f"a message of {len(text)} characters: {text[:200]!r}") from error
        if not text and not isinstance(error, MemoryError):
            raise Finding(f"{type(error).__name__} without a message") from error
    grown = _peak_bytes() - before
    if grown > MOST_BYTES:
        raise Finding(f"{grown / 2**30:.1f} GiB of memory")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _read_rows(kind: str, content: bytes) -> None:
    path = _written(kind, content)
    with _documented(*_DOCUMENTED):
        describe(path, InfoOptions())
    with _documented(*_DOCUMENTED):
        rows = coterie.open_rows(path)
        for _ in islice(rows.blocks(_ROWS), _BLOCKS):
            pass
        rows.take([0, rows.shape[0] // 2])


def _written(kind: str, content: bytes) -> str:
    """Write bytes to where they are read as rows of a kind."""
    if kind == "member":
        with zipfile.ZipFile("rows.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("X.npy", content)
        return "rows.npz"
    if kind in ("zarray", "zarr"):  # the metadata of an array of formats 2 and 3; its chunks stay the same
        Path("rows.zarr/c/0").mkdir(parents=True, exist_ok=True)
        for chunk in ("0.0", "c/0/0"):
            Path("rows.zarr", chunk).write_bytes(np.arange(8.0).tobytes())
        for name, of_kind in ((".zarray", "zarray"), ("zarr.json", "zarr")):
            Path("rows.zarr", name).unlink(missing_ok=True)
            if kind == of_kind:
                Path("rows.zarr", name).write_bytes(content)
        return "rows.zarr"
    Path(f"rows.{kind}").write_bytes(content)
    return f"rows.{kind}"


def _read_model(kind: str, content: bytes) -> None:
    if kind == "coterie":
        Path("m.coterie").write_bytes(content)
    else:
        members = dict(_model_members())
        array = next(name for name in members if name.endswith(".npy"))
        members["coterie.json" if kind == "header" else array] = content
        with zipfile.ZipFile("m.coterie", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, member in members.items():
                archive.writestr(name, member)
    with _documented(*_DOCUMENTED):
        describe("m.coterie", InfoOptions())
    with _documented(*_DOCUMENTED):
        model = coterie.load("m.coterie")
        model.predict(np.zeros((3, 2)))


@cache
def _model_members() -> dict[str, bytes]:
    """Return the members of a small model's file."""
    model = coterie.KMeans(2, random_state=0, n_init=1).fit([[0.0, 1.0], [1.0, 1.0], [9.0, 0.0]])
    model.save("whole.coterie")
    with zipfile.ZipFile("whole.coterie") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _parse_command(kind: str, content: bytes) -> None:
    """Parse the words of a command; whatever is wrong with them must be a wrong option, in one line."""
    text = content.decode("utf-8", "replace").replace("\0", " ")
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    with contextlib.redirect_stdout(io.StringIO()), _documented(UsageError):
        parsed(words)


TARGETS = {
    "binary": Target(("npy", "npz", "member", "parquet", "feather", "arrow", "h5"), _read_rows),
    "text": Target(("csv", "tsv", "jsonl", "svm", "zarray", "zarr"), _read_rows),
    "models": Target(("coterie", "header", "array"), _read_model),
    "commands": Target(("words",), _parse_command),
}
