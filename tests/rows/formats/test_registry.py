"""Formats of other packages: registration and invalid declarations."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.cli import main
from coterie.rows import Format, RowSource, as_rows, formats, open_rows, register_format
from tests.rows.formats import assert_same_rows, numbers
from tests.support.elsewhere import Memory

# A package of its own, which knows nothing of Coterie but its public names.
TOY_PACKAGE = '''
import itertools
import numpy as np
from coterie.rows import Format, RowSource

class ToySource(RowSource):
    """A number a line: the number of columns, then row by row."""

    def __init__(self, path):
        with open(path) as file:
            self.n_columns = int(next(file))
            n_rows, rest = divmod(sum(1 for line in file), self.n_columns)
        if rest:
            raise RuntimeError(f"{rest} numbers are too many")
        super().__init__((n_rows, self.n_columns), np.float64, description="toy")
        self.path = path

    def pieces(self, start, stop, rows):
        with open(self.path) as file:
            lines = itertools.islice(file, 1 + start * self.n_columns, 1 + stop * self.n_columns)
            for row in range(start, stop):
                yield np.array([[float(next(lines)) for _ in range(self.n_columns)]])

TOY = Format("toy", (".toy",), ToySource)
NOT_A_FORMAT = "toy"
'''


def write_toy(path, X):
    path.write_text("\n".join([str(X.shape[1]), *map(repr, X.ravel().tolist())]))


def loaded_toy():
    names = {}
    exec(TOY_PACKAGE, names)
    return names["TOY"]


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """The formats that Coterie brings; what a test adds is gone after it."""
    monkeypatch.setattr(formats, "_by_extension", dict(formats._by_extension))
    formats._load_entry_points.cache_clear()
    yield
    formats._load_entry_points.cache_clear()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package with the toy's code and an entry point; returns its folder."""

    def install(entry_point):
        site = tmp_path / "site"
        about = site / "toy_rows-1.0.dist-info"
        about.mkdir(parents=True)
        (site / "toy_rows.py").write_text(TOY_PACKAGE)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-rows\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[coterie.formats]\ntoy = {entry_point}\n")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, "toy_rows", raising=False)
        return site

    return install


def test_built_in_formats():
    assert [known.name for known in formats.formats()][:11] == [
        *("npy", "npz", "csv", "tsv", "jsonl", "parquet", "arrow", "zarr", "hdf5", "h5ad", "svmlight")
    ]
    assert formats.known_extensions().startswith(
        "Known extensions are .npy, .npz, .csv, .tsv, .jsonl, .ndjson, .parquet, .feather, .arrow, .zarr, .h5, .hdf5, "
        ".h5ad, .svm, .libsvm; .csv, .tsv, .jsonl, .ndjson may be followed by .gz or .zst."
    )
    assert formats.format_of("data/X.NPY") is formats.format_of(Path("y.npy"))
    assert formats.format_of("data.npy/x") is None


def test_a_format_from_outside(tmp_path):
    register_format(loaded_toy())
    X = numbers(61)
    write_toy(tmp_path / "x.toy", X)
    assert_same_rows(open_rows(tmp_path / "x.toy"), X)
    assert_same_rows(open_rows(tmp_path / "x.toy").with_dtype(np.float32), X.astype(np.float32))
    folder = tmp_path / "shards"
    folder.mkdir()
    for number, part in zip((1, 2, 10), np.split(X, [30, 31])):
        write_toy(folder / f"part-{number}.toy", part)
    source = open_rows(folder)
    assert_same_rows(source, X)
    assert source.description == "toy, 3 shards"
    model = coterie.KMeans(n_clusters=3, random_state=0)
    np.testing.assert_array_equal(model.fit(source).labels_, model.fit(X).labels_)


def test_errors_of_a_format_from_outside_name_the_file(tmp_path):
    register_format(loaded_toy())
    (tmp_path / "x.toy").write_text("2\n1\n2\n3\n")
    with pytest.raises(ValueError, match=r"^Cannot read .*x\.toy: 1 numbers are too many$"):
        open_rows(tmp_path / "x.toy")
    with pytest.raises(ValueError, match=r"^header has no meaning for .*x\.toy\.$"):
        open_rows(tmp_path / "x.toy", header=True)
    write_toy(tmp_path / "y.toy", np.array([[1.0], [np.nan]]))
    with pytest.raises(ValueError, match=r"^Input X contains NaN\. First bad row: 1 of .*y\.toy\.$"):
        open_rows(tmp_path / "y.toy").read()


@pytest.mark.usefixtures("options_declared_once")
def test_command_line_reads_registered_formats(tmp_path, monkeypatch, capsys):
    register_format(loaded_toy())
    monkeypatch.chdir(tmp_path)
    X = np.concatenate([numbers(30), numbers(30, seed=1) + 10])
    write_toy(Path("x.toy"), X)
    assert main(["fit", "x.toy", "-k", "2", "--out", "out"]) == 0
    expected = coterie.KMeans(n_clusters=2, random_state=0).fit(X).labels_
    np.testing.assert_array_equal(np.load("out/labels.npy"), expected)
    assert json.loads(Path("out/summary.json").read_text())["input"]["source"] == "toy"


def test_entry_points_are_loaded_only_for_unknown_extensions(tmp_path, installed):
    installed("toy_rows:TOY")
    np.save(tmp_path / "x.npy", numbers(3))
    open_rows(tmp_path / "x.npy")
    assert ".toy" not in formats._by_extension
    write_toy(tmp_path / "x.toy", numbers(3))
    assert open_rows(tmp_path / "x.toy").description == "toy"
    assert formats.formats()[-1].name == "toy"


@pytest.mark.parametrize(
    ("entry_point", "reason"),
    [
        ("toy_rows:NOTHING", "AttributeError: .*NOTHING.*"),
        ("no_such_module:TOY", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("toy_rows:NOT_A_FORMAT", "TypeError: A format must be a coterie.rows.Format, got 'toy'."),
    ],
)
def test_a_package_that_fails_is_named(entry_point, reason, tmp_path, installed):
    installed(entry_point)
    folder = tmp_path / "data"
    folder.mkdir()
    write_toy(folder / "x.toy", numbers(3))
    message = rf"\. Known extensions are [^ ]*.*\.zst\. The format toy of toy-rows did not load: {reason}$"
    with pytest.raises(ValueError, match=rf"^Cannot tell the format of .*x\.toy{message}"):
        open_rows(folder / "x.toy")
    with pytest.raises(ValueError, match=rf"has no files of rows{message}"):
        open_rows(folder)
    np.save(folder / "x.npy", numbers(3))  # other files are read all the same
    assert open_rows(folder).shape == (3, 5)


def test_an_extension_belongs_to_one_format():
    register_format(loaded_toy())
    again = Format("toys", (".toy", ".toys"), loaded_toy().open)
    with pytest.raises(ValueError, match=r"^The extension \.toy of toys belongs to toy\.$"):
        register_format(again)
    assert formats.format_of("x.toys") is None
    register_format(formats.format_of("x.toy"))
    with pytest.raises(TypeError, match=r"must be a coterie\.rows\.Format"):
        register_format(again.open)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"extensions": ".toy"}, TypeError, "extensions of toy must be a tuple, got '.toy'"),
        ({"extensions": ("toy",)}, ValueError, "a dot and lower-case letters, got 'toy'"),
        ({"extensions": (".Toy",)}, ValueError, "lower-case letters, got '.Toy'"),
        ({"extensions": (".toy.gz",)}, ValueError, "letters, got '.toy.gz' for toy"),
        ({"options": ["columns"]}, TypeError, "options of toy must be a tuple"),
        ({"options": ("colums",)}, ValueError, "Unknown option 'colums' of toy. Known are key, columns"),
    ],
)
def test_unfit_records(options, error, message):
    with pytest.raises(error, match=message):
        Format(**{"name": "toy", "extensions": (".toy",), "open": RowSource, **options})


def test_a_missing_library_is_named(tmp_path):
    (tmp_path / "x.toy").touch()
    for install, shown in ((None, "no_such_library"), ("toy-rows[all]", r"toy-rows\[all\]")):
        toy = Format("toy", (".toy",), RowSource, library="no_such_library.reader", install=install)
        with pytest.raises(
            ImportError, match=rf"^Reading \.toy files needs no_such_library: pip install '{shown}'$"
        ):
            toy.open_all([tmp_path / "x.toy"], {})


def test_options_and_shards_reach_the_format(tmp_path):
    asked = []

    def open_one(path, **options):
        asked.append((path.name, options))
        return coterie.as_rows(numbers(2))

    def open_shards(paths, **options):
        return [open_one(path, **options) for path in reversed(paths)][::-1]

    register_format(
        Format("toy", (".toy",), open_one, ("key", "n_columns"), is_folder=True, open_shards=open_shards)
    )
    (tmp_path / "a.toy").mkdir()
    (tmp_path / "b.toy").touch()
    assert open_rows(f"{tmp_path}/a.toy::name").shape == (2, 5)
    assert open_rows(tmp_path, n_columns=5).shape == (4, 5)
    assert asked == [
        ("a.toy", {"key": "name", "n_columns": None}),
        ("b.toy", {"key": None, "n_columns": 5}),
        ("a.toy", {"key": None, "n_columns": 5}),
    ]


def test_registered_format_reads_remote_files():
    """Its reader gets what it may open; without a word of it the error names those that can."""
    pytest.importorskip("fsspec", reason="addresses need fsspec")
    X = numbers(7)
    address = Memory().put("x.raw", X.tobytes())

    def open_raw(path):
        with path.opened() as file:
            assert (path.name, path.suffix, str(path)) == ("x.raw", ".raw", address)
            return as_rows(np.frombuffer(file.read()).reshape(-1, X.shape[1]))

    register_format(Format("raw", (".raw",), open_raw))
    with pytest.raises(ValueError, match=rf"^Cannot read {address}: \.raw files cannot be read in ranges"):
        open_rows(address)
    formats._by_extension.pop(".raw")
    register_format(Format("raw", (".raw",), open_raw, elsewhere=True))
    np.testing.assert_array_equal(open_rows(address).read(), X)
