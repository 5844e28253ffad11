"""Models of strangers: whatever is changed in a file, `load` says in one line what is wrong, or the model works."""

import json
import random
import re
import types
import zipfile

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import coterie
from coterie import persistence
from coterie.estimators.outliers import OutlierScoring
from tests.support.bits import same_bits
from tests.support.errors import tried
from tests.support.model_files import state_of, write_model

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 3)) + 6 * RNG.integers(3, size=(25, 1))
AFFINITIES = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))

GONE = object()  # what is left out of a file

# Changes that are drawn of each attribute and parameter of a model; the models have most of them in common.
N_CHANGES = 6


def prepared():
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "place": np.resize(["x", "y"], 25), "c": X[:, 2]})
    rows = coterie.prepare_rows(table, missing="mean", scale="standard", categories=["place"], normalize=True)
    return coterie.KMeans(3, random_state=0).fit(rows), table


def case(rows, estimator, **parameters):
    return lambda: (estimator(n_threads=1, **parameters).fit(rows), rows)


THREE = {"n_clusters": 3, "random_state": 0}
MIXED = {"n_components": 3, "random_state": 0}
CUT = {**THREE, "n_init": 1, "max_iter": 60}
CASES = {
    "k-means": case(X, coterie.KMeans, **THREE),
    "sparse": case(sp.csr_array(X), coterie.KMeans, metric="cosine", **THREE),
    "prepared": prepared,
    "mini-batch": case(X, coterie.MiniBatchKMeans, batch_size=20, **THREE),
    "nested": case(X, coterie.NestedMiniBatchKMeans, **THREE),
    "mixture": case(X, coterie.TruncatedGaussianMixture, **MIXED),
    "diag": case(X, coterie.TruncatedGaussianMixture, covariance_type="diag", **MIXED),
    "modes": case(X, coterie.LaplacianKModes, **THREE),
    "modes-of-affinities": case(AFFINITIES, coterie.LaplacianKModes, affinity="precomputed", **THREE),
    "density": case(X, coterie.DensityClustering),
    "density-diffused": case(X, coterie.DensityClustering, space="diffused"),
    "multilevel": case(X, coterie.MultilevelGraphClustering, n_clusters=3),
    "total-variation": case(sp.csr_array(X), coterie.TotalVariationClustering, **CUT),
    "convex": case(X, coterie.ConvexClustering, gamma=0.5),
    "path": case(X, coterie.ConvexClusterPath, n_gammas=3),
}
every_model = pytest.mark.parametrize("name", CASES)


class Tampered:
    """A saved model, of which `load` reads another state than is in the file.

    To write and read a file for each of thousands takes minutes; a few do, see the tests below.
    """

    def __init__(self, name, folder, monkeypatch):
        self.model, self.rows = CASES[name]()
        self.path = folder / "m.coterie"
        self.state = state_of(self.model)
        self.expected = self.results(self.model)
        self.model.save(self.path)
        self._now = None
        reads = types.SimpleNamespace(load=lambda *_, **__: self._now)
        monkeypatch.setattr(persistence, "_skops_io", lambda: reads)

    def load(self, part, attribute, value):
        state = {"records": list(self.state["records"])}
        for name in ("parameters", "fitted"):
            state[name] = dict(self.state[name])
        if value is GONE:
            del state[part][attribute]
        else:
            state[part][attribute] = value
        if not isinstance(value, np.ndarray) and attribute in state["records"]:
            state["records"].remove(attribute)
        self._now = state
        return coterie.load(self.path)

    def results(self, model):
        """Return what a model says of rows; a model without scales says so in words of its own."""
        rows = self.rows if isinstance(self.rows, pa.Table) else self.rows[:7]
        found = {}
        for method in ("predict", "transform", "score", "score_samples", "responsibilities", "predict_proba"):
            if hasattr(model, method):
                found[method] = getattr(model, method)(rows)
        if isinstance(model, OutlierScoring) and hasattr(model, "predict"):
            distances, said = tried(model.predict, rows, return_distance=True)
            assert not said or "no outlier scores" in said
            found["distances"] = said or distances
        return found

    def check(self, part, attribute, what, value, *, may_differ=False):
        """Fail unless the change is refused in a line, or the model says the same (or something) of rows."""
        changed = f"{attribute}: {what}"
        loaded, said = tried(self.load, part, attribute, value)
        if said:
            assert "m.coterie: " in said or re.search(r"m\.coterie is (damaged|not a coterie)", said), said
            assert "\n" not in said, changed
            assert len(said) < 450, changed
            return
        found, said = tried(self.results, loaded)
        if said:
            # Then the model is one of other rows: prepared by less, or known by two matrices.
            assert attribute in ("preparation_", "_fitted_to_pair"), changed
            assert "\n" not in said, changed
            return
        if may_differ:
            return
        for method, expected in self.expected.items():
            if not isinstance(found[method], str):  # which says that it has no scales
                same_bits(found[method], expected, f"{changed} changes {method}")


WORDS = (None, "x", [1, 2], {"a": 1}, 2.5)


def other_arrays(array):
    """Yield what is not the same array: a name, the array, and whether its numbers may mean something else."""
    for word in WORDS:
        yield f"is {word!r}", word, False
    yield "is gone", GONE, False
    for dtype in ("c16", "U5", "O", "?", "f2", ">f8", "u8"):
        if np.dtype(dtype) != array.dtype:
            yield f"as {dtype}", array.astype(dtype), False
    yield "as i8 or f8", array.astype("f8" if array.dtype.kind == "f" else "i8"), False
    yield "as f4 or i4", array.astype("f4" if array.dtype.kind == "f" else "i4"), True
    yield "of records", np.zeros(array.shape, dtype=[("a", "f8")]), False
    yield "an axis more", array[None], False
    yield "an axis less", array.ravel() if array.ndim > 1 else np.zeros((), array.dtype), False
    yield "a row less", array[:-1], False
    yield "a row more", np.concatenate([array, array[-1:]]), False
    yield "half of it", array[: len(array) // 2], False
    yield "empty", array[:0], False
    if array.ndim > 1:
        yield "a column less", array[:, :-1], False
        yield "a column more", np.concatenate([array, array[:, -1:]], axis=1), False
        yield "no columns", array[:, :0], False
        yield "turned", np.ascontiguousarray(array.T), array.shape[0] == array.shape[1]
    numbers = (np.nan, -np.inf, -1, 1e300) if array.dtype.kind == "f" else (-1, -(2**31), 2**31 - 1)
    for number in numbers if array.size else ():
        one = array.copy()
        with np.errstate(over="ignore"):
            one.flat[0] = number
        yield f"begins with {number}", one, True
        with np.errstate(over="ignore"):
            yield f"full of {number}", np.full_like(array, number), True


def other_matrices(matrix):
    """Yield the same of a sparse matrix."""
    for word in WORDS:
        yield f"is {word!r}", word, False
    yield "is gone", GONE, False
    yield "by columns", sp.csc_array(matrix), False
    yield "a row less", matrix[:-1], False
    yield "a column less", matrix[:, :-1], False
    yield "of whole numbers", matrix.astype(np.int64), False
    for part in ("data", "indices", "indptr"):
        numbers = (np.nan, np.inf, 1e300) if part == "data" else (-1, 2**31 - 1)
        for number in numbers:
            other = matrix.copy()
            entries = getattr(other, part).copy()
            entries[len(entries) // 2] = number
            setattr(other, part, entries)
            yield f"{part} with {number}", other, True


def other_numbers(value):
    """Yield the same of a number, a text or another parameter: what is of the right type may mean another model."""
    yield "is gone", GONE, True
    for other in (
        None,
        "x",
        [1],
        {},
        (),
        np.zeros(3),
        True,
        False,
        np.float64(2),
        2.5,
        0,
        1,
        -1,
        2**62,
        10**400,
    ):
        yield f"is {other!r:.20}", other, True
    for other in (np.nan, np.inf):
        yield f"is {other}", other, True


def other_values(value):
    if isinstance(value, np.ndarray) and value.dtype.names is None and value.dtype != object:
        return other_arrays(value)
    if sp.issparse(value):
        return other_matrices(value)
    if isinstance(value, np.ndarray):
        words = [(f"is {word!r}", word, False) for word in WORDS]
        return [
            *words,
            ("is gone", GONE, False),
            ("numbers", np.zeros(3), False),
            ("empty", value[:0], False),
        ]
    if isinstance(value, tuple):
        return other_tuples(value)
    return other_numbers(value)


def other_tuples(value):
    for word in (None, "x", 5, (), (1, 2), [*value]):
        yield f"is {word!r:.20}", word, False
    for number, entry in enumerate(value):
        yield f"without {number}", value[:number] + value[number + 1 :], True
        if isinstance(entry, np.ndarray):
            for what, other, may_differ in other_arrays(entry):
                entries = () if other is GONE else (other,)
                yield f"{what} in {number}", value[:number] + entries + value[number + 1 :], may_differ


def drawn(changes, name):
    changes = list(changes)
    return random.Random(name).sample(changes, min(N_CHANGES, len(changes)))


@every_model
def test_fitted_attributes(name, tmp_path, monkeypatch):
    tampered = Tampered(name, tmp_path, monkeypatch)
    for attribute, value in tampered.state["fitted"].items():
        for what, other, may_differ in drawn(other_values(value), f"{name} {attribute}"):
            tampered.check("fitted", attribute, what, other, may_differ=may_differ)


@every_model
def test_parameters(name, tmp_path, monkeypatch):
    tampered = Tampered(name, tmp_path, monkeypatch)
    for parameter, value in tampered.state["parameters"].items():
        for what, other, may_differ in drawn(other_numbers(value), f"{name} {parameter}"):
            tampered.check("parameters", parameter, what, other, may_differ=may_differ)


@every_model
def test_undeclared_attributes_are_refused(name, tmp_path, monkeypatch):
    """What a file adds is refused where it takes the place of a method or of what a model keeps while it runs."""
    tampered = Tampered(name, tmp_path, monkeypatch)
    for attribute in ("predict", "fit", "_own_distances", "_means", "_search", "_check_state", "prepared"):
        if attribute.startswith("_") or hasattr(type(tampered.model), attribute):
            tampered.check("fitted", attribute, "is new", 5)
    tampered.check("fitted", "remark_", "is new", 5)


@every_model
def test_numbers_that_are_not_finite_are_not_saved(name, tmp_path):
    model, _ = CASES[name]()
    declared = model._fitted_attributes()
    arrays = [
        attribute
        for attribute, value in state_of(model)["fitted"].items()
        if attribute in declared
        and declared[attribute].finite
        and isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
    ]
    assert arrays
    for attribute in arrays:
        other = np.array(getattr(model, attribute))
        other.flat[-1] = np.nan
        right, _ = getattr(model, attribute), setattr(model, attribute, other)
        with pytest.raises(ValueError, match=rf"cannot be saved: {attribute} holds nan, which is not finite"):
            model.save(tmp_path / "m.coterie")
        setattr(model, attribute, right)
    assert not list(tmp_path.iterdir())
    model.save(tmp_path / "m.coterie")


# Whole files, to see that nothing before `load` looks at these.
@pytest.mark.parametrize(
    ("attribute", "change", "said"),
    [
        ("cluster_centers_", lambda a: a[:, :2], "cluster_centers_ has 2 columns, n_features_in_ is 3"),
        ("cluster_centers_", lambda a: a * np.nan, "cluster_centers_ holds nan, which is not finite"),
        ("cluster_centers_", lambda a: a[:0], "cluster_centers_ is empty: its shape is (0, 3)"),
        ("cluster_centers_", lambda a: a.astype("U9"), "cluster_centers_ holds <U9 instead of float32 or float64"),
        ("labels_", lambda a: a + 9, "labels_ holds 11, cluster_centers_ has 3 rows"),
        ("labels_", lambda a: a[:9], "_outlier_scores has 25 entries, labels_ has 9 entries"),
        ("inertia_", lambda _: np.inf, "inertia_ is inf, which is not finite"),
        ("n_features_in_", lambda _: 4, "cluster_centers_ has 3 columns, n_features_in_ is 4"),
        ("n_features_in_", lambda _: "4", "n_features_in_ must be one integer number, not a str"),
    ],
)  # fmt: skip
def test_errors_name_the_attribute(attribute, change, said, tmp_path):
    model, _ = CASES["k-means"]()
    state = state_of(model)
    state["fitted"][attribute] = change(state["fitted"][attribute])
    write_model(tmp_path / "m.coterie", model, state)
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'm.coterie'}: {said}") + "$"):
        coterie.load(tmp_path / "m.coterie")


def test_errors_name_the_parameter(tmp_path):
    model, _ = CASES["k-means"]()
    for parameter, value, said in [
        ("n_clusters", -1, "n_clusters must be a positive integer, got -1"),
        ("n_clusters", "many", "n_clusters must be a positive integer, got 'many'"),
        ("algorithm", "fast", "algorithm must be one of"),
        ("n_threads", 1 << 31, "n_threads must be None or an integer from 1 to 4096"),
        ("random_state", -3, "random_state must be None or an integer from 0 to 4294967295, got -3"),
    ]:
        state = state_of(model)
        state["parameters"][parameter] = value
        write_model(tmp_path / "m.coterie", model, state)
        with pytest.raises(ValueError, match=rf"m\.coterie: {re.escape(said)}"):
            coterie.load(tmp_path / "m.coterie")


@pytest.mark.parametrize(
    "header",
    [
        {"format": "one"}, {"format": None}, {"format": []}, {"format": 99}, {"estimator": 5}, {"estimator": None},
        {"metadata": 5}, {"metadata": "x"}, {"metadata": {"columns": 5}}, {"metadata": {"columns": [[]]}},
        {"metadata": {"columns": {"a": 1}}},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_headers(header, tmp_path):
    model, _ = CASES["k-means"]()
    write_model(tmp_path / "m.coterie", model, state_of(model), **header)
    with pytest.raises(ValueError, match=r"m\.coterie") as caught:
        coterie.load(tmp_path / "m.coterie")
    assert "\n" not in str(caught.value)


def test_a_header_that_is_no_object(tmp_path):
    model, _ = CASES["k-means"]()
    for content in ("[]", "5", "null", '"x"', "{}", "", "nonsense", "[" * 100_000):
        model.save(tmp_path / "right.coterie")
        with zipfile.ZipFile(tmp_path / "right.coterie") as right:
            members = {name: right.read(name) for name in right.namelist()}
        with zipfile.ZipFile(tmp_path / "m.coterie", "w") as archive:
            for name, data in members.items():
                archive.writestr(name, content if name == "coterie.json" else data)
        with pytest.raises(ValueError, match=r"m\.coterie is not a coterie model, or it is damaged"):
            coterie.load(tmp_path / "m.coterie")


def test_files_without_optional_attributes_are_read(tmp_path):
    """Of what is only told, and not needed for other rows, a file may know nothing."""
    model, rows = CASES["k-means"]()
    state = state_of(model)
    told = ("_cluster_scales", "_outlier_scores", "history_", "runs_", "inertia_", "n_iter_", "labels_")
    for attribute in told:
        del state["fitted"][attribute]
    write_model(tmp_path / "m.coterie", model, {**state, "records": []})
    assert np.array_equal(coterie.load(tmp_path / "m.coterie").predict(rows), model.labels_)
