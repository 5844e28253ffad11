"""What `coterie --version --verbose` tells: all that speed and bits of a fit depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

from coterie import _kernels
from coterie.fitting.threads import effective_n_threads

__all__ = ["LIBRARIES", "installation_lines"]

# What coterie needs, then what its extras add. Some of these may be missing.
LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "threadpoolctl", "cyclopts", "rich", "skops", "matplotlib",
    "jinja2", "bokeh", "pyarrow", "pandas", "h5py", "zarr", "dask", "distributed", "fsspec", "s3fs", "aiohttp",
)  # fmt: skip


def installation_lines() -> list[str]:
    """Return a line for each fact about this installation, the version first."""
    others = [name for name in _kernels.available_instruction_sets() if name != _kernels.instruction_set()]
    facts = [
        ("coterie", _kernels.__version__),
        ("instruction set", f"{_kernels.instruction_set()} (also here: {', '.join(others) or 'none'})"),
        ("compiler", getattr(_kernels, "__compiler__", "unknown")),
        ("threads", str(effective_n_threads(None))),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        *_thread_pools(),
        *((name, _version_or_none(name)) for name in LIBRARIES),
    ]
    width = max(len(name) for name, _ in facts)
    return [f"{name:<{width}}  {fact}" for name, fact in facts]


def _thread_pools() -> list[tuple[str, str]]:
    """Return the libraries with threads of their own (BLAS, OpenMP) that are loaded by now."""
    pools = []
    for pool in threadpool_info():
        told = " ".join(str(pool[fact]) for fact in ("version", "architecture") if pool.get(fact))
        kind = "OpenMP" if pool["user_api"] == "openmp" else "BLAS"
        pools.append(
            (f"{kind}: {pool['prefix']}", f"{told or 'version unknown'}, {pool['num_threads']} threads")
        )
    return pools


def _version_or_none(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
