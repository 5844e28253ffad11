"""Sets of rows with classes, small ones too, each in the scaling in which it is clustered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.labeled import SCALINGS, labeled
from benchmarks.harness.data.readers import Rows, arrays_of, documents_of, snippets
from benchmarks.harness.data.shapes import half_moons

__all__ = ["SETS", "LabeledSet"]

UNIT = "rows of length 1"


@dataclass(frozen=True)
class LabeledSet:
    """A set of rows with classes.

    Attributes
    ----------
    read : callable
        Returns the rows, dense or CSR, and their classes.
    scaling : str
        What was done to the rows, in words.
    file : str
        Of `COTERIE_DATA`; empty where none is needed.
    """

    read: Callable[[], Rows]
    scaling: str
    file: str = ""

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
    "iris": LabeledSet(_iris, "as they are"),
    "half moons": LabeledSet(half_moons, "as they are"),
    "digits": LabeledSet(partial(_scaled, "digits", UNIT), UNIT),
    "optdigits": LabeledSet(partial(_scaled, "optdigits", UNIT), UNIT, "optdigits.npz"),
    "pendigits": LabeledSet(partial(_scaled, "pendigits", UNIT), UNIT, "pendigits.npz"),
    "mnist": LabeledSet(partial(_scaled, "mnist", UNIT), UNIT, "mnist.npz"),
    "shuttle": LabeledSet(partial(_scaled, "shuttle", "columns in 0..1"), "columns in 0..1", "shuttle.npz"),
    "four moons": LabeledSet(
        partial(arrays_of, "four_moons_regen.npz"), "as they are", "four_moons_regen.npz"
    ),
    "webkb4": LabeledSet(partial(documents_of, "webkb4.npz"), "tf-idf", "webkb4.npz"),
    "20news": LabeledSet(
        partial(documents_of, "20news_bydate_counts.npz"), "tf-idf", "20news_bydate_counts.npz"
    ),
    "searchsnippets": LabeledSet(snippets, "embeddings of length 1", "searchsnippets.parquet"),
}
