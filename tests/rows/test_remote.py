"""`RemoteFile` and addresses in `open_rows`: servers that refuse, libraries that are missing, secrets."""

import pickle
import sys

import numpy as np
import pytest

from coterie.rows import RemoteFile, open_rows
from tests.rows.formats import npy_bytes, numbers
from tests.support.elsewhere import Memory
from tests.support.servers import FileServer, running

fsspec = pytest.importorskip("fsspec", reason="addresses need fsspec")

X = numbers(30)


def test_secrets_are_not_shown():
    file = RemoteFile("https://me:word@host/x.npy?sig=abc", {"secret": "very-secret"})
    assert str(file) == "https://host/x.npy?..."
    assert repr(file) == "RemoteFile('https://host/x.npy?...')"
    again = pickle.loads(pickle.dumps(file))
    assert str(again) == str(file)


@pytest.mark.parametrize(
    ("address", "is_pattern"),
    [
        ("s3://bucket/part-?.npy", True),
        ("s3://bucket/part-[12].npy", True),
        ("https://host/*.npy", True),
        ("https://host/x.npy?sig=*[a]", False),
        ("http://[::1]:8000/x.npy", False),
        ("s3://bucket/x.npy", False),
    ],
)
def test_patterns(address, is_pattern):
    assert RemoteFile(address).is_pattern == is_pattern


def test_missing_addresses(quick_attempts):
    memory = Memory()
    memory.put("there/x.txt", b"a")
    for address in (f"{memory.root}/x.npy", f"{memory.root}/folder/"):
        with pytest.raises(FileNotFoundError, match=rf"^There is no file {address}$"):
            open_rows(address)
    with pytest.raises(FileNotFoundError, match=rf"^No file matches {memory.root}/\*\.npy$"):
        open_rows(f"{memory.root}/*.npy")
    with pytest.raises(
        ValueError, match=rf"^{memory.root}/there has no files of rows\. Known extensions are"
    ):
        open_rows(f"{memory.root}/there")
    with pytest.raises(ValueError, match=rf"^Cannot tell the format of {memory.root}/there/x\.txt\. Known"):
        open_rows(f"{memory.root}/there/x.txt")
    with pytest.raises(ValueError, match=r"^Cannot read nobody://x\.npy: .*nobody"):
        open_rows("nobody://x.npy")
    with pytest.raises(FileNotFoundError, match=r"^There is no file s3:/b/x\.npy\. An address must be a str"):
        open_rows("s3:/b/x.npy")


def test_options_of_places(tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(
        ValueError, match=r"^storage_options has no meaning for .*x\.npy, which is on this machine"
    ):
        open_rows(tmp_path / "x.npy", storage_options={"key": "a"})
    np.testing.assert_array_equal(open_rows(f"file://{tmp_path}/x.npy").read(), X)
    address = Memory().put("x.npy", npy_bytes(X))
    with pytest.raises(ValueError, match=rf"^columns has no meaning for {address}"):
        open_rows(address, columns=["a"])
    with pytest.raises(ValueError, match=rf"^::a has no meaning for {address}"):
        open_rows(f"{address}::a")


def test_a_missing_library_is_named(monkeypatch):
    fsspec.register_implementation("toys", "no_such_library.files.ToyFileSystem", clobber=True)
    with pytest.raises(
        ImportError, match=r"^Reading toys:// addresses needs no_such_library: pip install 'no_such"
    ):
        open_rows("toys://shop/x.npy")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        ImportError, match=r"^Reading s3:// addresses needs fsspec: pip install 'coterie\[remote\]'$"
    ):
        open_rows("s3://bucket/x.npy")


def test_a_query_is_no_pattern_and_stays_secret(web):
    address = web.put("x.npy", npy_bytes(X))
    np.testing.assert_array_equal(open_rows(f"{address}?sig=abc").read(), X)
    with pytest.raises(FileNotFoundError, match=rf"^There is no file {web.root}/no\.npy\?\.\.\.$"):
        open_rows(f"{web.root}/no.npy?sig=abc")


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({"refuses": 403}, "access is refused"),
        ({"refuses": 500}, "the connection failed 4 times, at last by: 500"),
        (
            {"gives_ranges": False},
            "its server does not support range requests. Copy the file to this machine first",
        ),
    ],
)
def test_servers_that_do_not_help(server, message, quick_attempts):
    pytest.importorskip("aiohttp", reason="addresses of web servers need aiohttp")
    with running(FileServer(**server)) as web:
        web.files["x.npy"] = npy_bytes(numbers(20_000))
        with pytest.raises(
            (OSError, ValueError), match=rf"^Cannot read {web.address}/x\.npy\?\.\.\.: {message}"
        ) as told:
            open_rows(f"{web.address}/x.npy?sig=abc").read()
    assert "abc" not in str(told.value)


def test_a_server_that_is_not_there(quick_attempts):
    pytest.importorskip("aiohttp", reason="addresses of web servers need aiohttp")
    with running(FileServer()) as web:
        address = f"{web.address}/x.npy"
    with pytest.raises(
        ConnectionError, match=rf"^Cannot read {address}: the connection failed 4 times, .*onnect"
    ):
        open_rows(address)


def test_servers_without_etags_are_compared_by_size(quick_attempts):
    pytest.importorskip("aiohttp", reason="addresses of web servers need aiohttp")
    with running(FileServer(gives_tags=False)) as web:
        web.files["x.npy"] = npy_bytes(X)
        source = open_rows(f"{web.address}/x.npy")
        np.testing.assert_array_equal(source.read(), X)
        web.files["x.npy"] = npy_bytes(numbers(31))
        with pytest.raises(
            ValueError, match=r"it has changed since it was opened \(size was \d+ and is \d+\)"
        ):
            source.read()


def test_a_bucket_is_reached_by_the_environment(bucket, monkeypatch):
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.wire.address)
    np.testing.assert_array_equal(open_rows(bucket.put("x.npy", npy_bytes(X))).read(), X)
    s3fs.S3FileSystem.clear_instance_cache()


def test_options_come_from_the_configuration_of_fsspec(bucket, monkeypatch):
    """What it says of attempts is kept, too."""
    address = bucket.put("x.npy", npy_bytes(X))
    own = {**bucket.options, "config_kwargs": {"retries": {"total_max_attempts": 2}}}
    monkeypatch.setitem(fsspec.config.conf, "s3", own)
    np.testing.assert_array_equal(open_rows(address).read(), X)
    file_system, _ = RemoteFile(address).file_system()
    assert file_system.config_kwargs == own["config_kwargs"]


def test_buckets_that_are_not_there_or_refuse(bucket, quick_attempts, monkeypatch):
    options = bucket.options
    with pytest.raises(
        FileNotFoundError, match=r"^There is no file s3://no-such-bucket/x\.npy: .*does not exist$"
    ):
        open_rows("s3://no-such-bucket/x.npy", storage_options=options)
    with pytest.raises(FileNotFoundError, match=rf"^There is no file {bucket.root}/x\.npy$"):
        open_rows(f"{bucket.root}/x.npy", storage_options=options)
    source = open_rows(bucket.put("x.npy", npy_bytes(X)), storage_options=options)
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)  # the server knows nobody any more
    with pytest.raises(
        PermissionError, match=rf"^Cannot read {bucket.root}/x\.npy: access is refused"
    ) as told:
        source.read()
    assert options["secret"] not in str(told.value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    nobody = {"endpoint_url": bucket.wire.address, "skip_instance_cache": True}
    with pytest.raises(
        PermissionError, match=r"there are no credentials for it\. .*environment.*storage_options"
    ):
        open_rows(f"{bucket.root}/x.npy", storage_options=nobody)
