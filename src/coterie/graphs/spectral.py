"""Eigenvectors of normalized graph Laplacians, for rough clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from coterie.arrays import FloatArray
from coterie.fitting.deadline import UNLIMITED, Deadline

# Maximum number of vertices for a dense eigendecomposition.
_DENSE_VERTICES = 300
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class SpectralVectors:
    """The first eigenvectors of the normalized Laplacian I - D^(-1/2) W D^(-1/2) of a graph."""

    values: FloatArray  # (m,), float64: the eigenvalues of I - D^(-1/2) W D^(-1/2), ascending from 0
    vectors: FloatArray  # (n, m), float64: the eigenvectors; entries of isolated vertices are 0

    def directions(self) -> FloatArray:
        """Return the rows of the first eigenvectors, each divided by its length (Ng, Jordan and Weiss 2002)."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors))
        return self.vectors / np.where(lengths > 0, lengths, 1)[:, None]


def spectral_vectors(
    graph: sp.csr_array,
    n_vectors: int,
    seed: int,
    deadline: Deadline = UNLIMITED,
    *,
    by_components: bool = False,
) -> SpectralVectors:
    """Find the first eigenvectors of the normalized Laplacian (Shi and Malik 2000), for large graphs by Lanczos'
    method, until the deadline (OutOfTime). `by_components` includes all eigenvectors of eigenvalue 0, of which
    Lanczos' method finds only some.
    """
    n = graph.shape[0]
    degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
    scales = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    similarity = sp.csr_array(sp.diags_array(scales) @ graph @ sp.diags_array(scales))
    n_vectors = min(n_vectors, n)
    if similarity.nnz == 0:
        return SpectralVectors(np.ones(n_vectors), np.zeros((n, n_vectors)))
    if n <= _DENSE_VERTICES or n_vectors >= n // 2:
        values, vectors = np.linalg.eigh(similarity.toarray().astype(np.float64))
    else:
        known = _component_vectors(similarity, np.sqrt(degrees)) if by_components else None
        first = np.random.RandomState(seed).uniform(0.5, 1.5, n)
        values, vectors = _largest(_watched(similarity, deadline, known), n_vectors, first, known)
    largest = np.argsort(-values, kind="stable")[:n_vectors]
    vectors = np.asarray(vectors[:, largest], dtype=np.float64)
    vectors[degrees == 0] = 0
    return SpectralVectors(np.clip(1 - values[largest].astype(np.float64), 0, None), vectors)


def _largest(
    matrix: sp.csr_array | LinearOperator, n_vectors: int, first: FloatArray, known: sp.csr_array | None
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues and their vectors, by Lanczos' method: after the known ones, of eigenvalue 1."""
    there = np.zeros((len(first), 0)) if known is None else known[:, :n_vectors].toarray()
    n_wanted = n_vectors - there.shape[1]
    values, vectors = np.zeros(0), np.zeros((len(first), 0))
    if n_wanted > 0:
        try:
            values, vectors = eigsh(matrix, k=n_wanted, which="LA", v0=first, tol=_TOLERANCE)
        except ArpackNoConvergence as error:
            # Partly converged vectors are enough.
            values, vectors = error.eigenvalues, error.eigenvectors
    return np.append(np.ones(there.shape[1]), values), np.column_stack([there, vectors])


def _component_vectors(similarity: sp.csr_array, roots: FloatArray) -> sp.csr_array | None:
    """Return the eigenvectors of eigenvalue 1 of several components with edges; None if there is only one."""
    parts = connected_components(similarity, directed=False)[1]
    lengths = np.sqrt(np.bincount(parts, roots**2))
    numbers = np.argsort(np.argsort(-lengths, kind="stable"))
    n_parts = int(np.count_nonzero(lengths))
    if n_parts < 2:
        return None
    inside = np.flatnonzero(roots)
    entries = roots[inside] / lengths[parts[inside]]
    return sp.csr_array((entries, (inside, numbers[parts[inside]])), shape=(len(roots), n_parts))


def _watched(
    matrix: sp.csr_array, deadline: Deadline, known: sp.csr_array | None = None
) -> sp.csr_array | LinearOperator:
    """Return an operator that checks the deadline and deflates the known eigenvectors."""
    if not deadline.is_set and known is None:
        return matrix

    def product(vector: FloatArray) -> FloatArray:
        deadline.check()
        image = np.asarray(matrix @ vector)
        return image if known is None else image - known @ (known.T @ vector)

    return LinearOperator(matrix.shape, matvec=product, dtype=matrix.dtype)
