"""The command line, declared once for many commands."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def declared_once() -> Iterator[None]:
    """Keep the command line of each set of methods, and its options: to declare them is most of the time of a run."""
    from cyclopts import App, ArgumentCollection

    from coterie.cli import app

    build_app, assemble = app.build_app, App.assemble_argument_collection
    apps: dict[Any, App] = {}
    # With the app, whose number another one could have otherwise.
    declared: dict[Any, tuple[App, ArgumentCollection]] = {}

    def kept_app(shown: Any = ()) -> App:
        key = tuple(shown)
        if key not in apps:
            apps[key] = build_app(shown)
        return apps[key]

    def kept_options(self: App, **options: Any) -> ArgumentCollection:
        key = (id(self), *options.items())
        if key not in declared:
            declared[key] = self, assemble(self, **options)
        arguments = {id(argument): copy.copy(argument) for argument in declared[key][1]}
        for argument in arguments.values():
            argument.tokens = []
            argument.children = ArgumentCollection(arguments[id(child)] for child in argument.children)
        return ArgumentCollection(arguments.values())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "build_app", kept_app)
        patch.setattr(App, "assemble_argument_collection", kept_options)
        yield
