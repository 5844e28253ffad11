"""The job of `coterie fit`, on this machine or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie.cli.options import TableOptions
from coterie.cli.results import KeptColumns
from coterie.rows import RowSource

NO_COUNT = (
    "The number of clusters is missing: add -k NUMBER. If it is unknown, coterie choose-k FILE estimates it, and "
    "--method density needs none."
)


@dataclass(frozen=True, slots=True)
class FitJob:
    """What to fit, how, and where the results go. `parameters` holds only what the user set, as a text or a value.

    `search` fits a model several times, and returns the best one, the seconds, warnings, and facts for the summary.
    `report` has options of `coterie.report`. With the method "auto", several methods are compared, and the best one is
    fitted.

    Without a method the parameters decide, and then the number of rows: of the usual methods those that have all
    parameters, and of these the one for the number of rows; if none has, the only other method that has them.
    """

    file: str
    n_clusters: int | None
    out: Path
    format: str | None = None
    method: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    tables: TableOptions = TableOptions()
    image_shape: tuple[int, ...] | None = None
    quiet: bool = False
    force: bool = False
    labels: str | None = None
    graph: str | None = None
    kept: KeptColumns = field(default_factory=KeptColumns)
    outliers: float | None = None
    results: str | None = None
    command: str = "fit"
    search: Callable[[Any, RowSource], tuple[Any, float, list[str], dict[str, Any]]] | None = None
    report: Mapping[str, Any] | None = None
    verify: bool = False
    continued: Path | None = None
