"""Base classes of estimators, parameter declarations, and the records of all methods.

A method of another package is a scikit-learn estimator, best a subclass of `Estimator`, and a `Method` that is
registered.

Examples
--------
>>> from coterie.estimators import methods
>>> {method.name: method.estimator.__name__ for method in methods()}["nested"]
'NestedMiniBatchKMeans'
"""

from coterie.estimators.base import Estimator
from coterie.estimators.method import (
    OBJECTIVE,
    MembershipMeasure,
    Method,
    Objective,
    Progress,
    find_method,
    method_of,
    methods,
    register_installed_methods,
    register_method,
    usual_method,
)

__all__ = [
    "OBJECTIVE",
    "MembershipMeasure",
    "Estimator",
    "Method",
    "Objective",
    "Progress",
    "find_method",
    "method_of",
    "methods",
    "register_installed_methods",
    "register_method",
    "usual_method",
]
