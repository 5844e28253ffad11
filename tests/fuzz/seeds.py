"""Writes the corpus: small valid inputs of every kind, from which mutations begin.

``python -m tests.fuzz.seeds`` writes those that are missing. Inputs that were findings are added by hand, as
``found-....KIND``, and stay.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import coterie
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).with_name("corpus")

COMMANDS = """
fit rows.npy -k 3
fit rows.csv -k 2 --method nested --columns a,b --exclude c --seed 7 --threads 2 --out folder --json
fit - -k 4 --quiet -p max_iter=10 --max-time 1.5
fit t.parquet -k 3 --missing median --scale robust --categories auto --category-limit 5 --handle-unknown ignore
fit t.csv -k 2 --sep ; --decimal , --id who --keep 'a,b*' --outliers 1%
fit t.npy -k 3 --method gmm -p covariance_type=diag -p n_neighbors=4 -p coreset_size=100
fit t.npy -k 3 --method laplacian-kmodes -p graph_weight=0.5
fit t.npy -k 3 --method total-variation --labels known.csv --steps paper --balance-weight 2
fit t.npy -k 3 -p metric=cosine -p zero_rows=ignore -p init=afk-mc2 -p tol=1e-4
predict m.coterie rows.csv --out labels.csv --exclude 0:3 --outliers 0.01 --threads 1
path t.csv -k 3 -p n_gammas=20 -p solver=ama
verify folder rows.npy --threads 2 --json
info m.coterie --json
demo --out folder -q
--help
fit --help
--version
"""


def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(12, 3)).round(2)


def binary_seeds() -> Iterator[tuple[str, bytes]]:
    X = rows()
    for name, array in {
        "doubles": X,
        "floats": X.astype(np.float32),
        "fortran": np.asfortranarray(X),
        "big-endian": X.astype(">f8"),
        "bytes": X.astype(np.uint8),
        "one-dimension": X[:, 0],
        "objects": np.array([[None, 1]]),
    }.items():
        content = _bytes(lambda file, array=array: np.save(file, array, allow_pickle=True))
        yield f"{name}.npy", content
        yield f"{name}.member", content
    yield "stored.npz", _bytes(lambda file: np.savez(file, X=X))
    yield "compressed.npz", _bytes(lambda file: np.savez_compressed(file, X=X, y=X[:, 0]))
    yield "sparse.npz", _bytes(lambda file: sp.save_npz(file, sp.csr_array(X)))
    yield from _table_seeds(X)
    yield "two.h5", _hdf5(X, chunks=None, compression=None)
    yield "chunks.h5", _hdf5(X, chunks=(4, 3), compression="gzip")


def _table_seeds(X: np.ndarray) -> Iterator[tuple[str, bytes]]:
    import pyarrow as pa
    from pyarrow import feather, parquet

    tables = {
        "numbers": pa.table({name: X[:, i] for i, name in enumerate("abc")}),
        "mixed": pa.table({"id": list(range(12)), "word": ["x", "y"] * 6, "a": X[:, 0]}),
        "vectors": pa.table({"v": pa.FixedSizeListArray.from_arrays(X.ravel(), 3)}),
        "lists": pa.table({"v": pa.array(X.tolist(), pa.list_(pa.float32()))}),
    }
    for name, table in tables.items():
        for compression in ("none", "snappy"):
            options = {"compression": compression, "store_schema": False}
            yield (
                f"{name}-{compression}.parquet",
                _bytes(lambda file, t=table, o=options: parquet.write_table(t, file, **o)),
            )
        yield (
            f"{name}.feather",
            _bytes(lambda file, t=table: feather.write_feather(t, file, compression="uncompressed")),
        )
        yield f"{name}.arrow", _bytes(lambda file, t=table: feather.write_feather(t, file, compression="lz4"))


def _hdf5(X: np.ndarray, **options: object) -> bytes:
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset("X", data=X, **options)
        file.create_dataset("y", data=X[:, 0])
    return buffer.getvalue()


def text_seeds() -> Iterator[tuple[str, bytes]]:
    yield "header.csv", b"a,b,c\n1,2,3\n4.5,-1e3,0\n7,8,9\n"
    yield "bare.csv", b"1,2\n3,4\n5,6\n"
    yield "quoted.csv", b'"a ""x""","b\n c"\r\n1,"2"\r\n3,4\r\n'
    yield "semicolons.csv", b"a;b\n1,5;2,5\n3,0;4,25\n"
    yield "words.csv", b"name,a,b\nfrog,1,2\ntoad,,4\nnewt,NA,6\n"
    yield "wide.csv", "\ufeffa\tb\n1\t2\n3\t4\n".encode("utf-16")
    yield "tabs.tsv", b"a\tb\n1\t2\n3\t4\n"
    yield "numbers.jsonl", b'{"a": 1, "b": 2.5}\n{"a": 3, "b": -4}\n\n{"a": 5, "b": 6}\n'
    yield "vectors.jsonl", b'{"id": "x", "v": [1, 2.5]}\n{"id": "y", "v": [3, 4]}\n'
    yield "few.svm", b"1 1:2.5 3:1\n-1 2:1 # note\n1 1:1\n"
    yield "zero-based.svm", b"1 qid:3 0:2 2:1\n0 1:4\n"
    yield from _zarr_seeds()


def _zarr_seeds() -> Iterator[tuple[str, bytes]]:
    import zarr

    for version, name in ((2, ".zarray"), (3, "zarr.json")):
        with tempfile.TemporaryDirectory() as folder:
            zarr.create_array(
                f"{folder}/t.zarr",
                shape=(4, 2),
                chunks=(4, 2),
                dtype="f8",
                zarr_format=version,
                compressors=None,
            )
            yield f"array.{'zarray' if version == 2 else 'zarr'}", Path(folder, "t.zarr", name).read_bytes()


def model_seeds() -> Iterator[tuple[str, bytes]]:
    X = [[0.0, 1.0], [1.0, 1.0], [9.0, 0.0], [8.0, 1.0]]
    models = {
        "k-means": coterie.KMeans(2, random_state=0, n_init=1),
        "mini-batch": coterie.MiniBatchKMeans(2, random_state=0, max_iter=2),
        "nested": coterie.NestedMiniBatchKMeans(2, random_state=0),
        "mixture": coterie.TruncatedGaussianMixture(2, random_state=0, max_iter=3),
    }
    for name, model in models.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "m.coterie")
            model.fit(X).save(path)
            yield f"{name}.coterie", path.read_bytes()
            with zipfile.ZipFile(path) as archive:
                yield f"{name}.header", _indented(archive.read("coterie.json"))
                if name == "k-means":
                    array = next(member for member in archive.namelist() if member.endswith(".npy"))
                    yield f"{name}.array", archive.read(array)


def _indented(content: bytes) -> bytes:
    return json.dumps(json.loads(content), indent=1).encode()


def command_seeds() -> Iterator[tuple[str, bytes]]:
    for line in COMMANDS.strip().splitlines():
        words = line.split()
        dashes = "-".join(word.strip("-'") for word in words[:4])
        yield f"{dashes.replace('.', '-')}-{len(words)}.words", line.encode()


def _bytes(write: object) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


SEEDS = {"binary": binary_seeds, "text": text_seeds, "models": model_seeds, "commands": command_seeds}


def main() -> None:
    for target, seeds in SEEDS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            assert name.rpartition(".")[2] in TARGETS[target].kinds, name
            if not (folder / name).exists():
                (folder / name).write_bytes(content)
    n_bytes = sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file())
    print(f"{CORPUS.relative_to(os.getcwd())}: {n_bytes:,} bytes")


if __name__ == "__main__":
    main()
