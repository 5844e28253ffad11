"""Reads over a network: which failures may pass, how often they are tried again, and what is said in the end."""

from __future__ import annotations

import asyncio
import errno
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from coterie.rows.addresses import without_secrets
from coterie.rows.checks import FileError

__all__ = ["Attempts"]

Result = TypeVar("Result")

# Seconds before each further attempt.
_PAUSES = (0.2, 0.6, 1.8, 5.4)

# After so many seconds there is no further attempt: some libraries have tried for long by themselves.
_LATEST = 120.0

# What no second attempt mends: wrong arguments, and what a server has said clearly. botocore, aiohttp and the others
# have no error in common, so all that is not here is taken for a failure of the network.
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

# Of these kinds they stay, all others become a ValueError.
_KEPT: tuple[type[Exception], ...] = (ImportError, MemoryError, OSError)

_MISSING, _REFUSED, _PASSING_STATUS = (404, 410), (401, 403), (408, 425, 429)


class Attempts:
    """Reads something elsewhere, again and again while its failures may pass.

    Parameters
    ----------
    shown : str
        The address, as errors name it.
    options : dict
        Options of its file system, whose secrets are kept out of errors.
    """

    def __init__(self, shown: str, options: Mapping[str, Any]) -> None:
        self._shown = shown
        self._options = options

    def read(self, once: Callable[[], Result]) -> Result:
        """Return what `once` returns, the first time that it raises nothing.

        Raises
        ------
        FileNotFoundError, PermissionError, ValueError, OSError
            What cannot pass, with one line that names the address.
        ConnectionError
            What could have passed, and did not.
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
        """Return the seconds to wait after an attempt that failed; raises where it was the last."""
        found = self._lasting(error)
        if found is None and (attempt > len(_PAUSES) or seconds > _LATEST):
            times = f"{attempt} times, at last by" if attempt > 1 else "by"
            text = self._text(_cause(error))
            found = ConnectionError(f"Cannot read {self._shown}: the connection failed {times}: {text}")
        if found is not None:
            raise found from None  # the cause's own text may have an address with a signature
        return _PAUSES[attempt - 1]

    def _lasting(self, error: Exception) -> Exception | None:
        """Return an error in one line for what will not pass; None for what may."""
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
        if type(cause).__name__ == "FileExpired":  # of s3fs, whose requests say which ETag they want
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
            return "its server does not give parts of files. Copy the file to this machine first"
        return re.sub(r"(?<!\.)\.$", "", text)


def _cause(error: BaseException) -> BaseException:
    """Return what is behind a file that is "not found": fsspec says so of all that goes wrong with a web server."""
    cause = error.__cause__
    is_web = isinstance(cause, TimeoutError | ValueError) or type(cause).__module__.startswith("aiohttp")
    return cause if cause is not None and is_web and isinstance(error, FileNotFoundError) else error


def _lacks_credentials(error: BaseException) -> bool:
    """Return whether a library of a cloud found no credentials; each has an error of its own."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return any(
        word in name for name in names for word in ("Credential", "ClientAuthentication", "ProfileNotFound")
    )
