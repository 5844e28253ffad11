"""The commands and their options: what `coterie --help` shows, and what they report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

try:
    from cyclopts import App, CycloptsError, Parameter
except ImportError as error:
    raise ImportError("The command line needs cyclopts and rich: pip install 'coterie[cli]'") from error

from coterie import __version__
from coterie.cli import UsageError
from coterie.cli.help import clusters_help, format_help, labels_help, method_help
from coterie.cli.lines import fact_lines, fit_lines, path_lines, predict_lines, verify_lines
from coterie.cli.models import offered_methods, path_method
from coterie.cli.options import NUMBER, OF_SOME_METHODS, given, method_options, with_memory, with_options
from coterie.cli.output import recorded_warnings, to_json
from coterie.cli.standard_input import DASH, STANDARD_INPUT, streamed_formats
from coterie.estimators import register_installed_methods

__all__ = ["build_app", "run"]

# A switch that is off unless given.
Switch = Annotated[bool, Parameter(negative="")]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]
WholeNumber = Annotated[int, NUMBER]
Limit = Annotated[int | None, NUMBER]
Seconds = Annotated[float | None, NUMBER]
Threads = Annotated[int | None, Parameter(name="--threads"), NUMBER]
Impute = Literal["mean", "median"] | None
Scale = Literal["standard", "robust", "none"]

# What --sep may say for a tab, which is hard to type.
_TABS = {"tab": "\t", "\\t": "\t"}


def run(arguments: list[str]) -> None:
    """Parse the arguments and run the command that they name.

    Raises
    ------
    UsageError
        If the arguments are wrong.
    """
    with recorded_warnings() as warned:
        register_installed_methods()
    _warn(warned)
    # The parser would take a lone dash for an option.
    words = [STANDARD_INPUT if word == DASH else word for word in arguments]
    try:
        command, bound, *_ = build_app().parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(str(error).strip()) from error
    options = {name: _dashed(value) for name, value in bound.kwargs.items()}
    command(*map(_dashed, bound.args), **options)


def _dashed(value: Any) -> Any:
    return type(value)(DASH) if isinstance(value, str | Path) and str(value) == STANDARD_INPUT else value


def build_app() -> App:
    """Return the command line with the options of all methods that are known by now."""
    app = App(
        name="coterie",
        version=f"coterie {__version__}",
        help="Fast, exact and reproducible clustering of files of vectors.",
        help_format="markdown",
    )
    offered = offered_methods()
    more = {
        "k": Parameter(help=clusters_help(offered)),
        "method": Parameter(help=method_help(offered)),
        "labels": Parameter(help=labels_help(offered), group=OF_SOME_METHODS),
        "format": Parameter(help=format_help(streamed_formats())),
    }
    app.command(with_memory(with_options(fit, method_options(offered), after="method", more=more)))
    app.command(with_memory(predict))
    app.command(with_memory(with_options(path, method_options([path_method()]), after="file")))
    app.command(with_memory(verify))
    app.command(info)
    app.command(demo)
    return app


def fit(
    file: str,
    /,
    *,
    k: Annotated[WholeNumber, Parameter(name=["-k", "--clusters"])],
    method: str | None = None,
    labels: str | None = None,
    format: str | None = None,
    max_iter: Limit = None,
    max_time: Seconds = None,
    seed: WholeNumber = 0,
    n_threads: Threads = None,
    normalize: Switch = False,
    columns: str | None = None,
    exclude: str | None = None,
    impute: Impute = None,
    scale: Scale = "none",
    one_hot: str | None = None,
    category_limit: WholeNumber = 100,
    handle_unknown: Literal["error", "ignore"] = "error",
    sep: str | None = None,
    decimal: str | None = None,
    id: str | None = None,
    keep: str | None = None,
    image: str | None = None,
    outliers: str | None = None,
    results: Literal["npy", "parquet", "csv"] | None = None,
    out: Path = Path("coterie-out"),
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
    normalize
        Scale each row to length 1 (spherical clustering), after all that is done to columns. `coterie predict` prepares
        rows in the same way.
    columns
        Use only these columns of a table, with commas between them: names, positions from 0, ranges (e0:e255 with both
        ends, 2:258 without the last), patterns (e*). By default its one column of vectors, else all.
    exclude
        Leave out these columns of a table.
    impute
        Put the mean or the median of its column in the place of a missing number; by default it is an error.
    scale
        Scale each column of numbers: standard (by mean and standard deviation) or robust (by median and quartiles).
    one_hot
        Columns of categories, with commas between them, or auto for all that are no numbers: each value becomes a
        column of zeros and ones behind the numbers. By default texts are an error.
    category_limit
        The most values that a column of --one-hot may have.
    handle_unknown
        What `coterie predict` does with a value that this file does not have: an error, or zeros (ignore).
    sep
        What separates the fields of a .csv file, such as ';' or tab; by default what fits its first lines.
    decimal
        Its decimal sign, '.' or ','; by default what its first lines have.
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
    out
        Folder for model.coterie, labels.npy (for a table labels.parquet: id, kept columns, cluster, distance, outlier
        score, rank; and examples.parquet: the ten rows nearest to each centre and the ten most doubtful ones),
        summary.json and modes.png.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    parameters
        Options of the methods.
    """
    from coterie.cli.fit import FitJob
    from coterie.cli.fit import fit as run_fit
    from coterie.cli.results import asked_share

    limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
    job = FitJob(
        file=file,
        n_clusters=k,
        out=out,
        format=format,
        method=method,
        parameters={**given(limits), **given(parameters)},
        seed=seed,
        preparing=_preparing(impute, scale, one_hot, category_limit, handle_unknown, normalize),
        columns=_names(columns, "--columns"),
        exclude=_names(exclude, "--exclude"),
        sep=_separator(sep),
        decimal=decimal,
        image_shape=_image_shape(image),
        quiet=quiet,
        labels=labels,
        beside=_beside(id, keep),
        outliers=asked_share(outliers),
        results=results,
    )
    _report(run_fit(job)[1], fit_lines, json, quiet)


def predict(
    model: str,
    file: str,
    /,
    *,
    out: Path | None = None,
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
        A model.coterie that `coterie fit` or `save` wrote.
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
        beside=_beside(id, keep),
        outliers=asked_share(outliers),
        quiet=quiet,
        exclude=_names(exclude, "--exclude"),
        sep=_separator(sep),
        decimal=decimal,
    )
    _report(facts, predict_lines, json, quiet)


def path(
    file: str,
    /,
    *,
    clusters: Limit = None,
    max_iter: Limit = None,
    max_time: Seconds = None,
    n_threads: Threads = None,
    columns: str | None = None,
    exclude: str | None = None,
    impute: Impute = None,
    scale: Scale = "none",
    one_hot: str | None = None,
    category_limit: WholeNumber = 100,
    sep: str | None = None,
    decimal: str | None = None,
    out: Path = Path("coterie-path"),
    json: Switch = False,
    quiet: Quiet = False,
    parameters: Mapping[str, Any],
) -> None:
    """Follow convex clustering from every row by itself to one cluster; write the path and two pictures.

    Parameters
    ----------
    file
        The rows; any file of dense rows that `coterie fit` reads.
    clusters
        Colour the pictures by the first clusters that are at most so many; by default the number that lasts longest.
    max_iter
        Iterations for each gamma, at most.
    max_time
        End the path after this many seconds.
    n_threads
        Threads; by default all processors of this process.
    columns
        Use only these columns of a table, written as for `coterie fit`.
    exclude
        Leave out these columns of a table.
    impute
        Put the mean or the median of its column in the place of a missing number.
    scale
        Scale each column of numbers, as for `coterie fit`.
    one_hot
        Columns of categories, or auto, as for `coterie fit`.
    category_limit
        The most values that a column of --one-hot may have.
    sep
        What separates the fields of a .csv file; by default as for `coterie fit`.
    decimal
        Its decimal sign, '.' or ','; by default what its first lines have.
    out
        Folder for path.npz, labels.csv (labels.parquet for a table; a column for each gamma), path.png, dendrogram.png
        and summary.json.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    parameters
        Options of the method.
    """
    from coterie.cli.path import PathJob, follow

    limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
    job = PathJob(
        file=file,
        out=out,
        parameters={name: value for name, value in (limits | dict(parameters)).items() if value is not None},
        n_clusters=clusters,
        columns=_names(columns, "--columns"),
        exclude=_names(exclude, "--exclude"),
        sep=_separator(sep),
        decimal=decimal,
        preparing=_preparing(impute, scale, one_hot, category_limit),
        quiet=quiet,
    )
    _report(follow(job), path_lines, json, quiet)


def verify(
    folder: Path,
    file: str | None = None,
    /,
    *,
    n_threads: Threads = None,
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the fit that wrote a folder, and say whether the bits are the same: exit code 0 if so, else 1.

    Parameters
    ----------
    folder
        What `coterie fit` wrote: model.coterie and summary.json.
    file
        The rows, if they are no longer where the summary says; - for the standard input, piped in as before.
    n_threads
        Threads; they change no bit.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.verify import verify as run_verify

    _report(run_verify(folder, file, threads=n_threads, quiet=quiet), verify_lines, json, quiet)


def info(file: str, /, *, json: Switch = False) -> None:
    """Say what is in a file of rows or in a saved model.

    Parameters
    ----------
    file
        A file that `coterie fit` reads, or a model.
    json
        Print one JSON object on the standard output.
    """
    from coterie.cli.info import describe

    _report(describe(file), fact_lines, json)


def demo(*, out: Path = Path("coterie-demo"), json: Switch = False, quiet: Quiet = False) -> None:
    """Cluster handwritten digits in several ways, draw the clusters, let methods race, and draw a tree of mammals.

    Parameters
    ----------
    out
        Folder for the digits, the model, the labels, the summary and eight pictures.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.demo import run_demo

    _report(run_demo(out, quiet=quiet), fit_lines, json, quiet)


def _report(
    facts: dict[str, Any], lines: Callable[[dict[str, Any]], list[str]], json: bool, quiet: bool = False
) -> None:
    """Warnings to the standard error stream, facts to the standard output, in the form asked for."""
    if not quiet:
        _warn(facts.get("warnings", []))
    if json:
        print(to_json(facts))
    elif not quiet:
        print("\n".join(lines(facts)))


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        print(f"coterie: warning: {warning}", file=sys.stderr)


def _names(columns: str | None, flag: str) -> list[str | int] | None:
    """The names and positions between the commas of --columns and its like."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise UsageError(f"{flag} must be names or positions with commas between them, got {columns!r}.")
    return [int(name) if name.isdecimal() else name for name in names]


def _preparing(
    impute: Impute,
    scale: Scale,
    one_hot: str | None,
    category_limit: int,
    handle_unknown: str = "error",
    normalize: bool = False,
) -> dict[str, Any]:
    """Return the options of `prepare_rows` that say something."""
    if category_limit < 1:
        raise UsageError(f"--category-limit must be at least 1, got {category_limit}.")
    wanted = {
        "impute": impute,
        "scale": None if scale == "none" else scale,
        "one_hot": "auto" if one_hot == "auto" else _names(one_hot, "--one-hot"),
        "normalize": normalize,
    }
    encoding = {"category_limit": category_limit, "handle_unknown": handle_unknown} if one_hot else {}
    return {**given(wanted), **encoding}


def _separator(sep: str | None) -> str | None:
    return _TABS.get(str(sep), sep)


def _beside(id: str | None, keep: str | None) -> Any:
    """The columns of --id and --keep, which are names."""
    from coterie.cli.results import Beside

    names = _names(keep, "--keep")
    return Beside(id, None if names is None else [str(name) for name in names])


def _image_shape(image: str | None) -> tuple[int, ...] | None:
    """The height, width and colours between the crosses of --image."""
    if image is None:
        return None
    parts = image.lower().split("x")
    is_colour = parts[2:] in (["3"], ["4"])
    if not all(part.isdecimal() and int(part) for part in parts) or not (len(parts) == 2 or is_colour):
        raise UsageError(f"--image must be like 28x28 or, for colour images, 32x32x3, got {image!r}.")
    return tuple(map(int, parts))
