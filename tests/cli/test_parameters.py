"""Every public parameter of every estimator is an option by its own name, or there is a reason why not."""

import inspect
import re
import shlex

import numpy as np
import pytest
from scipy import sparse

import coterie
from coterie.cli import main
from coterie.cli.app import build_app
from coterie.cli.errors import UsageError
from coterie.cli.models import find_offered, make_model, value_of
from coterie.cli.options import declared_options, seconds_of
from coterie.cli.reference import page
from coterie.estimators import Estimator, find_method, methods
from coterie.estimators.method import RESERVED_FLAGS
from coterie.estimators.parameters import parameters_of
from coterie.graphs import knn_graph
from tests.cli.running import everything

PUBLIC = [
    value
    for value in (getattr(coterie, name) for name in coterie.__all__)
    if inspect.isclass(value) and issubclass(value, Estimator)
]

# Parameters without an option: commands show their progress, and each run is a process of its own.
ONLY_IN_PYTHON = {"callback", "verbose", "copy_x", "compute_labels", "warm_start"}

# Neither a number, nor one that a parameter may be.
NO_NUMBERS = ["", "x", "nan", "inf", "-inf", "1e400", "1,5", "\u00bd"]


def flags_in_app(command):
    return {flag for argument in command.assemble_argument_collection() for flag in argument.names}


def test_every_estimator_has_a_method():
    assert PUBLIC
    assert set(PUBLIC) <= {method.estimator for method in methods()}


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_parameter_is_an_option(method):
    flags = flags_in_app(build_app()["path" if method.name == "convex-path" else "fit"])
    for name, parameter in parameters_of(method.estimator).items():
        assert set(parameter.flags) <= flags
        assert bool(parameter.flags) == (name not in ONLY_IN_PYTHON)
        assert parameter.param.help.endswith(".")


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_numbers_outside_the_interval_of_a_parameter(method):
    for parameter in declared_options(method).values():
        if {int, float} & set(parameter.types):
            least = [] if parameter.param.least is None else [str(parameter.param.least - 1)]
            whole = [] if float in parameter.types else ["1.5", str(2**63)]
            for word in [*NO_NUMBERS, *least, *whole]:
                with pytest.raises(UsageError, match=re.escape(f"{parameter.flags[0]} must be")):
                    value_of(parameter, word)


def test_reference_lists_every_option():
    text = page()
    for method in methods():
        for parameter in parameters_of(method.estimator).values():
            assert all(f"`{flag}`" in text for flag in parameter.flags)


def shown_options(capsys, *words):
    assert main([*words, "--help"]) == 0
    return re.findall(r"^. (?:--?[\w-]+ )*(--?[\w-]+) ", capsys.readouterr().out, re.M)


def test_help_of_fit_is_one_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = shown_options(capsys, "fit")
    assert 20 <= len(shown) <= 25
    assert "--n-init" not in shown
    of_gmm = shown_options(capsys, "fit", "--method", "gmm")
    assert {"--n-init", "--search-group-size", "--memory"} <= set(of_gmm)


def test_reserved_flags_are_those_of_the_commands():
    """The register refuses them before they could clash here."""
    own = {flag for method in methods() for name in declared_options(method)
           for flag in parameters_of(method.estimator)[name].flags}  # fmt: skip
    app = build_app()
    flags = (flags_in_app(app["fit"]) | flags_in_app(app["path"])) - own
    negative = {flag for flag in flags if flag.startswith("--no-")}
    assert {flag for flag in flags if flag.startswith("-")} - negative == set(RESERVED_FLAGS) - {
        "--help", "-h", "--version",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["kmeans", "k-means", "K_Means"])
def test_names_of_methods(name):
    assert find_offered(name).name == "k-means"


@pytest.mark.parametrize(
    ("text", "seconds"), [("10", 10), ("10s", 10), ("1.5m", 90), ("2h", 7200), ("250ms", 0.25)]
)
def test_times(text, seconds):
    assert seconds_of(text, "--max-time") == seconds


def test_labels_on_the_standard_output(folder, rows, capsys):
    assert main(["fit", rows, "-k", "3", "--labels-out", "-", "-o", "out"]) == 0
    found = capsys.readouterr()
    labels = np.load("out/labels.npy")
    assert found.out.split() == list(map(str, labels))
    assert "in 3 clusters" in found.err
    assert main(["predict", "out", rows, "-o", "-"]) == 0
    assert capsys.readouterr().out.split() == list(map(str, labels))
    assert main(["fit", rows, "-k", "3", "--labels-out", "only.txt", "-q"]) == 0
    assert (folder / "only.txt").read_text().split() == list(map(str, labels))
    assert everything(folder) == sorted(["only.txt", "out", "rows.npy", *(f"out/{name}" for name in (
        "labels.npy", "model.coterie", "run.toml", "summary.json"))])  # fmt: skip


def test_methods_without_a_number_of_clusters(rows, X):
    assert main(["fit", rows, "--gamma", "2", "--solver", "plain-ama", "--warm-neighbors", "2,3", "-q"]) == 0
    expected = coterie.ConvexClustering(2.0, solver="plain-ama", warm_neighbors=[2, 3], random_state=0).fit(X)
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    assert main(["fit", rows, "--method", "convex-clustering", "--no-connect", "-q"]) == 0
    assert coterie.load("coterie-out/model.coterie").connect is False


def test_a_given_graph(rows, X):
    graph = sparse.csr_matrix(knn_graph(X, 5))
    graph = graph.maximum(graph.T)
    sparse.save_npz("graph.npz", graph)
    assert main(["fit", rows, "--graph", "graph.npz", "--gamma", "0.1", "-q"]) == 0
    expected = coterie.ConvexClustering(0.1, weights="precomputed", random_state=0).fit(X, graph=graph)
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    assert main(["verify", "coterie-out", "-q"]) == 0
    line = shlex.split("fit graph.npz -k 3 --affinity precomputed --n-init 1 --max-iter 20 --force")
    assert main([*line, "--method", "total-variation", "-q"]) == 0
    model = coterie.TotalVariationClustering(3, affinity="precomputed", n_init=1, max_iter=20, random_state=0)
    assert np.array_equal(np.load("coterie-out/labels.npy"), model.fit(graph).labels_)


def test_centers_of_a_file_or_a_run(rows, X):
    np.save("centers.npy", X[::100])
    expected = coterie.KMeans(3, init=X[::100], n_init=1).fit(X)
    assert main(["fit", rows, "-k", "3", "--init", "centers.npy", "-q", "--out", "first"]) == 0
    assert main(["fit", rows, "-k", "3", "--init", "first", "-q", "--out", "second"]) == 0
    for folder in ("first", "second"):
        assert np.array_equal(np.load(f"{folder}/labels.npy"), expected.labels_)
        assert main(["verify", folder, "-q"]) == 0


def test_gammas_of_a_path(rows):
    pytest.importorskip("matplotlib")
    assert main(["path", rows, "--gammas", "0,0.5,20", "--norm", "0,1;2:4", "-q"]) == 0
    with np.load("coterie-path/path.npz") as arrays:
        assert arrays["gammas"].tolist() == [0, 0.5, 20]


def test_texts_of_other_callers_are_values():
    """`make_model` takes what Python has, too."""
    model = make_model(find_method("k-means"), {"init": np.eye(3), "n_init": 1}, n_clusters=3)
    assert model.init is not None
    options = declared_options(find_method("convex-path"))
    assert value_of(options["gammas"], "1,") == [1]
    assert value_of(options["norm"], "0,3;1:3") == [[0, 3], [1, 2]]
