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
    number, unit = found.groups() if (found := _SIZE.fullmatch(text.strip())) else ("0", None)
    unit = (unit or "").lower()
    n_bytes = int(float(number) * (1024 if unit.endswith("i") else 1000) ** " kmgt".index(unit[:1] or " "))
    if n_bytes <= 0:
        raise ValueError(f"an amount of memory is a number with a unit, such as 4GB or 512MiB, got {text!r}.")
    return n_bytes


def as_size(n_bytes: float) -> str:
    """Return a number of bytes as text, such as "4.2 GB"."""
    units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
    while n_bytes >= 999.5 and len(units) > 1:
        n_bytes /= 1000
        del units[0]
    digits = 1 if n_bytes < 10 and units[0] != "bytes" else 0
    return f"{n_bytes:,.{digits}f} {units[0]}"


def available_memory() -> float:
    """Return how many more bytes this process may take (infinity if unknown): the rest of `COTERIE_MEMORY`, else the
    least of the free memory and of the limits of the container (cgroups).
    """
    allowed = _allowed_memory()
    if allowed is not None:
        # Pages of mapped files are not counted: the system takes them back when memory runs short.
        own = _entries(Path("/proc/self/status"))
        return max(0.0, allowed - own.get("RssAnon", own.get("VmRSS", 0)))
    return max(0.0, min(_free_of_machine(), _free_of_cgroups()))


def is_free(n_bytes: float) -> bool:
    """Return whether this many bytes may be allocated."""
    return (n_bytes <= _NEGLIGIBLE_BYTES and _allowed_memory() is None) or n_bytes <= available_memory()


def check_allocation(n_bytes: float, what: str, remedy: str) -> None:
    """Raise a MemoryError if `n_bytes` exceed the available memory. `what` is a plural noun, `remedy` an imperative."""
    if not is_free(n_bytes):
        free, allowed = available_memory(), _allowed_memory()
        limit = "" if allowed is None else f" of the {as_size(allowed)} that are allowed"
        raise MemoryError(
            f"The {what} take about {as_size(n_bytes)} of memory, and {as_size(free)}{limit} are free: {remedy}."
        )


def _allowed_memory() -> float | None:
    text = os.environ.get(MEMORY_VARIABLE)
    try:
        return memory_in_bytes(text) if text else None
    except ValueError as error:
        raise ValueError(f"The environment variable {MEMORY_VARIABLE}: {error}") from None


def _free_of_machine() -> float:
    found = _entries(Path("/proc/meminfo")).get("MemAvailable")
    if found is not None:
        return found
    try:  # other systems report at least the total memory
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _free_of_cgroups() -> float:
    """Return the memory that the control group of this process and those above it may still take (version 2)."""
    free, root = float("inf"), Path("/sys/fs/cgroup")
    own = next((line[3:] for line in _lines(Path("/proc/self/cgroup")) if line.startswith("0::")), "/")
    group = root / own.strip().lstrip("/")
    for folder in (group, *group.parents):
        most, used = ("".join(_lines(folder / f"memory.{name}")).strip() for name in ("max", "current"))
        if most.isdecimal() and used.isdecimal():
            pages = dict(line.split() for line in _lines(folder / "memory.stat"))
            free = min(free, int(most) - int(used) + sum(int(pages.get(name, 0)) for name in _RECLAIMABLE))
        if folder == root:
            break
    return free


def _entries(path: Path) -> dict[str, int]:
    """Return the entries in kB of a file of /proc, in bytes."""
    words = [line.replace(":", " ").split() for line in _lines(path)]
    return {line[0]: int(line[1]) * 1024 for line in words if line[2:] == ["kB"]}


def _lines(path: Path) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readlines()
    except OSError:
        return []
