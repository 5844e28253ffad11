"""The conda recipe has the requirements of pyproject.toml, and tests every extra."""

import re
import tomllib

from release.conda import RECIPE, ROOT, what_differs
from release.extras import PARTS

PROJECT = (ROOT / "pyproject.toml").read_text()


def test_requirements_are_the_same():
    assert what_differs(RECIPE.read_text(), PROJECT) == []


def test_each_extra_has_a_part_to_try():
    extras = tomllib.loads(PROJECT)["project"]["optional-dependencies"]
    of_users = re.search(r"\[(.*)\]", extras["all"][0])[1].split(",")
    assert set(PARTS) == {"", *of_users}
