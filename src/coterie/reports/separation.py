"""What sets clusters apart: columns by the size of their effect, terms by c-TF-IDF, and what lies between two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.reports.subject import Sample

__all__ = ["ColumnStatistics", "Effect", "column_statistics", "term_weights", "text_counts"]

# Texts are as long as they like; what a cluster is about shows in so many characters of each.
_READ = 2_000
_MOST_TERMS = 20_000


@dataclass(frozen=True, slots=True)
class Effect:
    """How much a column is larger in some rows than in others.

    Attributes
    ----------
    column : int
        Its position.
    size : float
        The difference of the means in standard deviations within the two groups (Cohen's d).
    low, high : float
        The ends of its 95% interval.
    inside, outside : float
        The means.
    """

    column: int
    size: float
    low: float
    high: float
    inside: float
    outside: float


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Means and variances of the columns in each cluster of a sample.

    Attributes
    ----------
    counts : ndarray of shape (k,)
        Rows of the sample in each cluster.
    sizes : ndarray of shape (k,)
        Rows of each cluster in the data, for which they stand.
    means, variances : ndarray of shape (k, d)
        Of each cluster.
    """

    counts: IndexArray
    sizes: IndexArray
    means: FloatArray
    variances: FloatArray

    def effects_of(self, cluster: int, most: int) -> list[Effect]:
        """Return the columns with the largest effects for a cluster against all others."""
        others = np.arange(len(self.counts)) != cluster
        return self._effects([cluster], np.flatnonzero(others), most)

    def effects_between(self, one: int, other: int, most: int) -> list[Effect]:
        """Return the columns that differ most between two clusters."""
        return self._effects([one], np.array([other]), most)

    def _effects(self, inside: Any, outside: Any, most: int) -> list[Effect]:
        n_in, mean_in, var_in = self._pooled(np.asarray(inside))
        n_out, mean_out, var_out = self._pooled(np.asarray(outside))
        if n_in < 2 or n_out < 2:
            return []
        within = ((n_in - 1) * var_in + (n_out - 1) * var_out) / (n_in + n_out - 2)
        difference = mean_in - mean_out
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = np.where(within > 0, difference / np.sqrt(within), 0.0)
        # A column that is constant in both groups separates them without any doubt; its size has no number.
        sizes = np.where((within <= 0) & (difference != 0), np.copysign(np.inf, difference), sizes)
        strongest = np.argsort(-np.abs(sizes), kind="stable")[:most]
        found = []
        for column in strongest[sizes[strongest] != 0]:
            size = float(sizes[column])
            spread = np.sqrt((n_in + n_out) / (n_in * n_out) + size**2 / (2 * (n_in + n_out)))
            reach = 1.96 * float(spread) if np.isfinite(size) else 0.0
            found.append(
                Effect(
                    int(column),
                    size,
                    size - reach,
                    size + reach,
                    float(mean_in[column]),
                    float(mean_out[column]),
                )
            )
        return found

    def _pooled(self, clusters: IndexArray) -> tuple[int, FloatArray, FloatArray]:
        """Return count, mean and variance of several clusters as one; each counts as its size in the data."""
        weights = self.sizes[clusters] * (self.counts[clusters] > 0)
        shares = weights / max(weights.sum(), 1)
        mean = shares @ self.means[clusters]
        around = self.variances[clusters] + (self.means[clusters] - mean) ** 2
        return int(self.counts[clusters].sum()), mean, shares @ around


def column_statistics(sample: Sample, sizes: IndexArray) -> ColumnStatistics:
    """Return means and variances of the columns in each cluster of a sample."""
    members = _members(sample.labels, len(sizes))
    counts = np.bincount(sample.labels[sample.labels >= 0], minlength=len(sizes))
    many = np.maximum(counts, 1)[:, None]
    block = sample.block
    if sp.issparse(block):
        sums, squares = (members @ block).toarray(), (members @ block.multiply(block)).toarray()
        means = sums / many
        return ColumnStatistics(counts, sizes, means, np.maximum(squares / many - means**2, 0))
    # Around the mean of all rows squares lose no digits.
    shift = block.mean(axis=0, dtype=np.float64).astype(block.dtype)
    moved = block - shift
    means = (members @ moved) / many
    squares = (members @ (moved * moved)) / many
    return ColumnStatistics(
        counts, sizes, means + shift.astype(np.float64), np.maximum(squares - means**2, 0)
    )


def term_weights(counts: Any, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return how characteristic each term is of each cluster: c-TF-IDF.

    ``tf log(1 + A / f)``: the share tf of a term among those of a cluster, the count f of the term in all clusters, and
    the mean count A of terms of a cluster (Grootendorst, BERTopic, 2022).

    Parameters
    ----------
    counts : csr_array of shape (n, d)
        How often terms stand in rows; none negative.
    labels : ndarray of shape (n,), int32
        The clusters of the rows.
    n_clusters : int
        How many there are.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from coterie.reports.separation import term_weights
    >>> counts = sp.csr_array(np.array([[3, 0, 1], [0, 2, 1]]))
    >>> term_weights(counts, np.array([0, 1], dtype=np.int32), 2).argmax(axis=1)
    array([0, 1])
    """
    sums = (_members(labels, n_clusters) @ counts).toarray()
    lengths = sums.sum(axis=1)
    of_terms = sums.sum(axis=0)
    mean = lengths.sum() / max(np.count_nonzero(lengths), 1)
    rarity = np.log1p(mean / np.maximum(of_terms, 1e-12))
    return sums / np.maximum(lengths, 1e-12)[:, None] * np.where(of_terms > 0, rarity, 0.0)


def text_counts(texts: list[str]) -> tuple[Any, list[str]]:
    """Return how often words stand in texts, and the words, without rare ones and those that are in every text."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        stop_words="english", max_features=_MOST_TERMS, min_df=2 if len(texts) > 50 else 1, max_df=0.8
    )
    try:
        counts = vectorizer.fit_transform(text[:_READ] for text in texts)
    except ValueError:  # no word is left
        return sp.csr_array((len(texts), 0)), []
    return sp.csr_array(counts), list(vectorizer.get_feature_names_out())


def _members(labels: IntArray, n_clusters: int) -> sp.csr_array:
    inside = np.flatnonzero(labels >= 0)
    return sp.csr_array((np.ones(len(inside)), (labels[inside], inside)), shape=(n_clusters, len(labels)))
