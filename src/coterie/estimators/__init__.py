"""The base class of estimators, declarations of parameters, and outlier scores.

An estimator of another package is best a subclass of `Estimator`.
"""

from coterie.estimators.base import OBJECTIVE, Estimator, Objective, Progress

__all__ = ["OBJECTIVE", "Estimator", "Objective", "Progress"]
