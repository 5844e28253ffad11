"""Problems of convex clustering: stored ones with their solutions, and random ones."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from coterie.convex.norms import find_norm
from coterie.convex.problem import SolverOptions, make_problem, order_problem
from coterie.graphs.edges import Edges

REFERENCES = np.load(Path(__file__).parent / "data" / "convex_references.npz")
SOLUTIONS = sorted(key[:-2] for key in REFERENCES if key.endswith("/U"))
DTYPES = [np.float32, np.float64]

PROBLEMS = st.tuples(
    st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([1, 2, 3, 4, 5, 8, 9, 17]),
    st.sampled_from(["l1", "l2", "linf", "groups"]),
)  # fmt: skip


def graph_of(name):
    """The rows of a reference, and its edges as a symmetric matrix."""
    X, edges, w = (REFERENCES[f"{name}/{key}"] for key in ("X", "edges", "w"))
    upper = sp.coo_array((w, (edges[:, 0], edges[:, 1])), shape=(len(X), len(X)))
    return X, sp.csr_array(upper + upper.T)


def random_problem(seed, n, p, kind, dtype=np.float64):
    """Rows, edges as pairs, weights, a norm as users name it, and gamma."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(dtype)
    pairs = np.column_stack(np.triu_indices(n, 1)).astype(np.int32)
    kept = pairs[rng.random(len(pairs)) < 0.4]
    norm = [list(range(p))[g::2] for g in range(min(p, 2))] if kind == "groups" else kind
    return X, kept, rng.uniform(0.2, 1.5, len(kept)).astype(dtype), norm, float(rng.uniform(0.05, 1))


def kernel_problem(X, edges, w, norm, n_threads=1):
    """Return the problem as kernels want it, and the order of its columns."""
    found = find_norm(norm, X.shape[1])
    columns = found.columns
    problem = make_problem(
        np.ascontiguousarray(X[:, columns]), Edges(edges[:, 0].copy(), edges[:, 1].copy(), w, len(X)), found,
        step_size=None, n_threads=n_threads,
    )  # fmt: skip
    return problem, columns


def ordered_problem(X, graph, norm="l2", **options):
    """Return the problem of rows and a graph in the order of the kernels."""
    return order_problem(X, graph, find_norm(norm, X.shape[1]), SolverOptions(**options))
