"""CPython for Windows as far as an extension module needs it: its headers and a library of its names.

The headers are those of any CPython but for one, which says what the system has.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["python_of_windows"]

_PYCONFIG = """
#define MS_WIN32
#define MS_WIN64
#define MS_WINDOWS
#define NT_THREADS
#define WITH_THREAD
#define Py_ENABLE_SHARED 1
#define MS_COREDLL
#define HAVE_DECLSPEC_DLL
#define STDC_HEADERS 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_WCHAR_T 2
#define WITH_DOC_STRINGS 1
"""


def python_of_windows(python: Path, folder: Path, nanobind: Path) -> dict[str, str]:
    """Put headers and libraries of the version of a Python here into a folder; returns how CMake is told of them."""
    asked = "import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_path('include'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    major, minor, headers = done.stdout.strip().split(" ", 2)
    folder = folder / f"{major}.{minor}"
    shutil.copytree(headers, folder / "include", dirs_exist_ok=True)
    (folder / "include" / "pyconfig.h").write_text(_PYCONFIG)
    # What nanobind lists for macOS, where it says that these names will be there when the module is loaded.
    listed = (nanobind / "darwin-ld-cpython.sym").read_text()
    names = re.findall(r"^-U _(\w+)$", listed, re.MULTILINE)
    arguments = {"Python_INCLUDE_DIR": str(folder / "include")}
    for option, dll in (
        ("Python_LIBRARY", f"python{major}{minor}"),
        ("Python_SABI_LIBRARY", f"python{major}"),
    ):
        arguments[option] = str(_import_library(dll, names, folder))
    return arguments


def _import_library(dll: str, names: list[str], folder: Path) -> Path:
    """Write the library that links a module with the names of a DLL, and return its path."""
    definition, library = folder / f"{dll}.def", folder / f"{dll}.lib"
    definition.write_text("\n".join([f"LIBRARY {dll}.dll", "EXPORTS", *names, ""]))
    command = [sys.executable, "-m", "ziglang", "dlltool", "-m", "i386:x86-64"]
    subprocess.run([*command, "-D", f"{dll}.dll", "-d", str(definition), "-l", str(library)], check=True)
    return library
