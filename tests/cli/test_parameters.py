"""Every public parameter of every estimator is an option by its own name, or there is a reason why not."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import coterie
from coterie.cli import main
from coterie.cli.app import build_app
from coterie.cli.models import make_model
from coterie.cli.parameter_table import flags_of, page
from coterie.cli.parameters import COMMON_FLAGS, ONLY_IN_PYTHON, options_of, own_flag
from coterie.cli.values import value_of
from coterie.estimators import Estimator, find_method, methods
from coterie.graphs import knn_graph
from tests.cli.running import failed
from tests.support.sources import ROOT

PAGE = Path(ROOT, "docs", "command-line.md")

PUBLIC = [
    value
    for value in (getattr(coterie, name) for name in coterie.__all__)
    if inspect.isclass(value) and issubclass(value, Estimator)
]


@pytest.fixture(scope="module")
def offered():
    """The flags of each command that has options of methods."""
    app = build_app()
    return {name: flags_in_app(app[name]) for name in ("fit", "path")}


def flags_in_app(command):
    return {flag for argument in command.assemble_argument_collection() for flag in argument.names}


def test_every_estimator_has_a_method():
    assert PUBLIC
    assert set(PUBLIC) <= {method.estimator for method in methods()}


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_parameter_is_an_option(method, offered):
    flags = offered["path" if method.name == "convex-path" else "fit"]
    for parameter, own in flags_of(method).items():
        if parameter in ONLY_IN_PYTHON:
            assert not own
            continue
        assert own, f"{parameter} of {method.name} has no option, and no reason why"
        assert set(own) <= flags
        assert own_flag(parameter) in flags


def test_every_exception_is_one():
    known = {name for method in methods() for name in method.estimator().get_params()}
    assert ONLY_IN_PYTHON.keys() <= known
    assert COMMON_FLAGS.keys() <= known


def test_the_page_is_current():
    if not PAGE.is_file():
        pytest.skip("the documentation is not at hand")
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "python -m coterie.cli.parameter_table > docs/command-line.md"
    )


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        (
            "--method mini-batch --max-no-improvement none --init-size 50",
            {"max_no_improvement": None, "init_size": 50},
        ),
        ("--doubling-threshold 3 --least-gain 0.01", {"doubling_threshold": 3.0, "least_gain": 0.01}),
        ("--chain-length 5 --random-candidate", {"chain_length": 5, "random_candidate": True}),
        (
            "--symmetrize max --diagonal-shift --bandwidth 2",
            {"symmetrize": "max", "diagonal_shift": True, "bandwidth": 2.0},
        ),
        ("--no-diagonal-shift", {"diagonal_shift": False}),
        ("--n-swaps 1 --eps 0.01 --n-neighbors 4 --n-init 1", {"n_swaps": 1, "eps": 0.01, "n_neighbors": 4}),
    ],
)
def test_options_arrive(rows, line, settings):
    assert main(["fit", rows, "-k", "3", *line.split(), "--max-iter", "2", "-q"]) == 0
    found = coterie.load("coterie-out/model.coterie").get_params()
    assert {name: found[name] for name in settings} == settings


def test_methods_without_a_number_of_clusters(rows, X):
    assert main(["fit", rows, "--gamma", "2", "--no-acceleration", "--warm-neighbors", "2,3", "-q"]) == 0
    expected = coterie.ConvexClustering(2.0, acceleration=False, warm_neighbors=[2, 3], random_state=0).fit(X)
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
    line = [
        "fit",
        "graph.npz",
        "-k",
        "3",
        "--affinity",
        "precomputed",
        "--n-init",
        "1",
        "--max-iter",
        "20",
        "--force",
    ]
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
    assert main(["path", rows, "--gammas", "0,0.5,20", "--groups", "0,1;2:4", "-q"]) == 0
    with np.load("coterie-path/path.npz") as arrays:
        assert arrays["gammas"].tolist() == [0, 0.5, 20]


WRONG = [
    ("fit rows.npy -k 3 --max-no-improvement never", 2, "--max-no-improvement"),
    (
        "fit rows.npy -k 3 --init nowhere",
        2,
        "--init must be one of k-means++, afk-mc2, random or a file of rows",
    ),
    ("fit rows.npy -k 3 --init gone.npy", 1, "gone.npy"),
    ("fit rows.npy -k 3 --init rows.npy", 1, "does not match the number of clusters 3"),
    ("fit rows.npy -k 3 --gamma 1", 2, "No method has all of the parameters gamma"),
    ("fit rows.npy -k 3 --method convex-clustering", 2, "takes no -k"),
    ("fit rows.npy --method gmm", 2, "Say how many clusters"),
    (
        "fit rows.npy --gamma 1 --warm-neighbors 1,x",
        2,
        "--warm-neighbors must be numbers with commas between them",
    ),
    ("fit rows.npy --gamma 1 --norm l3", 2, "--norm must be one of l2, l1, linf or groups of columns"),
    ("fit rows.npy --gamma 1 --norm 0:99;1", 1, "groups must hold each column number"),
    ("fit rows.npy --graph rows.npy", 1, "a row and a column for each of the 300 rows"),
    ("fit rows.npy -k 3 --method gmm --graph g.npz", 2, "takes no --graph"),
    ("path rows.npy --gammas 0", 2, "n_gammas"),
    ("path rows.npy --gammas 1,,2", 2, "--gammas must be numbers"),
    ("path rows.npy --gammas 2,1", 2, "ascending"),
    ("path rows.npy --gammas nan,1", 2, "--gammas must be numbers"),
]


@pytest.mark.parametrize(("line", "code", "message"), WRONG, ids=[line for line, *_ in WRONG])
def test_wrong_values(rows, capsys, line, code, message):
    if line.startswith("path"):
        pytest.importorskip("matplotlib")
    assert message in failed(capsys, code, *line.split())


def test_texts_of_other_callers_are_values():
    """`make_model` takes what Python has, too."""
    model = make_model(find_method("k-means"), {"init": np.eye(3), "n_init": 1}, n_clusters=3)
    assert model.init is not None
    options = {option.parameter: option for option in options_of(find_method("convex-path"))}
    assert value_of(options["gammas"], "1,") == [1]
    assert value_of(options["norm"], "0,3;1:3") == [[0, 3], [1, 2]]


@pytest.mark.parametrize(
    ("option", "meant"),
    [("--covarance", "--covariance"), ("--n-cluster", "--n-clusters"), ("--neighbours", "--neighbors")],
)
def test_an_unknown_option_gets_the_nearest_one(rows, capsys, option, meant):
    assert f"Did you mean {meant}?" in failed(capsys, 2, "fit", rows, "-k", "3", option, "2")
