"""A working folder with rows in it."""

import copy

import numpy as np
import pytest

from coterie.estimators import method


@pytest.fixture(autouse=True, scope="session")
def extras():
    """Commands need these."""
    pytest.importorskip("cyclopts")
    pytest.importorskip("skops")


@pytest.fixture(autouse=True, scope="session")
def options_declared_once(extras):
    """Keep the command line of each set of methods, and its options: to declare them is most of the time of a run."""
    from cyclopts import App, ArgumentCollection

    from coterie.cli import app

    build_app, assemble = app.build_app, App.assemble_argument_collection
    apps, declared = {}, {}

    def kept_app(shown=()):
        key = (tuple(shown), *map(id, method._methods.values()))
        if key not in apps:
            apps[key] = build_app(shown)
        return apps[key]

    def kept_options(self, **options):
        key = (id(self), *options.items())
        if key not in declared:
            declared[key] = assemble(self, **options)
        arguments = {id(argument): copy.copy(argument) for argument in declared[key]}
        for argument in arguments.values():
            argument.tokens = []
            argument.children = ArgumentCollection(arguments[id(child)] for child in argument.children)
        return ArgumentCollection(arguments.values())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "build_app", kept_app)
        patch.setattr(App, "assemble_argument_collection", kept_options)
        yield


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 4)) + np.repeat(np.eye(4)[:3] * 10, 100, axis=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rows(folder, X):
    np.save(folder / "rows.npy", X)
    return "rows.npy"


@pytest.fixture
def table(folder, X):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.insert(1, "name", "somebody")
    frame.to_parquet(folder / "rows.parquet")
    return "rows.parquet"


@pytest.fixture
def shown_at_once(monkeypatch):
    """Progress is shown from the first step on, also of a short fit."""
    monkeypatch.setattr("coterie.cli.progress._FIRST_LINE", 0.0)
