"""`Attempts`: which errors are retried, how often, and the final error."""

import asyncio
import errno
import itertools

import pytest

from coterie.rows import remote
from coterie.rows.remote import Attempts

OPTIONS = {"secret": "a-word-of-mine"}


@pytest.fixture
def attempts():
    return Attempts("s3://bucket/x.npy", OPTIONS)


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that were made, none of which took time."""
    made = []

    async def sleep(seconds):
        made.append(seconds)

    monkeypatch.setattr(remote.time, "sleep", made.append)
    monkeypatch.setattr(remote.asyncio, "sleep", sleep)
    return made


class Failing:
    """Fails some times, then gives 7."""

    def __init__(self, error, times):
        self.error, self.times, self.calls = error, times, 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return 7

    async def later(self):
        return self()


@pytest.fixture(params=["sync", "async"])
def read(request, attempts):
    if request.param == "sync":
        return attempts.read
    return lambda failing: asyncio.run(attempts.read_async(failing.later))


class AnyLibrarysError(Exception):
    pass


PASSING = [
    ConnectionResetError("gone"),
    TimeoutError(),
    OSError(errno.EBUSY, "slow down"),
    AnyLibrarysError("broken"),
    EOFError(),
]


@pytest.mark.parametrize("error", PASSING, ids=lambda error: type(error).__name__)
def test_transient_errors_are_retried_with_growing_pauses(error, read, pauses):
    assert read(Failing(error, 4)) == 7
    assert len(pauses) == 4
    assert all(later > 2 * before for before, later in itertools.pairwise(pauses))


def test_attempts_end(read, pauses):
    failing = Failing(AnyLibrarysError("at https://host/x?sig=1 a-word-of-mine broke."), 99)
    with pytest.raises(ConnectionError) as raised:
        read(failing)
    assert failing.calls == 5
    assert str(raised.value) == (
        "Cannot read s3://bucket/x.npy: the connection failed 5 times, at last by: at https://host/x?... *** broke"
    )
    # The cause is told in the message; its own text is shown in no traceback.
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def coded(status):
    error = AnyLibrarysError(f"status {status}")
    error.status = status
    return error


class NoCredentialsError(Exception):
    pass


class FileExpired(OSError):
    pass


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (FileNotFoundError("x"), FileNotFoundError, r"^There is no file s3://bucket/x\.npy$"),
        (
            FileNotFoundError("The specified bucket does not exist"),
            FileNotFoundError,
            r"^There is no file s3://bucket/x\.npy: The specified bucket does not exist$",
        ),
        (coded(404), FileNotFoundError, "^There is no file"),
        (
            PermissionError("Forbidden"),
            PermissionError,
            r"^Cannot read s3:.*: access is refused\. Forbidden$",
        ),
        (coded(403), PermissionError, "access is refused"),
        (coded(401), PermissionError, "access is refused"),
        (
            NoCredentialsError("Unable to locate"),
            PermissionError,
            "there are no credentials .*storage_options",
        ),
        (coded(400), ValueError, r"^Cannot read s3://bucket/x\.npy: status 400$"),
        (OSError(errno.EINVAL, "bad bucket"), OSError, r"^Cannot read s3://bucket/x\.npy: .*bad bucket$"),
        (FileExpired(errno.EBUSY, "e"), ValueError, "it has changed while it was read. Open it again"),
        (ValueError("range requests"), ValueError, "does not support range requests. Copy the file"),
        (KeyError("x"), ValueError, r"^Cannot read s3://bucket/x\.npy: 'x'$"),
        (ImportError("needs something"), ImportError, "needs something"),
    ],
)
def test_permanent_errors_are_not_retried(error, kind, message, read, pauses):
    failing = Failing(error, 99)
    with pytest.raises(kind, match=message):
        read(failing)
    assert failing.calls == 1
    assert pauses == []


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_servers_that_are_busy(status, read, pauses):
    assert read(Failing(coded(status), 2)) == 7


def test_permanent_error_ends_a_retry(attempts, pauses):
    errors = iter([ConnectionResetError()] * 4 + [PermissionError("now")])

    def once():
        raise next(errors)

    with pytest.raises(PermissionError, match="access is refused"):
        attempts.read(once)


def test_attempts_end_in_time(read, pauses, monkeypatch):
    monkeypatch.setattr(remote, "_LATEST", -1.0)
    with pytest.raises(ConnectionError, match=r": the connection failed by: gone$"):
        read(Failing(ConnectionResetError("gone"), 99))
    assert pauses == []
