"""Available memory: free memory of the machine or container, or the limit of the user."""

from __future__ import annotations

import os
import re
from pathlib import Path

MEMORY_VARIABLE = "COTERIE_MEMORY"
"""The environment variable that limits the memory of this process."""

# Smaller needs are not compared with the free memory: reading it takes longer than most small fits.
_NEGLIGIBLE_BYTES = 64 * 2**20

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", re.IGNORECASE)

# Pages of files that the system gives back when memory runs short, by their names in memory.stat.
_RECLAIMABLE = ("inactive_file", "active_file")


def memory_in_bytes(text: str) -> int:
    """Return the bytes of a size such as "4GB", "512 MiB" or "1.5g"; a ValueError if it is no positive size."""
    found = _SIZE.fullmatch(text.strip())
    n_bytes = 0
    if found:
        unit = (found[2] or "").lower()
        power = "kmgt".index(unit[0]) + 1 if unit else 0
        n_bytes = int(float(found[1]) * (1024 if unit.endswith("i") else 1000) ** power)
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


def available_memory() -> float:
    """Return how many more bytes this process may take; infinity if this is unknown.

    This is the rest of what the variable `COTERIE_MEMORY` allows, else the least of the free memory of the machine, of
    the limits of its container (cgroups), and of its limit of addresses.
    """
    allowed = _allowed_memory()
    if allowed is not None:
        # Pages of mapped files are not counted: the system takes them back when memory runs short.
        return max(0.0, allowed - (_process_bytes("RssAnon") or _process_bytes("VmRSS")))
    return max(0.0, min(_free_of_machine(), _free_of_cgroups(), _free_of_addresses()))


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
    """Return the memory that the control group of this process and those above it may still take (version 2)."""
    free, root = float("inf"), Path("/sys/fs/cgroup")
    own = next(
        (line[3:].strip() for line in _lines(Path("/proc/self/cgroup")) if line.startswith("0::")), "/"
    )
    group = root / own.lstrip("/")
    for folder in (group, *group.parents):
        most, used = _number(folder / "memory.max"), _number(folder / "memory.current")
        if most is not None and used is not None:
            pages = dict(line.split() for line in _lines(folder / "memory.stat"))
            free = min(free, most - used + sum(int(pages.get(name, 0)) for name in _RECLAIMABLE))
        if folder == root:
            break
    return free


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
