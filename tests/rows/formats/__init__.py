"""Writers of every file format, and checks of the rows that are read back."""

import io
import json

import h5py
import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import zarr
from pyarrow import feather, parquet

N_COLUMNS = 5


def table(X):
    return pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])})


def write_arrow(path, X, opened=pa.ipc.new_file):
    with opened(str(path), table(X).schema) as writer:
        writer.write_table(table(X), max_chunksize=13)


def write_h5(path, X, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("vectors", data=X, **options)
        file.create_dataset("labels", data=np.zeros(len(X)))
        file.create_dataset("names", data=[[b"a"]])


def write_zarr(path, X, chunks=(13, 2), **options):
    array = zarr.create_array(path, shape=X.shape, chunks=chunks, dtype=X.dtype, **options)
    array[:] = X


def write_zarr_group(path, X):
    group = zarr.open_group(path, mode="w")
    group.create_array("vectors", data=X)
    group.create_array("labels", data=X[:, 0])


def write_text(path, X, delimiter=",", header=""):
    np.savetxt(path, X, delimiter=delimiter, header=header, comments="", fmt="%.17g")


def write_svm(path, X, base=1):
    rows = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row, base)) for row in X.tolist())
    path.write_text("".join(f"1 {row} # note\n" for row in rows))


def write_json_lines(path, X):
    lines = [json.dumps({f"c{j}": value for j, value in enumerate(row)}) for row in X.tolist()]
    path.write_text("\n".join(lines) + "\n")


def compressed(write, compression):
    """A writer that compresses what another writes."""

    def write_compressed(path, X):
        plain = path.with_name("plain" + path.name.removesuffix(path.suffix))
        write(plain, X)
        with pa.output_stream(str(path), compression=compression) as file:
            file.write(plain.read_bytes())
        plain.unlink()

    return write_compressed


def write_h5ad(path, X, sparse=None):
    """The file that anndata 0.12 writes."""
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if sparse is None:
            file["X"] = X
        else:
            write_compressed_matrix(file, "X", getattr(sp, f"{sparse}_array")(X), sparse)
        write_compressed_matrix(file, "layers/doubled", sp.csr_array(2 * X), "csr")
        file["obsm/X_pca"] = X[:, :2]
        for group, columns, n_rows, letter in (
            ("obs", ["kind", "size"], len(X), "c"),
            ("var", [], X.shape[1], "g"),
        ):
            frame = file.create_group(group)
            frame.attrs.update(
                {"_index": "_index", "encoding-type": "dataframe", "encoding-version": "0.2.0"}
            )
            frame.attrs["column-order"] = np.array(columns, dtype=text)
            frame.create_dataset("_index", data=[f"{letter}{i}" for i in range(n_rows)], dtype=text)
        file["obs/size"] = np.arange(len(X)) / 2
        file.create_dataset("obs/kind/categories", data=["a", "b"], dtype=text)
        file["obs/kind/codes"] = np.resize([0, 1, -1], len(X)).astype(np.int8)


def write_compressed_matrix(file, name, matrix, kind):
    group = file.create_group(name)
    group.attrs.update(
        {"encoding-type": f"{kind}_matrix", "encoding-version": "0.1.0", "shape": matrix.shape}
    )
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)


# name -> extension, writer, description. Every writer keeps float64 to the bit.
WRITERS = {
    "npy": (".npy", lambda path, X: np.save(path, X), "npy"),
    "npy, fortran": (".npy", lambda path, X: np.save(path, np.asfortranarray(X)), "npy"),
    "npy, big endian": (".NPY", lambda path, X: path.write_bytes(npy_bytes(X.astype(">f8"))), "npy"),
    "npz": (".npz", lambda path, X: np.savez(path, X), "npz"),
    "npz, fortran": (".npz", lambda path, X: np.savez_compressed(path, np.asfortranarray(X), X[0]), "npz"),
    "npz, compressed": (".npz", lambda path, X: np.savez_compressed(path, X, y=X[:, 0]), "npz"),
    "npz, sparse": (".npz", lambda path, X: sp.save_npz(path, sp.csc_array(X)), "npz, sparse"),
    "csv": (".csv", write_text, "csv"),
    "csv, header": (".csv", lambda path, X: write_text(path, X, header="a,b,c,d,e"), "csv"),
    "tsv": (".tsv", lambda path, X: write_text(path, X, "\t", "a\tb\tc\td\te"), "tsv"),
    "jsonl": (".jsonl", write_json_lines, "jsonl"),
    "ndjson": (".ndjson", write_json_lines, "jsonl"),
    "csv, gzip": (".csv.gz", compressed(write_text, "gzip"), "csv"),
    "csv, zstd": (".csv.zst", compressed(write_text, "zstd"), "csv"),
    "jsonl, gzip": (".jsonl.gz", compressed(write_json_lines, "gzip"), "jsonl"),
    "parquet": (".parquet", lambda path, X: parquet.write_table(table(X), path), "parquet"),
    "parquet, row groups": (
        ".parquet",
        lambda path, X: parquet.write_table(table(X), path, row_group_size=13),
        "parquet",
    ),
    "feather": (".feather", lambda path, X: feather.write_feather(table(X), str(path)), "feather"),
    "feather, chunks": (
        ".feather",
        lambda path, X: feather.write_feather(table(X), str(path), chunksize=13, compression="zstd"),
        "feather",
    ),
    "arrow": (".arrow", write_arrow, "arrow"),
    "arrow stream": (".arrow", lambda path, X: write_arrow(path, X, pa.ipc.new_stream), "arrow"),
    "zarr": (".zarr", write_zarr, "zarr"),
    "zarr, shards": (".zarr", lambda path, X: write_zarr(path, X, shards=(26, 4)), "zarr"),
    "zarr, group": (".zarr", write_zarr_group, "zarr"),
    "zarr, format 2": (".zarr", lambda path, X: write_zarr(path, X, zarr_format=2), "zarr"),
    "h5": (".h5", write_h5, "h5"),
    "h5, chunks": (".hdf5", lambda path, X: write_h5(path, X, chunks=(3, 2), compression="gzip"), "h5"),
    "h5ad": (".h5ad", write_h5ad, "h5ad"),
    "h5ad, csr": (".h5ad", lambda path, X: write_h5ad(path, X, "csr"), "h5ad, sparse"),
    "h5ad, csc": (".h5ad", lambda path, X: write_h5ad(path, X, "csc"), "h5ad, sparse"),
    "svm": (".svm", write_svm, "svm"),
    "svm, from 0": (".libsvm", lambda path, X: write_svm(path, X, base=0), "svm"),
}


def npy_bytes(X):
    buffer = io.BytesIO()
    np.save(buffer, X)
    return buffer.getvalue()


def numbers(n_rows, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, N_COLUMNS)).astype(dtype)


def dense(block):
    return block.toarray() if sp.issparse(block) else block


def assert_same_rows(source, X):
    """All blocks, all rows by number and all at once equal X to the bit."""
    assert source.shape == X.shape
    assert source.dtype == X.dtype
    for rows_per_block in (1, 7, 13, 26, 40, len(X), None):
        starts, blocks = zip(*source.blocks(rows_per_block))
        assert starts == tuple(range(0, len(X), rows_per_block or len(X)))
        assert all(block.shape[0] == rows_per_block for block in blocks[:-1])
        np.testing.assert_array_equal(np.concatenate([dense(block) for block in blocks]), X)
        assert all(block.dtype == X.dtype for block in blocks)
        assert source.is_sparse or all(block.flags.c_contiguous for block in blocks)
    np.testing.assert_array_equal(dense(source.read()), X)
    last = len(X) - 1
    for rows in ([0], [last], [0, 0, 1, 12, 13, 14, last], np.arange(len(X)), [14, 27]):
        np.testing.assert_array_equal(dense(source.take(rows)), X[rows])
