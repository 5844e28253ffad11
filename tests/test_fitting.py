import os

import pytest

from coterie.fitting import effective_n_threads


def test_all_processors_of_this_process(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert 1 <= effective_n_threads(None) <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("value", "expected"), [("1", 1), ("1,2", 1), ("", None), ("many", None), ("0", None)]
)
def test_omp_num_threads_is_respected(monkeypatch, value, expected):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    everything = effective_n_threads(None)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert effective_n_threads(None) == (expected or everything)


def test_an_explicit_number_wins(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert effective_n_threads(7) == 7


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
def test_bad_numbers(bad):
    with pytest.raises(ValueError, match="n_threads must be None or a positive integer"):
        effective_n_threads(bad)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_quota_of_a_container(monkeypatch, tmp_path, files, expected):
    import builtins

    from coterie import fitting

    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    plain_open = builtins.open
    root = "/sys/fs/cgroup/"
    monkeypatch.setattr(
        builtins, "open", lambda path, *rest: plain_open(str(path).replace(root, f"{tmp_path}/"), *rest)
    )
    assert fitting._control_group_quota() == expected
