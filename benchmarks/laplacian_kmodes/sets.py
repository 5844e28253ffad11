"""Sets of rows with classes, small ones too, each in the scaling in which it is clustered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.labeled import SCALINGS, labeled
from benchmarks.harness.data.readers import Rows, arrays_of, documents_of, snippets
from benchmarks.harness.data.shapes import half_moons

UNIT = "rows of length 1"


@dataclass(frozen=True)
class LabeledSet:
    """A set of rows with classes."""

    read: Callable[[], Rows]
    file: str = ""  # of `COTERIE_DATA`; empty where none is needed

    @property
    def is_here(self) -> bool:
        """Whether it can be read."""
        return not self.file or real_file(self.file) is not None


def _scaled(name: str, scaling: str) -> Rows:
    rows, classes = labeled(name)
    return SCALINGS[scaling](rows), classes


def _iris() -> Rows:
    from coterie.datasets import load_iris

    return load_iris()


SETS: dict[str, LabeledSet] = {
    "iris": LabeledSet(_iris),
    "half moons": LabeledSet(half_moons),
    "digits": LabeledSet(partial(_scaled, "digits", UNIT)),
    **{
        name: LabeledSet(partial(_scaled, name, UNIT), f"{name}.npz")
        for name in ("optdigits", "pendigits", "mnist")
    },
    "shuttle": LabeledSet(partial(_scaled, "shuttle", "columns in 0..1"), "shuttle.npz"),
    "four moons": LabeledSet(partial(arrays_of, "four_moons_regen.npz"), "four_moons_regen.npz"),
    "webkb4": LabeledSet(partial(documents_of, "webkb4.npz"), "webkb4.npz"),
    "20news": LabeledSet(partial(documents_of, "20news_bydate_counts.npz"), "20news_bydate_counts.npz"),
    "searchsnippets": LabeledSet(snippets, "searchsnippets.parquet"),
}
