"""Servers on the loopback that hold files: web servers that give ranges or not, and a wire that counts and breaks."""

import contextlib
import hashlib
import re
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """A web server of files in memory; it notes what was asked for.

    Parameters
    ----------
    gives_ranges : bool
        Whether it gives parts of files.
    gives_tags : bool
        Whether it says an ETag of each file.
    refuses : int or None
        A status with which all requests end.
    """

    daemon_threads = True

    def __init__(self, gives_ranges=True, gives_tags=True, refuses=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {}
        self.requests = []
        self.gives_ranges, self.gives_tags, self.refuses = gives_ranges, gives_tags, refuses

    def handle_error(self, request, client_address):
        """Say nothing: who asked may hang up."""

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def n_bytes(self):
        """Bytes of files that were sent."""
        return sum(n_bytes for _, _, n_bytes in self.requests)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._answer(with_body=False)

    def do_GET(self):
        self._answer(with_body=True)

    def _answer(self, with_body):
        name = self.path.partition("?")[0].lstrip("/")
        content = self.server.files.get(name)
        if self.server.refuses or content is None:
            self.send_error(self.server.refuses or 404)
            return
        low, high = 0, len(content)
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        is_part = asked is not None and self.server.gives_ranges
        if is_part:
            low = int(asked[1] or max(0, high - int(asked[2])))
            high = min(int(asked[2]) + 1, high) if asked[1] and asked[2] else high
        self.send_response(206 if is_part else 200)
        if is_part:
            self.send_header("Content-Range", f"bytes {low}-{high - 1}/{len(content)}")
        if self.server.gives_tags:
            self.send_header("ETag", f'"{hashlib.md5(content).hexdigest()}"')
        self.send_header("Content-Length", str(high - low))
        self.end_headers()
        if with_body:
            self.server.requests.append((name, (low, high), high - low))
            with contextlib.suppress(OSError):  # who asked may be content with less
                self.wfile.write(content[low:high])


class Wire(socketserver.ThreadingTCPServer):
    """Passes bytes on to a server, counts those that come back, and breaks connections.

    Parameters
    ----------
    port : int
        The server's.

    Attributes
    ----------
    n_bytes, n_breaks : int
        Bytes that came from the server, connections that were broken.
    break_after, breaks : int
        Each connection on which so many bytes came is broken, so many times.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), _Passing)
        self.target = ("127.0.0.1", port)
        self.lock = threading.Lock()
        self.start_anew()

    def start_anew(self):
        """Forget what was counted, and break nothing."""
        self.n_bytes = self.n_breaks = self.breaks = 0
        self.break_after = 1 << 62

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def breaks_now(self, n_bytes):
        """Count a break if there is to be one on a connection on which so many bytes came."""
        with self.lock:
            is_due = self.breaks > 0 and n_bytes >= self.break_after
            self.breaks -= is_due
            self.n_breaks += is_due
            return is_due


class _Passing(socketserver.BaseRequestHandler):
    def handle(self):
        with socket.create_connection(self.server.target) as there:
            threading.Thread(target=_pass, args=(self.request, there), daemon=True).start()
            came = 0
            with contextlib.suppress(OSError):
                while part := there.recv(2**14):
                    came += len(part)
                    if self.server.breaks_now(came):
                        part = part[: len(part) // 2]
                        self.request.sendall(part)
                        break
                    with self.server.lock:
                        self.server.n_bytes += len(part)
                    self.request.sendall(part)
            for end in (there, self.request):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)


def _pass(source, target):
    with contextlib.suppress(OSError):
        while part := source.recv(2**16):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


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
