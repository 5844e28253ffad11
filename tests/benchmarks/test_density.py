"""The benchmark of density-based clustering: its cells, and its page."""

import numpy as np
import pytest

from benchmarks.density import OURS, RUNS, written_page
from benchmarks.harness.reporting import FAILED, Results, machine_facts


@pytest.fixture
def blobs(tmp_path):
    random, y = np.random.RandomState(0), np.repeat([0, 1, 2], 40)
    path = tmp_path / "blobs.npz"
    np.savez(path, X=random.normal(size=(120, 4)) + 20 * y[:, None], y=y)
    return path


def test_cells_of_separate_blobs(blobs):
    found = {part: RUNS[part](OURS, blobs) for part in ("exactness", "quality", "stability")}
    assert found["exactness"]["weight"] < 1e-12
    assert found["exactness"]["is_exact"]
    assert found["exactness"]["labels 1"] == 1
    assert found["quality"]["ari"] > 0.9
    assert found["quality"]["assigned accuracy"] == 1
    assert found["quality"]["clusters"] == 3
    assert found["stability"]["mean"] > 0.9
    one = RUNS["drawn"](OURS, "uniform square")
    assert one["clusters"] == [0] * len(one["clusters"])


def test_page_has_means_over_sets_and_leaves_failures_out(tmp_path):
    results = Results(tmp_path)
    cell = {"ari": 0.5, "coverage": 0.75, "assigned ari": 0.25, "assigned accuracy": 0.125}
    machine = {"machine": machine_facts()}
    results.keep("quality iris", OURS, 0, cell | machine)
    results.keep("quality moons", OURS, 0, cell | {"ari": 0.7} | machine)
    results.keep("quality iris", "PLSCAN", 0, {FAILED: "TimeoutError: not done"} | machine)
    page = written_page(results)
    assert [cell.strip() for cell in line_of(page, "**coterie**").split("|")[1:-1]] == [
        "**coterie**", "2", "0.600", "0.600", "0.750", "0.250", "0.125",
    ]  # fmt: skip
    assert not [line for line in page.splitlines() if line.startswith("| PLSCAN")]


def line_of(page, name):
    return next(line for line in page.splitlines() if line.startswith(f"| {name} "))
