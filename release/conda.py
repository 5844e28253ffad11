"""Render the conda recipe as rattler-build does, and hold it against pyproject.toml: `python -m release.conda`."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

__all__ = ["RECIPE", "ROOT", "main", "what_differs"]

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "release" / "conda" / "recipe.yaml"
# What conda-forge pins for Linux; without network its own list cannot be had.
_CONDA_FORGE = {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"], "python": ["3.12.* *_cpython"]}
# Where conda-forge's name is another one than PyPI's.
_NAMES: dict[str, str] = {}


def main() -> None:
    """Print what the recipe comes to on Linux."""
    from rattler_build import Stage0Recipe, VariantConfig

    differences = what_differs(RECIPE.read_text(), (ROOT / "pyproject.toml").read_text())
    if differences:
        sys.exit("\n".join(f"{RECIPE.name}: {line}" for line in differences))
    recipe = Stage0Recipe.from_file(RECIPE)
    for variant in recipe.render(VariantConfig(_CONDA_FORGE)):
        print(json.dumps(variant.recipe.to_dict(), indent=2, default=str))


def what_differs(recipe: str, project: str) -> list[str]:
    """Return a line for each requirement of coterie and its command that the recipe has otherwise, or not at all."""
    facts = tomllib.loads(project)
    asked = [*facts["project"]["dependencies"], *facts["project"]["optional-dependencies"]["cli"]]
    wanted = {"run": asked, "host": facts["build-system"]["requires"]}
    differences = []
    for section, requirements in wanted.items():
        lines = re.search(rf"\n  {section}:\n((?:    .*\n)*)", recipe)
        given = {} if lines is None else dict(re.findall(r"- ([\w-]+) >=([\d.]+)", lines[1]))
        given = {_NAMES.get(name, name): version for name, version in given.items()}
        for requirement in requirements:
            name, version = requirement.split(">=")
            if given.get(name) != version:
                differences.append(f"{section} has {name} {given.get(name)}, pyproject.toml {version}.")
    return differences


if __name__ == "__main__":
    main()
