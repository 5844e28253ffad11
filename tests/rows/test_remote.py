"""Addresses in `open_rows`: the same rows as here, servers that refuse or stall, missing libraries, secrets."""

import os
import socketserver
import sys
import threading

import numpy as np
import pytest

from coterie.rows import open_rows
from coterie.rows.remote import (
    has_hidden_parts,
    is_address,
    kept_copies,
    name_of,
    protocol_of,
    without_secrets,
)
from tests.rows.formats import WRITERS, assert_same_rows, npy_bytes, numbers, write_zarr
from tests.support.elsewhere import Memory, WebServer, running

fsspec = pytest.importorskip("fsspec", reason="addresses need fsspec")

X = numbers(30)


@pytest.mark.parametrize("place", ["memory", "web", "bucket"])
@pytest.mark.parametrize(
    "name", ["npy", "csv, gzip", "jsonl", "parquet", "feather", "npz, sparse", "h5ad, csr", "svm"]
)
def test_files_elsewhere_are_read_as_files_here(place, name, tmp_path, request, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spool"))
    (tmp_path / "spool").mkdir()
    where = Memory() if place == "memory" else request.getfixturevalue(place)
    extension, write, _ = WRITERS[name]
    path = tmp_path / f"x{extension}"
    write(path, X)
    there = open_rows(where.put_file(path), storage_options=where.options)
    here = open_rows(path)
    assert there.column_names == here.column_names
    assert_same_rows(there, X)
    assert os.listdir(tmp_path / "spool") == []


@pytest.mark.parametrize("place", ["memory", "bucket"])
def test_folders_and_patterns_elsewhere(place, tmp_path, request):
    where = Memory() if place == "memory" else request.getfixturevalue(place)
    for number, part in zip((1, 2, 10), np.split(X, [11, 13])):
        np.save(tmp_path / f"part-{number}.npy", part)
        where.put_file(tmp_path / f"part-{number}.npy", f"shards/part-{number}.npy")
    where.put("shards/_note.txt", b"a")
    for address in (f"{where.root}/shards", f"{where.root}/shards/part-*.npy"):
        rows = open_rows(address, storage_options=where.options)
        assert_same_rows(rows, X)
        row, name = rows.place_of(12)
        assert row == 1
        assert name.endswith("/shards/part-2.npy")
    write_zarr(tmp_path / "x.zarr", X)
    assert_same_rows(open_rows(where.put_file(tmp_path / "x.zarr"), storage_options=where.options), X)


def test_missing_addresses():
    memory = Memory()
    memory.put("there/x.md", b"a")
    for address in (f"{memory.root}/x.npy", f"{memory.root}/folder/"):
        with pytest.raises(FileNotFoundError, match=rf"^There is no file {address}$"):
            open_rows(address)
    with pytest.raises(FileNotFoundError, match=rf"^There is no file {memory.root}/\*\.npy$"):
        open_rows(f"{memory.root}/*.npy")
    with pytest.raises(
        ValueError, match=rf"^{memory.root}/there has no files of rows\. Known extensions are"
    ):
        open_rows(f"{memory.root}/there")
    with pytest.raises(ValueError, match=rf"^Cannot tell the format of {memory.root}/there/x\.md\. Known"):
        open_rows(f"{memory.root}/there/x.md")
    with pytest.raises(ValueError, match=r"Cannot read nobody://x\.npy: .*nobody"):
        open_rows("nobody://x.npy")


def test_options_of_places(tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(
        ValueError, match=r"^storage_options has no meaning for .*x\.npy, which is on this machine"
    ):
        open_rows(tmp_path / "x.npy", storage_options={"key": "a"})
    np.testing.assert_array_equal(open_rows(f"file://{tmp_path}/x.npy").read(), X)
    address = Memory().put("x.npy", npy_bytes(X))
    with pytest.raises(ValueError, match=rf"^::a has no meaning for {address}"):
        open_rows(f"{address}::a")


def test_a_missing_library_is_named(monkeypatch):
    fsspec.register_implementation("toys", "no_such_library.files.ToyFileSystem", clobber=True)
    for module, address in ((None, "toys://shop/x.npy"), ("fsspec.core", "s3://bucket/x.npy")):
        if module is not None:
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf"^Cannot read {address}: .*pip install 'coterie\[remote\]'"):
            open_rows(address)


def test_a_command_copies_a_file_once():
    memory = Memory()
    address = memory.put("x.npy", npy_bytes(X))
    with kept_copies():
        np.testing.assert_array_equal(open_rows(address).read(), X)
        memory.put("x.npy", npy_bytes(-X))
        np.testing.assert_array_equal(open_rows(address).read(), X)
    np.testing.assert_array_equal(open_rows(address).read(), -X)


def test_a_query_is_no_pattern_and_stays_secret(web):
    address = web.put("x.npy", npy_bytes(X))
    np.testing.assert_array_equal(open_rows(f"{address}?sig=abc").read(), X)
    with pytest.raises(FileNotFoundError, match=rf"^There is no file {web.root}/no\.npy\?\.\.\.$"):
        open_rows(f"{web.root}/no.npy?sig=abc")


@pytest.mark.parametrize(
    ("status", "message"), [(401, "access is refused"), (403, "access is refused"), (500, "500")]
)
def test_servers_that_do_not_help(status, message):
    pytest.importorskip("aiohttp", reason="addresses of web servers need aiohttp")
    with running(WebServer(refuses=status)) as web:
        web.put("x.npy", npy_bytes(X))
        with pytest.raises(OSError, match=rf"Cannot read {web.root}/x\.npy\?\.\.\.: .*{message}") as told:
            open_rows(f"{web.root}/x.npy?sig=abc")
    assert "abc" not in str(told.value)


def test_connections_that_break_or_are_refused(web):
    with running(WebServer()) as gone:
        closed = f"{gone.root}/x.npy"
    broken = web.put("x.npy", npy_bytes(numbers(20_000)))
    web.breaks_after = 300_000
    for address in (closed, broken):
        with pytest.raises(ConnectionError, match=rf"Cannot read {address}: "):
            open_rows(address)


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf"])
def test_a_server_that_stalls(monkeypatch, says):
    """A server that answers nothing, or half and nothing more, does not hang."""
    pytest.importorskip("aiohttp", reason="addresses of web servers need aiohttp")
    monkeypatch.setattr("coterie.rows.remote.TIME_LIMIT", 0.5)
    done = threading.Event()

    class Stalled(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(1000)
            self.request.sendall(says)
            done.wait()

    with running(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Stalled)) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/x.npy"
        with pytest.raises(TimeoutError, match=rf"Cannot read {address}: nothing came"):
            open_rows(address)
        done.set()


def test_buckets_that_are_not_there_or_refuse(bucket, monkeypatch):
    options = bucket.options
    with pytest.raises(FileNotFoundError, match=r"^There is no file s3://no-such-bucket/x\.npy"):
        open_rows("s3://no-such-bucket/x.npy", storage_options=options)
    with pytest.raises(FileNotFoundError, match=rf"^There is no file {bucket.root}/x\.npy$"):
        open_rows(f"{bucket.root}/x.npy", storage_options=options)
    address = bucket.put("x.npy", npy_bytes(X))
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)  # the server knows nobody any more
    with pytest.raises(
        PermissionError, match=rf"Cannot read {bucket.root}/x\.npy: access is refused"
    ) as told:
        open_rows(address, storage_options=options)
    assert options["secret"] not in str(told.value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    nobody = {"endpoint_url": bucket.options["endpoint_url"], "skip_instance_cache": True}
    with pytest.raises(OSError, match=rf"Cannot read {bucket.root}/x\.npy: .*credentials"):
        open_rows(f"{bucket.root}/x.npy", storage_options=nobody)


@pytest.mark.parametrize(
    ("path", "protocol", "name"),
    [
        ("s3://bucket/some/x.parquet", "s3", "x.parquet"),
        ("S3://bucket/some/", "s3", "some"),
        ("https://host/x.npy?a=b/c.csv#d", "https", "x.npy"),
        ("gs://bucket/what?.npy", "gs", "what?.npy"),
        ("hf://datasets/me/set@main/x.parquet", "hf", "x.parquet"),
        ("abfss://box@account.dfs.core.windows.net/x.npy", "abfss", "x.npy"),
        *[
            (path, "", None)
            for path in ("x.npy", "a/b://c.npy", "x.h5::data", r"C:\x.npy", "s3:/x.npy", "://x")
        ],
    ],
)
def test_addresses(path, protocol, name):
    assert is_address(path) == (name is not None)
    assert protocol_of(path) == protocol
    assert name is None or name_of(path) == name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://host/x.npy?X-Amz-Signature=abc&y=1", "https://host/x.npy?..."),
        ("404, url='https://host/x.npy?sig=abc', so", "404, url='https://host/x.npy?...', so"),
        ("ftp://me:word@host/x.npy", "ftp://host/x.npy"),
        ("no x at s3://bucket/x?.npy.", "no x at s3://bucket/x?.npy."),
        ("https://host/me@home/x.npy", "https://host/me@home/x.npy"),
        ("https://me:a/b@c", "https://me:a/b@c"),
        ("plain", "plain"),
    ],
)
def test_shown_addresses_have_no_secrets(text, shown):
    assert without_secrets(text) == shown
    assert has_hidden_parts(shown) == (shown.startswith("http") and shown.endswith("?..."))


def test_options_that_are_shown_nowhere():
    options = {
        "key": "AKIA123",
        "secret": "AKIA123-and-more",
        "endpoint_url": "http://host",
        "client_kwargs": {"password": "longer-word", "region_name": "eu-west-1"},
        "token": "abc",  # too short: it would be found in other words
        "headers": {"Authorization": "Bearer xyz"},
    }
    text = "AKIA123-and-more AKIA123 http://host longer-word eu-west-1 abc Bearer xyz"
    assert without_secrets(text, options) == "*** *** *** *** *** abc ***"
