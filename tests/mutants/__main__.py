"""``python -m tests.mutants [PACKAGES] [--draws N] [--seed N] [--laws]``: does a test fail when the source is wrong?

A mutant is the source with one change: another comparison, operator or constant, two arguments swapped, or a statement
dropped. The same number is drawn from each package; ``cpp/centers`` names the kernels of a package, which are compiled
with each change. The tests of the package's folder run in a copy of the repository, with
``--laws`` also the laws that hold for all estimators. If none fails, the mutant has survived: a test is missing, the
code has no effect and can go, or the change is equivalent.

The table is written as CSV to ``--out`` after each mutant; a second call skips the mutants that it has.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from coterie import _kernels

ROOT = Path(__file__).parents[2]
PACKAGES = [
    "backend", "blocks", "centers", "cli", "convex", "estimators", "fitting", "graphs", "kmeans", "laplacian_kmodes",
    "mixture", "rows", "seeding", "size_constrained", "total_variation",
]  # fmt: skip

# Where the tests of a package are, if not in the folder or the modules of its name.
ELSEWHERE = {"backend": ["tests/fitting", "tests/blocks", "tests/kmeans", "tests/dask"]}
# Tests of all estimators, for what the tests of a package do not see.
LAWS = [
    "tests/contracts/test_invariance.py",
    "tests/contracts/test_fitting.py",
    "tests/contracts/test_inputs.py",
    "tests/contracts/test_extremes.py",
]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr,
}  # fmt: skip
# Changes of C++. Spaces around an operator tell it from templates, pointers and signs.
SYMBOLS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " + ": " - ",
    " - ": " + ", " * ": " + ", " / ": " * ", " += ": " -= ", " -= ": " += ", " && ": " || ", " || ": " && ",
    "std::min(": "std::max(", "std::max(": "std::min(", " + 1": " + 2", " - 1": " - 2",
}  # fmt: skip
# Lines of C++ that do nothing at run time.
DECLARATIONS = ("//", "#", "template", "static_assert", "using ", "requires")


class Mutant(NamedTuple):
    """A place of a source file and what stands there instead."""

    path: str
    line: int
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def main() -> None:
    """Draw mutants, run their tests, and record which survive."""
    options = read_options()
    # Tests of Ctrl-C: a shell lets what it runs in the background ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mutants = draw(options.packages, options.draws, random.Random(options.seed))
    done = set()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if options.out.exists():
        with options.out.open(newline="") as file:
            done = {(row["path"], row["line"], row["after"]) for row in csv.DictReader(file)}
    with tempfile.TemporaryDirectory() as folder, options.out.open("a", newline="") as file:
        copy_repository(Path(folder))
        if any(mutant.path.endswith(".hpp") for mutant in mutants) and not compile_kernels(Path(folder)):
            raise SystemExit("The kernels do not compile.")
        table = csv.DictWriter(file, ["path", "line", "before", "after", "seconds", "killed by"])
        if not done:
            table.writeheader()
        for mutant in mutants:
            if (mutant.path, str(mutant.line), mutant.text) in done:
                continue
            began = time.monotonic()
            killer = killed_by(mutant, tests_of(mutant) + LAWS * options.laws, Path(folder), options.seconds)
            before = (ROOT / mutant.path).read_bytes()[mutant.start : mutant.end].decode()
            table.writerow(
                {
                    "path": mutant.path, "line": mutant.line, "before": before, "after": mutant.text,
                    "seconds": round(time.monotonic() - began), "killed by": killer,
                }
            )  # fmt: skip
            file.flush()
            print(
                f"{mutant.path}:{mutant.line}: {before} -> {mutant.text}: {killer or 'SURVIVED'}", flush=True
            )


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", default=PACKAGES, help="packages or modules of src/coterie")
    parser.add_argument("--draws", type=int, default=100, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--laws", action="store_true", help="run the laws of all estimators, too")
    parser.add_argument("--seconds", type=float, default=600, help="for the tests of one mutant")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.csv", help="the table")
    return parser.parse_args()


def draw(packages: list[str], n_draws: int, rng: random.Random) -> list[Mutant]:
    """Return mutants, as many of each package."""
    remaining = {package: all_mutants(package) for package in packages}
    for mutants in remaining.values():
        rng.shuffle(mutants)
    drawn: list[Mutant] = []
    while len(drawn) < n_draws and any(remaining.values()):
        drawn += [mutants.pop() for mutants in remaining.values() if mutants]
    return drawn[:n_draws]


def all_mutants(package: str) -> list[Mutant]:
    """Return all mutants of a package or module."""
    if package.startswith("cpp/"):
        headers = sorted((ROOT / "cpp/include/coterie" / package.removeprefix("cpp/")).rglob("*.hpp"))
        return [mutant for path in headers for mutant in kernel_mutants(path)]
    place = ROOT / "src" / "coterie" / package
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    return [mutant for path in paths for mutant in mutants_of(path)]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    source = path.read_bytes()
    firsts = [0]
    for line in source.splitlines(keepends=True):
        firsts.append(firsts[-1] + len(line))
    for node, text in changes(ast.parse(source)):
        start = firsts[node.lineno - 1] + node.col_offset
        end = firsts[node.end_lineno - 1] + node.end_col_offset
        yield Mutant(str(path.relative_to(ROOT)), node.lineno, start, end, text)


def kernel_mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a header, whose text is ASCII."""
    start = 0
    for number, line in enumerate(path.read_text("ascii").splitlines(keepends=True), 1):
        code = "" if line.lstrip().startswith(DECLARATIONS) else line.split("//")[0]
        for symbol, other in SYMBOLS.items():
            for found in re.finditer(re.escape(symbol), code):
                yield Mutant(
                    str(path.relative_to(ROOT)), number, start + found.start(), start + found.end(), other
                )
        start += len(line)


def changes(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield nodes of function bodies with the text that replaces them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                yield from changed(statement)
        else:
            yield from changes(node)


def changed(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield each change of a statement or expression and of what is in it."""
    match node:
        case (
            ast.JoinedStr() | ast.Raise() | ast.Assert()
        ):  # positions in f-strings are wrong; texts of errors
            return
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, "pass"
        case ast.Compare(left, [operator], [right]) if type(operator) in COMPARISONS:
            yield node, text_of(ast.Compare(left, [COMPARISONS[type(operator)]()], [right]))
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            if not any(isinstance(side, ast.JoinedStr) for side in (left, right)):
                yield node, text_of(ast.BinOp(left, OPERATORS[type(operator)](), right))
        case ast.BoolOp(operator, values):
            yield node, text_of(ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values))
        case ast.UnaryOp(ast.Not(), operand):
            yield node, text_of(operand)
        case ast.Constant(bool(value)):
            yield node, str(not value)
        case ast.Constant(int(value) | float(value)):
            yield node, str(value + 1)
        case ast.Call(function, [first, second, *rest], keywords) if ast.dump(first) != ast.dump(second):
            name = getattr(function, "id", getattr(function, "attr", ""))
            is_symmetric = name in ("min", "max", "minimum", "maximum")
            if not is_symmetric and not any(isinstance(side, ast.Starred) for side in (first, second)):
                yield node, text_of(ast.Call(function, [second, first, *rest], keywords))
        case _:
            pass
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from changed(child)


def text_of(expression: ast.expr) -> str:
    """Return the text of an expression, in parentheses unless it is a call or a name."""
    text = ast.unparse(expression)
    return text if isinstance(expression, ast.Call | ast.Name) else f"({text})"


def copy_repository(folder: Path) -> None:
    """Copy all files of the repository, and the kernels beside them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    for name in listed.decode().split("\0")[:-1]:
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    shutil.copy2(_kernels.__file__, folder / "src" / "coterie")


def compile_kernels(folder: Path) -> bool:
    """Compile the kernels of a copy into its package; return False if they do not compile."""
    build = folder / "build" / "kernels"
    if not build.exists():
        nanobind = subprocess.check_output(
            [sys.executable, "-m", "nanobind", "--cmake_dir"], text=True
        ).strip()
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            # Tests choose among all that this processor has.
            "COTERIE_INSTRUCTION_SETS": ";".join(_kernels.available_instruction_sets()),
            "Python_EXECUTABLE": sys.executable,
            "SKBUILD_PROJECT_NAME": "coterie",
            "SKBUILD_PROJECT_VERSION_FULL": "0",
            "nanobind_DIR": nanobind,
        }
        define = [f"-D{name}={value}" for name, value in options.items()]
        subprocess.run(
            ["cmake", "-S", folder, "-B", build, "-G", "Ninja", *define], check=True, capture_output=True
        )
    if subprocess.run(["cmake", "--build", build], capture_output=True).returncode:
        return False
    (library,) = (folder / "src" / "coterie").glob("_kernels*.so")
    shutil.copy2(*build.glob("_kernels*.so"), library)
    return True


def killed_by(mutant: Mutant, tests: list[str], folder: Path, seconds: float) -> str:
    """Return the first test that fails for a mutant, "time" if tests do not end, or "" if it survives."""
    path = folder / mutant.path
    source = path.read_bytes()
    compiled = Path(importlib.util.cache_from_source(str(path)))
    library = next((folder / "src" / "coterie").glob("_kernels*.so"))
    kernels = library.read_bytes()
    try:
        path.write_bytes(mutant.applied(source))
        compiled.unlink(missing_ok=True)
        if path.suffix == ".hpp" and not compile_kernels(folder):
            return "compiler"
        killer = failing_test(tests, folder, seconds)
    finally:
        path.write_bytes(source)
        compiled.unlink(missing_ok=True)
        library.write_bytes(kernels)
    if "::" in killer and failing_test([killer], folder, seconds):
        raise SystemExit(f"{killer} fails without a change, too.")
    return killer


def tests_of(mutant: Mutant) -> list[str]:
    """Return the tests of the package or module that a mutant is in, those of its module first."""
    root = "cpp/include/coterie" if mutant.path.startswith("cpp/") else "src/coterie"
    name, *_ = Path(mutant.path).relative_to(root).with_suffix("").parts
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if not (ROOT / "tests" / name).is_dir():
        return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(f"tests/test_{name}*.py"))
    own = sorted((ROOT / "tests" / name).rglob(f"test_{Path(mutant.path).stem}.py"))
    return [*(str(path.relative_to(ROOT)) for path in own), f"tests/{name}"]


def failing_test(tests: list[str], folder: Path, seconds: float) -> str:
    """Return the first test that fails, "time" if they do not end, or "" if all succeed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "time"
    if process.returncode == 0:
        return ""
    # Names of tests may have spaces; a message follows " - ".
    found = [
        line.split(" ", 1)[1].split(" - ")[0]
        for line in output.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    return found[0] if found else f"exit code {process.returncode}"


if __name__ == "__main__":
    main()
