"""Wheels of Linux for x86-64 and 64-bit ARM, on one machine: `python -m release.wheels`.

Zig's Clang compiles for all of them (`ziglang` on PyPI), against the oldest C library that a wheel may ask for. Each
target gets two wheels: one for CPython 3.11, and one for the stable interface of CPython 3.12 and all after it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from release.targets import TARGETS, Target

__all__ = ["build_wheel", "check", "environment_of", "is_as_old", "main"]

_ROOT = Path(__file__).parents[1]
_WORK = _ROOT / "build" / "wheels"
_PYTHONS = ("3.11", "3.12")
_MOST_BYTES = 3 * 10**6


def main(arguments: list[str] | None = None) -> None:
    """Build the wheels that the command line names, and look at them."""
    parser = argparse.ArgumentParser(description=__doc__)
    linux = [name for name, target in TARGETS.items() if target.is_linux]
    parser.add_argument(
        "targets", nargs="*", default=linux, help=f"of {', '.join(linux)}; all of them by default"
    )
    parser.add_argument("--pythons", nargs="+", default=_PYTHONS, help="versions of CPython to build with")
    parser.add_argument("--out", type=Path, default=_ROOT / "dist")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.targets) - set(linux):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.targets:
        for python in asked.pythons:
            begin = time.perf_counter()
            wheel = build_wheel(name, TARGETS[name], environment_of(python), asked.out)
            check(wheel)
            seconds = time.perf_counter() - begin
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB in {seconds:.0f} s", flush=True)


def environment_of(version: str) -> Path:
    """Return the Python of an environment of that version with all that a build needs; make it if it is missing."""
    python = _WORK / f"python{version}" / "bin" / "python"
    if not python.exists():
        interpreter = shutil.which(f"python{version}")
        if interpreter is None:
            sys.exit(f"CPython {version} is not on the path: install it, or choose others by --pythons.")
        # A shim may be there of a version that is not.
        _run([interpreter, "-m", "venv", str(python.parents[1])], f"CPython {version} makes no environment")
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    needed = [*project["build-system"]["requires"], "ziglang", "cmake>=3.18", "ninja", "pip>=23"]
    _run([str(python), "-m", "pip", "install", "--quiet", *needed], "what builds need cannot be installed")
    return python


def build_wheel(name: str, target: Target, python: Path, out: Path) -> Path:
    """Build one wheel into a folder; returns its path.

    A wheel of the same name is replaced.
    """
    compilers = _compilers(name, target, python)
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    built = _WORK / name / version
    environment = {
        **os.environ,
        **compilers,
        "CMAKE_ARGS": f"-DCMAKE_SYSTEM_PROCESSOR={target.processor} -DCMAKE_BUILD_TYPE=Release",
        "SETUPTOOLS_EXT_SUFFIX": target.suffix,
        "_PYTHON_HOST_PLATFORM": target.platform.replace("_", "-"),
    }
    made = built / "wheel"
    shutil.rmtree(made, ignore_errors=True)
    command = [
        str(python), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(made),
        f"--config-settings=build-dir={built / 'cmake'}", "--config-settings=install.strip=false", str(_ROOT),
    ]  # fmt: skip
    _run(command, f"the wheel of {name} cannot be built", environment)
    (wheel,) = made.glob("*.whl")
    return Path(shutil.copy(wheel, out))


def _compilers(name: str, target: Target, python: Path) -> dict[str, str]:
    """Return the environment variables that name Zig's compilers: scripts, for CMake wants one word."""
    folder = _WORK / name / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    compilers = {}
    for variable, command in (("CC", "cc"), ("CXX", "c++")):
        script = folder / command
        # -s: nothing but what Python looks for is kept in the table of symbols.
        script.write_text(f'#!/bin/sh\nexec "{python}" -m ziglang {command} -target {target.zig} -s "$@"\n')
        script.chmod(0o755)
        compilers[variable] = str(script)
    return compilers


def check(wheel: Path) -> None:
    """Raise `SystemExit` if the wheel is not what its name says, or too large."""
    if wheel.stat().st_size > _MOST_BYTES:
        sys.exit(f"{wheel.name} is larger than {_MOST_BYTES / 1e6:.0f} MB.")
    platform = wheel.stem.rsplit("-", 1)[1]
    shown = _run([sys.executable, "-m", "auditwheel", "show", str(wheel)], f"auditwheel refuses {wheel.name}")
    if not is_as_old(shown, platform):
        sys.exit(f"auditwheel does not call {wheel.name} {platform}:\n{shown}")
    _run([sys.executable, "-m", "twine", "check", "--strict", str(wheel)], f"twine refuses {wheel.name}")
    if "abi3" in wheel.name:
        _run(["abi3audit", "--strict", str(wheel)], f"abi3audit refuses {wheel.name}")


def is_as_old(shown: str, platform: str) -> bool:
    """Return whether what auditwheel shows names the platform or an older one, which is better than promised."""
    family, major, minor, processor = platform.split("_", 3)
    consistent = re.search(rf'tag: "{family}_(\d+)_(\d+)_{processor}"', shown.replace("\n", " "))
    return consistent is not None and (int(consistent[1]), int(consistent[2])) <= (int(major), int(minor))


def _run(command: list[str], complaint: str, environment: dict[str, str] | None = None) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        env={**(environment or os.environ), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{complaint}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
