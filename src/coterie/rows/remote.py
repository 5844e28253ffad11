"""Files in object stores and on web servers: addresses without secrets, and copies in a temporary folder by fsspec."""

from __future__ import annotations

import errno
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import urlsplit

from coterie.rows.checks import FileError
from coterie.rows.landing import has_space, spool_folder

Result = TypeVar("Result")

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


# Seconds without a byte after which a server is given up.
TIME_LIMIT = 30.0

# Protocols of the extra; others need their own libraries.
_EXTRA, _IN_EXTRA = "coterie[remote]", ("fsspec", "s3fs", "aiohttp")


class Remote:
    """An address with the options of its file system, for `fsspec`.

    Every request ends with a TimeoutError if nothing comes for 30 s. Errors name the address without its secrets: a
    FileNotFoundError, a PermissionError, else a ConnectionError.
    """

    def __init__(self, address: str, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        self._shown = without_secrets(address, self._options)
        self.name = name_of(address)
        protocol = protocol_of(address)
        path = address.partition("://")[2]
        if protocol in ("http", "https"):  # a host may be [::1], and ? begins the query
            path = path.partition("/")[2].partition("?")[0]
        self.is_pattern = re.search(r"[*?\[]", path) is not None
        try:
            if protocol in ("http", "https") and not urlsplit(address).hostname:
                raise ValueError("the address names no host.")
            from fsspec.core import url_to_fs

            # Nothing that was listed before is used again.
            self._files, self._path = url_to_fs(address, **{"use_listings_cache": False, **self._options})
        except ImportError as error:
            raise ImportError(_how_to_install(protocol, error)) from None
        except (TypeError, ValueError, OSError) as error:
            text = without_secrets(str(getattr(error, "strerror", None) or error), self._options)
            raise FileError(f"Cannot read {self}: {text}") from None

    def __str__(self) -> str:
        return self._shown

    def is_file(self) -> bool:
        """Return whether there is a file, False for a folder."""
        return bool(self._asked(lambda _: self._files.info(self._path))["type"] == "file")

    def children(self) -> list[str]:
        """Return the paths of the files in this folder, or of those that match this pattern."""
        found = self._files.glob if self.is_pattern else self._files.ls
        options = {} if self.is_pattern else {"detail": False}
        return [name.rstrip("/") for name in self._asked(lambda _: found(self._path, **options))]

    def shown(self, path: str) -> str:
        """Return the address of a file without secrets."""
        return without_secrets(self._files.unstrip_protocol(path), self._options)

    def copy(self, folder: Path, path: str | None = None, *, is_folder: bool = False) -> Path:
        """Copy this file, one of its `children`, or with `is_folder` this folder into a local folder."""
        path = path or self._path
        target = folder / (self.name if path == self._path else PurePosixPath(path).name)
        size = 0 if is_folder else self._asked(lambda _: self._files.info(path)).get("size")
        if not has_space(size or 0):
            told = f"No space for a copy of {self} ({(size or 0) / 1e9:.1f} GB); TMPDIR names another folder"
            raise OSError(errno.ENOSPC, told, spool_folder())
        if is_folder:
            self._asked(lambda _: self._files.get(path, str(target), recursive=True))
        else:
            self._asked(lambda progress: self._files.get_file(path, str(target), callback=progress))
            if size is not None and target.stat().st_size != size:
                raise ConnectionError(
                    f"Cannot read {self}: {target.stat().st_size} of its {size} bytes came. Try again."
                )
        return target

    def _asked(self, ask: Callable[[Any], Result]) -> Result:
        """Return the result of a request, which runs in a thread: not all libraries have limits of time."""
        from fsspec.callbacks import Callback

        class Progress(Callback):  # type: ignore[misc]
            at = time.monotonic()

            def call(self, *_: Any, **__: Any) -> None:
                self.at = time.monotonic()

        progress, done = Progress(), threading.Event()
        found: list[tuple[Any, BaseException | None]] = []

        def run() -> None:
            try:
                found.append((ask(progress), None))
            except BaseException as error:
                found.append((None, error))
            finally:
                done.set()

        threading.Thread(target=run, daemon=True).start()
        while not done.wait(0.5):
            if time.monotonic() - progress.at > TIME_LIMIT:
                raise TimeoutError(
                    f"Cannot read {self}: nothing came for {TIME_LIMIT:.0f} seconds. Try again."
                )
        result, error = found[0]
        if error is not None:
            raise self._in_one_line(error) from None  # the text of the cause may contain a signature
        return result

    def _in_one_line(self, error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        cause = _cause(error)
        status = getattr(cause, "status", None)
        text = without_secrets(" ".join(str(cause).split()), self._options) or type(cause).__name__
        if status in (404, 410) or isinstance(cause, FileNotFoundError):
            more = f": {text}" if "bucket does not exist" in text else ""
            return FileNotFoundError(f"There is no file {self}{more}")
        if status in (401, 403) or isinstance(cause, PermissionError):
            return PermissionError(f"Cannot read {self}: access is refused. {text}")
        if _lacks_credentials(cause):
            return PermissionError(
                f"Cannot read {self}: there are no credentials for it. {text}. Set them as its library wants "
                "them: by environment variables, by its configuration, or by storage_options."
            )
        if isinstance(cause, ImportError | MemoryError):
            return type(cause)(f"Cannot read {self}: {text}")
        return ConnectionError(f"Cannot read {self}: {text}")


@contextmanager
def copies() -> Iterator[Path]:
    """Give a temporary folder for copies of remote files."""
    with TemporaryDirectory(prefix="coterie-remote-", dir=spool_folder(), ignore_cleanup_errors=True) as name:
        yield Path(name)


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


def _how_to_install(protocol: str, error: ImportError) -> str:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    library = (getattr(cause, "name", None) or "fsspec").partition(".")[0]
    package = _EXTRA if library in _IN_EXTRA else library
    return f"Reading {protocol}:// addresses needs {library}: pip install '{package}'"
