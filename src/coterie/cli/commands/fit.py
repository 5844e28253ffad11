"""`coterie fit`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from coterie.cli.arguments import (
    File,
    FileIfAny,
    Graph,
    Limit,
    Quiet,
    Seconds,
    Seed,
    Switch,
    Threads,
    beside_of,
    image_shape_of,
)  # fmt: skip
from coterie.cli.help import clusters_help, format_help, labels_help, method_help
from coterie.cli.lines import fit_lines
from coterie.cli.models import offered_methods
from coterie.cli.options import OF_SOME_METHODS, given, method_options, with_memory, with_options
from coterie.cli.output import report as tell
from coterie.cli.run_file import with_run_file
from coterie.cli.standard_input import streamed_formats
from coterie.cli.table_options import with_table_options

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command with the options of all methods that are known by now."""
    offered = offered_methods()
    more = {
        "k": Parameter(help=clusters_help(offered)),
        "method": Parameter(help=method_help(offered)),
        "labels": Parameter(help=labels_help(offered), group=OF_SOME_METHODS),
        "format": Parameter(help=format_help(streamed_formats())),
    }
    whole = with_options(fit, method_options(offered), after="method", more=more)
    return with_run_file(with_memory(with_table_options(whole)))


def fit(
    file: File,
    /,
    *,
    k: Annotated[Limit, Parameter(name=["-k", "--clusters", "--n-clusters", "--n-components"])] = None,
    method: str | None = None,
    labels: FileIfAny = None,
    graph: Graph = None,
    format: str | None = None,
    max_iter: Limit = None,
    max_time: Seconds = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    tables: Mapping[str, Any],
    id: str | None = None,
    keep: str | None = None,
    image: str | None = None,
    outliers: str | None = None,
    results: Literal["npy", "parquet", "csv"] | None = None,
    report: Switch = False,
    out: Path = Path("coterie-out"),
    force: Switch = False,
    scheduler: str | None = None,
    json: Switch = False,
    quiet: Quiet = False,
    parameters: Mapping[str, Any],
) -> None:
    """Cluster the rows of a file; write model, labels and a summary to a folder.

    Parameters
    ----------
    file
        .npy, .npz, .csv, .tsv, .jsonl, .ndjson, .parquet, .feather, .arrow, .zarr, .h5 (file.h5::dataset), .svm,
        .libsvm, or a folder or quoted pattern of such files; - is the standard input. Of .parquet, .feather, .arrow,
        .npy, .zarr also an address: s3://, gs://, az://, hf://, https://.
    k
        Number of clusters; the records of the methods say more.
    method
        How to find them; as the records say.
    labels
        A file of known classes; as the records say.
    graph
        A file of the symmetric weights of a graph of the rows, such as a sparse matrix in a .npz file, or of the arrays
        `ids` and `distances` (.npz) of neighbours that others have found; stands for --weights precomputed.
    format
        That of the standard input.
    max_iter
        Stop after this many iterations.
    max_time
        Stop after this many seconds with the best model by then.
    seed
        Same seed, same clusters.
    n_threads
        Threads; by default all processors of this process.
    tables
        What the options of tables say.
    id
        The column of a table that says which row is which; it is not clustered. By default one that is not clustered
        and is called id, _id or uuid, or is the index.
    keep
        Columns of a table that the results keep beside the clusters, with commas between them; they are not clustered.
        By default all that are not.
    image
        Rows are images of this height and width, such as 28x28, or 32x32x3 in colour: draw each cluster's mode (or
        centre), mean and nearest rows to modes.png.
    outliers
        Label this share of the rows -1 in the results, such as 1% or 0.01: those that are the farthest from their
        clusters, relative to the scale of each. The model does not change; its file keeps the threshold.
    results
        What to write of the rows: npy (labels alone), or a table with examples beside it, parquet or csv. By default
        parquet for a table, else npy.
    report
        Write report.html, too: a page with a map, a card for each cluster, and how the fit went.
    out
        Folder for model.coterie, labels.npy (for a table labels.parquet: id, kept columns, cluster, distance, outlier
        score, rank; and examples.parquet: the ten rows nearest to each centre and the ten most doubtful ones),
        summary.json, run.toml, modes.png and report.html.
    force
        Replace the results of another command, or of other rows, in the folder.
    scheduler
        Address of a Dask scheduler, such as tcp://host:8786: its workers open the file, which they must see under the
        same name, and find the clusters (k-means).
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    parameters
        Options of the methods.
    """
    from coterie.cli.fit import FitJob
    from coterie.cli.fit import fit as run_fit
    from coterie.cli.report import ReportOptions
    from coterie.cli.results import asked_share

    limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
    job = FitJob(
        file=file,
        n_clusters=k,
        out=out,
        format=format,
        method=method,
        parameters=given({**limits, **parameters}),
        seed=seed,
        **tables,
        image_shape=image_shape_of(image),
        quiet=quiet,
        force=force,
        labels=labels,
        graph=graph,
        beside=beside_of(id, keep),
        outliers=asked_share(outliers),
        results=results,
        report=ReportOptions(image_shape=image_shape_of(image)) if report else None,
    )
    if scheduler is not None:
        from coterie.cli.cluster import fit_on_cluster

        return tell(fit_on_cluster(job, scheduler)[1], fit_lines, json, quiet)
    tell(run_fit(job)[1], fit_lines, json, quiet)
