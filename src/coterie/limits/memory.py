"""Available memory: free memory of the machine or container, or the limit of the user."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MEMORY_VARIABLE = "COTERIE_MEMORY"
"""The environment variable that allows an amount of memory, where no `limited_memory` does."""

# Smaller needs are not compared with the free memory: reading it takes longer than most small fits.
_NEGLIGIBLE_BYTES = 64 * 2**20

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", re.IGNORECASE)

# A limit of cgroups of version 1 that is none.
_NO_LIMIT = 2**60

# Pages of files that the system gives back when memory runs short, by their names in memory.stat.
_RECLAIMABLE = ("inactive_file", "active_file", "total_inactive_file", "total_active_file")

_allowed: float | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """Memory that a piece of work needs, about `n_bytes`, for `check_memory`.

    `what` is its content, such as "distances of all rows to 500 clusters", and `way_out` how to reduce it, without a
    full stop, such as "ask for fewer clusters".
    """

    n_bytes: float
    what: str
    way_out: str = ""


def memory_in_bytes(text: str) -> int:
    """Return the bytes of a size such as "4GB", "512 MiB" or "1.5g"; a ValueError if it is no positive size.

    Examples
    --------
    >>> from coterie.limits.memory import memory_in_bytes
    >>> memory_in_bytes("4GB"), memory_in_bytes("0.5 GiB")
    (4000000000, 536870912)
    """
    found = _SIZE.fullmatch(text.strip())
    n_bytes = 0
    if found:
        n_bytes = int(float(found[1]) * {**_UNITS, **_BINARY_UNITS}[(found[2] or "").lower()])
    if n_bytes <= 0:
        raise ValueError(f"an amount of memory is a number with a unit, such as 4GB or 512MiB, got {text!r}.")
    return n_bytes


def as_size(n_bytes: float) -> str:
    """Return a number of bytes as text, such as "4.2 GB"."""
    unit = 0
    units = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
    while n_bytes >= 999.5 and unit < len(units) - 1:
        n_bytes /= 1000
        unit += 1
    return f"{n_bytes:,.0f} {units[unit]}" if n_bytes >= 10 or not unit else f"{n_bytes:.1f} {units[unit]}"


@contextmanager
def limited_memory(n_bytes: float | None) -> Iterator[None]:
    """Limit the memory of this process within the context; None changes nothing."""
    global _allowed
    before = _allowed
    _allowed = before if n_bytes is None else n_bytes
    try:
        yield
    finally:
        _allowed = before


def available_memory() -> float:
    """Return how many more bytes this process may take; infinity if this is unknown.

    This is the rest of what the user allows (`limited_memory`, else the variable `COTERIE_MEMORY`), else the least of
    the free memory of the machine, of the limits of its container (cgroups), and of its limit of addresses.
    """
    allowed = _allowed_memory()
    if allowed is not None:
        # Pages of mapped files are not counted: the system takes them back when memory runs short.
        return max(0.0, allowed - (_process_bytes("RssAnon") or _process_bytes("VmRSS")))
    return max(0.0, min(_free_of_machine(), _free_of_cgroups(), _free_of_addresses()))


def check_memory(needs: Sequence[Need], whose: str) -> None:
    """Raise a MemoryError if simultaneous needs exceed the available memory; it names the largest and how to reduce it.

    `whose` is the work, such as "KMeans of 1,000,000 x 64 rows".
    """
    needed = sum(need.n_bytes for need in needs)
    if needed <= _NEGLIGIBLE_BYTES and _allowed_memory() is None:
        return
    free = available_memory()
    if needed <= free:
        return
    largest = max(needs, key=lambda need: need.n_bytes)
    ways = [largest.way_out] if largest.way_out else []
    if _allowed_memory() is None:
        there_is = f"{as_size(free)} are free"
        ways.append(f"allow more ({MEMORY_VARIABLE})")
    else:
        there_is = f"{as_size(free)} are left of the {as_size(_allowed_memory() or 0)} that are allowed"
        ways.append("allow more")
    raise MemoryError(
        f"{whose}: needs about {as_size(needed)} of memory, and {there_is}. {as_size(largest.n_bytes)} of it are "
        f"{largest.what}: {', or '.join(ways)}."
    )


def check_allocation(n_bytes: float, what: str, remedy: str) -> None:
    """Raise a MemoryError before something larger than the available memory is allocated.

    `what` is a plural noun, such as "bounds of the distances of all rows", and `remedy` an imperative.
    """
    if n_bytes <= _NEGLIGIBLE_BYTES and _allowed_memory() is None:
        return
    free = available_memory()
    if n_bytes > free:
        allowed = _allowed_memory()
        limit = "" if allowed is None else f" of the {as_size(allowed)} that are allowed"
        raise MemoryError(
            f"The {what} take about {as_size(n_bytes)} of memory, and {as_size(free)}{limit} are free: {remedy}."
        )


def _allowed_memory() -> float | None:
    if _allowed is not None:
        return _allowed
    text = os.environ.get(MEMORY_VARIABLE)
    if not text:
        return None
    try:
        return memory_in_bytes(text)
    except ValueError as error:
        raise ValueError(f"The environment variable {MEMORY_VARIABLE}: {error}") from None


def _free_of_machine() -> float:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:  # other systems report at least the total memory
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _free_of_cgroups() -> float:
    """Return the memory that the control groups of this process may still take; enclosing groups have limits, too."""
    free = float("inf")
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.rstrip("\n").split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup", "memory" if controllers else "")
        limit, used = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes")
            if controllers
            else ("memory.max", "memory.current")
        )
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            free = min(free, _free_of_cgroup(folder, limit, used))
            if folder == root:
                break
    return free


def _free_of_cgroup(folder: Path, limit: str, used: str) -> float:
    most, used_bytes = _number(folder / limit), _number(folder / used)
    if most is None or used_bytes is None or most >= _NO_LIMIT:
        return float("inf")
    pages = dict(line.split() for line in _lines(folder / "memory.stat"))
    hierarchical = "total_inactive_file" in pages
    names = [name for name in _RECLAIMABLE if name.startswith("total_") == hierarchical]
    return most - used_bytes + sum(int(pages.get(name, 0)) for name in names)


def _free_of_addresses() -> float:
    try:
        import resource
    except ImportError:  # Windows has none
        return float("inf")
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if most == resource.RLIM_INFINITY else most - _process_bytes("VmSize")


def _process_bytes(name: str) -> int:
    """Return an entry of /proc/self/status in bytes; 0 if there is none."""
    for line in _lines(Path("/proc/self/status")):
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readlines()
    except OSError:
        return []
