"""What `auditwheel` says of a wheel is held against its name; which systems there are."""

import tomllib
from pathlib import Path

from release.targets import TARGETS
from release.wheels import is_as_old

SHOWN = """
coterie-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl is consistent with
the following platform tag: "manylinux_2_17_x86_64".
"""


def test_a_wheel_may_be_older_than_its_name_but_not_newer():
    assert is_as_old(SHOWN, "manylinux_2_28_x86_64")
    assert is_as_old(SHOWN, "manylinux_2_17_x86_64")
    assert not is_as_old(SHOWN, "manylinux_2_12_x86_64")


def test_a_wheel_of_another_family_or_processor_is_none():
    assert not is_as_old(SHOWN, "musllinux_1_2_x86_64")
    assert not is_as_old(SHOWN, "manylinux_2_28_aarch64")
    assert not is_as_old(SHOWN.replace("manylinux_2_17", "linux"), "manylinux_2_28_x86_64")


def test_the_stable_interface_begins_where_the_wheels_of_a_version_end():
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert settings["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    assert settings["tool"]["cibuildwheel"]["build"] == ["cp311-*", "cp312-*"]
    assert all(".cpython-311-" in target.suffix or ".cp311-" in target.suffix for target in TARGETS.values())
