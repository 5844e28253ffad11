"""What the fitted attributes of Laplacian K-modes look like beside those of all clusters of graphs."""

from __future__ import annotations

import numpy as np

from coterie.estimators.declared import Declared, Numbers, One

__all__ = ["attributes_of_modes"]


def attributes_of_modes(*, has_rows: bool) -> dict[str, Declared]:
    """Return what is known of the modes of k clusters of n rows, which have d columns or are known by affinities."""
    of_rows: dict[str, Declared] = {"modes_": Numbers(("k", "d"))} if has_rows else {}
    return {
        **of_rows,
        "mode_indices_": Numbers(("k",), "integer", least=-1, below="n"),
        "bandwidth_": One(least=float(np.finfo(np.float64).tiny), may_be_none=not has_rows),
        "objective_": One(),
        "relaxation_": One(needed=False),
        "is_shifted_": One("boolean", needed=False),
        "_fitted_to_pair": One("boolean", most=not has_rows, needed=False),
    }
