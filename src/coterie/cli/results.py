"""Results of `fit` and `predict`: labels, or a table with the examples of each cluster."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray, IntArray
from coterie.cli.errors import UsageError
from coterie.cli.options import column_names
from coterie.cli.output import table_writer
from coterie.figures import counted
from coterie.outputs import OutputFolder
from coterie.results import (
    Examples,
    Outliers,
    Renaming,
    metadata_names,
    outlier_share,
    place_rows,
    result_batches,
)
from coterie.rows import Block, RowSource
from coterie.rows.formats.hdf5 import write_labels_to_obs

# Files of labels without columns beside them.
_LABELS_ALONE = (".npy", ".h5ad")

# Rows that a table of clusters is made of, and what it shows.
_SEEN_ROWS, _SHOWN_CLUSTERS, _SHOWN_FEATURES = 20_000, 10, 3


@dataclass(frozen=True, slots=True)
class KeptColumns:
    """Columns of a table that are kept in the results without being clustered: `--id` and `--keep`."""

    id: str | None = None
    keep: Sequence[str] | None = None

    @property
    def names(self) -> list[str]:
        """The columns given by name, which are not clustered."""
        return [*([] if self.id is None else [self.id]), *(self.keep or [])]


def kept_columns(id: str | None, keep: str | None) -> KeptColumns:
    """Return the columns of --id and --keep, which are names."""
    names = column_names(keep, "--keep")
    return KeptColumns(id, None if names is None else [str(name) for name in names])


def result_files(labels: Path) -> dict[str, Path]:
    """Return the files of results: that of labels, and for a table the examples beside it."""
    if labels.suffix in _LABELS_ALONE:
        return {"labels": labels}
    name = "examples" if labels.stem == "labels" else f"{labels.stem}-examples"
    return {"labels": labels, "examples": labels.with_name(name + labels.suffix)}


@dataclass(frozen=True, slots=True)
class RowResults:
    """The results of rows, ready to be written: `names` are the columns of a table to keep, the id first."""

    model: Any
    rows: RowSource
    labels: IntArray
    names: Sequence[str]
    scores: Array | None = None
    outliers: Outliers | None = None
    renaming: Renaming = Renaming()

    def write(self, files: Mapping[str, Path], outputs: OutputFolder) -> None:
        """Write the files of `result_files`; a table is written piece by piece."""
        with outputs.writing(files["labels"].name) as labels:
            examples = self._write_labels(labels)
        if examples is not None:
            with (
                outputs.writing(files["examples"].name) as path,
                table_writer(path, examples.schema) as writer,
            ):
                writer.write_table(examples)

    def _write_labels(self, path: Path) -> Any:
        """Write labels; return the table of examples where they are in a table."""
        if path.suffix in _LABELS_ALONE:
            labels = self.labels if self.outliers is None else self.outliers.marked(self.labels)
            labels = self.renaming.labels(labels)
            place = self.rows.place_of(0)
            if path.suffix == ".npy":
                np.save(path, labels)
            elif place is not None:
                write_labels_to_obs(Path(place[1]), path, labels)
            return None
        placement = place_rows(self.model, self.rows, self.labels, self.scores)
        examples = Examples(placement, self.renaming)
        batches = result_batches(placement, self.rows, self.names, self.outliers, self.renaming)
        first = next(batches)
        with table_writer(path, first.schema) as writer:
            for batch in itertools.chain([first], batches):
                # Shards may have different types for texts.
                batch = batch.cast(first.schema)
                writer.write_batch(batch)
                examples.look_at(batch)
        return examples.table()


def sample_of(rows: RowSource) -> tuple[Array, Block]:
    """Return at most 20,000 rows at equal distances: their positions and themselves."""
    n_rows = rows.shape[0]
    seen = np.linspace(0, n_rows - 1, min(_SEEN_ROWS, n_rows)).astype(np.intp)
    return seen, rows.take(seen)


def cluster_table(rows: RowSource, labels: IntArray, seen: Array, sample: Block) -> list[dict[str, Any]]:
    """Return facts about the ten largest clusters: their sizes, and by a sample of the rows what distinguishes them.

    `spread` is the root mean square distance of rows to their mean, `features` the columns whose mean differs most from
    that of all rows, in standard deviations.
    """
    sizes = np.bincount(labels[labels >= 0])
    classes = labels[seen]
    table = []
    mean, deviation = _moments(sample)
    for cluster in np.argsort(-sizes, kind="stable")[:_SHOWN_CLUSTERS].tolist():
        facts = {
            "cluster": cluster,
            "rows": int(sizes[cluster]),
            "share": float(sizes[cluster] / len(labels)),
        }
        members = np.flatnonzero(classes == cluster)
        if len(members):
            own, spread = _moments(sample[members])
            facts["spread"] = float(np.sqrt(np.sum(spread**2)))
            scores = np.divide(own - mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
            first = np.argsort(-np.abs(scores), kind="stable")[:_SHOWN_FEATURES]
            facts["features"] = {
                f"column {i}" if rows.column_names is None else str(rows.column_names[i]): float(scores[i])
                for i in first.tolist()
            }
        table.append(facts)
    return table


def _moments(block: Block) -> tuple[FloatArray, FloatArray]:
    if not sp.issparse(block):
        return block.mean(axis=0, dtype=np.float64), block.std(axis=0, dtype=np.float64)
    mean = np.asarray(block.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.asarray(block.multiply(block).mean(axis=0, dtype=np.float64)).ravel()
    return mean, np.sqrt(np.maximum(squares - mean**2, 0.0))


def asked_share(outliers: str | None) -> float | None:
    """Return the share of --outliers."""
    try:
        return None if outliers is None else outlier_share(outliers)
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def outlier_facts(outliers: Outliers | None, share: float | None) -> dict[str, Any] | None:
    """Return the facts about outliers for reports; without a share the threshold is that of the fit."""
    if outliers is None:
        return None
    return {"share": share, "threshold": outliers.threshold, "marked": int(outliers.marks.sum())}


def kept_column_names(rows: RowSource, kept: KeptColumns, labels: Path) -> list[str]:
    """Return the columns that the results keep, the id first."""
    if labels.suffix in _LABELS_ALONE:
        if kept.names:
            raise UsageError(
                f"--id and --keep are for results in a .parquet or .csv file, not for {labels.name}."
            )
        return []
    try:
        return metadata_names(rows, kept.id, kept.keep)
    except ValueError as error:
        raise UsageError(str(error)) from error


def outlier_lines(facts: dict[str, Any]) -> list[str]:
    """Return the line about outliers, if there are any."""
    found = facts.get("outliers")
    if found is None:
        return []
    marked = counted(found["marked"], "outlier")
    return [
        f"{marked} labeled -1: more than {found['threshold']:.3g} times as far as the median row of their clusters"
    ]
