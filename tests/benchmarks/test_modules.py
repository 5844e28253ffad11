"""Every module of the benchmarks can be imported, also those that no test runs."""

import importlib
import pkgutil

import benchmarks


def test_every_module_can_be_imported():
    names = [module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")]
    assert "benchmarks.graphs_quality.leiden" in names
    for name in names:
        importlib.import_module(name)
