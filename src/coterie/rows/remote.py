"""`RemoteFile`: a file in an object store or on a web server, which fsspec reaches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from coterie.rows.addresses import name_of, protocol_of, without_secrets
from coterie.rows.checks import FileError
from coterie.rows.ranged import RangedFile, Span
from coterie.rows.retries import Attempts

__all__ = ["RemoteFile"]

# What the extra brings; other protocols have libraries of their own.
_EXTRA, _IN_EXTRA = "coterie[remote]", ("fsspec", "s3fs", "aiohttp")

# Facts about a file that change with its bytes, and others that only may.
_SURE = ("ETag", "etag", "md5Hash", "content_md5", "generation", "blob_id", "Content-MD5", "Digest")
_LIKELY = ("LastModified", "Last-Modified", "last_modified", "mtime", "created")

_WAY_OUT = "Copy the file to this machine first."


class RemoteFile:
    """A file elsewhere, or a folder of one array: its address, how to reach it, and what it was when first opened.

    It is pickled by these. What was first seen of it is compared whenever it is opened, so that rows of two files are
    never mixed.

    Parameters
    ----------
    address : str
        Such as ``s3://bucket/vectors.parquet``.
    options : dict
        Options of its file system, for `fsspec`.

    Attributes
    ----------
    name, suffix : str
        As of a `pathlib.Path`. Its `str` is the address without the secrets that it may have.
    attempts : Attempts
        Reads from it again where the connection breaks.

    Examples
    --------
    >>> from coterie.rows import RemoteFile
    >>> file = RemoteFile("https://me:word@host/some/x.npy?signature=abc")
    >>> str(file), file.name, file.suffix
    ('https://host/some/x.npy?...', 'x.npy', '.npy')
    """

    def __init__(self, address: str, options: Mapping[str, Any] | None = None) -> None:
        self._address = address
        self._options = dict(options or {})
        self._state: dict[str, str] | None = None
        self.name = name_of(address)
        self.suffix = PurePosixPath(self.name).suffix
        self.attempts = Attempts(str(self), self._options)

    def __str__(self) -> str:
        return without_secrets(self._address, self._options)

    def __repr__(self) -> str:
        return f"RemoteFile({str(self)!r})"

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for all files with such names."""
        path = self._address.partition("://")[2]
        if protocol_of(self._address) in ("http", "https"):  # a host may be [::1], and ? begins the query
            path = path.partition("/")[2].partition("?")[0]
        return re.search(r"[*?\[]", path) is not None

    def file_system(self, **more: Any) -> tuple[Any, str]:
        """Return fsspec's file system, and what the file is called there.

        Parameters
        ----------
        more
            Options of the file system beside the user's.

        Raises
        ------
        ImportError
            Where a library is missing.
        ValueError
            Where nobody knows such addresses, or such options.
        """
        protocol = protocol_of(self._address)
        try:
            from fsspec.config import conf
            from fsspec.core import url_to_fs

            usual = {
                name: value
                for name, value in _usual_options(protocol).items()
                if name not in conf.get(protocol, {})
            }
            file_system, path = url_to_fs(self._address, **{**usual, **self._options, **more})
        except ImportError as error:
            raise ImportError(_how_to_install(protocol, error)) from None
        except (TypeError, ValueError) as error:
            text = without_secrets(str(error), self._options)
            raise FileError(f"Cannot read {self}: {text}") from None
        return file_system, str(path)

    def info(self) -> dict[str, Any]:
        """Ask what is known of it by now: its type and size, its ETag where it has one."""
        file_system, path = self.file_system()

        def ask() -> dict[str, Any]:
            file_system.invalidate_cache()  # listings of before may be out of date
            return dict(file_system.info(path))

        return self.attempts.read(ask)

    def files(self) -> list[RemoteFile]:
        """Return the files of this folder, or those that fit this pattern."""
        file_system, path = self.file_system()

        def look() -> list[str]:
            file_system.invalidate_cache()
            if self.is_pattern:
                return list(file_system.glob(path))
            return list(file_system.ls(path, detail=False))

        names = [name.rstrip("/") for name in self.attempts.read(look)]
        return [RemoteFile(file_system.unstrip_protocol(name), self._options) for name in names]

    @contextmanager
    def opened(self, spans: Sequence[Span] = ()) -> Iterator[RangedFile]:
        """Open it to be read in ranges.

        Parameters
        ----------
        spans : sequence of tuple of int
            Bytes that are best fetched at a time, see `RangedFile`.

        Raises
        ------
        ValueError
            Where it is not the file that it was, now or when it is closed, or cannot be read in ranges.
        """
        file_system, path = self.file_system()
        file_system.invalidate_cache()
        handle = self.attempts.read(partial(file_system.open, path, "rb", cache_type="none"))
        try:
            size = self._compare(_told_by(handle) or self.info())
            if getattr(handle, "size", size) != size:
                raise FileError(f"Cannot read {self}: its server does not give parts of files. {_WAY_OUT}")
            yield RangedFile(handle, size, self.attempts, spans)
            self._compare(self.info())
        finally:
            handle.close()

    def _compare(self, info: Mapping[str, Any]) -> int:
        """Compare what is known of it now with what was at first; return its size."""
        if info.get("size") is None:
            raise FileError(f"Cannot read {self}: its server does not say how long it is. {_WAY_OUT}")
        state = _state_of(info)
        if self._state is None:
            self._state = state
        if state != self._state:
            told = [
                f"{name} was {self._state.get(name)} and is {state.get(name)}"
                for name in {**self._state, **state}
                if state.get(name) != self._state.get(name)
            ]
            raise FileError(
                f"Cannot read {self}: it has changed since it was opened ({', '.join(told)}). Open it again."
            )
        return int(info["size"])


def _usual_options(protocol: str) -> dict[str, Any]:
    """Return options that users may override: of the attempts of three libraries one is enough."""
    if protocol in ("s3", "s3a"):
        return {"config_kwargs": {"retries": {"total_max_attempts": 1}}}
    return {}


def _told_by(handle: Any) -> dict[str, Any] | None:
    """Return what a store said of a file when it was opened, None where that tells it from no other."""
    told = getattr(handle, "details", None)
    return dict(told) if isinstance(told, dict) and len(_state_of(told)) > 1 else None


def _state_of(info: Mapping[str, Any]) -> dict[str, str]:
    """Return what tells a file from another in its place."""
    known = {name: str(info[name]).removeprefix("W/") for name in _SURE if info.get(name)}
    known = known or {name: str(info[name]) for name in _LIKELY if info.get(name)}
    return {"size": str(info["size"]), **known}


def _how_to_install(protocol: str, error: ImportError) -> str:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    library = (getattr(cause, "name", None) or "fsspec").partition(".")[0]
    package = _EXTRA if library in _IN_EXTRA else library
    return f"Reading {protocol}:// addresses needs {library}: pip install '{package}'"
