"""Damaged files of every format: each is valid rows with one thing wrong; `WRONG_FILES` is a part of one table."""

import gzip
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

from tests.cli.wrong_inputs import GOOD

__all__ = ["WRONG_FILES"]

WRONG_FILES = {}

FIT = "fit {name} -k 2"


def note(title, name, write, *said, command=FIT, code=1):
    """Add a case: what is written, the command, what its line must say besides the file's name, the exit code."""
    assert title not in WRONG_FILES, title
    WRONG_FILES[title] = (write, command.format(name=name), (name, *said), code)


# Valid files of each format


def of_frame(write: Callable[..., object]) -> Callable[[Path], object]:
    return lambda path: write(pd.DataFrame(GOOD, columns=list("abc")), path)


def write_zarr(path, X=GOOD, **options):
    import zarr

    array = zarr.create_array(str(path), shape=X.shape, dtype=X.dtype, chunks=(20, *X.shape[1:]), **options)
    array[:] = X


def write_hdf5(path, X=GOOD, **options):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, **options)


def write_svm(path, X=GOOD):
    lines = [" ".join(["1", *(f"{j + 1}:{value:.3f}" for j, value in enumerate(row))]) for row in X]
    path.write_text("\n".join(lines) + "\n")


GOOD_FILES = {
    "npy": lambda path: np.save(path, GOOD),
    "npz": lambda path: np.savez(path, X=GOOD),
    "packed.npz": lambda path: np.savez_compressed(path, X=GOOD),
    "csv": of_frame(lambda frame, path: frame.to_csv(path, index=False)),
    "tsv": of_frame(lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
    "jsonl": of_frame(lambda frame, path: frame.to_json(path, orient="records", lines=True)),
    "parquet": of_frame(lambda frame, path: frame.to_parquet(path)),
    "feather": of_frame(lambda frame, path: feather.write_feather(frame, path, compression="uncompressed")),
    "arrow": of_frame(lambda frame, path: feather.write_feather(frame, path, compression="lz4")),
    "h5": write_hdf5,
    "svm": write_svm,
}
BINARY = ("npy", "npz", "packed.npz", "parquet", "feather", "arrow", "h5")


def damaged(folder, ending, damage):
    path = folder / f"t.{ending}"
    GOOD_FILES[ending](path)
    path.write_bytes(damage(path.read_bytes()))


def flipped(whole: bytes, *positions: int) -> bytes:
    changed = bytearray(whole)
    for position in positions:
        changed[position] ^= 0xFF
    return bytes(changed)


def cut_to(share: float, whole: bytes) -> bytes:
    return whole[: int(len(whole) * share)]


for ending in BINARY:
    name = f"t.{ending}"
    for share in (0.01, 0.25, 0.5, 0.99):
        note(
            f"{name} cut to {share:.0%}", name, partial(damaged, ending=ending, damage=partial(cut_to, share))
        )
    for what, change in {
        "of zeros": lambda whole: bytes(len(whole)),
        "with another magic": lambda whole: b"XXXX" + whole[4:-4] + b"XXXX",
        "that begins in its middle": lambda whole: whole[len(whole) // 2 :],
        "of text": lambda _: b"these are no numbers\n" * 40,
        "compressed by gzip": gzip.compress,
    }.items():
        if (ending, what) != (
            "packed.npz",
            "compressed by gzip",
        ):  # which finds nothing to compress: still an archive
            note(f"{name} {what}", name, partial(damaged, ending=ending, damage=change))

for ending in ("csv", "tsv", "jsonl", "svm"):
    name = f"t.{ending}"
    for what, change in {
        "of zeros": lambda whole: bytes(len(whole)),
        "with a byte that is no text": lambda whole: whole + b"\xff\xfe\xfd\n",
        "compressed by gzip": gzip.compress,
        "of a web page": lambda _: b"<!DOCTYPE html>\n<html><body><p>Not found</p></body></html>\n",
    }.items():
        note(f"{name} {what}", name, partial(damaged, ending=ending, damage=change))

# Links, folders and emptiness, whatever the format


def write_empty(folder, name):
    (folder / name).write_bytes(b"")


def write_folder(folder, name):
    (folder / name).mkdir()


def write_dangling_link(folder, name):
    (folder / name).symlink_to("gone")


def write_circular_link(folder, name):
    (folder / name).symlink_to(name)


for ending in (*GOOD_FILES, "ndjson", "libsvm", "hdf5", "zarr"):
    name = f"t.{ending}"
    if ending not in ("csv", "npy", "parquet"):  # which the other table has
        note(f"{name} that is empty", name, partial(write_empty, name=name))
    note(f"{name} that is a folder without files", name, partial(write_folder, name=name))
    note(f"{name} that links to nothing", name, partial(write_dangling_link, name=name))
for ending in ("npy", "csv", "h5", "zarr"):
    note(f"t.{ending} that links to itself", f"t.{ending}", partial(write_circular_link, name=f"t.{ending}"))

# Another format than the name says


def write_as(folder, ending, name):
    GOOD_FILES[ending](folder / f"good.{ending}")
    (folder / f"good.{ending}").rename(folder / name)


for ending in GOOD_FILES:
    for other in ("npy", "npz", "csv", "jsonl", "parquet", "arrow", "h5", "svm"):
        kin = {ending.split(".")[-1], other}
        if len(kin) == 1 or kin in ({"feather", "arrow"}, {"tsv", "csv"}):
            continue
        name = f"t.{other}"
        note(f"{ending} named {name}", name, partial(write_as, ending=ending, name=name))

# Headers of arrays that declare what is not there


def write_npy(folder, name="t.npy", shape="(60, 3)", dtype="'<f8'", order="False", version=(1, 0), end=b"\n"):
    header = f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}}}".encode().ljust(117) + end
    magic = b"\x93NUMPY" + bytes(version)
    (folder / name).write_bytes(magic + len(header).to_bytes(2, "little") + header + GOOD.tobytes())


for what, options in {
    "one row more than it has": {"shape": "(61, 3)"},
    "a billion rows": {"shape": "(1000000000, 4)"},
    "a billion rows column after column": {"shape": "(1000000000, 4)", "order": "True"},
    "more rows than numbers can count": {"shape": "(99999999999999999999, 3)"},
    "minus one row": {"shape": "(-1, 3)"},
    "minus one row and column": {"shape": "(-60, -3)"},
    "no shape": {"shape": "()"},
    "a shape that is no tuple": {"shape": "60"},
    "a shape of texts": {"shape": "('60', '3')"},
    "no columns": {"shape": "(60, 0)"},
    "half a row": {"shape": "(60.5, 3)"},
    "an unknown type": {"dtype": "'<q9'"},
    "a type that is code": {"dtype": "__import__('os').system('touch ran')"},
    "a type of no bytes": {"dtype": "'V0'"},
    "a longer type": {"dtype": "'<f16'"},
    "an order that is no word of Python": {"order": "maybe"},
    "version 9": {"version": (9, 0)},
    "a header without an end": {"end": b"\xff"},
}.items():
    note(f"t.npy that declares {what}", "t.npy", partial(write_npy, **options))


def write_member(folder, name="t.npz", **options):
    import zipfile

    write_npy(folder, "X.npy", **options)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(folder / "X.npy", "X.npy")
    (folder / "X.npy").unlink()


for what, options in {
    "one row more than it has": {"shape": "(61, 3)"},
    "a billion rows": {"shape": "(1000000000, 4)"},
    "a billion rows column after column": {"shape": "(1000000000, 4)", "order": "True"},
    "minus one row": {"shape": "(-1, 3)"},
    "an unknown type": {"dtype": "'<q9'"},
}.items():
    note(f"t.npz that declares {what}", "t.npz", partial(write_member, **options))

# Numbers that are none, in formats that know their types


def write_parquet(folder, **columns):
    parquet.write_table(pa.table({"a": GOOD[:, 0], **columns}), folder / "t.parquet")


def write_arrow(folder, **columns):
    feather.write_feather(pa.table({"a": GOOD[:, 0], **columns}), folder / "t.arrow")


def with_one(value, dtype=np.float64):
    column = GOOD[:, 1].astype(dtype)
    column[7] = value
    return column


for write, name in ((write_parquet, "t.parquet"), (write_arrow, "t.arrow")):
    for what, (column, said) in {
        "a NaN": (with_one(np.nan), "row: 7"),
        "an infinity": (with_one(np.inf), "row: 7"),
        "minus infinity": (with_one(-np.inf), "row: 7"),
        "texts": (pa.array(["x"] * 60), "'b'"),
        "bytes": (pa.array([b"x"] * 60), "'b'"),
        "durations": (pa.array([1] * 60, pa.duration("s")), "'b'"),
        "times": (pa.array([1] * 60, pa.time64("us")), "'b'"),
        "nulls alone": (pa.nulls(60), "'b'"),
        "maps": (pa.array([{"x": 1.0}] * 60, pa.map_(pa.string(), pa.float64())), "'b'"),
    }.items():
        note(f"{name} with {what}", name, partial(write, b=column), said)


def write_rows_of_hdf5(folder, X, **options):
    write_hdf5(folder / "t.h5", X, **options)


def write_rows_of_zarr(folder, X):
    write_zarr(folder / "t.zarr", X)


for write, name in ((write_rows_of_hdf5, "t.h5"), (write_rows_of_zarr, "t.zarr")):
    for what, X in {
        "a NaN": np.where(np.arange(180).reshape(60, 3) == 22, np.nan, GOOD),
        "complex numbers": GOOD + 1j,
        "one dimension": GOOD[:, 0],
        "three dimensions": GOOD[:, :, None],
    }.items():
        note(f"{name} with {what}", name, partial(write, X=X))
note("t.h5 with texts", "t.h5", partial(write_rows_of_hdf5, X=np.array([[b"a", b"b"]] * 9)))
note("t.h5 without rows", "t.h5", partial(write_rows_of_hdf5, X=GOOD[:0]))


def write_damaged_zarr(folder, change):
    write_zarr(folder / "t.zarr")
    change(folder / "t.zarr")


def edit_metadata(root, **changes):
    path = root / "zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


for what, change in {
    "without metadata": lambda root: (root / "zarr.json").unlink(),
    "with metadata that are no JSON": lambda root: (root / "zarr.json").write_text("{"),
    "of version 9": partial(edit_metadata, zarr_format=9),
    "of an unknown type": partial(edit_metadata, data_type="float99"),
    "of minus one row": partial(edit_metadata, shape=[-1, 3]),
    "with a shape of texts": partial(edit_metadata, shape=["a", "b"]),
    "with an unknown compressor": partial(edit_metadata, codecs=[{"name": "magic"}]),
    "with a chunk cut": lambda root: os.truncate(root / "c/0/0", 20),
}.items():
    note(f"t.zarr {what}", "t.zarr", partial(write_damaged_zarr, change=change))

# Text that is no table of numbers


def write_text(folder, name, text):
    (folder / name).write_text(text)


ROWS_OF_JSON = '{"a": 1.5, "b": 2}\n{"a": 3, "b": 4}\n'

for name, texts in {
    "t.csv": {
        "a quote that never ends": 'a,b\n1,"2\n3,4\n5,6\n',
        "one long line": "a," * 5_000,
        "a number too large for a float": "a,b\n1,2\n1e999,4\n5,6\n",
        "a word for infinity": "a,b\n1,2\n-inf,4\n5,6\n",
        "more fields in one line": "a,b\n1,2\n3,4,5\n5,6\n",
        "a text in line 4": "a,b\n1,2\n3,4\nx,6\n",
        "one row": "a,b\n1,2\n",
    },
    "t.tsv": {
        "more fields in one line": "a\tb\n1\t2\n3\t4\t5\n5\t6\n",
    },
    "t.jsonl": {
        "a line cut": ROWS_OF_JSON + '{"a": 5, "b',
        "a list": ROWS_OF_JSON + "[1, 2]\n",
        "a number alone": "7\n8\n",
        "a text among numbers": ROWS_OF_JSON + '{"a": "x", "b": 3}\n',
        "one array of all": "[" + ROWS_OF_JSON.strip().replace("\n", ",\n") + "]",
        "a number that JSON does not have": ROWS_OF_JSON + '{"a": NaN, "b": 3}\n',
        "a field that is missing": ROWS_OF_JSON + '{"a": 1}\n',
        "texts alone": '{"a": "x"}\n{"a": "y"}\n',
        "objects in objects": '{"a": {"b": 1}}\n{"a": {"b": 2}}\n',
        "ragged vectors": '{"v": [1, 2]}\n{"v": [1, 2]}\n{"v": [1]}\n',
        "empty objects": "{}\n{}\n{}\n",
    },
    "t.svm": {
        "a text": "1 1:2.5\n1 a:b\n",
        "an index that is negative": "1 1:2.5\n1 -3:1\n",
        "an index without a value": "1 1:2.5\n1 3\n1 2:\n",
        "indices that fall": "1 3:2.5 1:1\n1 2:1\n",
        "an index too large to count": "1 1:2.5\n1 99999999999999999999:1\n",
        "a NaN": "1 1:2.5\n1 1:nan\n1 2:1\n",
        "an infinity": "1 1:2.5\n1 1:inf\n1 2:1\n",
        "labels alone": "1\n1\n1\n",
    },
}.items():
    for what, text in texts.items():
        code = 2 if what == "one row" else 1
        note(f"{name} with {what}", name, partial(write_text, name=name, text=text), code=code)

# Shards of which one is wrong


def write_shards(folder, last):
    (folder / "shards").mkdir()
    for number in range(3):
        np.save(folder / f"shards/{number}.npy", GOOD)
    last(folder / "shards/2.npy")


def save_nan(path):
    np.save(path, np.where(GOOD[3, 1] == GOOD, np.nan, GOOD))


for what, last in {
    "cut": lambda path: os.truncate(path, 300),
    "empty": lambda path: os.truncate(path, 0),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link to nothing": lambda path: (path.unlink(), path.symlink_to("gone")),
    "of other columns": lambda path: np.save(path, GOOD[:, :2]),
    "of texts": lambda path: np.save(path, GOOD.astype(str)),
}.items():
    note(f"shards of which one is {what}", "shards", partial(write_shards, last=last), "2.npy")
note("shards of which one has a NaN", "shards", partial(write_shards, last=save_nan), "row: 123")
