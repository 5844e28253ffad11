"""Remote files: rows equal those of local files, only the needed bytes are fetched, broken connections are retried."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import coterie
from coterie.rows import open_rows
from tests.rows.formats import WRITERS, npy_bytes, numbers, write_zarr
from tests.support.elsewhere import Memory

fsspec = pytest.importorskip("fsspec", reason="addresses need fsspec")

RANGED = [name for name, (ending, _, _) in WRITERS.items() if ending in (".parquet", ".feather", ".zarr")]
RANGED += ["npy", "npy, big endian", "arrow"]
# Zarr lists its chunks; the others are read in ranges.
OF_SERVERS = [("parquet, row groups", "bucket"), ("feather, chunks", "bucket"), ("npy", "web")]
OF_SERVERS += [("zarr, shards", "bucket"), ("zarr, shards", "web")]

# More than a block, which is 16 MiB.
SHARD_BYTES = 20 * 2**20


@pytest.fixture
def memory():
    return Memory()


@pytest.fixture(params=["memory", "bucket", "web"])
def place(request):
    return request.getfixturevalue(request.param)


def opened(place, address, **options):
    return open_rows(address, storage_options=place.options, **options)


def written(name, folder, X):
    extension, write, _ = WRITERS[name]
    path = folder / f"vectors{extension}"
    write(path, X)
    return path


def assert_same_rows(source, X, taken=(0, 12, 12, 19)):
    assert (source.shape, source.dtype) == (X.shape, X.dtype)
    np.testing.assert_array_equal(np.concatenate([block for _, block in source.blocks(17)]), X)
    np.testing.assert_array_equal(source.take(taken), X[list(taken)])


def test_a_web_server_lists_no_arrays(web, tmp_path):
    address = web.put_file(written("zarr, group", tmp_path, numbers(20)))
    with pytest.raises(ValueError, match=rf"^{address} lists no arrays, .* choose one by {address}::name"):
        opened(web, address)


@pytest.mark.parametrize("name", RANGED)
def test_remote_files_have_the_same_rows(name, memory, tmp_path):
    check_format(name, memory, tmp_path)


@pytest.mark.parametrize(("name", "place"), OF_SERVERS, indirect=["place"])
def test_formats_on_servers(name, place, tmp_path):
    check_format(name, place, tmp_path)


def check_format(name, place, folder):
    X = numbers(61)
    path = written(name, folder, X)
    source = opened(place, place.put_file(path))
    assert_same_rows(source, X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source)).read(), X)
    here = open_rows(path)
    assert (source.description, source.is_table, source.column_names) == (
        here.description,
        here.is_table,
        here.column_names,
    )


@pytest.mark.parametrize(
    ("place", "ending"),
    [("bucket", ""), *(("memory", ending) for ending in ("", "/", "/*.parquet", "/part-?.parquet"))],
    indirect=["place"],
)
def test_folders_and_patterns(place, ending):
    X = numbers(90)
    table = pa.table({"v": list(X)})
    for number, (low, high) in {2: (0, 30), 9: (30, 31), 10: (31, 90)}.items():
        sink = pa.BufferOutputStream()
        parquet.write_table(table.slice(low, high - low), sink)
        place.put(f"shards/part-{number}.parquet", sink.getvalue().to_pybytes())
    place.put("shards/_SUCCESS", b"")
    place.put("shards/README.txt", b"about")
    source = opened(place, f"{place.root}/shards{ending}")
    expected = X[:31] if "?" in ending else X
    assert_same_rows(source, expected)
    assert source.description == ("parquet, 2 shards" if "?" in ending else "parquet, 3 shards")


def test_a_name_with_brackets_is_a_name(memory):
    X = numbers(5)
    address = memory.put("vectors[1].npy", npy_bytes(X))
    assert_same_rows(open_rows(address), X, taken=[0, 4])


def test_an_array_of_a_group_is_chosen(place, tmp_path):
    X = numbers(20)
    address = place.put_file(written("zarr, group", tmp_path, X))
    assert_same_rows(opened(place, f"{address}::vectors"), X)
    with pytest.raises(ValueError, match=rf"^{address} has no array 'nothing'\. It has "):
        opened(place, f"{address}::nothing")


def test_metadata_columns_of_remote_files(place):
    X = numbers(50)
    for write, ending in ((parquet.write_table, "parquet"), (feather.write_feather, "feather")):
        sink = pa.BufferOutputStream()
        write(pa.table({"id": [f"r{i}" for i in range(50)], "v": list(X)}), sink)
        source = opened(place, place.put(f"x.{ending}", sink.getvalue().to_pybytes()))
        assert_same_rows(source, X)
        assert source.metadata_columns.read("id")["id"].to_pylist() == [f"r{i}" for i in range(50)]


def wide_table(n_rows=SHARD_BYTES // 1000):
    """A vector of 32 bytes beside a text of 1000 bytes that cannot be compressed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 8)).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 8)
    return X, pa.table({"text": [rng.bytes(1000) for _ in range(n_rows)], "vector": vectors})


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_large_shard_is_not_downloaded_whole(ending, bucket, tmp_path):
    X, table = wide_table()
    path = tmp_path / f"x.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path, row_group_size=5000, compression="none")
    else:
        feather.write_feather(table, str(path), chunksize=5000, compression="uncompressed")
    address = bucket.put_file(path)
    assert path.stat().st_size > 2**24  # a block
    source = opened(bucket, address)
    np.testing.assert_array_equal(source.read(), X)
    # The column, which is read in passes: one, and in a Feather file one more to count the rows.
    assert bucket.wire.n_bytes < 2.5 * X.nbytes + 2**20 < path.stat().st_size / 5


def test_small_columns_are_fetched_together(web):
    """One request brings the columns of a row group that lie side by side."""
    X = np.random.default_rng(0).normal(size=(4000, 40))
    table = pa.table({f"c{i}": X[:, i] for i in range(40)})
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, row_group_size=1000, compression="none")
    source = opened(web, web.put("x.parquet", sink.getvalue().to_pybytes()), exclude=["c7"])
    web.server.requests.clear()
    np.testing.assert_array_equal(source.read(), np.delete(X, 7, axis=1))
    assert len(web.server.requests) == 2 * 4  # before and after the column that is left out
    some = opened(web, f"{web.root}/x.parquet", columns=["c1", "c30:c39"])
    web.server.requests.clear()
    np.testing.assert_array_equal(some.read(), X[:, [1, *range(30, 40)]])
    assert len(web.server.requests) == 2 * 4
    assert web.server.n_bytes < X.nbytes / 2


def test_rows_taken_are_fetched_alone(web):
    X = numbers(200_000)
    np.save(buffer := pa.BufferOutputStream(), X)
    source = opened(web, web.put("x.npy", buffer.getvalue().to_pybytes()))
    web.server.requests.clear()
    np.testing.assert_array_equal(source.take([5, 6, 199_999]), X[[5, 6, 199_999]])
    assert web.server.n_bytes < X.nbytes / 4


def write_in_parts(path, X):
    """Five row groups, batches or chunks."""
    n_rows = len(X) // 5
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".zarr":
        write_zarr(path, X, chunks=(n_rows, X.shape[1]))
    elif path.suffix == ".parquet":
        parquet.write_table(pa.table({"v": list(X)}), path, row_group_size=n_rows)
    else:
        feather.write_feather(pa.table({"v": list(X)}), str(path), chunksize=n_rows)


@pytest.mark.parametrize(
    ("name", "place"),
    [("parquet", "bucket"), ("feather", "bucket"), ("npy", "web"), ("zarr", "bucket"), ("zarr", "web")],
    indirect=["place"],
)
def test_a_connection_that_breaks(name, place, tmp_path, quick_attempts):
    """It breaks in the middle of rows: the fit has the same bits by a further attempt, or ends with one line."""
    X = numbers(5000)
    path = tmp_path / f"vectors.{name}"
    write_in_parts(path, X)
    expected = coterie.KMeans(4, random_state=0).fit(open_rows(path))
    source = opened(place, place.put_file(path))
    place.wire.break_after, place.wire.breaks = 20_000, 3
    model = coterie.KMeans(4, random_state=0).fit(source)
    assert place.wire.n_breaks == 3
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)

    place.wire.break_after, place.wire.breaks = 2000, 10**9
    with pytest.raises(
        ValueError, match=r"^Cannot read \w+://\S+: the connection failed 4 times, at last by: "
    ):
        coterie.KMeans(4, random_state=0).fit(opened(place, f"{place.root}/{path.name}"))
    with pytest.raises(ValueError, match=r"^Cannot read \w+://\S+: the connection failed 4 times") as raised:
        source.read()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("name", "place"), [*OF_SERVERS, ("npy", "memory")], indirect=["place"])
def test_a_file_that_changes_between_passes(name, place, tmp_path):
    X = numbers(61)
    path = written(name, tmp_path, X)
    address = place.put_file(path)
    source = opened(place, address)
    np.testing.assert_array_equal(source.read(), X)
    (tmp_path / "other").mkdir()
    place.put_file(written(name, tmp_path / "other", X + 1), path.name)
    with pytest.raises(ValueError, match=rf"^Cannot read {address}: it has changed since it was opened"):
        source.read()
    with pytest.raises(ValueError, match="it has changed since it was opened"):
        pickle.loads(pickle.dumps(source)).take([3])
    np.testing.assert_array_equal(opened(place, address).read(), X + 1)


@pytest.mark.parametrize("place", ["bucket", "web"], indirect=True)
def test_a_file_that_changes_while_it_is_read(place, tmp_path):
    path = written("npy", tmp_path, numbers(5000))
    address = place.put_file(path)
    blocks = opened(place, address).blocks(100)
    next(blocks)
    np.save(path, numbers(5000) + 1)
    place.put_file(path)
    with pytest.raises(ValueError, match=rf"^Cannot read {address}: it has changed"):
        list(blocks)


def test_remote_formats_without_ranges_are_refused(memory, tmp_path):
    for name in ("csv", "npz", "h5", "svm"):
        address = memory.put_file(written(name, tmp_path, numbers(5)))
        with pytest.raises(
            ValueError, match=rf"^Cannot read {address}: .* Copy it .* \.npy, \.parquet, \.fea"
        ):
            open_rows(address)
    address = memory.put_file(written("npy, fortran", tmp_path, numbers(5)))
    with pytest.raises(ValueError, match=rf"^Cannot read {address}: .*Fortran order.*Copy the file"):
        open_rows(address)
    address = memory.put_file(written("arrow stream", tmp_path, numbers(5)))
    with pytest.raises(ValueError, match=rf"^Cannot read {address}: it is an Arrow stream.*Copy the file"):
        open_rows(address)


@pytest.mark.parametrize("name", ["parquet", "feather", "npy"])
def test_cut_files(name, memory, tmp_path):
    path = written(name, tmp_path, numbers(300))
    address = memory.put("cut" + path.suffix, path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=rf"^Cannot read {address}: "):
        open_rows(address).read()


def test_a_folder_that_is_no_array(place):
    with pytest.raises(ValueError, match=r"^Cannot read .*no\.zarr: there is no array or group of Zarr"):
        opened(place, f"{place.root}/no.zarr")
