"""Rules of the architecture that the import linter cannot check."""

import ast
import importlib
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import coterie
from coterie import _kernels
from tests.support.sources import (
    ROOT,
    SOURCES,
    imports,
    package_of,
    parsed,
    python_files,
)

PARTS = "seeding coresets graphs metrics datasets passes dask plotting rows estimators"
PUBLIC_MODULES = ["coterie", *(f"coterie.{name}" for name in PARTS.split())]

in_checkout = pytest.mark.skipif(not SOURCES.is_dir(), reason="the sources are not installed")


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{line}"


def listed(faults: list[str]) -> str:
    return "\n".join(["", *faults])


@in_checkout
class TestImports:
    def test_no_private_name_is_imported_from_another_package(self):
        faults = [
            f"{place(path, line)}: {name} of {module}"
            for path in python_files(SOURCES)
            for line, module, name in imports(parsed(path))
            if re.match("_[^_]", name or "")
            and module.startswith("coterie.")
            and module.split(".")[1] != package_of(path)
        ]
        assert not faults, listed(faults)

    def test_the_package_itself_is_imported_for_the_kernels_only(self):
        """The command line may: it stands above all of them."""
        faults = [
            f"{place(path, line)}: {name or 'import coterie'}"
            for path in python_files(SOURCES)
            if package_of(path) not in ("__init__", "__main__", "cli")
            for line, module, name in imports(parsed(path))
            if module == "coterie" and name != "_kernels"
        ]
        assert not faults, listed(faults)

    def test_page_lists_the_layers_of_the_import_contract(self):
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        contract = settings["tool"]["importlinter"]["contracts"][0]
        page = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")
        assert f"```\n{chr(10).join(contract['layers'])}\n```" in page


@in_checkout
def test_no_private_name_is_used_in_another_package():
    """A private name that only other packages define is theirs, whatever it is an attribute of."""
    texts = {path: path.read_text(encoding="utf-8") for path in python_files(SOURCES)}
    owners = defaultdict(set)
    for path, text in texts.items():
        for name in re.findall(
            r"(?:def |class |self\.|^ *)(_[a-z]\w*)(?:\(|: | = |\[|, )", text, re.MULTILINE
        ):
            owners[name].add(package_of(path))
    faults = [
        f"{path.relative_to(ROOT)}: {name} of {', '.join(sorted(owners[name]))}"
        for path, text in texts.items()
        for name in re.findall(r"(?<!\bself)(?<!\bcls)(?<!super\(\))\.(_[a-z]\w*)", text)
        if name in owners and package_of(path) not in owners[name]
    ]
    assert not faults, listed(faults)


class TestPublicNames:
    @pytest.mark.parametrize("module", PUBLIC_MODULES)
    def test_public_names_exist(self, module):
        found = importlib.import_module(module)
        assert len(found.__all__) == len(set(found.__all__))
        for name in found.__all__:
            getattr(found, name)

    @in_checkout
    def test_are_in_the_reference(self):
        page = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
        modules = [f"coterie.{name}" for name in re.findall(r"^made/coterie\.(\w+)$", page, re.MULTILINE)]
        assert sorted(["coterie", *modules]) == sorted(PUBLIC_MODULES)
        names = {
            name for name in coterie.__all__ if f"coterie.{name}" not in modules and name != "__version__"
        }
        assert set(re.findall(r"^   (\w+)$", page, re.MULTILINE)) == names


class TestStub:
    """The typed face of the compiled module is that of the module."""

    STUB = parsed(Path(coterie.__file__).with_name("_kernels.pyi"))

    def test_names(self):
        constants = {node.target.id for node in self.STUB.body if isinstance(node, ast.AnnAssign)}
        others = {node.name for node in self.STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        found = {name for name in vars(_kernels) if not name.startswith("__")} | {"__version__"}
        assert constants | others == found

    def test_parameters(self):
        for node in self.STUB.body:
            if isinstance(node, ast.FunctionDef):
                for text, *_ in getattr(_kernels, node.name).__nb_signature__:
                    assert len(re.findall(r"\barg\d*: ", text)) == len(node.args.args), node.name
