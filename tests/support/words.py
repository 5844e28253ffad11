"""Find words that the pages for users do not use: metaphors and British spellings; `make lint` runs it."""

import re
import sys

from tests.support.sources import ROOT

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
# American spelling, as in `cluster_centers_`.
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
_CODE = re.compile(r"^```.*?^```|^:::+.*?$|`[^`\n]+`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_MADE = {"made", "gallery", "tutorials", "development"}


def faults() -> list[str]:
    """Return a line for each word that is not used here."""
    found = []
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        if _MADE.isdisjoint(path.parts) and path.name != "commands.md":
            text = _CODE.sub(lambda code: "\n" * code[0].count("\n"), path.read_text(encoding="utf-8"))
            for pattern, word in WORDS.items():
                for match in pattern.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    name = path.relative_to(ROOT).as_posix()
                    found.append(f"{name}:{line}: write {word!r}, not {match[0]!r}")
    return found


if __name__ == "__main__":
    found = faults()
    print("\n".join(found) or "No word that is not used here.")
    sys.exit(bool(found))
