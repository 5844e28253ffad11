"""Available memory."""

import pytest

from coterie.limits import memory
from coterie.limits.memory import available_memory, check_allocation, memory_in_bytes
from tests.support.memory import limited_memory


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function: from now on files of the system hold these texts, and no others are there."""

    def holds(texts):
        def lines(path):
            return [f"{line}\n" for line in texts.get(path.as_posix(), "").splitlines()]

        monkeypatch.setattr(memory, "_lines", lines)
        monkeypatch.delenv(memory.MEMORY_VARIABLE, raising=False)

    return holds


def test_sizes_as_people_write_them():
    texts = ("4GB", "4 gib", "512MiB", "1.5G", "100", "2k")
    assert [memory_in_bytes(text) for text in texts] == [4e9, 2**32, 2**29, 15e8, 100, 2000]


def test_limits_of_containers_of_version_2(machine):
    """The least of all groups above counts; pages of files can be given back."""
    machine(
        {
            "/proc/meminfo": "MemAvailable: 5000000 kB",
            "/proc/self/cgroup": "0::/pod/task",
            "/sys/fs/cgroup/pod/task/memory.max": "max",
            "/sys/fs/cgroup/pod/task/memory.current": "1000",
            "/sys/fs/cgroup/pod/memory.max": "90000",
            "/sys/fs/cgroup/pod/memory.current": "50000",
            "/sys/fs/cgroup/pod/memory.stat": "anon 30000\ninactive_file 2000\nactive_file 300",
        }
    )
    assert available_memory() == 90000 - 50000 + 2300


def test_free_memory_and_limits_that_override_it(machine, monkeypatch):
    machine(
        {"/proc/meminfo": "MemAvailable: 5000 kB", "/proc/self/status": "VmRSS: 7000 kB\nRssAnon: 1000 kB"}
    )
    with limited_memory(10**9):
        assert available_memory() == 10**9 - 1000 * 1024
    assert available_memory() == 5000 * 1024
    monkeypatch.setenv(memory.MEMORY_VARIABLE, "2MB")
    assert available_memory() == 2 * 10**6 - 1000 * 1024
    monkeypatch.setenv(memory.MEMORY_VARIABLE, "much")
    with pytest.raises(ValueError, match=r"variable COTERIE_MEMORY.*such as 4GB"):
        available_memory()


def test_what_does_not_fit_is_refused_with_its_size_and_a_remedy(machine):
    machine({"/proc/meminfo": "MemAvailable: 1000000 kB"})
    check_allocation(9e8, "bounds", "ask for fewer clusters")
    with pytest.raises(MemoryError) as caught:
        check_allocation(4e9, "bounds", "ask for fewer clusters")
    assert all(part in str(caught.value) for part in ("bounds", "4.0 GB", "1.0 GB", "ask for fewer clusters"))
    with limited_memory(3e9), pytest.raises(MemoryError, match=r"3\.0 GB that are allowed"):
        check_allocation(4e9, "bounds", "ask for fewer clusters")


def test_sizes_as_text():
    sizes = [memory.as_size(n_bytes) for n_bytes in (7, 999, 999.5, 4.2e9, 12e6)]
    assert sizes == ["7 bytes", "999 bytes", "1.0 kB", "4.2 GB", "12 MB"]
