"""Wheels of all platforms, on one machine: `python -m release.wheels`.

Zig's Clang compiles for all of them (`ziglang` on PyPI), against the oldest C library that a wheel may ask for. Each
target gets two wheels: one for CPython 3.11, and one for the stable interface of CPython 3.12 and all after it.

Those of Linux go to `dist`; the tests run with them, the ones for 64-bit ARM in an emulator. Those of macOS and Windows
show that all is compiled and linked there. No test runs with them here, so they stay in `build/untested`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from release.compilers import settings_of
from release.targets import TARGETS, Target

__all__ = ["build_tools", "build_wheel", "check", "environment_of", "is_as_old", "main"]

_ROOT = Path(__file__).parents[1]
_WORK = _ROOT / "build" / "wheels"
_UNTESTED = _ROOT / "build" / "untested"
_PYTHONS = ("3.11", "3.12")
_MOST_BYTES = 3 * 10**6
_SBOM = ".dist-info/sboms/coterie.cdx.json"


def main(arguments: list[str] | None = None) -> None:
    """Build the wheels that the command line names, and look at them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "targets", nargs="*", default=list(TARGETS), help=f"of {', '.join(TARGETS)}; all of them by default"
    )
    parser.add_argument("--pythons", nargs="+", default=_PYTHONS, help="versions of CPython to build with")
    parser.add_argument("--out", type=Path, help="dist and build/untested by default")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    for name in asked.targets:
        target = TARGETS[name]
        out = asked.out or (_ROOT / "dist" if target.is_linux else _UNTESTED)
        out.mkdir(parents=True, exist_ok=True)
        for python in asked.pythons:
            begin = time.perf_counter()
            wheel = build_wheel(name, target, environment_of(python), out)
            check(wheel, target)
            seconds = time.perf_counter() - begin
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB in {seconds:.0f} s", flush=True)


def environment_of(version: str) -> Path:
    """Return the Python of an environment of that version; make it if it is missing."""
    python = _WORK / f"python{version}" / "bin" / "python"
    if not python.exists():
        _run(
            [_interpreter(version), "-m", "venv", str(python.parents[1])],
            f"CPython {version} makes no environment",
        )
    return python


def build_tools() -> Path:
    """Return the folder with what release/build.txt lists; fill it if it is missing.

    One for all versions of Python: scikit-build-core begins anew wherever another copy of it has built before.
    """
    folder = _WORK / "tools"
    if not folder.exists():
        listed = ["--require-hashes", "--requirement", str(_ROOT / "release" / "build.txt")]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *listed]
        _run(command, "what builds need cannot be installed")
    return folder


def _interpreter(version: str) -> str:
    # pyenv has a shim on the path for each version that it knows; those that are not switched on do not run.
    others = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for interpreter in (shutil.which(f"python{version}"), *map(str, others)):
        if (
            interpreter
            and subprocess.run([interpreter, "-V"], capture_output=True, check=False).returncode == 0
        ):
            return interpreter
    sys.exit(f"CPython {version} is not on the path: install it, or choose others by --pythons.")


def build_wheel(name: str, target: Target, python: Path, out: Path) -> Path:
    """Build one wheel into a folder; returns its path.

    A wheel of the same name is replaced. The kernels know nothing of Python: they are compiled once for a target, in
    the folder where CMake builds for each Python in turn.
    """
    folder = _WORK / name
    tools = build_tools()
    settings = settings_of(target, python, folder / "bin", tools / "nanobind" / "cmake")
    environment = {**os.environ, **settings, "PYTHONPATH": str(tools)}
    made = folder / "wheel"
    shutil.rmtree(made, ignore_errors=True)
    command = [
        str(python), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(made),
        f"--config-settings=build-dir={folder / 'cmake'}", "--config-settings=install.strip=false", str(_ROOT),
    ]  # fmt: skip
    _run(command, f"the wheel of {name} cannot be built", environment)
    (wheel,) = made.glob("*.whl")
    # The platform that the compiler was told of; `check` has auditwheel look whether it is true.
    tag = ["wheel", "tags", "--remove", "--platform-tag", target.platform, str(wheel)]
    _run([sys.executable, "-m", *tag], f"{wheel.name} gets no platform")
    (wheel,) = made.glob("*.whl")
    if target.musl:
        _ask_for(target.musl, wheel)
    return Path(shutil.copy(wheel, out))


def _ask_for(library: str, wheel: Path) -> None:
    """Have the module of a wheel ask for musl by the name that distributions give it; Zig says libc.so."""
    folder = wheel.parent / "unpacked"
    _run(
        [sys.executable, "-m", "wheel", "unpack", "--dest", str(folder), str(wheel)], "it cannot be unpacked"
    )
    (contents,) = folder.iterdir()
    for module in contents.glob("coterie/_kernels*.so"):
        _run(
            ["patchelf", "--replace-needed", "libc.so", library, str(module)],
            f"{module.name} keeps Zig's name",
        )
    pack = ["wheel", "pack", "--dest-dir", str(wheel.parent), str(contents)]
    _run([sys.executable, "-m", *pack], f"{wheel.name} cannot be packed")


def check(wheel: Path, target: Target) -> None:
    """Raise `SystemExit` if the wheel is not what its name says, or too large."""
    if wheel.stat().st_size > _MOST_BYTES:
        sys.exit(f"{wheel.name} is larger than {_MOST_BYTES / 1e6:.0f} MB.")
    if not wheel.stem.endswith(target.platform):
        sys.exit(f"{wheel.name} is not for {target.platform}.")
    if not any(name.endswith(_SBOM) for name in zipfile.ZipFile(wheel).namelist()):
        sys.exit(f"{wheel.name} has no {_SBOM}.")
    if target.is_linux:
        shown = _run(["auditwheel", "show", str(wheel)], f"auditwheel refuses {wheel.name}")
        if not is_as_old(shown, target.platform):
            sys.exit(f"auditwheel does not call {wheel.name} {target.platform}:\n{shown}")
    _run(["twine", "check", "--strict", str(wheel)], f"twine refuses {wheel.name}")
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
