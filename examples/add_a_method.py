"""Add a method of your own: coterie's command line offers it, and its models are saved and loaded.

An installed package names its record in the group of entry points "coterie.methods" instead:

    [project.entry-points."coterie.methods"]
    slices = "my_package:SLICES"

Run: python examples/add_a_method.py
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import ClusterMixin

import coterie
from coterie.cli import main as run_command
from coterie.estimators import Estimator, Method, Objective, Option, register_method


class Slices(ClusterMixin, Estimator):
    """Cuts the range of one column into equal parts."""

    def __init__(self, n_clusters=8, *, column=0):
        self.n_clusters = n_clusters
        self.column = column

    def fit(self, X, y=None):
        """Find the ends of the slices."""
        values = self._rows_of(X, reset=True).read()[:, self.column]
        self.edges_ = np.linspace(values.min(), values.max(), self.n_clusters + 1)
        self.width_ = float(self.edges_[1] - self.edges_[0])
        self.labels_ = self._slice(values)
        return self

    def predict(self, X):
        """Return the slice of each row."""
        return self._slice(self._rows_of(X, reset=False).read()[:, self.column])

    def _slice(self, values):
        return np.searchsorted(self.edges_[1:-1], values, side="right").astype(np.int32)


SLICES = Method(
    name="slices",
    estimator=Slices,
    summary="equal slices of one column",
    objective=Objective("width_", "width of a slice"),
    options=(Option("column", "--slice-column", "the column that is cut", type=int),),
)


def main() -> None:
    """Cluster the petals of iris on the command line, then load the model."""
    register_method(SLICES)
    X, _ = coterie.datasets.load_iris()
    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder, "iris.npy"), Path(folder, "slices")
        np.save(rows, X)
        run_command(["fit", str(rows), "-k", "3", "--slice-column", "2", "--out", str(out)])
        model = coterie.load(out / "model.coterie")
        print("rows of each slice:", np.bincount(model.labels_))


if __name__ == "__main__":
    main()
