"""Models are saved and loaded; truncated, foreign and newer files are errors."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import coterie
from coterie import persistence


@persistence.persistable
class Partition(persistence.Persistable, BaseEstimator):
    """A stand-in with every kind of attribute that a fitted model may have."""

    def __init__(self, *, n_clusters=3, init="random", callback=None, random_state=None):
        self.n_clusters = n_clusters
        self.init = init
        self.callback = callback
        self.random_state = random_state

    def fit(self, X):
        self.centers_ = np.asarray(X, dtype=np.float32)
        self.labels_ = np.arange(len(X), dtype=np.int32)
        self.inertia_ = 0.1 + 0.2
        self.score_ = np.float32(0.3)
        self.n_iter_ = 7
        self.feature_names_in_ = np.array(["a", "b"], dtype=object)
        self.graph_ = sp.csr_matrix(np.eye(3))
        self.weights_ = sp.csr_array(np.eye(3))
        self.sizes_ = [1, (2.5, None), {"x": True}]
        self.history_ = np.array(
            [(1, 0.5), (2, 0.25)], dtype=[("iteration", "i8"), ("objective", "f8")]
        ).view(np.recarray)
        return self


@pytest.fixture
def model():
    return Partition(n_clusters=2, init=np.eye(2), random_state=np.random.RandomState(5)).fit(np.eye(2))


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "model.coterie")
    return tmp_path / "model.coterie"


def same(left, right):
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    elif sp.issparse(left):
        assert (left != right).nnz == 0
    elif isinstance(left, np.random.RandomState):
        same(left.get_state()[1], right.get_state()[1])
    else:
        assert left == right


def test_roundtrip_keeps_values_types_and_bits(model, path):
    loaded = coterie.persistence.load(path)
    assert type(loaded) is Partition
    assert list(vars(loaded)) == list(vars(model))
    for name, value in vars(model).items():
        same(getattr(loaded, name), value)


def test_unfitted_model_and_memory_map(tmp_path):
    persistence.save(Partition(n_clusters=9), str(tmp_path / "a.coterie"))
    assert persistence.load(str(tmp_path / "a.coterie")).get_params() == Partition(n_clusters=9).get_params()
    model = Partition()
    model.labels_ = np.memmap(tmp_path / "labels", dtype=np.int32, mode="w+", shape=4)
    model.save(tmp_path / "b.coterie")
    assert type(persistence.load(tmp_path / "b.coterie").labels_) is np.ndarray


def test_metadata_and_header(model, tmp_path):
    path = tmp_path / "model.coterie"
    persistence.save(model, path, metadata={"normalize": True, "columns": ["a", "b"]})
    header = persistence.read_header(path)
    assert header.estimator == "Partition"
    assert header.format_version == persistence.FORMAT_VERSION
    assert header.metadata == {"normalize": True, "columns": ["a", "b"]}


def test_files_of_older_versions_say_beside_the_model_how_rows_were_prepared(model, tmp_path):
    path = tmp_path / "model.coterie"
    for metadata, steps in (
        ({"normalize": True, "columns": ["a", "b"]}, (("columns", ["a", "b"]), ("normalize",))),
        ({"normalize": True, "columns": None}, (("normalize",),)),
    ):
        persistence.save(model, path, metadata=metadata)
        assert persistence.load(path).preparation_ == steps
    persistence.save(model, path, metadata={"normalize": False, "columns": None})
    assert not hasattr(persistence.load(path), "preparation_")
    model.preparation_ = (("normalize",),)
    persistence.save(model, path, metadata={"normalize": True, "columns": ["a"]})
    assert persistence.load(path).preparation_ == model.preparation_


def test_functions_are_left_out_with_a_warning(tmp_path):
    model = Partition(n_clusters=4, init=np.add, callback=print)
    with pytest.warns(UserWarning, match="callback, init will have the default"):
        model.save(tmp_path / "m.coterie")
    loaded = persistence.load(tmp_path / "m.coterie")
    assert loaded.get_params() == Partition(n_clusters=4).get_params()


def test_pickle_and_joblib(model, tmp_path):
    import joblib

    joblib.dump(model, tmp_path / "model.joblib")
    for loaded in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        for name, value in vars(model).items():
            same(getattr(loaded, name), value)


def test_k_means_survives_every_way(tmp_path):
    import joblib

    X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    model = coterie.KMeans(n_clusters=7, random_state=1, max_iter=20).fit(X)
    model.save(tmp_path / "model.coterie")
    joblib.dump(model, tmp_path / "model.joblib")
    for loaded in (
        coterie.load(tmp_path / "model.coterie"),
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
    ):
        assert loaded.get_params() == model.get_params()
        for name, value in vars(model).items():
            same(getattr(loaded, name), value)
        assert np.array_equal(loaded.predict(X), model.labels_)
        assert loaded.history_.objective[-1] == model.history_.objective[-1]


def test_scikit_learn_callbacks_are_not_saved(tmp_path):
    callback = pytest.importorskip("sklearn.callback")
    X = np.arange(20.0).reshape(10, 2)
    model = coterie.KMeans(n_clusters=2, random_state=0).fit(X).set_callbacks(callback.ProgressBar())
    model.save(tmp_path / "model.coterie")
    assert np.array_equal(coterie.load(tmp_path / "model.coterie").labels_, model.labels_)


def test_saving_replaces_or_leaves_nothing(model, path, monkeypatch):
    before = path.read_bytes()
    assert [p.name for p in path.parent.iterdir()] == ["model.coterie"]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model.coterie"]


def test_folder_that_does_not_exist(model, tmp_path):
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "no" / "model.coterie")
    with pytest.raises(FileNotFoundError):
        persistence.load(tmp_path / "nothing.coterie")


def test_only_own_estimators_are_saved(tmp_path):
    from sklearn.cluster import KMeans

    class Partition(persistence.Persistable, BaseEstimator):
        """Bears a known name, but is another class."""

    for foreign in (KMeans(), Partition(), {"labels_": 1}):
        with pytest.raises(TypeError, match="Only coterie's own estimators"):
            persistence.save(foreign, tmp_path / "m.coterie")
    assert not list(tmp_path.iterdir())


def test_subclasses_are_not_registered_with_their_class(tmp_path):
    class Better(coterie.KMeans):
        """Of a user."""

    with pytest.raises(TypeError, match="Only coterie's own estimators"):
        Better().save(tmp_path / "m.coterie")


def test_one_class_a_name():
    assert persistence.persistable(Partition) is Partition
    with pytest.raises(ValueError, match=r"KMeans has the same name as coterie\.kmeans\.exact\.KMeans"):
        persistence.persistable(type("KMeans", (BaseEstimator,), {}))


def test_unsupported_content_of_a_file_is_named(model, tmp_path):
    model.strange_ = [io.StringIO()]
    with pytest.raises(TypeError, match=r"Partition cannot be saved: strange_ holds a _io\.StringIO"):
        model.save(tmp_path / "m.coterie")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.9, -1])
def test_truncated_file(path, kept):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match=r"model\.coterie is (not a coterie model|damaged)"):
        persistence.load(path)


@pytest.mark.parametrize("content", [b"hello", b"PK\x03\x04 not really", b"\x93NUMPY\x01\x00"])
def test_other_files(tmp_path, content):
    path = tmp_path / "other.coterie"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a coterie model"):
        persistence.load(path)


def test_folder_and_other_archives(tmp_path):
    np.savez(tmp_path / "arrays.npz", X=np.eye(2))
    with pytest.raises(ValueError, match="is not a coterie model"):
        persistence.load(tmp_path / "arrays.npz")
    with pytest.raises(IsADirectoryError):
        persistence.load(tmp_path)


def test_flipped_bytes_are_found(model, path):
    """Wherever a byte changes, the file is refused or the model is the same."""
    content = path.read_bytes()
    for position in range(0, len(content), 41):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            loaded = persistence.load(path)
        except ValueError:
            continue
        same(loaded.centers_, model.centers_)
        same(loaded.labels_, model.labels_)


def rewrite(path, member, change):
    """The same archive with one JSON member changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    tree = json.loads(members[member])
    change(tree)
    members[member] = json.dumps(tree)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_future_format_is_refused_before_the_rest_is_read(path):
    rewrite(path, "coterie.json", lambda header: header.update(format=99, coterie="7.0"))
    rewrite(path, "schema.json", lambda tree: tree.clear())
    with pytest.raises(ValueError, match=r"format version 99, written by coterie 7\.0.*please update"):
        persistence.load(path)


def test_unknown_estimator(path):
    for name in ("Sorcery", "persistence", "load", "__loader__", "os.system"):
        rewrite(path, "coterie.json", lambda header, name=name: header.update(estimator=name))
        with pytest.raises(ValueError, match="that this coterie does not know"):
            persistence.load(path)


def test_parameter_that_this_version_lacks(path):
    def add(tree):
        parameters = tree["content"]["parameters"]
        parameters["content"]["speed"] = parameters["content"]["n_clusters"]
        parameters["key_types"]["content"].append(parameters["key_types"]["content"][0])

    rewrite(path, "schema.json", add)
    with pytest.raises(ValueError, match="Partition has no parameter speed"):
        persistence.load(path)


@pytest.mark.parametrize(
    ("loader", "module", "name"),
    [
        ("FunctionNode", "os", "system"),
        ("ObjectNode", "subprocess", "Popen"),
        ("TypeNode", "builtins", "eval"),
        ("FunctionNode", "numpy", "add"),  # harmless, and yet no part of a model
        ("ObjectNode", "coterie.persistence", "Persistable"),
    ],
)
def test_code_in_a_file_is_refused(path, loader, module, name):
    def poison(tree):
        tree["content"]["fitted"]["content"]["inertia_"] = {
            "__class__": name,
            "__module__": module,
            "__loader__": loader,
            "__id__": 1,
        }

    rewrite(path, "schema.json", poison)
    with pytest.raises(ValueError, match=r"holds types that a coterie model does not|holds a |damaged"):
        persistence.load(path)


def test_state_of_another_shape_is_refused(path):
    rewrite(path, "schema.json", lambda tree: tree["content"].pop("records"))
    with pytest.raises(ValueError, match=r"is (not a coterie model|damaged)"):
        persistence.load(path)


def test_missing_skops(model, path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    for call in (lambda: model.save(path), lambda: persistence.load(path)):
        with pytest.raises(ImportError, match=r"coterie\[io\]"):
            call()
    assert persistence.read_header(path).estimator == "Partition"
