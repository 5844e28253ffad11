"""Zig's Clang as CMake wants a compiler of each platform: `ziglang` on PyPI has all that compiles and links for it."""

from __future__ import annotations

import sys
from pathlib import Path

from release.targets import Target
from release.windows import python_of_windows

__all__ = ["settings_of"]

# Zig's linker reads no list of symbols from a file (what nanobind lists there is all of Python's), and it falls over
# bundles; macOS loads a module that is a shared library as well. CMake asks for -ldl, which Windows has not.
_COMPILER = """#!/bin/sh
for argument do
    shift
    case $argument in
        -Wl,@*) set -- "$@" -Wl,-undefined,dynamic_lookup ;;
        -bundle) set -- "$@" -shared ;;
        -ldl) test "{system}" = Windows || set -- "$@" -ldl ;;
        *) set -- "$@" "$argument" ;;
    esac
done
# -s: nothing but what Python looks for is kept in the table of symbols. -O3: Zig compiles its C++ library for each set
# of such flags, which takes minutes; so CMake's first questions and the module get the same one.
exec "{python}" -m ziglang {tool} -target {target} -s -O3 "$@"
"""
_TOOL = """#!/bin/sh
exec "{python}" -m ziglang {tool} "$@"
"""


def settings_of(target: Target, python: Path, folder: Path, nanobind: Path) -> dict[str, str]:
    """Return the environment variables that make scikit-build-core compile for a platform.

    Parameters
    ----------
    target : Target
        The platform.
    python : Path
        The Python that builds; its headers are taken.
    folder : Path
        Where to put the compilers: scripts, for CMake wants one word.
    nanobind : Path
        Where nanobind has its lists of names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tools = {
        tool: _script(folder / tool, _COMPILER if tool in ("cc", "c++") else _TOOL, tool, target)
        for tool in ("cc", "c++", "ar", "ranlib", "rc")
    }
    arguments = {
        "CMAKE_SYSTEM_PROCESSOR": target.processor,
        # Those of this system know no objects of others.
        "CMAKE_AR": tools["ar"],
        "CMAKE_RANLIB": tools["ranlib"],
        "COTERIE_LLVM_RUNTIME": "ON",
    }
    if target.system:
        arguments["CMAKE_SYSTEM_NAME"] = target.system
    if target.system == "Darwin":
        # Asked for, and never called: nothing is installed that another library would have to find.
        arguments["CMAKE_INSTALL_NAME_TOOL"] = "/bin/false"
    if target.system == "Windows":
        arguments["CMAKE_RC_COMPILER"] = tools["rc"]
        arguments.update(python_of_windows(python, folder / "python", nanobind))
    return {
        "CC": tools["cc"],
        "CXX": tools["c++"],
        "CMAKE_ARGS": " ".join(f"-D{name}={value}" for name, value in arguments.items()),
        "SETUPTOOLS_EXT_SUFFIX": target.suffix,
        "_PYTHON_HOST_PLATFORM": target.built_as,
    }


def _script(path: Path, text: str, tool: str, target: Target) -> str:
    path.write_text(text.format(python=sys.executable, tool=tool, target=target.zig, system=target.system))
    path.chmod(0o755)
    return str(path)
