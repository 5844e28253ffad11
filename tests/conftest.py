"""What tests of several packages share: fixtures, and how hypothesis draws."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from tests.support.elsewhere import S3Bucket, WebServer, running, running_s3
from tests.support.instruction_sets import INSTRUCTION_SETS, using

# The same draws each time, and no clock: a machine under load is no failure. COTERIE_DRAWS=1000 draws that many
# examples of each test that sets no number, at random.
settings.register_profile(
    "coterie",
    max_examples=int(os.environ.get("COTERIE_DRAWS", "25")),
    deadline=None,
    derandomize="COTERIE_DRAWS" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("coterie")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector from what lives until the end: modules and tests, half a million objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request):
    """Each instruction set of this machine in turn; the test computes with it."""
    with using(request.param):
        yield request.param


@pytest.fixture
def kept_bytes(monkeypatch):
    """A function: data of more bytes than it is given are neither kept in memory nor drawn row by row."""

    def keep(n_bytes):
        for module in ("blocks.kernel_rows", "blocks.shuffled", "mixture.posteriors"):
            monkeypatch.setattr(f"coterie.{module}.KEPT_BYTES", n_bytes)

    return keep


@pytest.fixture
def tiny_blocks(monkeypatch):
    """A function: from now on each call of a kernel takes one quantum of rows, the smallest block."""

    def cut():
        for name in ("_CALL_BYTES", "_STREAM_BYTES"):
            monkeypatch.setattr(f"coterie.blocks.kernel_rows.{name}", 1)

    return cut


@pytest.fixture(scope="session")
def s3_server():
    """An S3 server on the loopback: a way to put files."""
    with running_s3() as files:
        yield files


@pytest.fixture
def bucket(s3_server):
    """An empty bucket of an S3 server."""
    return S3Bucket(s3_server)


@pytest.fixture
def web():
    """A web server of files."""
    pytest.importorskip("aiohttp", reason="addresses of web servers need aiohttp")
    with running(WebServer()) as server:
        yield server
