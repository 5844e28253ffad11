"""Descriptions of clusters: names, terms, features in their original units, examples, and the table of clusters.

Reports, the command line and notebooks show the same::

    subject = read_subject(model, rows)
    clusters = describe(subject)
    clusters.names[0], clusters.terms[0][:3], clusters.features(0, 3), example_of(subject, clusters, 0)
    cluster_columns(subject, clusters)  # clusters.csv
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from coterie.arrays import BoolArray, FloatArray, IndexArray, IntArray
from coterie.figures import short
from coterie.names import read_names
from coterie.reports.subject import EXAMPLES, MOST_CATEGORIES, Subject, cluster_sums
from coterie.rows import Rows

Names: TypeAlias = "str | Path | Mapping[int, str] | Sequence[str | None] | None"

_READ, _MOST_WORDS = 2_000, 20_000
_MOST_TERMS, _MOST_FEATURES = 10, 6
_EXAMPLE_LETTERS = 200

# Smaller differences of means (in standard deviations) name no cluster.
_NOTABLE = 0.5

# More columns without names, or whose names differ in a number only, are components of vectors.
_MOST_UNNAMED = 20


@dataclass(frozen=True, slots=True)
class Trait:
    """A column or a category: the mean (or share) of each cluster and, last, of all rows, NaN where units are not
    known. `effects` are differences in standard deviations, `column` is its place among the clustered ones.
    """

    name: str
    means: FloatArray
    effects: FloatArray
    is_share: bool
    column: int = -1

    def amount(self, cluster: int) -> str:
        """Return the mean of a cluster (-1: all rows) with three digits, such as "48,014", or a share in percent. Less
        than a thousandth of the largest mean is 0.
        """
        value = float(self.means[cluster])
        if self.is_share:
            return f"{value:.0%}"
        largest = float(np.nanmax(np.abs(self.means), initial=0.0))
        if 0 < largest < np.inf:
            value = round(value, max(3 - int(np.floor(np.log10(largest))), 0)) + 0.0  # which has no -0
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"

    def told(self, cluster: int) -> str:
        """Return a mean beside that of all rows, such as "age 61, all 38", or what is known instead."""
        known = not np.isnan(self.means[cluster])
        return f"{self.name} {self.amount(cluster)}, all {self.amount(-1)}" if known else self.word(cluster)

    def word(self, cluster: int) -> str:
        """Return the difference in words, such as "high income"."""
        is_high = self.effects[cluster] > 0
        if self.is_share:
            return self.name if is_high else f"not {self.name}"
        return f"{'high' if is_high else 'low'} {self.name}"


@dataclass(frozen=True, slots=True)
class Clusters:
    """Descriptions of clusters: `traits` are clustered columns of numbers, `others` are not clustered. `exemplars` and
    `borderline` are positions in the sample, the most representative and the least certain first.
    """

    names: list[str]
    terms: list[list[str]]
    traits: list[Trait]
    others: list[Trait]
    exemplars: list[list[int]]
    borderline: list[list[int]]

    def features(self, cluster: int, most: int = _MOST_FEATURES) -> list[str]:
        """Return the most distinctive columns of a cluster, such as "age 61, all 38"."""
        found = sorted(self.traits, key=lambda trait: -abs(trait.effects[cluster]))[:most]
        return [trait.told(cluster) for trait in found if trait.effects[cluster] != 0]


def describe(subject: Subject, *, names: Names = None, terms: Sequence[str] | None = None) -> Clusters:
    """Describe and name the clusters; `names` and `terms` are those of `coterie.report`."""
    matter, k = Matter.of(subject, terms), subject.n_clusters
    labels, sizes = subject.sample.labels, subject.sizes
    traits, words = (
        matter.traits(labels, sizes, _original_means(subject, matter.columns)),
        matter.terms(labels, k),
    )
    placement = subject.placement
    made = Clusters(
        names=matter.names(words, traits, k),
        terms=words,
        traits=traits,
        others=_other_means(subject),
        exemplars=_examples(subject, placement.ranks),
        # Without distances or memberships there are no borderline rows.
        borderline=_examples(subject, placement.borderline) if placement.measures else [[]] * k,
    )
    _rename(made, subject, names)
    return made


@dataclass(frozen=True, slots=True)
class Matter:
    """What clusters of a sample are described by: counts of words, or columns that mean something by themselves."""

    block: Any
    columns: list[int]
    column_names: list[str]
    are_named: bool
    counts: Any
    words: list[str]

    @classmethod
    def of(cls, subject: Subject, terms: Sequence[str] | None = None) -> Matter:
        """Return the columns with a meaning, else the words of the texts, of a subject."""
        block, known = subject.sample.block, list(terms) if terms is not None else _column_names(subject.rows)
        counts, words, columns = None, list[str](), list[int]()
        is_counts = sp.issparse(block) and not subject.is_graph and block.data.min(initial=0) >= 0
        if is_counts and known is not None:
            counts, words = block, list(known)
        elif not subject.is_graph:
            columns = feature_columns(known, subject.rows.chosen, block.shape[1])
        if not words and (known is None or not columns) and subject.sample.texts is not None:
            counts, words = text_counts(subject.sample.texts)
        columns = [] if words else columns
        names = [f"column {i}" for i in columns] if known is None else [known[i] for i in columns]
        return cls(block, columns, names, known is not None, counts, words)

    def terms(self, labels: IntArray, n_clusters: int) -> list[list[str]]:
        """Return the terms of each cluster, [] where there are no words."""
        if not self.words:
            return [[] for _ in range(n_clusters)]
        weights = term_weights(self.counts, labels, n_clusters)
        order = np.argsort(-weights, axis=1, kind="stable")[:, :_MOST_TERMS]
        return [[self.words[i] for i in best if line[i] > 0] for best, line in zip(order, weights)]

    def traits(self, labels: IntArray, sizes: IndexArray, means: FloatArray | None = None) -> list[Trait]:
        """Return the columns with the means of the clusters, which may not be known."""
        block = self.block[:, self.columns]
        effects, shares = column_effects(block, labels, sizes), _are_binary(block)
        means = np.full((len(sizes) + 1, len(self.columns)), np.nan) if means is None else means
        return [
            Trait(name, means[:, i], effects[:, i], bool(shares[i]), column)
            for i, (name, column) in enumerate(zip(self.column_names, self.columns))
        ]

    def names(self, terms: list[list[str]], traits: list[Trait], n_clusters: int) -> list[str]:
        """Return different names: three terms, the two most distinctive columns, or a number. Clusters that differ in
        the same columns are named by their means, where these are known.
        """
        found: list[list[Trait]] = [[] for _ in range(n_clusters)]
        if traits and self.are_named:
            effects = np.abs([trait.effects for trait in traits])
            strongest = np.argsort(-effects, axis=0, kind="stable")[:2].T
            found = [
                [traits[i] for i in two if effects[i, cluster] >= _NOTABLE]
                for cluster, two in enumerate(strongest)
            ]
        parts = [terms[i][:3] or [trait.word(i) for trait in found[i]] for i in range(n_clusters)]
        counts, names = Counter(map(frozenset, parts)), []
        for i, words in enumerate(parts):
            is_told_apart = counts[frozenset(words)] == 1
            amounts = [] if is_told_apart else [
                f"{trait.name} {trait.amount(i)}" for trait in found[i] if not np.isnan(trait.means[i])
            ]  # fmt: skip
            name = ", ".join(amounts or words)
            names.append(name if is_told_apart or amounts else f"{name} ({i})" if name else f"Cluster {i}")
        return names


def _column_names(rows: Rows) -> list[str] | None:
    """Return the names of the columns, of encoded ones such as "place=Rome"."""
    names = None if rows.column_names is None else list(rows.column_names)
    for step in rows.preparation:
        if names is not None and step[0] == "transform" and step[3] and hasattr(step[1], "categories_"):
            pairs = zip(step[3], step[1].categories_)
            names[len(step[2]) :] = [f"{cell}={value}" for cell, values in pairs for value in values]
    return names


def feature_columns(
    names: Sequence[str] | None, chosen: Sequence[str | int] | None, n_columns: int
) -> list[int]:
    """Return the columns that mean something by themselves, not components of vectors such as ``embedding[7]``."""
    if names is None:
        return list(range(n_columns)) if n_columns <= _MOST_UNNAMED else []
    vectors = {str(name) for name in chosen or ()} - set(names)
    found = [i for i, name in enumerate(names) if name.rpartition("[")[0] not in vectors]
    stems = {re.sub(r"\d+\D?$", "", names[i]) for i in found}
    return [] if len(found) > _MOST_UNNAMED and len(stems) == 1 else found


def _are_binary(block: Any) -> BoolArray:
    """Return which columns have no other numbers than 0 and 1, in the first thousand rows."""
    some = block[:1000]
    if not sp.issparse(some):
        return np.asarray(np.isin(some, (0, 1)).all(axis=0))
    found = np.ones(some.shape[1], dtype=bool)
    found[some.indices[~np.isin(some.data, (0, 1))]] = False
    return found


def _rename(clusters: Clusters, subject: Subject, names: Names) -> None:
    """Put names that were given in the place of ours."""
    k = subject.n_clusters
    if isinstance(names, Sequence) and not isinstance(names, str) and len(names) != k:
        raise ValueError(f"names must have a name for each of {k:,} clusters, got {len(names):,}.")
    given = {} if names is None else read_names(names)
    unknown = [cluster for cluster in given if not 0 <= cluster < k]
    if unknown:
        raise ValueError(f"names has cluster {unknown[0]}, and there are {k:,}, numbered from 0.")
    for cluster, name in given.items():
        clusters.names[cluster] = name


# --- words and columns -----------------------------------------------------------------------------------------------


def term_weights(counts: Any, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return c-TF-IDF, ``tf log(1 + A / f)``, of each term in each cluster (Grootendorst, BERTopic, 2022): tf is its
    share of the terms there, f its count in all, A the mean count of terms of a cluster.
    """
    sums = cluster_sums(labels, n_clusters, counts)
    lengths, of_terms = sums.sum(axis=1), sums.sum(axis=0)
    mean = lengths.sum() / max(np.count_nonzero(lengths), 1)
    rarity = np.where(of_terms > 0, np.log1p(mean / np.maximum(of_terms, 1e-12)), 0.0)
    return sums / np.maximum(lengths, 1e-12)[:, None] * rarity


def text_counts(texts: list[str]) -> tuple[Any, list[str]]:
    """Return the counts of words in texts, and the words, without rare ones and those that are in most texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        stop_words="english", max_features=_MOST_WORDS, min_df=2 if len(texts) > 50 else 1, max_df=0.8
    )
    try:
        counts = vectorizer.fit_transform(text[:_READ] for text in texts)
    except ValueError:  # no word is left
        return sp.csr_array((len(texts), 0)), []
    return sp.csr_array(counts), list(vectorizer.get_feature_names_out())


def column_effects(block: Any, labels: IntArray, sizes: IndexArray) -> FloatArray:
    """Return Cohen's d of each column in a cluster against the other rows; +-inf for a column that is constant in both.
    `block` is a sample of the rows, `sizes` are those of the clusters in all rows.
    """
    k = len(sizes)
    counts = np.bincount(labels[labels >= 0], minlength=k)[:, None]
    values: Any = block.astype(np.float64) if sp.issparse(block) else np.asarray(block, dtype=np.float64)
    middle = 0.0 if sp.issparse(block) else values.mean(axis=0)
    values = values - middle if np.ndim(middle) else values
    squares: Any = values.multiply(values) if sp.issparse(block) else values * values
    mass = np.where(counts > 0, sizes[:, None], 0).astype(np.float64)
    means = cluster_sums(labels, k, values) / np.maximum(counts, 1)
    seconds = cluster_sums(labels, k, squares) / np.maximum(counts, 1)
    rest = mass.sum() - mass
    others = np.maximum(rest, 1)
    mean_out = ((mass * means).sum(axis=0) - mass * means) / others
    second_out = ((mass * seconds).sum(axis=0) - mass * seconds) / others
    variances, variances_out = seconds - means**2, second_out - mean_out**2
    within = (mass * variances + rest * variances_out) / max(mass.sum(), 1)
    # Zero up to rounding.
    within = np.where(within > 1e-12 * (seconds + second_out), within, 0.0)
    difference = means - mean_out
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(difference == 0, 0.0, difference / np.sqrt(within))
    return np.where((mass > 0) & (rest > 0), found, 0.0)


# --- original units --------------------------------------------------------------------------------------------------


def _original_means(subject: Subject, columns: list[int]) -> FloatArray:
    """Return the means of columns of all rows in each cluster, and last in all, before the rows were scaled."""
    rows, k = subject.rows, subject.n_clusters
    if not columns:
        return np.zeros((k + 1, 0))
    # A group more for the rows in no cluster, which count among all.
    groups = np.where(subject.labels < 0, k, subject.labels).astype(np.int32)
    sums = np.zeros((k + 1, rows.shape[1]))
    for start, block in rows.blocks():
        sums += cluster_sums(groups[start : start + block.shape[0]], k + 1, block)
    counts = np.append(subject.sizes, len(groups))
    sums[k] = sums.sum(axis=0)
    with np.errstate(invalid="ignore"):
        found = original_units(sums / np.where(counts > 0, counts, np.nan)[:, None], rows.preparation)
    return np.full((k + 1, len(columns)), np.nan) if found is None else found[:, columns]


def original_units(values: FloatArray, preparation: Sequence[tuple[Any, ...]]) -> FloatArray | None:
    """Return values in columns of prepared rows as they were before scaling; None where that cannot be undone."""
    values, width = np.array(values, dtype=np.float64), np.shape(values)[1]
    for kind, *details in reversed(preparation):
        if kind == "normalize":
            return None
        if kind != "transform":
            continue
        transformer, names, cells = details
        if cells is not None:  # encoded columns behind the numbers, which are not scaled
            width = len(names)
            continue
        found = _undone(values[:, :width], transformer)
        if found is None:
            return None
        values[:, :width] = found
    return values


def _undone(values: FloatArray, transformer: Any) -> FloatArray | None:
    """Return values before a transformer that scales each column; None for another one."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    if isinstance(transformer, Pipeline):
        found: FloatArray | None = values
        for _, step in reversed(transformer.steps):
            found = None if found is None else _undone(found, step)
        return found
    if transformer in (None, "passthrough"):
        return values
    if isinstance(transformer, SimpleImputer):
        return None if transformer.add_indicator else values
    if isinstance(transformer, StandardScaler | RobustScaler | MinMaxScaler | MaxAbsScaler):
        return np.asarray(transformer.inverse_transform(values))
    return None


# --- the table of clusters -------------------------------------------------------------------------------------------


def cluster_columns(subject: Subject, clusters: Clusters) -> dict[str, list[Any]]:
    """Return the table of clusters by columns, a row for each: see `coterie.reports.Report.table`."""
    k, n_rows = subject.n_clusters, max(len(subject.labels), 1)
    found: dict[str, list[Any]] = {
        "cluster": list(range(k)),
        "name": list(clusters.names),
        "size": subject.sizes.tolist(),
        "share": (subject.sizes / n_rows).tolist(),
        "example": [example_of(subject, clusters, cluster) for cluster in range(k)],
    }
    if any(clusters.terms):
        found["terms"] = [", ".join(terms) for terms in clusters.terms]
    for other in means_of(subject, clusters):
        values = [None if np.isnan(value) else float(value) for value in other.means[:-1]]
        found[f"{other.name}_mean" if other.name in found or other.name == "terms" else other.name] = values
    return found


def means_of(subject: Subject, clusters: Clusters) -> list[Trait]:
    """Return the means of all columns but components of vectors; those of encoded ones are shares of categories."""
    steps = [step for step in subject.rows.preparation if step[0] == "transform" and step[3]]
    n_numbers = len(steps[0][2]) if steps else subject.rows.shape[1]
    return [*(trait for trait in clusters.traits if trait.column < n_numbers), *clusters.others]


def example_of(subject: Subject, clusters: Clusters, cluster: int) -> str:
    """Return the text, the id or the number of the most representative row of a cluster."""
    if not clusters.exemplars[cluster]:
        return ""
    place, sample = clusters.exemplars[cluster][0], subject.sample
    if sample.texts is None:
        return sample.ids[place] if subject.id_name is not None else f"row {sample.rows[place]}"
    return short(sample.texts[place], _EXAMPLE_LETTERS)


def _other_means(subject: Subject) -> list[Trait]:
    """Return the means of numbers, and the shares of few categories, of columns that were not clustered as numbers."""
    metadata, k = subject.rows.metadata_columns, subject.n_clusters
    encoded = {cell for step in subject.rows.preparation if step[0] == "transform" for cell in step[3] or ()}
    hidden = {subject.id_name, subject.text_name} - encoded
    names = [
        name
        for name in (metadata.column_names if metadata is not None else [])
        if name not in hidden and not name.startswith("__index_level")
    ]
    if metadata is None or not names:
        return []
    # A group more for the rows in no cluster, which count among all.
    groups = np.where(subject.labels < 0, k, subject.labels)
    sizes = np.append(subject.sizes, len(groups) - subject.sizes.sum())
    found = []
    for name, column in zip(names, metadata.select(names).columns):
        values = None if name in encoded else numbers_of(column)
        if values is not None:
            known = ~np.isnan(values)
            own, cells = groups[known], values[known]
            sums, squares = np.bincount(own, cells, k + 1), np.bincount(own, cells**2, k + 1)
            found.append(_other(name, sums, squares, np.bincount(own, minlength=k + 1), is_share=False))
            continue
        categories, codes = category_codes(column) or ([], np.zeros(0))
        for category, code in sorted(zip(categories, range(len(categories)))):
            counts = np.bincount(groups[codes == code], minlength=k + 1).astype(np.float64)
            found.append(_other(f"{name}={category}", counts, counts, sizes, is_share=True))
    return found


def numbers_of(column: Any) -> FloatArray | None:
    """Return the numbers of an Arrow column, NaN for missing ones; None where it has no numbers."""
    from pyarrow import types

    kind = column.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return None
    return np.asarray(column.cast("float64", safe=False).to_numpy())


def _other(name: str, sums: Any, squares: Any, counts: Any, *, is_share: bool) -> Trait:
    """Return a column by the sums of groups, of which the last one is that of the rows in no cluster."""
    mean = sums.sum() / max(counts.sum(), 1)
    deviation = np.sqrt(max(squares.sum() / max(counts.sum(), 1) - mean**2, 0.0))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)[:-1]
    effects = np.nan_to_num(means - mean) / deviation if deviation > 0 else np.zeros(len(means))
    return Trait(name, np.append(means, mean), effects, is_share)


def category_codes(column: Any) -> tuple[list[str], IntArray] | None:
    """Return the few categories of an Arrow column and their codes, -1 for missing ones; None if there are many."""
    import pyarrow
    import pyarrow.compute

    try:
        texts = column.cast("string")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        return None
    encoded = pyarrow.compute.dictionary_encode(texts)
    encoded = encoded.combine_chunks() if isinstance(encoded, pyarrow.ChunkedArray) else encoded
    if not 0 < len(encoded.dictionary) <= MOST_CATEGORIES:
        return None
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), codes.astype(np.int32)


def _examples(subject: Subject, places: IntArray) -> list[list[int]]:
    """Return the positions in the sample of the first rows of each cluster."""
    own = places[subject.sample.rows]
    found: list[list[int]] = [[] for _ in range(subject.n_clusters)]
    near = np.flatnonzero((own > 0) & (own <= EXAMPLES))
    for place in near[np.argsort(own[near], kind="stable")].tolist():
        found[subject.sample.labels[place]].append(place)
    return found
