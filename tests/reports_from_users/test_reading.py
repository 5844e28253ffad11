"""Files and servers whose parts do not fit together.

Sources: https://github.com/fsspec/filesystem_spec/issues/1140 (a range request gets other bytes, and these are used),
https://github.com/pola-rs/polars/issues/4393 (a small Parquet file of repeated values takes far more memory).
"""

import io
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from coterie import KMeans, open_rows
from tests.support.bits import same_bits


def test_a_server_that_answers_other_ranges():
    pytest.importorskip("aiohttp", reason="addresses of web servers need aiohttp")
    X = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    buffer = io.BytesIO()
    np.save(buffer, X)
    content = buffer.getvalue()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            low, high = (int(asked[1]), int(asked[2]) + 1) if asked else (0, len(content))
            part = content[max(low - 8, 0) : high - 8] if low else content[low:high]
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(part)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        same_bits(open_rows(f"http://127.0.0.1:{server.server_port}/x.npy").read(), X)
    finally:
        server.shutdown()
        server.server_close()


def test_a_small_file_of_many_equal_rows_goes_to_disk(tmp_path, monkeypatch):
    """What takes more than a quarter of the free memory is mapped from a temporary file."""
    monkeypatch.setattr("coterie.rows.landing._SMALL_BYTES", 0)
    monkeypatch.setattr("coterie.rows.landing.available_memory", lambda: 1e6)
    X = np.zeros((200_000, 2), dtype=np.float32)
    X[100_000:] = 1
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1]})
    parquet.write_table(table, tmp_path / "x.parquet", compression="zstd")
    assert (tmp_path / "x.parquet").stat().st_size < 20_000
    rows = open_rows(tmp_path / "x.parquet")
    assert isinstance(rows.read().base, np.memmap)
    same_bits(rows.read(), X)
    same_bits(KMeans(2, random_state=0).fit(rows).labels_, KMeans(2, random_state=0).fit(X).labels_)
