"""Commands on rows elsewhere: the same results as here, reports without secrets, one line where it fails."""

import json

import pyarrow as pa
import pytest

from coterie.cli import main
from tests.cli.running import failed

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def vectors(folder, X):
    """A file of ids and vectors, here."""
    parquet.write_table(pa.table({"id": [f"r{i}" for i in range(len(X))], "v": list(X)}), "vectors.parquet")
    return folder / "vectors.parquet"


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def test_every_command_takes_an_address(bucket, vectors, folder, monkeypatch, capsys):
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.wire.address)
    address = bucket.put_file(vectors)
    assert main(["fit", address, "-k", "3", "--out", "there", "-q"]) == 0
    assert main(["fit", str(vectors), "-k", "3", "--out", "here", "-q"]) == 0
    assert (folder / "there/labels.parquet").read_bytes() == (folder / "here/labels.parquet").read_bytes()
    assert summary(folder / "there")["hashes"] == summary(folder / "here")["hashes"]
    assert summary(folder / "there")["input"]["file"] == address
    assert main(["predict", "there/model.coterie", address, "--out", "again.parquet", "-q"]) == 0
    labels = [parquet.read_table(name)["cluster"] for name in ("again.parquet", "here/labels.parquet")]
    assert labels[0] == labels[1]
    # By the address, and by a copy: the numbers are compared.
    assert main(["verify", "there", "-q"]) == 0
    assert main(["verify", "there", str(vectors), "-q"]) == 0
    capsys.readouterr()
    assert main(["info", address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 300

    assert (
        failed(capsys, 1, "fit", f"{bucket.root}/no.parquet", "-k", "3")
        == f"There is no file {bucket.root}/no.parquet"
    )
    parquet.write_table(parquet.read_table("vectors.parquet").slice(1), "vectors.parquet")
    bucket.put_file(vectors)
    assert "does not hold the rows of the fit in there" in failed(capsys, 1, "verify", "there", "-q")
    s3fs.S3FileSystem.clear_instance_cache()


def test_no_file_and_no_line_has_a_signature(web, vectors, folder, capsys):
    address = f"{web.put_file(vectors)}?signature=abcdef"
    assert main(["fit", address, "-k", "3", "--out", "there", "--json"]) == 0
    shown = f"{web.root}/vectors.parquet?..."
    assert json.loads(capsys.readouterr().out)["input"]["file"] == shown
    assert summary(folder / "there")["input"]["file"] == shown
    assert not any(b"abcdef" in path.read_bytes() for path in (folder / "there").iterdir())
    message = failed(capsys, 1, "verify", "there")
    assert message.endswith("without its query, which may be a secret: coterie verify there ADDRESS")
    assert main(["verify", "there", address, "--json"]) == 0
    assert "abcdef" not in capsys.readouterr().out
    assert "abcdef" not in failed(capsys, 2, "fit", address, "-k", "301")


def test_broken_connection_is_one_line(web, vectors, folder, capsys):
    address = web.put_file(vectors)
    web.wire.break_after, web.wire.breaks = 100, 10**9
    message = failed(capsys, 1, "fit", address, "-k", "3", "-q")
    assert message.startswith(f"Cannot read {address}: ")
    assert not (folder / "coterie-out").exists()
