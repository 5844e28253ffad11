"""Runs that are kept on disk as they end."""

import math

import pytest

from benchmarks.harness.journal import JournaledProcesses, OutOfTime

MACHINE = "a machine"


class Here:
    """Calls functions at once and counts them."""

    def __init__(self):
        self.n_calls = 0

    def run(self, function, /, *args, **kwargs):
        self.n_calls += 1
        return function(*args, **kwargs)

    def run_within(self, limit, function, /, *args, **kwargs):
        return self.run(function, *args, **kwargs)

    def close(self):
        pass


@pytest.fixture
def opened(tmp_path):
    """What opens the journal anew: the processes, and those that they run in."""

    def open_again(machine=MACHINE):
        here = Here()
        return JournaledProcesses(here, tmp_path / "runs.jsonl", machine, tmp_path), here

    return open_again


def test_finished_runs_are_not_repeated(opened):
    first, _ = opened()
    assert first.run(_double, 3) == {"twice": 6}
    assert first.run_within(9, _double, 4, by=3) == {"twice": 12}
    again, here = opened()
    assert again.run(_double, 3) == {"twice": 6}
    assert again.run_within(9, _double, 4, by=3) == {"twice": 12}
    assert here.n_calls == 0
    again.run(_double, 4)
    again.run_within(8, _double, 4, by=3)
    assert here.n_calls == 2


def test_a_line_that_was_cut_short(opened, tmp_path):
    first, _ = opened()
    first.run(_double, 3)
    first.run(_double, 4)
    text = (tmp_path / "runs.jsonl").read_text()
    (tmp_path / "runs.jsonl").write_text(text[:-5])
    for n_calls in (1, 0):
        again, here = opened()
        assert [again.run(_double, number)["twice"] for number in (3, 4)] == [6, 8]
        assert here.n_calls == n_calls


def test_results_of_another_machine_are_not_reused(opened):
    opened()[0].run(_double, 3)
    other, here = opened("another machine")
    other.run(_double, 3)
    assert here.n_calls == 1


def test_timeouts_are_not_repeated(opened):
    with pytest.raises(TimeoutError, match="not done after 9 s"):
        opened()[0].run_within(9, _too_long)
    again, here = opened()
    with pytest.raises(TimeoutError, match="not done after 9 s"):
        again.run_within(9, _too_long)
    assert here.n_calls == 0


@pytest.mark.parametrize("result", [None, math.nan, (1, 2), {1: 2}, {"a": object}])
def test_results_that_json_cannot_restore_are_repeated(opened, result):
    opened()[0].run(_same, result)
    again, here = opened()
    again.run(_same, result)
    assert here.n_calls == 1


def test_failed_runs_are_repeated(opened):
    for _ in range(2):
        processes, here = opened()
        with pytest.raises(ZeroDivisionError):
            processes.run(_divide, 0)
        assert here.n_calls == 1


def test_files_are_identified_by_their_names(tmp_path):
    journal = tmp_path / "runs.jsonl"
    for folder, n_calls in (("one", 1), ("two", 0)):
        here = Here()
        processes = JournaledProcesses(here, journal, MACHINE, tmp_path / folder)
        assert processes.run(_name, tmp_path / folder / "rows.npy") == "rows.npy"
        assert here.n_calls == n_calls


def test_only_journaled_results_after_the_deadline(opened, tmp_path):
    opened()[0].run(_double, 3)
    here = Here()
    late = JournaledProcesses(here, tmp_path / "runs.jsonl", MACHINE, tmp_path, hours=0)
    assert late.run(_double, 3) == {"twice": 6}
    with pytest.raises(OutOfTime):
        late.run(_double, 4)
    assert here.n_calls == 0


def _double(number, by=2):
    return {"twice": 2 * number if by == 2 else by * number}


def _same(value):
    return value


def _divide(number):
    return 1 / number


def _name(path):
    return path.name


def _too_long():
    raise TimeoutError("not done after 9 s")
