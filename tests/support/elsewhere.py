"""Remote storage for tests: a bucket of an S3 server, a folder of a web server, fsspec's memory."""

import contextlib
import logging
import uuid

import pytest

from tests.support.servers import FileServer, Wire, running

# What s3fs reads, so that nothing of the machine's own configuration is used.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "a-word-that-nobody-sees",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}


class Place:
    """Somewhere for files.

    Attributes
    ----------
    root : str
        Its address, to which names are added.
    options : dict or None
        Storage options for it.
    wire : Wire or None
        What lies between.
    """

    root = ""
    options = None
    wire = None

    def put(self, name, content):
        """Put bytes under a name; gives the address."""
        raise NotImplementedError

    def put_file(self, path, name=None):
        """Put a file or a folder under its own name; gives the address."""
        name = name or path.name
        if path.is_dir():
            for inner in path.rglob("*"):
                if inner.is_file():
                    self.put(f"{name}/{inner.relative_to(path).as_posix()}", inner.read_bytes())
        else:
            self.put(name, path.read_bytes())
        return f"{self.root}/{name}"


class S3Bucket(Place):
    """A new bucket of a server; what is read from it passes the wire, what is put into it does not.

    Parameters
    ----------
    files : s3fs.S3FileSystem
        The way to the server by which files are put.
    wire : Wire
        The way by which they are read.
    """

    def __init__(self, files, wire):
        self.name = f"bucket-{uuid.uuid4().hex[:12]}"
        self.root = f"s3://{self.name}"
        self.wire = wire
        self.options = options_for(wire.address)
        self._files = files
        self._files.mkdir(self.name)

    def put(self, name, content):
        self._files.pipe_file(f"{self.name}/{name}", content)
        return f"{self.root}/{name}"


def options_for(address):
    """Return storage options for an S3 server."""
    return {
        "key": CREDENTIALS["AWS_ACCESS_KEY_ID"],
        "secret": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        "endpoint_url": address,
    }


class WebFolder(Place):
    """The files of a web server."""

    def __init__(self, server, wire):
        self.server, self.wire = server, wire
        self.root = wire.address

    @classmethod
    @contextlib.contextmanager
    def made(cls):
        with running(FileServer()) as server, running(Wire(server.server_port)) as wire:
            yield cls(server, wire)

    def put(self, name, content):
        self.server.files[name] = content
        return f"{self.root}/{name}"


class Memory(Place):
    """The memory of fsspec in this process."""

    def __init__(self):
        self.root = f"memory://{uuid.uuid4().hex[:12]}"

    def put(self, name, content):
        import fsspec

        fsspec.filesystem("memory").pipe_file(f"{self.root}/{name}", content)
        return f"{self.root}/{name}"


@contextlib.contextmanager
def running_s3():
    """Run an S3 server; gives a way to put files, and a wire to read them, which all tests share: making them is slow.

    Tests are left out where libraries are missing.
    """
    s3fs = pytest.importorskip("s3fs", reason="addresses of object stores need s3fs")
    pytest.importorskip("flask", reason="the S3 server of these tests needs flask")
    server = pytest.importorskip("moto.server", reason="the S3 server of these tests is moto's")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    s3 = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    port = s3.get_host_and_port()[1]
    try:
        with pytest.MonkeyPatch.context() as patch, running(Wire(port)) as wire:
            for name, value in CREDENTIALS.items():
                patch.setenv(name, value)
            patch.delenv("AWS_PROFILE", raising=False)
            patch.setattr(s3fs.S3FileSystem, "retries", 1)  # our attempts are tested, not those
            yield s3fs.S3FileSystem(**options_for(f"http://127.0.0.1:{port}")), wire
    finally:
        s3.stop()
