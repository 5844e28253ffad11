"""Files in object stores and on web servers: addresses without secrets, retries, reads in ranges, `RemoteFile`."""

from __future__ import annotations

import asyncio
import errno
import io
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import Any, TypeVar
from urllib.parse import urlsplit

from coterie.rows.checks import FileError

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")

# A user and a password; and the query, which has the signature of signed addresses.
_USER = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@'\"]+@")
_QUERY = re.compile(r"(https?://[^\s'\"?]+)\?[^\s'\")\]>]+")
_HIDDEN = "?..."

# Words in the names of options whose values are never shown, and the least length of such values.
_SECRET = re.compile(r"key|secret|token|password|passwd|sas|credential|connection_string|auth", re.IGNORECASE)
_SHORTEST_SECRET = 6


def is_address(path: str) -> bool:
    """Return whether a path is the address of a remote file, such as ``s3://bucket/vectors.parquet``."""
    return _ADDRESS.match(path) is not None


def protocol_of(address: str) -> str:
    """Return the protocol of an address in lower case: ``s3``, ``https``."""
    found = _ADDRESS.match(address)
    return found[1].lower() if found else ""


def name_of(address: str) -> str:
    """Return the last name in an address, without a query."""
    path = address.partition("://")[2]
    if protocol_of(address) in ("http", "https"):
        path = path.partition("?")[0].partition("#")[0]
    return PurePosixPath(path).name


def without_secrets(text: str, options: Mapping[str, Any] | None = None) -> str:
    """Remove users, passwords and queries of addresses, and the secrets of `options`, from a text."""
    text = _QUERY.sub(rf"\1{_HIDDEN}", _USER.sub(r"\1", text))
    # The longest first, since one may be part of another.
    for secret in sorted(_secrets(options or {}), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def has_hidden_parts(shown: str) -> bool:
    """Return whether `without_secrets` has changed an address, so that it cannot be opened."""
    return is_address(shown) and shown.endswith(_HIDDEN)


def _secrets(options: Mapping[str, Any], is_secret: bool = False) -> Iterator[str]:
    for name, value in options.items():
        hides = is_secret or _SECRET.search(str(name)) is not None
        if isinstance(value, Mapping):
            yield from _secrets(value, hides)
        elif hides and isinstance(value, str) and len(value) >= _SHORTEST_SECRET:
            yield value


Result = TypeVar("Result")

# Seconds before each further attempt.
_PAUSES = (0.2, 0.6, 1.8, 5.4)

# Seconds after which there is no further attempt: some libraries retry themselves.
_LATEST = 120.0

# Permanent errors: wrong arguments, and definite answers of a server. botocore, aiohttp and other libraries have no
# common error, so all others are treated as network failures.
_LASTING = (
    ImportError,
    IsADirectoryError,
    LookupError,
    MemoryError,
    NotADirectoryError,
    NotImplementedError,
    AttributeError,
    TypeError,
    ValueError,
)
_LASTING_NUMBERS = (errno.EINVAL, errno.ENOSYS, errno.EPERM)

# These types are kept, all others become a ValueError.
_KEPT: tuple[type[Exception], ...] = (ImportError, MemoryError, OSError)

_MISSING, _REFUSED, _PASSING_STATUS = (404, 410), (401, 403), (408, 425, 429)


class Attempts:
    """Remote reads with retries of transient failures; errors show the address without the secrets of `options`."""

    def __init__(self, shown: str, options: Mapping[str, Any]) -> None:
        self._shown = shown
        self._options = options

    def read(self, once: Callable[[], Result]) -> Result:
        """Return the result of `once`, with retries.

        A permanent error is raised at once, in one line with the address; if all attempts failed, a ConnectionError.
        """
        began, attempt = time.monotonic(), 0
        while True:
            try:
                return once()
            except Exception as error:
                attempt += 1
                pause = self._pause_after(error, attempt, time.monotonic() - began)
            time.sleep(pause)

    async def read_async(self, once: Callable[[], Awaitable[Result]]) -> Result:
        """Do the same for a coroutine."""
        began, attempt = time.monotonic(), 0
        while True:
            try:
                return await once()
            except Exception as error:
                attempt += 1
                pause = self._pause_after(error, attempt, time.monotonic() - began)
            await asyncio.sleep(pause)

    def _pause_after(self, error: Exception, attempt: int, seconds: float) -> float:
        """Return the seconds to wait after a failed attempt; raise an error after the last."""
        found = self._permanent_error(error)
        if found is None and (attempt > len(_PAUSES) or seconds > _LATEST):
            times = f"{attempt} times, at last by" if attempt > 1 else "by"
            text = self._text(_cause(error))
            found = ConnectionError(f"Cannot read {self._shown}: the connection failed {times}: {text}")
        if found is not None:
            raise found from None  # the text of the cause may contain a signature
        return _PAUSES[attempt - 1]

    def _permanent_error(self, error: Exception) -> Exception | None:
        """Return a permanent error in one line; None for a transient one."""
        cause = _cause(error)
        status = getattr(cause, "status", None)
        text = self._text(cause)
        if status in _MISSING or isinstance(cause, FileNotFoundError):
            more = f": {text}" if "bucket does not exist" in text else ""
            return FileNotFoundError(f"There is no file {self._shown}{more}")
        if status in _REFUSED or isinstance(cause, PermissionError):
            return PermissionError(f"Cannot read {self._shown}: access is refused. {text}")
        if _lacks_credentials(cause):
            return PermissionError(
                f"Cannot read {self._shown}: there are no credentials for it. {text}. Set them as its library wants "
                "them: by environment variables, by its configuration, or by storage_options."
            )
        if type(cause).__name__ == "FileExpired":  # of s3fs, whose requests contain the expected ETag
            return FileError(f"Cannot read {self._shown}: it has changed while it was read. Open it again.")
        is_lasting_status = isinstance(status, int) and 400 <= status < 500 and status not in _PASSING_STATUS
        number = getattr(cause, "errno", None)
        if not (is_lasting_status or isinstance(cause, _LASTING) or number in _LASTING_NUMBERS):
            return None
        kind = next((kind for kind in _KEPT if isinstance(cause, kind)), FileError)
        return kind(f"Cannot read {self._shown}: {text}")

    def _text(self, error: BaseException) -> str:
        text = without_secrets(" ".join(str(error).split()), self._options) or type(error).__name__
        if "range requests" in text:
            return "its server does not support range requests. Copy the file to this machine first"
        return re.sub(r"(?<!\.)\.$", "", text)


def _cause(error: BaseException) -> BaseException:
    """Return the cause of a "not found" error, which fsspec raises for any failure of a web server."""
    cause = error.__cause__
    is_web = isinstance(cause, TimeoutError | ValueError) or type(cause).__module__.startswith("aiohttp")
    return cause if cause is not None and is_web and isinstance(error, FileNotFoundError) else error


def _lacks_credentials(error: BaseException) -> bool:
    """Return whether a cloud library found no credentials; each has a different error."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return any(
        word in name for name in names for word in ("Credential", "ClientAuthentication", "ProfileNotFound")
    )


# Least number of bytes of a read, for short ones such as headers and footers.
_LEAST_BYTES = 2**16


class RangedFile(io.RawIOBase):
    """A remote file of which only the requested bytes, and few more, are fetched; `handle` is fsspec's, without a
    cache.
    """

    def __init__(self, handle: Any, size: int, attempts: Attempts) -> None:
        super().__init__()
        self._handle = handle
        self._size = size
        self._attempts = attempts
        self._at = 0
        self._ahead: tuple[int, bytes] = (0, b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def size(self) -> int:
        return self._size

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def read(self, size: int | None = -1) -> bytes:
        start = self._at
        stop = self._size if size is None or size < 0 else min(start + size, self._size)
        if stop <= start:
            return b""
        low, held = self._ahead
        if not low <= start <= stop <= low + len(held):
            until = min(max(stop, start + _LEAST_BYTES), self._size)
            low, held = start, self._attempts.read(partial(self._fetch, start, until))
            self._ahead = (low, held) if until > stop else (0, b"")
        self._at = stop
        return held[start - low : stop - low]

    def _fetch(self, start: int, stop: int) -> bytes:
        self._handle.seek(start)
        found = bytes(self._handle.read(stop - start))
        if len(found) != stop - start:
            raise ConnectionError(f"of {stop - start} bytes {len(found)} came")
        return found


# Protocols of the extra; others need their own libraries.
_EXTRA, _IN_EXTRA = "coterie[remote]", ("fsspec", "s3fs", "aiohttp")

# Metadata of a file that change with its content, and others that may.
_SURE = ("ETag", "etag", "md5Hash", "content_md5", "generation", "blob_id", "Content-MD5", "Digest")
_LIKELY = ("LastModified", "Last-Modified", "last_modified", "mtime", "created")

_WAY_OUT = "Copy the file to this machine first."


class RemoteFile:
    """A remote file, or folder of one array: its address, options, and state when first opened.

    Pickling keeps all three. The first state is compared whenever the file is opened, so that rows of two versions are
    never mixed.

    Parameters
    ----------
    address : str
        For example ``s3://bucket/vectors.parquet``.
    options : dict
        Options of its file system, for `fsspec`.

    Attributes
    ----------
    name, suffix : str
        As in `pathlib.Path`. The `str` of the object is the address without secrets.
    attempts : Attempts
        Retries after broken connections.

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
        """Whether the address is a pattern."""
        path = self._address.partition("://")[2]
        if protocol_of(self._address) in ("http", "https"):  # a host may be [::1], and ? begins the query
            path = path.partition("/")[2].partition("?")[0]
        return re.search(r"[*?\[]", path) is not None

    def file_system(self, **more: Any) -> tuple[Any, str]:
        """Return fsspec's file system, with additional options, and the path of the file in it.

        A missing library is an ImportError, an unknown protocol or option a ValueError.
        """
        protocol = protocol_of(self._address)
        try:
            if protocol in ("http", "https") and not urlsplit(self._address).hostname:
                raise ValueError("the address names no host.")
            from fsspec.config import conf
            from fsspec.core import url_to_fs

            # No retries by libraries, as there are ours.
            is_s3 = protocol in ("s3", "s3a") and "config_kwargs" not in conf.get(protocol, {})
            usual = {"config_kwargs": {"retries": {"total_max_attempts": 1}}} if is_s3 else {}
            file_system, path = url_to_fs(self._address, **{**usual, **self._options, **more})
        except ImportError as error:
            raise ImportError(_how_to_install(protocol, error)) from None
        except (TypeError, ValueError, OSError) as error:
            text = without_secrets(str(getattr(error, "strerror", None) or error), self._options)
            raise FileError(f"Cannot read {self}: {text}") from None
        return file_system, str(path)

    def info(self) -> dict[str, Any]:
        """Request the current metadata: type, size, and the ETag if there is one."""
        file_system, path = self.file_system()

        def ask() -> dict[str, Any]:
            file_system.invalidate_cache()  # cached listings may be out of date
            return dict(file_system.info(path))

        return self.attempts.read(ask)

    def files(self) -> list[RemoteFile]:
        """Return the files of this folder, or those that match this pattern."""
        file_system, path = self.file_system()

        def look() -> list[str]:
            file_system.invalidate_cache()
            if self.is_pattern:
                return list(file_system.glob(path))
            return list(file_system.ls(path, detail=False))

        names = [name.rstrip("/") for name in self.attempts.read(look)]
        return [RemoteFile(file_system.unstrip_protocol(name), self._options) for name in names]

    @contextmanager
    def opened(self) -> Iterator[RangedFile]:
        """Open the file for reading in ranges.

        A ValueError is raised if it has changed, now or when it is closed, or cannot be read in ranges.
        """
        file_system, path = self.file_system()
        file_system.invalidate_cache()
        handle = self.attempts.read(partial(file_system.open, path, "rb", cache_type="none"))
        try:
            size = self._compare(_store_metadata(handle) or self.info())
            if getattr(handle, "size", size) != size:
                raise FileError(f"Cannot read {self}: its server does not support range requests. {_WAY_OUT}")
            yield RangedFile(handle, size, self.attempts)
            self._compare(self.info())
        finally:
            handle.close()

    def _compare(self, info: Mapping[str, Any]) -> int:
        """Compare its state with the first one; return its size."""
        if info.get("size") is None:
            raise FileError(f"Cannot read {self}: its server does not report its size. {_WAY_OUT}")
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


def _store_metadata(handle: Any) -> dict[str, Any] | None:
    """Return the metadata of an open file from its store, None if they do not identify it."""
    told = getattr(handle, "details", None)
    return dict(told) if isinstance(told, dict) and len(_state_of(told)) > 1 else None


def _state_of(info: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata that identify a version of a file."""
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
