"""Report section on the fit: data, parameters, and pictures of the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from coterie.methods import Method, Objective
from coterie.reports.page import Cell, Code, Facts, Part, Picture, Section, Text, Warnings
from coterie.reports.subject import Subject


def fit_section(subject: Subject, summary: Mapping[str, Any]) -> Section:
    """Return the last section of a report; `summary` is that of `coterie fit`, or as much of it as is known."""
    model, method = subject.model, subject.method
    source, sizes = summary.get("input", {}), subject.sizes
    what = [
        ("file", source.get("file")),
        ("rows", subject.rows.shape[0]),
        ("columns", subject.rows.shape[1]),
        ("kind", f"{'sparse' if subject.rows.is_sparse else 'dense'}, {subject.rows.dtype.name}"),
        ("method", subject.name_of_method + (f" ({method.summary})" if method else "")),
        ("preparation", _preparation(subject.rows.preparation)),
        ("clusters", f"{subject.n_clusters:,}, of {int(sizes.min()):,} to {int(sizes.max()):,} rows"),
        *_objective(model, method),
        ("iterations", getattr(model, "n_iter_", None)),
        ("seconds of the fit", summary.get("seconds")),
        ("rows in no cluster", int(np.count_nonzero(subject.labels < 0)) or None),
        ("rows marked as outliers", (summary.get("outliers") or {}).get("marked")),
    ]
    entries: list[tuple[str, Cell]] = [(name, value) for name, value in what if value is not None]
    lines = [str(line) for line in summary.get("warnings", [])]
    if getattr(model, "converged_", True) is False and not any("converge" in line for line in lines):
        lines.append("The fit ended before it had converged: max_iter or max_time stopped it.")
    parts: list[Part] = [Warnings(lines), Facts(entries)]
    if summary.get("command_line"):
        parts.append(Code("Command", str(summary["command_line"])))
    else:  # arrays among the parameters are named only
        is_own = isinstance(model, BaseEstimator)
        parts.append(Code("Estimator", " ".join(repr(model).split()) if is_own else type(model).__name__))
        if getattr(model, "random_state", 0) is None:
            parts.append(Text("Without random_state another fit may find other clusters."))
    return Section("How it was made", [*parts, *_pictures(subject)])


def _preparation(steps: Sequence[tuple[Any, ...]]) -> str | None:
    """Return in words how rows were prepared."""
    words = {"normalize": "length 1", "drop_missing": "rows with missing values dropped"}
    found = []
    for kind, *details in steps:
        if kind == "transform":
            transformer, _, cells = details
            parts = [step for _, step in getattr(transformer, "steps", [("", transformer)])]
            names = ", ".join(type(part).__name__ for part in parts)
            found.append(f"{names} of {', '.join(cells)}" if cells else names)
        elif kind in words:
            found.append(words[kind])
    return "; ".join(found) or None


def _objective(model: Any, method: Method | None) -> Sequence[tuple[str, Any]]:
    objective = method.objective if method else Objective()
    value = getattr(model, objective.attribute, None)
    if value is None or np.ndim(value):
        return []
    direction = " (higher is better)" if objective.higher_is_better else ""
    return [(f"{objective.name}{direction}", f"{float(value):.8g}")]


def _pictures(subject: Subject) -> list[Part]:
    if subject.method is None or len(subject.labels) < 2:
        return []
    found: list[Part] = []
    for name, draw in subject.method.pictures.items():
        words = f"The {name.replace('_', ' ')} of this {subject.name_of_method}."
        found.append(Picture(draw(subject.model).figure, words))
    return found
