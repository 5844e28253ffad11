"""The base class of estimators, declarations of parameters, and outlier scores.

An estimator of another package is best a subclass of `Estimator`.
"""

from coterie.estimators.base import Estimator

__all__ = ["Estimator"]
