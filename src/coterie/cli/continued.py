"""`coterie fit --continue`: give clusters the ids of those of an older run."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import IntArray
from coterie.cli.errors import UsageError, message_of
from coterie.cli.results import KeptColumns
from coterie.cli.runs import read_summary
from coterie.matching import ClusterMatch, match_clusters
from coterie.outputs import OutputFolder
from coterie.results import ID_NAMES
from coterie.rows import RowSource

CHANGES = "changes.csv"

_FIELDS = ("id", "cluster", "event", "rows_before", "rows_after", "rows_kept", "share_before", "share_after")


@dataclass(frozen=True, slots=True)
class Continued:
    """The clusters of an older run.

    `labels` are the lasting ids of the clusters of its rows, -1 for none, `keys` the ids of its rows in the column
    `id`, None where they have none, and `next_id` is the first id that no cluster had before.
    """

    run: Path
    labels: IntArray
    keys: list[str] | None
    id: str | None
    next_id: int

    def match(self, rows: RowSource, labels: IntArray) -> ClusterMatch:
        """Return the clusters of rows under lasting ids."""
        if self.keys is None or self.id is None:
            if len(self.labels) != len(labels):
                raise UsageError(
                    f"--continue {self.run}: it has {len(self.labels):,} rows, not {len(labels):,}, and no column of "
                    "ids: give both tables a column of ids, named by --id."
                )
            of_new = None
        else:
            assert rows.metadata_columns is not None
            batches = (batch.column(0) for batch in rows.metadata_columns.batches([self.id]))
            new = [str(value) for column in batches for value in column.to_pylist()]
            places = _places(self.keys, f"the labels of {self.run}")
            _places(new, "the rows")
            of_new = np.array([places.get(key, -1) for key in new], dtype=np.int64)
        return match_clusters(self.labels, labels, of_new, next_id=self.next_id)

    def write(self, match: ClusterMatch, outputs: OutputFolder) -> None:
        """Write `changes.csv`."""
        clusters = {int(id): cluster for cluster, id in enumerate(match.ids)}
        with outputs.writing(CHANGES) as path, open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(_FIELDS)
            for change in match.changes:
                shares = [
                    f"{change.kept / size:.6g}" if size else "" for size in (change.before, change.after)
                ]
                cluster = clusters.get(int(change.id), "")
                writer.writerow(
                    [change.id, cluster, change.event, change.before, change.after, change.kept, *shares]
                )

    def facts(self, match: ClusterMatch) -> dict[str, Any]:
        """Return the content of a summary."""
        events, counts = np.unique(match.changes.event, return_counts=True)
        next_id = max(self.next_id, int(match.ids.max(initial=-1)) + 1)
        return {
            "run": str(self.run),
            "next_id": next_id,
            "events": dict(zip(events.tolist(), counts.tolist())),
        }


def read_clusters(run: Path, kept: KeptColumns, names: list[str]) -> Continued:
    """Read the clusters of an older run, with the ids of its rows if the new results have such.

    `kept` and `names` are the columns that the results of the new run have beside their own.
    """
    try:
        fit = read_summary(run)
        labels_file = run / Path(fit.files["labels"]).name
        lasting = None
        if fit.continued is not None:
            with open(run / CHANGES, encoding="utf-8", newline="") as file:
                changes = [line for line in csv.DictReader(file) if line["cluster"]]
            lasting = {int(line["cluster"]): int(line["id"]) for line in changes}
        is_id = bool(names) and (kept.id is not None or names[0].lower() in ID_NAMES)
        clusters, keys = _read_labels(labels_file, names[0] if is_id else None)
    except (OSError, KeyError, ValueError) as error:
        raise UsageError(f"--continue {run}: {message_of(error)}") from error
    next_id = int(clusters.max(initial=-1)) + 1
    if lasting is not None and fit.continued is not None:
        clusters = np.array([lasting.get(cluster, -1) for cluster in clusters.tolist()], dtype=np.int64)
        next_id = fit.continued.next_id
    return Continued(run, clusters, keys, names[0] if is_id else None, next_id)


def continued_lines(facts: dict[str, Any]) -> list[str]:
    """Return the line of a report on the older run, if there is one."""
    found = facts.get("continued")
    if found is None:
        return []
    events = ", ".join(f"{count:,} {event}" for event, count in found["events"].items())
    return [f"clusters of {found['run']}: {events}; {facts['files']['changes']}"]


def _places(keys: list[str], where: str) -> dict[str, int]:
    places = {key: row for row, key in enumerate(keys)}
    if len(places) < len(keys):
        twice = next(key for row, key in enumerate(keys) if places[key] != row)
        raise UsageError(f"--continue: the id {twice!r} occurs more than once in {where}.")
    return places


def _read_labels(path: Path, id: str | None) -> tuple[IntArray, list[str] | None]:
    """Return the clusters of the rows of an older run, and their ids."""
    if path.suffix == ".npy":
        if id is not None:
            raise ValueError(f"its {path.name} has no column {id!r}. Run it again with --results parquet.")
        return np.load(path, allow_pickle=False).astype(np.int64), None
    if path.suffix == ".parquet":
        from pyarrow import parquet

        table = parquet.read_table(path)
    elif path.suffix == ".csv":
        import pyarrow
        from pyarrow import csv as tables

        types = {} if id is None else {id: pyarrow.string()}
        table = tables.read_csv(path, convert_options=tables.ConvertOptions(column_types=types))
    else:
        raise ValueError(f"{path.name} is not a readable file of labels.")
    if id is not None and id not in table.column_names:
        raise ValueError(f"its {path.name} has no column {id!r}. Run it again with --id {id}.")
    clusters = table["cluster"].to_numpy().astype(np.int64)
    return clusters, None if id is None else [str(value) for value in table[id].to_pylist()]
