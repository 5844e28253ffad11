"""Where rows are stored, and in what blocks they are read, makes no difference, to the bit."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.blocks.shuffled import run_length
from coterie.rows import as_rows
from tests.support.bits import same_bits, same_fits
from tests.support.estimators import every_case, three_estimators
from tests.support.storages import stored

# Rows with names are predicted by models of arrays without, and are to give the same labels for all that.
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:X has feature names:UserWarning"
)

NAMES = ["feature_names_in_"]


@cache
def fit_of_runs(case, weighted):
    """Return the model of the rows as an array, drawn in runs."""
    return case.make().fit(case.rows(), **case.weights(weighted))


@three_estimators()
@pytest.mark.parametrize("storage", ["pandas", "dask", "npy"])
def test_a_fit(case, storage, tmp_path):
    X = case.rows()
    rows = stored(X, storage, tmp_path)
    reference = case.fitted
    same_fits(case.make().fit(rows), reference, but=NAMES)
    if hasattr(reference, "predict"):
        same_bits(reference.predict(np.asarray(X)), reference.predict(as_rows(rows)))


@three_estimators("mini-batch", "nested", "mixture-diag")
@pytest.mark.parametrize("storage", ["npy", "parquet", "dask"])
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_of_rows_that_are_not_kept_in_memory(case, storage, weighted, kept_bytes, tmp_path):
    X = case.rows()
    assert run_length(as_rows(X), 600) == 1
    kept_bytes(0)
    assert run_length(as_rows(X), 600) > 1
    rows = stored(X, storage, tmp_path)
    model = case.make().fit(rows, **case.weights(weighted))
    same_fits(model, fit_of_runs(case, weighted), but=NAMES)


@three_estimators()
@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
def test_small_numbers_are_converted(case, dtype):
    X = np.clip(case.rows() * 5 + 100, 0, 255).astype(dtype)
    same_fits(case.make().fit(X), case.make().fit(X.astype(np.float32)))


@three_estimators("mini-batch", "nested", "mixture-diag")
def test_small_numbers_are_converted_in_every_pass(case, kept_bytes):
    kept_bytes(0)
    X = np.clip(case.rows() * 5 + 100, 0, 255).astype(np.uint8)
    same_fits(case.make().fit(X), case.make().fit(X.astype(np.float32)))


@three_estimators()
def test_lists_are_arrays(case):
    X = case.rows()[:300]
    same_fits(case.make().fit(X.tolist()), case.make().fit(X))


@three_estimators("k-means-yinyang", "nested", "laplacian-byproduct")
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_every_sparse_kind(case, kind):
    X = np.maximum(case.rows(), 0)
    same_fits(case.make().fit(kind(X)), case.make().fit(sp.csr_array(X)))


def cuts_freely(case):
    return not case.name.startswith("mixture")  # whose blocks say which rows learn from which


@every_case(cuts_freely)
def test_blocks(case, kept_bytes, tiny_blocks, tmp_path):
    kept_bytes(0)
    rows = stored(case.rows().astype(np.float32), "npy", tmp_path)
    reference = case.make().fit(rows)
    tiny_blocks()
    same_fits(case.make().fit(rows), reference)


@every_case(lambda case: cuts_freely(case) and case.takes_sparse)
def test_sparse_blocks(case, tiny_blocks):
    X = sp.csr_array(np.maximum(case.rows(), 0).astype(np.float32))
    reference = case.make().fit(X)
    tiny_blocks()
    same_fits(case.make().fit(X), reference)
