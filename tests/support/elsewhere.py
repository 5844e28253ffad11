"""Places for files that are not on this machine: a bucket of an S3 server, a web server, fsspec's memory."""

import contextlib
import logging
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

# What s3fs reads, so that nothing of the machine's own configuration is used.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "a-word-that-nobody-sees",
    "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}  # fmt: skip


class Place:
    """Somewhere for files: its address, to which names are added, and storage options for it."""

    root = ""
    options = None

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


class Memory(Place):
    """The memory of fsspec in this process."""

    def __init__(self):
        self.root = f"memory://{uuid.uuid4().hex[:12]}"

    def put(self, name, content):
        import fsspec

        fsspec.filesystem("memory").pipe_file(f"{self.root}/{name}", content)
        return f"{self.root}/{name}"


class WebServer(ThreadingHTTPServer, Place):
    """A web server of files in memory; it refuses all requests with a status, or breaks off after some bytes."""

    daemon_threads = True

    def __init__(self, refuses=None, breaks_after=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files, self.refuses, self.breaks_after = {}, refuses, breaks_after
        self.root = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Say nothing: who asked may hang up."""

    def put(self, name, content):
        self.files[name] = content
        return f"{self.root}/{name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        content = self.server.files.get(self.path.partition("?")[0].lstrip("/"))
        if self.server.refuses or content is None:
            self.send_error(self.server.refuses or 404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[: self.server.breaks_after])
            self.close_connection = self.server.breaks_after is not None


@contextlib.contextmanager
def running(server):
    """Run a server in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class S3Bucket(Place):
    """A new bucket of an S3 server, by the file system of that server."""

    def __init__(self, files):
        self.root, self.options = f"s3://bucket-{uuid.uuid4().hex[:12]}", files.storage_options
        self._files = files
        self._files.mkdir(self.root)

    def put(self, name, content):
        self._files.pipe_file(f"{self.root}/{name}", content)
        return f"{self.root}/{name}"


@contextlib.contextmanager
def running_s3():
    """Run an S3 server; gives a way to put files. All tests share it: making one is slow."""
    s3fs = pytest.importorskip("s3fs", reason="addresses of object stores need s3fs")
    pytest.importorskip("flask", reason="the S3 server of these tests needs flask")
    server = pytest.importorskip("moto.server", reason="the S3 server of these tests is moto's")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    s3 = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in CREDENTIALS.items():
                patch.setenv(name, value)
            patch.delenv("AWS_PROFILE", raising=False)
            patch.setattr(s3fs.S3FileSystem, "retries", 1)
            yield s3fs.S3FileSystem(
                key=CREDENTIALS["AWS_ACCESS_KEY_ID"], secret=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
                endpoint_url=f"http://127.0.0.1:{s3.get_host_and_port()[1]}",
            )  # fmt: skip
    finally:
        s3.stop()
