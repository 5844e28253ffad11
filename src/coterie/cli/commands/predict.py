"""`coterie predict`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coterie.cli.arguments import File, Limit, Quiet, Switch, beside_of, column_names, separator_of
from coterie.cli.lines import predict_lines
from coterie.cli.options import with_memory
from coterie.cli.output import report
from coterie.cli.run_file import with_run_file

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return with_run_file(with_memory(predict))


def predict(
    model: File,
    file: File,
    /,
    *,
    out: Path | None = None,
    force: Switch = False,
    format: str | None = None,
    exclude: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    id: str | None = None,
    keep: str | None = None,
    outliers: str | None = None,
    threads: Limit = None,
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Label the rows of a file with a saved model.

    Parameters
    ----------
    model
        A model.coterie that `coterie fit` or `save` wrote, or the folder of the run.
    file
        The rows; any file that `coterie fit` reads, or - for the standard input.
    format
        What comes through the standard input, as for `coterie fit`.
    out
        File for the labels, .npy, .parquet or .csv; by default labels.npy, or labels.parquet for a table, with
        examples.parquet beside it.
    exclude
        Leave out these columns of a table, written as for `coterie fit`: those that the model does not know.
    sep
        What separates the fields of a .csv file; by default as for `coterie fit`.
    decimal
        Its decimal sign, '.' or ','; by default what its first lines have.
    id
        The column of a table that says which row is which; by default as for `coterie fit`.
    keep
        Columns of a table that the results keep, with commas between them; by default all that the model does not use.
    outliers
        Label this share of the rows -1, such as 1% or 0.01. By default those that score more than the threshold of the
        fit, if it had --outliers; 0 labels none so.
    threads
        Threads; by default all processors of this process.
    force
        Replace the labels of a fit in its folder.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.predict import predict as run_predict
    from coterie.cli.results import asked_share

    facts = run_predict(
        model,
        file,
        out,
        threads=threads,
        format=format,
        beside=beside_of(id, keep),
        outliers=asked_share(outliers),
        quiet=quiet,
        force=force,
        exclude=column_names(exclude, "--exclude"),
        sep=separator_of(sep),
        decimal=decimal,
    )
    report(facts, predict_lines, json, quiet)
