"""Comparison of a result with restarts."""

import numpy as np
import pytest

import coterie
from coterie.datasets import load_digits, load_iris
from coterie.estimators import Objective
from coterie.graphs import knn_graph
from coterie.reports.page import Picture, Text
from coterie.reports.restarts import compare_restarts, relative_loss
from coterie.reports.subject import read_subject

# Three clusters on a line; this start leaves two of them together and cuts the third.
_LINE = np.concatenate([np.linspace(place, place + 1, 60) for place in (0, 10, 100)])[:, None]
_POOR = coterie.KMeans(3, init=np.array([[5.0], [100.2], [100.8]])).fit(_LINE)


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """However busy the machine is."""
    monkeypatch.setattr("coterie.reports.subject._LIMIT", 1e9)
    for module in ("restarts", "stability"):
        monkeypatch.setattr(f"coterie.reports.{module}._SECONDS", 1e9)


def poor():
    """A fit that ended in a poor optimum, with parameters that draw starts."""
    model = coterie.KMeans(3, random_state=0).fit(_LINE)
    for name, value in vars(_POOR).items():
        if name.endswith("_"):
            setattr(model, name, value)
    return model


def fit_part(report, kind):
    sections = [part for part in report.page.sections if part.title in ("Quality", "How it was made")]
    return [part for section in sections for part in section.parts if isinstance(part, kind)]


def test_poor_result_is_a_warning():
    starts, words = compare_restarts(read_subject(poor(), _LINE))
    assert starts.has_better
    assert starts.own == pytest.approx(_POOR.inertia_)
    good = coterie.KMeans(3, random_state=0).fit(_LINE).inertia_
    assert starts.others.min() == pytest.approx(good)
    assert f"{_POOR.inertia_ / good - 1:.1%} above the best of 10 runs on all rows" in words
    page = coterie.report(poor(), _LINE, stability=2)
    assert "above the best of 10 runs on all rows. Try more restarts (--n-init 10)." in page.markdown[0]


def test_a_good_result_is_no_warning():
    X = load_iris()[0]
    model = coterie.KMeans(3, n_init=1, random_state=0).fit(X)
    starts, words = compare_restarts(read_subject(model, X))
    assert not starts.has_better
    assert "9 restarts were computed" in words
    assert "Try more restarts" not in coterie.report(model, X, stability=2).markdown[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda X: coterie.KMeans(3, n_init=4, random_state=0).fit(X),
        lambda X: coterie.KMeans(3, init=X[:3]).fit(X),
        lambda X: coterie.TotalVariationClustering(3, n_init=1, random_state=0).fit(X),
        lambda X: coterie.ConvexClustering(gamma=0.5).fit(X[:40]),
    ],
    ids=["own starts", "given centers", "no init by name", "convex"],
)
def test_nothing_is_compared_where_no_start_is_drawn_or_the_fit_had_its_own(make):
    X = load_iris()[0]
    model = make(X)
    assert compare_restarts(read_subject(model, X[: len(model.labels_)])) == (None, "")


def test_slow_fits_are_not_repeated(monkeypatch):
    monkeypatch.setattr("coterie.reports.restarts._SECONDS", 0.6)
    X = load_iris()[0]
    model = coterie.KMeans(3, random_state=0).fit(X)
    model.history_["seconds"] += 60
    starts, words = compare_restarts(read_subject(model, X))
    assert starts is None
    seconds = 10 * model.history_["seconds"][-1]
    assert words == f"Restarts were not tried: 10 runs on 150 rows would take about {seconds:.1f} s."


def test_subset_of_rows_has_its_own_optimum(monkeypatch):
    X = load_digits()[0]
    model = coterie.KMeans(10, random_state=0).fit(X)
    monkeypatch.setattr("coterie.reports.restarts._FEW_ROWS", 600)
    monkeypatch.setattr("coterie.reports.restarts._SECONDS", 0.6)
    model.history_["seconds"][-1] = 0.1
    starts, words = compare_restarts(read_subject(model, X))
    assert starts.n_rows == 600
    assert "of 10 runs on 600 random rows" in words
    again = coterie.KMeans(10, init=model, n_init=1)
    chosen = np.sort(np.random.default_rng(0).choice(len(X), 600, replace=False))
    assert starts.own == pytest.approx(again.fit(X[chosen]).inertia_)


def test_relative_loss_of_objectives_with_a_zero():
    assert relative_loss(Objective("", "cut"), [2.0, 1.0]) == (1.0, "100.0% above")
    assert relative_loss(Objective("", "energy"), [-1.0, -3.0]) == (2.0, "2 above")
    assert relative_loss(Objective("", "bound", "per row", True), [-3.0, -1.0]) == (2.0, "2 per row below")


@pytest.mark.parametrize(
    "make",
    [
        lambda: coterie.KMeans(3, init="random", n_init=5, random_state=0),
        lambda: coterie.TruncatedGaussianMixture(3, n_init=3, random_state=0),
        lambda: coterie.LaplacianKModes(3, n_init=2, init="k-means++", random_state=0),
        lambda: coterie.TotalVariationClustering(3, n_init=3, random_state=0),
    ],
    ids=["k-means", "gmm", "laplacian-kmodes", "total-variation"],
)
def test_the_picture_has_a_line_for_each_start(make):
    X = load_iris()[0]
    model = make().fit(X)
    n_runs = model.runs_.run.max()
    assert n_runs >= 2
    report = coterie.report(model, X, stability=0)
    picture = next(part for part in fit_part(report, Picture) if part.name == "convergence")
    (ax,) = picture.figure.axes
    assert len(ax.lines) == n_runs + 1
    assert f"of {n_runs} ended within" in picture.caption


def test_a_first_step_far_away_does_not_flatten_the_others():
    X = load_iris()[0]
    model = coterie.KMeans(3, init="random", n_init=2, random_state=0).fit(X)
    for table in (model.history_, model.runs_):
        table.objective[table.iteration == 1] = 1e6
    report = coterie.report(model, X, stability=0)
    picture = next(part for part in fit_part(report, Picture) if part.name == "convergence")
    low, high = picture.figure.axes[0].get_ylim()
    assert low < model.inertia_ < high < 1e6
    assert "The first steps lie outside of the picture." in picture.caption


def test_one_start_is_one_line():
    X = load_iris()[0]
    report = coterie.report(coterie.KMeans(3, random_state=0).fit(X), X, stability=2)
    picture = next(part for part in fit_part(report, Picture) if part.name == "convergence")
    assert len(picture.figure.axes[0].lines) == 1
    assert any("restarts were computed for this page" in part.text for part in fit_part(report, Text))


def test_no_restarts_with_stability_0():
    X = load_iris()[0]
    page = coterie.report(coterie.KMeans(3, random_state=0).fit(X), X, stability=0).markdown[0]
    assert "restarts were" not in page


def blobs():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(10 * place, 1, (60, 2)) for place in range(3)])


@pytest.mark.parametrize(
    "model",
    [
        coterie.ConvexClusterPath(n_gammas=15),
        coterie.TotalVariationClustering(3, affinity="precomputed", n_init=2, random_state=0),
    ],
    ids=["convex-path", "total-variation"],
)
def test_clear_clusters_of_paths_and_graphs_are_stable(model):
    X = blobs()
    if getattr(model, "affinity", None) == "precomputed":
        graph = knn_graph(X, 8)
        X = graph.maximum(graph.T)
    report = coterie.report(model.fit(X), X, stability=2, n_clusters=3)
    assert report.subject.n_clusters == 3
    assert (report.clusters.stability >= 0.75).all()
    assert "Stability is not measured" not in report.markdown[0]


def test_a_part_of_a_large_graph_is_no_graph(monkeypatch):
    monkeypatch.setattr("coterie.reports.subject.MOST_DRAWN", 100)
    graph = knn_graph(blobs(), 8)
    model = coterie.TotalVariationClustering(3, affinity="precomputed", n_init=1, random_state=0)
    graph = graph.maximum(graph.T)
    report = coterie.report(model.fit(graph), graph)
    assert "a sample of a large graph is a different graph" in report.markdown[0]
