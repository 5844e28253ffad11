"""Small real data sets, three in the package and two of scikit-learn, and a larger one derived from digits.

The shipped sets are tables with names for their rows and columns, returned as a `sklearn.utils.Bunch`.
"""

from coterie.datasets.moved_digits import make_moved_digits
from coterie.datasets.shipped import load_definitions, load_digits, load_iris, load_mammals, load_senate

__all__ = ["load_definitions", "load_digits", "load_iris", "load_mammals", "load_senate", "make_moved_digits"]
