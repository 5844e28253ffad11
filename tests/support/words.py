"""Find words that the project does not use, in pages, messages and help; `make lint` runs it.

Pages are plain technical English with the terms of the field; this rejects what is never right there, such as metaphors
and British spellings. Decisions have a limit of words, so that they stay decisions.
"""

import ast
import re
import sys
from collections.abc import Iterator

from tests.support.messages import messages, name_of, text_of
from tests.support.sources import ROOT, SOURCES, parsed, python_files

# What a page or a message says instead is behind each.
INSTEAD = {
    r"rooms?\b(?! (for|of|left))": "package, module",
    r"floors?": "layer",
    r"crews?": "worker pool",
    r"parcels?": "partition, chunk",
    r"haste|hurried": "time limit",
    r"in no time": "a figure",
    r"demerits?": "criterion, score",
    r"strange numbers?": "non-finite values",
    r"by angle": "cosine distance",
    r"so many": "a number",
    r"such an?(?= \w+ (that|of) ours)": "the thing",
    r"cards?": "cluster summary",
    r"shadows?": "2-D projection",
    r"ways? out": "the fix",
    r"the same bits|equal bits|same bits": "bit-identical, reproducible",
    r"wears? off|wore off": "bounds loosen",
    r"crumbs?": "small clusters",
    r"where to begin": "initialization",
    r"how far out": "outlier score",
    r"the data prefer": "no clear winner",
    r"asks? no server": "self-contained",
    r"at hand": "available",
    r"anew": "again",
    r"begun (from|with|anew)": "started from, initialized with",
    r"nobody": "unknown, no user",
    r"hardly": "rarely, little",
    r"tells? (\w+ ){0,3}apart": "separates, distinguishes",
    r"as good as never|for good|again and again": "a plain adverb",
    r"stands? in for|stand in\b": "replaces",
    r"(is|are) dear": "expensive",
    r"(it|that|which|page|line|error|message)s? says? so": "what it says",
    r"who(m)?ever|of one's own": "the user, own",
}
# American spelling, as in `cluster_centers_`: of pages and messages, and of names, docstrings and comments.
AMERICAN = {
    r"centre[sd]?": "center",
    r"neighbour\w*": "neighbor",
    r"colour\w*": "color",
    r"behaviour\w*": "behavior",
    r"favour\w*": "favor",
    r"(un)?labell\w+": "labeled",
    r"grey\w*": "gray",
    r"(centi|milli|kilo)?metres?": "meter",
    r"analys(ed|ing)": "analyze",
    r"learnt|spelt|whilst|towards": "learned, spelled, while, toward",
    r"cancell(ed|ing)": "canceled",
    r"artefacts?": "artifact",
    r"modell\w+": "modeling",
    r"(re|de|un)?(normal|minim|maxim|penal|initial|recogn|optim|standard|summar|vector|parallel|serial|token|visual)"
    r"is(e|ed|es|ing|ation)": "-ize",
}
WORDS = {
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE): word for pattern, word in (INSTEAD | AMERICAN).items()
}
SPELLINGS = {
    re.compile(rf"(?<![a-z])(?:{pattern})(?![a-z])", re.IGNORECASE): word
    for pattern, word in AMERICAN.items()
}
MOST_WORDS = 400  # of a decision
_CODE = re.compile(r"^```.*?^```|^:::+.*?$|`[^`\n]+`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the prose of each page."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    for path in sorted(found):
        if (
            "made" not in path.parts
            and path.parent.name not in ("gallery", "tutorials")
            and path.name != "commands.md"
        ):
            text = path.read_text(encoding="utf-8")
            yield path.relative_to(ROOT).as_posix(), _CODE.sub(lambda code: "\n" * code[0].count("\n"), text)


def texts_of_examples() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each example: its docstring and its comments."""
    for path in python_files(ROOT / "examples"):
        source = path.read_text(encoding="utf-8")
        comments = re.findall(r"^# .*$", source, re.MULTILINE)
        docstring = ast.get_docstring(ast.parse(source)) or ""
        yield path.relative_to(ROOT).as_posix(), "\n".join([docstring, *comments])


def messages_and_help() -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each error, warning and help of a parameter."""
    for path in python_files(SOURCES):
        tree, name = parsed(path), path.relative_to(ROOT).as_posix()
        yield from ((name, text) for _, text in messages(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node.func) in (
                "Param",
                "Parameter",
                "Need",
                "Method",
            ):
                for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    if isinstance(argument, ast.Constant | ast.JoinedStr | ast.BinOp):
                        yield name, text_of(argument)


def faults() -> Iterator[str]:
    """Yield a line for each word that is not used here, and for each decision that is too long."""
    texts = [(WORDS, *named) for named in [*pages(), *texts_of_examples(), *messages_and_help()]]
    sources = [
        path for folder in (SOURCES, ROOT / "benchmarks", ROOT / "tests") for path in python_files(folder)
    ]
    texts += [
        (SPELLINGS, path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sources
        if path.name not in ("words.py", "sources.py")
    ]
    for words, name, text in texts:
        for pattern, word in words.items():
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: write {word!r}, not {match[0]!r}"
    for path in sorted((ROOT / "docs" / "development" / "decisions").glob("*.md")):
        n_words = len(path.read_text(encoding="utf-8").split())
        if n_words > MOST_WORDS:
            yield f"{path.relative_to(ROOT).as_posix()}: {n_words} words, at most {MOST_WORDS}"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "No word that is not used here.")
    sys.exit(bool(found))
