"""Names of wheels compared with the report of `auditwheel`, and arguments of CMake for each system."""

import sys
import tomllib
from pathlib import Path

import pytest

from release.compilers import settings_of
from release.targets import TARGETS
from release.wheels import check, is_as_old

SHOWN = """
coterie-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl is consistent with
the following platform tag: "manylinux_2_17_x86_64".
"""


def test_a_wheel_may_be_older_than_its_name_but_not_newer():
    assert is_as_old(SHOWN, "manylinux_2_28_x86_64")
    assert is_as_old(SHOWN, "manylinux_2_17_x86_64")
    assert not is_as_old(SHOWN, "manylinux_2_12_x86_64")


def test_the_stable_interface_begins_where_the_wheels_of_a_version_end():
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert settings["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    assert settings["tool"]["cibuildwheel"]["build"] == ["cp311-*", "cp312-*"]
    assert all(".cpython-311-" in target.suffix or ".cp311-" in target.suffix for target in TARGETS.values())


def test_a_wheel_that_is_too_large_or_for_another_system_is_refused(tmp_path):
    wheel = tmp_path / "coterie-0.1.0-cp312-abi3-macosx_11_0_arm64.whl"
    wheel.write_bytes(bytes(1000))
    with pytest.raises(SystemExit, match="is not for macosx_10_15_x86_64"):
        check(wheel, TARGETS["macos-x86_64"])
    wheel.write_bytes(bytes(3_000_001))
    with pytest.raises(SystemExit, match="larger than 3 MB"):
        check(wheel, TARGETS["macos-arm64"])


@pytest.mark.parametrize("name", [name for name in TARGETS if "windows" not in name])
def test_arguments_of_cmake(name, tmp_path):
    target = TARGETS[name]
    told = settings_of(target, Path(sys.executable), tmp_path, tmp_path)
    arguments = dict(argument.removeprefix("-D").split("=", 1) for argument in told["CMAKE_ARGS"].split())
    assert arguments["CMAKE_SYSTEM_PROCESSOR"] == target.processor
    assert arguments.get("CMAKE_SYSTEM_NAME", "") == target.system
    assert f"-target {target.zig} " in Path(told["CXX"]).read_text()
    # packaging says "cp311-none" of a platform that is called manylinux or musllinux before `wheel tags` names it.
    host = told["_PYTHON_HOST_PLATFORM"].replace("-", "_")
    assert host == (f"linux_{target.processor}" if target.is_linux else target.platform)


def test_of_the_global_lock_sources_and_metadata_say_the_same():
    # A module that does not declare otherwise turns the lock on when a free-threaded CPython imports it.
    root = Path(__file__).parents[2]
    declared = "FREE_THREADED" in (root / "CMakeLists.txt").read_text()
    assert declared == ("Free Threading" in (root / "pyproject.toml").read_text())
