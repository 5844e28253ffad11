"""Files in object stores and on web servers: addresses without secrets, and copies in a temporary folder by fsspec."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from coterie.rows.checks import FileError
from coterie.rows.formats import format_of, known_extensions
from coterie.rows.landing import spool_folder

# Seconds without a byte after which a server is given up.
TIME_LIMIT = 30.0

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")

# A user and a password; and the query, which has the signature of signed addresses.
_USER = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@'\"]+@")
_QUERY = re.compile(r"(https?://[^\s'\"?]+)\?[^\s'\")\]>]+")
_HIDDEN = "?..."

# Shorter values of options would be found in other words.
_SHORTEST_SECRET = 6


def is_address(path: str) -> bool:
    """Return whether a path is the address of a remote file, such as ``s3://bucket/vectors.parquet``."""
    return bool(protocol_of(path))


def protocol_of(address: str) -> str:
    """Return the protocol of an address in lower case: ``s3``, ``https``."""
    found = _ADDRESS.match(address)
    return found[1].lower() if found else ""


def name_of(address: str) -> str:
    """Return the last name in an address, without a query."""
    path = address.partition("://")[2] or address
    if protocol_of(address) in ("http", "https"):
        path = path.partition("?")[0].partition("#")[0]
    return PurePosixPath(path).name


def without_secrets(text: str, options: Mapping[str, Any] | None = None) -> str:
    """Remove users, passwords and queries of addresses, and the values of `options`, from a text."""
    text = _QUERY.sub(rf"\1{_HIDDEN}", _USER.sub(r"\1", text))
    # The longest first, since one may be part of another.
    for secret in sorted(_secrets(options or {}), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def has_hidden_parts(shown: str) -> bool:
    """Return whether `without_secrets` has changed an address, so that it cannot be opened."""
    return is_address(shown) and shown.endswith(_HIDDEN)


def _secrets(options: Mapping[str, Any]) -> Iterator[str]:
    for value in options.values():
        if isinstance(value, Mapping):
            yield from _secrets(value)
        elif isinstance(value, str) and len(value) >= _SHORTEST_SECRET:
            yield value


def in_natural_order(names: Iterable[str]) -> list[str]:
    """Return names with the numbers inside them sorted by value."""
    parts = {name: re.findall(r"(\d+)|(\D+)", name) for name in names}
    return sorted(parts, key=lambda name: [(int(digits or 0), text) for digits, text in parts[name]])


def files_of_rows(names: Iterable[str]) -> list[str]:
    """Return the files of a folder that have rows: those of known formats, without texts beside others, about them."""
    found = [name for name in names if PurePosixPath(name).name[:1] not in "._" and format_of(name)]
    return [name for name in found if not name.lower().endswith(".txt")] or found


Copies = tuple[list[Path], list[str], bool]
"""Local copies of files, what messages call them, and whether the address names several."""

# The copies of a command, by their address, and what removes them.
_kept: tuple[ExitStack, dict[str, Copies]] | None = None


@contextmanager
def kept_copies() -> Iterator[None]:
    """Copy each address only once as long as the context lasts."""
    global _kept
    with ExitStack() as stack:
        outer, _kept = _kept, (stack, {})
        try:
            yield
        finally:
            _kept = outer


def copied(stack: ExitStack, address: str, options: Mapping[str, Any] | None) -> Copies:
    """Copy the files of an address to a temporary folder, which goes with the stack. No data for 30 s is a
    TimeoutError; other errors (FileNotFoundError, PermissionError, ConnectionError) name the address without its
    secrets.
    """
    stack, known = _kept or (stack, {})
    if address not in known:
        folder = stack.enter_context(
            TemporaryDirectory(prefix="coterie-remote-", dir=spool_folder(), ignore_cleanup_errors=True)
        )
        known[address] = _within_limit(
            lambda last: _copied(address, options, Path(folder), last), address, options
        )
    return known[address]


def addresses_of(address: str, options: Mapping[str, Any] | None) -> list[str]:
    """Return the addresses of the files of an address, in order; errors are those of `copied`."""
    files, names, is_shards = _within_limit(lambda _: _listed(address, options), address, options)
    return [files.unstrip_protocol(name) for name in names] if is_shards else [address]


def _within_limit(work: Callable[[list[float]], Any], address: str, options: Mapping[str, Any] | None) -> Any:
    """Do a work in a thread, as not all libraries have limits of time; it gets the time of the last byte, to set."""
    future: Future[Any] = Future()
    shown, last = without_secrets(address), [time.monotonic()]

    def run() -> None:
        try:
            future.set_result(work(last))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    while not wait([future], 0.5).done:
        if time.monotonic() - last[0] > TIME_LIMIT:
            raise TimeoutError(f"Cannot read {shown}: nothing came for {TIME_LIMIT:.0f} seconds. Try again.")
    if (error := future.exception()) is not None:
        raise _in_one_line(error, shown, options) from None  # the text of the cause may contain a signature
    return future.result()


def _listed(address: str, options: Mapping[str, Any] | None) -> tuple[Any, list[str], bool]:
    """Return the file system of an address, its names of the files in order, and whether the address names several."""
    from fsspec.core import url_to_fs

    # Nothing that was listed before is used again.
    files, path = url_to_fs(address, **{"use_listings_cache": False, **(options or {})})
    is_web = protocol_of(address) in ("http", "https")
    known = format_of(name_of(address))
    # A host may be [::1], and ? begins the query.
    if re.search(r"[*?\[]", path.partition("://")[2].partition("/")[2].partition("?")[0] if is_web else path):
        if names := files.glob(path):
            return files, in_natural_order(names), True
        raise FileNotFoundError(path)
    if (known is not None and (known.is_folder or is_web)) or files.info(path)["type"] == "file":
        return files, [path], False
    names = files_of_rows(name.rstrip("/") for name in files.ls(path, detail=False))
    if not names:
        raise FileError(f"{without_secrets(address)} has no files of rows. {known_extensions()}")
    return files, in_natural_order(names), True


def _copied(address: str, options: Mapping[str, Any] | None, folder: Path, last: list[float]) -> Copies:
    from fsspec.callbacks import Callback

    class Progress(Callback):  # type: ignore[misc]
        def call(self, *_: Any, **__: Any) -> None:
            last[0] = time.monotonic()

    files, names, is_shards = _listed(address, options)
    known, found = format_of(name_of(address)), []
    for number, name in enumerate(names):
        found.append(folder / str(number) / name_of(name if is_shards else address))
        found[-1].parent.mkdir()
        if known is not None and known.is_folder:
            files.get(name, str(found[-1]), recursive=True)
        else:
            files.get_file(name, str(found[-1]), callback=Progress())
    shown = [files.unstrip_protocol(name) for name in names] if is_shards else [address]
    return found, list(map(without_secrets, shown)), is_shards


def _in_one_line(error: BaseException, shown: str, options: Mapping[str, Any] | None) -> BaseException:
    text = without_secrets(" ".join(str(error).split()), options) or type(error).__name__
    status = getattr(error, "status", None)
    if isinstance(error, FileError | MemoryError) or not isinstance(error, Exception):
        return error
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return FileNotFoundError(f"There is no file {shown}")
    if isinstance(error, PermissionError) or status in (401, 403):
        return PermissionError(f"Cannot read {shown}: access is refused. {text}")
    if isinstance(error, ImportError):
        return ImportError(
            f"Cannot read {shown}: {text}; pip install 'coterie[remote]' for S3 and web servers"
        )
    kind = FileError if isinstance(error, TypeError | ValueError) else ConnectionError
    return kind(f"Cannot read {shown}: {text}")
