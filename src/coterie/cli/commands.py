"""The commands and their options: what `coterie --help` shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

try:
    from cyclopts import App, CycloptsError, Parameter
except ImportError as error:
    raise ImportError("The command line needs cyclopts and rich: pip install 'coterie[cli]'") from error

from coterie import __version__
from coterie.cli import UsageError
from coterie.cli.output import to_json

app = App(
    name="coterie",
    version=f"coterie {__version__}",
    help="Fast, exact and reproducible clustering of files of vectors.",
    help_format="markdown",
)

# A switch that is off unless given.
Switch = Annotated[bool, Parameter(negative="")]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]


def run(arguments: list[str]) -> None:
    """Parse the arguments and run the command that they name.

    Raises
    ------
    UsageError
        If the arguments are wrong.
    """
    try:
        command, bound, *_ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(str(error).strip()) from error
    command(*bound.args, **bound.kwargs)


@app.command
def fit(
    file: str,
    /,
    *,
    k: Annotated[int, Parameter(name=["-k", "--clusters"])],
    method: str | None = None,
    algorithm: str | None = None,
    init: str | None = None,
    n_init: int | Literal["auto"] | None = None,
    batch_size: int | None = None,
    coreset: int | None = None,
    covariance: str | None = None,
    candidates: int | None = None,
    neighbors: int | None = None,
    lam: float | None = None,
    modes: str | None = None,
    assignment: str | None = None,
    labels: str | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
    tol: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    normalize: Switch = False,
    columns: str | None = None,
    out: Path = Path("coterie-out"),
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the rows of a file; write model, labels and a summary to a folder.

    Parameters
    ----------
    file
        .npy, .npz, .csv, .tsv, .parquet, .feather, .arrow, .zarr, .h5 (file.h5::dataset), .svm, .libsvm, or a
        folder or quoted pattern of such files.
    k
        Number of clusters. gmm may drop some, which are left without rows or variance.
    method
        k-means (exact), nested (nested mini-batches: within 1% of k-means far sooner), mini-batch, gmm (a mixture
        of Gaussians, for up to tens of thousands of clusters), laplacian-kmodes (clusters of any shape, each around
        a row), or total-variation (clusters with few edges between them, also from a few labels). By
        default nested for more than 100,000 rows and
        k-means for fewer. Where an option is given that these do not both have, the one that has it; where neither
        has it, the one other method that does: --covariance asks for gmm.
    algorithm
        Variant of k-means: lloyd, elkan, yinyang or hamerly; all give the same clusters.
    init
        How to start: k-means++, afk-mc2 or random.
    n_init
        Number of starts, of which the best is kept, or auto; for k-means and mini-batch.
    batch_size
        Rows of a batch, for nested of the first one; for nested and mini-batch.
    coreset
        Fit a weighted sample of so many rows that stands for all of them; for k-means and gmm, whose
        free energy is then that of the sample.
    covariance
        For gmm, tied_spherical (one variance for all clusters), spherical (one per cluster) or diag (one per cluster
        and column).
    candidates
        For gmm, clusters that each row is shared among.
    neighbors
        For gmm, size of the neighbourhoods of clusters in which rows look for better ones; for laplacian-kmodes and
        total-variation, nearest neighbours of each row in the graph.
    lam
        For laplacian-kmodes, weight of the graph against the modes: 1 to 4 as a rule.
    modes
        For laplacian-kmodes, byproduct (modes are rows) or mean_shift (maxima of the density).
    assignment
        For gmm, how rows are labelled: exact (compared with all clusters), truncated (with those near by) or auto
        (exact for up to 1,000 clusters).
    labels
        For total-variation, a file (.npy, or text with a line for each row) of known classes from 0 to k - 1, and -1
        where they are not known.
    max_iter
        Stop after this many iterations.
    max_time
        Stop after this many seconds with the best model by then.
    tol
        Stop when the centroids move less than this, relative to the spread of the rows; for gmm, when the free energy
        changes by less than this, relative to itself.
    seed
        Same seed, same clusters.
    threads
        Threads; by default all processors of this process.
    normalize
        Scale each row to length 1 first (spherical clustering); `coterie predict` does so too.
    columns
        Use only these columns of a table: names, or positions from 0, with commas between them.
    out
        Folder for model.coterie, labels.npy (labels.parquet for a table) and summary.json.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.jobs import FitJob
    from coterie.cli.jobs import fit as run_fit

    given = {
        "algorithm": algorithm,
        "init": init,
        "n_init": n_init,
        "batch_size": batch_size,
        "coreset_size": coreset,
        "covariance_type": covariance,
        "n_candidates": candidates,
        "n_neighbors": neighbors,
        "lam": lam,
        "mode_update": modes,
        "assignment": assignment,
        "max_iter": max_iter,
        "max_time": max_time,
        "tol": tol,
        "random_state": seed,
        "n_threads": threads,
    }
    job = FitJob(
        file=file,
        n_clusters=k,
        out=out,
        method=method,
        parameters={name: value for name, value in given.items() if value is not None},
        normalize=normalize,
        columns=_names(columns),
        quiet=quiet,
        labels=labels,
    )
    _report(run_fit(job)[1], _fit_lines, json, quiet)


@app.command
def predict(
    model: str,
    file: str,
    /,
    *,
    out: Path | None = None,
    threads: int | None = None,
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Label the rows of a file with a saved model.

    Parameters
    ----------
    model
        A model.coterie that `coterie fit` or `save` wrote.
    file
        The rows; any file that `coterie fit` reads.
    out
        File for the labels, .npy or .parquet; by default labels.npy, or labels.parquet for a table.
    threads
        Threads; by default all processors of this process.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.jobs import predict as run_predict

    facts = run_predict(model, file, out, threads=threads, quiet=quiet)
    _report(facts, _predict_lines, json, quiet)


@app.command
def info(file: str, /, *, json: Switch = False) -> None:
    """Say what is in a file of rows or in a saved model.

    Parameters
    ----------
    file
        A file that `coterie fit` reads, or a model.
    json
        Print one JSON object on the standard output.
    """
    from coterie.cli.jobs import describe_file, describe_model, is_model

    _report(describe_model(file) if is_model(file) else describe_file(file), _fact_lines, json)


@app.command
def demo(*, out: Path = Path("coterie-demo"), json: Switch = False, quiet: Quiet = False) -> None:
    """Cluster handwritten digits, draw the clusters, and let methods race on more digits.

    Parameters
    ----------
    out
        Folder for the digits, the model, the labels, the summary and five pictures.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.demo import run_demo

    _report(run_demo(out, quiet=quiet), _fit_lines, json, quiet)


def _report(
    facts: dict[str, Any], lines: Callable[[dict[str, Any]], list[str]], json: bool, quiet: bool = False
) -> None:
    """Warnings to the standard error stream, facts to the standard output, in the form asked for."""
    if not quiet:
        for warning in facts.get("warnings", []):
            print(f"coterie: warning: {warning}", file=sys.stderr)
    if json:
        print(to_json(facts))
    elif not quiet:
        print("\n".join(lines(facts)))


def _fit_lines(facts: dict[str, Any]) -> list[str]:
    source, sizes, left = facts["input"], facts["cluster_sizes"], facts["clusters_left"]
    asked = facts["clusters"]
    dropped = f" ({asked - left:,} of {asked:,} dropped)" if left < asked else ""
    direction = " (higher is better)" if facts["higher_is_better"] else ""
    return [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns in {left:,} clusters{dropped} "
        f"by {facts['method']}",
        f"{facts['iterations']:,} iterations in {facts['seconds']:.3g} s, "
        f"{facts['objective_name']} {facts['objective']:.8g}{direction}, "
        f"{sizes['smallest']:,} to {sizes['largest']:,} rows a cluster",
        *(f"{name.replace('_', ' ')} {score:.3f}" for name, score in facts.get("scores", {}).items()),
        *(line for race in facts.get("races", {}).items() for line in _race_lines(*race)),
        *_file_lines(facts),
    ]


def _race_lines(title: str, results: dict[str, dict[str, Any]]) -> list[str]:
    """A table: a line for each method, a column for each result."""
    names = [name.replace("_", " ") for name in next(iter(results.values()))]
    width = max(len(method) for method in results) + 2
    lines = [" " * width + "  ".join(names)]
    for method, values in results.items():
        cells = ("-" if value is None else f"{value:.4g}" for value in values.values())
        shown = "  ".join(f"{cell:>{len(name)}}" for cell, name in zip(cells, names))
        lines.append(f"{method:<{width}}{shown}")
    return [f"{title}:", *(f"  {line}" for line in lines)]


def _predict_lines(facts: dict[str, Any]) -> list[str]:
    return [
        f"{facts['input']['file']}: {facts['input']['rows']:,} rows labelled in {facts['seconds']:.3g} s, "
        f"{facts['clusters']:,} clusters",
        *_file_lines(facts),
    ]


def _file_lines(facts: dict[str, Any]) -> list[str]:
    return ["wrote", *(f"  {path}" for path in facts["files"].values())]


def _fact_lines(facts: dict[str, Any]) -> list[str]:
    """Name and value of each fact, the values aligned."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat.update(value if isinstance(value, dict) else {name: value})
    width = max(map(len, flat)) + 2
    return [f"{name.replace('_', ' '):<{width}}{_in_words(value)}" for name, value in flat.items()]


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:12]))
        return shown if len(value) <= 12 else f"{shown} and {len(value) - 12:,} more"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)


def _names(columns: str | None) -> list[str | int] | None:
    """The names and positions between the commas of --columns."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise UsageError(f"--columns must be names or positions with commas between them, got {columns!r}.")
    return [int(name) if name.isdecimal() else name for name in names]
