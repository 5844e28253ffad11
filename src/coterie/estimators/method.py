"""Records of methods for the command line, reports and model files, and their registry.

The command line, reports and plots use these records instead of the names of estimators. Each method package has its
records in `method.py`; another package adds its own by `register_method`, or by an entry point.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import Any

from sklearn.utils import get_tags

from coterie.arrays import FloatArray, IntArray
from coterie.estimators.parameters import parameters_of
from coterie.persistence import persistable
from coterie.rows import RowSource

# The group of entry points in which installed packages name their records.
ENTRY_POINTS = "coterie.methods"

# Options of the commands themselves, which no method may have.
RESERVED_FLAGS = (
    "-k", "--clusters", "--n-clusters", "--n-components", "--method", "--labels", "--graph", "--format", "--max-iter",
    "--max-time", "--seed", "--random-state", "--threads", "--n-threads", "--normalize", "--columns", "--exclude",
    "--missing", "--scale", "--categories", "--category-limit", "--handle-unknown", "--sep", "--decimal", "--id",
    "--keep", "--out", "-o", "--outliers", "--report", "--json", "--all-gammas", "--force",
    "--verify", "--quiet", "-q", "--help", "-h", "--version",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Objective:
    """The objective of a method.

    Attributes
    ----------
    attribute : str
        Where the fitted estimator has it, such as `inertia_`.
    name : str
        What it is called, such as "free energy".
    unit : str
        In what it is counted, such as "per row"; empty where the name says it all.
    higher_is_better : bool
        Whether it is maximized.
    """

    attribute: str
    name: str
    unit: str = ""
    higher_is_better: bool = False


# Default name of an objective.
OBJECTIVE = Objective("", "objective")


@dataclass(frozen=True, slots=True)
class Progress:
    """The quantity that a fit reports while it runs, in each `FitProgress` and in `history_`.

    Attributes
    ----------
    name : str, optional
        What is reported, where that is not the objective of the result.
    step : str
        What the fit does one after the other; it reports each.
    limit : str, optional
        The parameter that holds the most of these; None: there is none.
    """

    name: str | None = None
    step: str = "iteration"
    limit: str | None = "max_iter"


@dataclass(frozen=True, slots=True)
class MembershipMeasure:
    """Measure of the membership of a row in its cluster, for methods with more than a distance.

    Attributes
    ----------
    name : str
        What it is: "posterior" or "membership"; so the column of results is called.
    measure : callable
        ``measure(model, rows, labels)`` gives a number for each row, the larger the better, or None where these rows
        have none. The rows are a `RowSource` as `Estimator._prepared` gives it.
    """

    name: str
    measure: Callable[[Any, RowSource, IntArray], FloatArray | None]


@dataclass(frozen=True, slots=True)
class Method:
    """Record of a method.

    The command line sets `max_iter`, `max_time`, `n_threads`, `random_state` and `callback` of any estimator that
    has them; all other parameters are options as their annotations declare them (`coterie.estimators.parameters`).
    Estimators that are no `coterie.estimators.Estimator` get their rows
    as one array or matrix.

    Attributes
    ----------
    name : str
        On the command line.
    estimator : class
        The scikit-learn estimator; it must work with its defaults.
    summary : str
        What it finds, in a sentence without a full stop.
    objective : Objective, optional
        What it minimizes or maximizes.
    clusters : str, optional
        The parameter that holds the number of clusters; None: it does not take one.
    progress : Progress
        What its fits report.
    usual_above : int, optional
        Files of more rows than this are clustered by it where no method is asked for; the largest such number counts.
        None: it has to be asked for.
    takes_labels : bool
        Whether `fit(X, y)` learns from known classes, -1 where they are not known.
    drops_clusters : bool
        Whether fewer clusters may be left than were asked for.
    membership : MembershipMeasure, optional
        How well rows belong to their clusters, where that is more than the distance to a center.
    pictures : mapping of str to callable
        What its fitted estimator can show beside what `coterie.plotting` draws of any: a name, and a function of the
        estimator that gives Axes.
    page : str
        The page of the documentation: its path in the repository, or an address.

    Examples
    --------
    >>> from coterie.estimators import find_method
    >>> gmm = find_method("gmm")
    >>> gmm.objective.name, gmm.objective.higher_is_better, gmm.takes_sparse
    ('free energy', True, False)
    """

    name: str
    estimator: type
    summary: str
    objective: Objective | None = None
    clusters: str | None = "n_clusters"
    progress: Progress = Progress()
    usual_above: int | None = None
    takes_labels: bool = False
    drops_clusters: bool = False
    membership: MembershipMeasure | None = None
    pictures: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    page: str = ""

    @property
    def takes_sparse(self) -> bool:
        """Whether it clusters sparse rows: its scikit-learn tag."""
        return bool(get_tags(self.estimator()).input_tags.sparse)

    @property
    def watched(self) -> Objective:
        """Objective that fits report while they run, with its name there."""
        objective = self.objective or OBJECTIVE
        return replace(objective, name=self.progress.name or objective.name)


_methods: dict[str, Method] = {}


def register_method(method: Method) -> Method:
    """Add a method: the command line offers it, and its estimators can be saved and loaded.

    Parameters
    ----------
    method : Method
        Its record. One of the same name and estimator takes the place of the older one.

    Returns
    -------
    Method
        The same.

    Raises
    ------
    ValueError
        If the name or the name of the estimator's class is taken, a flag is reserved, a flag and its parameter do not
        belong together for another method, or the estimator lacks the parameter `clusters`.
    """
    known = _methods.get(method.name, method).estimator
    if (known.__module__, known.__qualname__) != (method.estimator.__module__, method.estimator.__qualname__):
        raise ValueError(
            f"There is a method {method.name!r} already, that of {known.__module__}.{known.__qualname__}."
        )
    _check_parameters_of(method)
    _check_flags_of(method)
    persistable(method.estimator)
    _methods[method.name] = method
    return method


def register_installed_methods() -> None:
    """Add the methods of installed packages: each entry point of the group "coterie.methods" names a `Method`.

    The command line does so. What fails is told by a UserWarning and left out.
    """
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            register_method(entry.load())
        except Exception as error:  # whatever happens in another package
            warnings.warn(
                f"The method {entry.name!r} ({entry.value}) is left out: {type(error).__name__}: {error}",
                UserWarning,
                stacklevel=2,
            )


def methods() -> tuple[Method, ...]:
    """Return the records of all methods, coterie's own first.

    Examples
    --------
    >>> from coterie.estimators import methods
    >>> [method.name for method in methods() if method.takes_labels]
    ['total-variation']
    """
    return tuple(_methods.values())


def find_method(name: str, among: Iterable[Method] | None = None) -> Method:
    """Return the method of this name.

    Parameters
    ----------
    name : str
        As on the command line.
    among : iterable of Method, optional
        Which ones to look among; by default all.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        If there is none; the message lists those that there are.
    """
    known = {method.name: method for method in (methods() if among is None else among)}
    if name not in known:
        raise ValueError(f"The method {name!r} is unknown. Choose from: {', '.join(known)}.")
    return known[name]


def method_of(estimator: Any) -> Method | None:
    """Return the record of an estimator, or of the nearest class that it is derived from; None where there is none."""
    for ancestor in type(estimator).__mro__:
        for method in methods():
            if method.estimator is ancestor:
                return method
    return None


def name_of(estimator: Any) -> str:
    """Return the name of an estimator in plots and reports: that of its method, or of its class."""
    method = method_of(estimator)
    return type(estimator).__name__ if method is None else method.name


def usual_method(candidates: Iterable[Method], n_rows: int) -> Method:
    """Return the default method for a number of rows, among candidates."""
    by_size = sorted(candidates, key=lambda method: method.usual_above or 0)
    large_enough = [method for method in by_size if (method.usual_above or 0) < n_rows]
    return large_enough[-1] if large_enough else by_size[0]


def _check_parameters_of(method: Method) -> None:
    if method.clusters is not None and method.clusters not in method.estimator().get_params():
        raise ValueError(
            f"The record of {method.name!r} names a parameter {method.clusters!r} "
            f"that {method.estimator.__name__} does not have."
        )


def _check_flags_of(method: Method) -> None:
    """Refuse a flag that a declaration names if it is one of the commands', or of another parameter elsewhere."""
    others = [
        (known, other)
        for other in methods()
        if other.name != method.name
        for known in parameters_of(other.estimator).values()
    ]
    for parameter in parameters_of(method.estimator).values():
        flag = parameter.param.flag
        if not flag or flag in ("-k", "--seed", "--threads"):
            continue
        if flag in RESERVED_FLAGS or not flag.startswith("--"):
            raise ValueError(
                f"{flag} cannot be an option of a method: it is an option of the commands, or not a flag."
            )
        for known, other in others:
            if known.flags and (known.flags[0] == flag) != (known.name == parameter.name):
                raise ValueError(
                    f"{flag} cannot be the option of {parameter.name}: "
                    f"in {other.name} {known.flags[0]} is that of {known.name}."
                )
