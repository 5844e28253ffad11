"""The commands and their options: what `coterie --help` shows, and what they report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

try:
    from cyclopts import App, CycloptsError, Parameter
except ImportError as error:
    raise ImportError("The command line needs cyclopts and rich: pip install 'coterie[cli]'") from error

from coterie import __version__
from coterie.cli import UsageError
from coterie.cli.help import clusters_help, format_help, labels_help, method_help
from coterie.cli.models import offered_methods, path_method
from coterie.cli.options import OF_SOME_METHODS, given, method_options, with_options
from coterie.cli.output import recorded_warnings, to_json
from coterie.cli.standard_input import DASH, STANDARD_INPUT, streamed_formats
from coterie.estimators import register_installed_methods

__all__ = ["build_app", "run"]

# A switch that is off unless given.
Switch = Annotated[bool, Parameter(negative="")]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]
Threads = Annotated[int | None, Parameter(name="--threads")]

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
    app.command(with_options(fit, method_options(offered), after="method", more=more))
    app.command(predict)
    app.command(with_options(path, method_options([path_method()]), after="file"))
    app.command(verify)
    app.command(info)
    app.command(demo)
    return app


def fit(
    file: str,
    /,
    *,
    k: Annotated[int, Parameter(name=["-k", "--clusters"])],
    method: str | None = None,
    labels: str | None = None,
    format: str | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
    seed: int = 0,
    n_threads: Threads = None,
    normalize: Switch = False,
    columns: str | None = None,
    exclude: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    id: str | None = None,
    keep: str | None = None,
    image: str | None = None,
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
        .libsvm, or a folder or quoted pattern of such files; - is the standard input.
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
        Scale each row to length 1 first (spherical clustering); `coterie predict` does so too.
    columns
        Use only these columns of a table, with commas between them: names, positions from 0, ranges (e0:e255 with both
        ends, 2:258 without the last), patterns (e*). By default its one column of vectors, else all.
    exclude
        Leave out these columns of a table.
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
    out
        Folder for model.coterie, labels.npy (for a table labels.parquet: id, kept columns, cluster, distance, rank; and
        examples.parquet: the ten rows nearest to each centre and the ten most doubtful ones), summary.json and
        modes.png.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    parameters
        Options of the methods.
    """
    from coterie.cli.fit import FitJob
    from coterie.cli.fit import fit as run_fit

    limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
    job = FitJob(
        file=file,
        n_clusters=k,
        out=out,
        format=format,
        method=method,
        parameters={**given(limits), **given(parameters)},
        seed=seed,
        normalize=normalize,
        columns=_names(columns, "--columns"),
        exclude=_names(exclude, "--exclude"),
        sep=_TABS.get(str(sep), sep),
        decimal=decimal,
        image_shape=_image_shape(image),
        quiet=quiet,
        labels=labels,
        beside=_beside(id, keep),
    )
    _report(run_fit(job)[1], _fit_lines, json, quiet)


def predict(
    model: str,
    file: str,
    /,
    *,
    out: Path | None = None,
    format: str | None = None,
    id: str | None = None,
    keep: str | None = None,
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
        The rows; any file that `coterie fit` reads, or - for the standard input.
    format
        What comes through the standard input, as for `coterie fit`.
    out
        File for the labels, .npy or .parquet; by default labels.npy, or labels.parquet for a table, with
        examples.parquet beside it.
    id
        The column of a table that says which row is which; by default as for `coterie fit`.
    keep
        Columns of a table that the results keep, with commas between them; by default all that the model does not use.
    threads
        Threads; by default all processors of this process.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.predict import predict as run_predict

    facts = run_predict(
        model, file, out, threads=threads, format=format, beside=_beside(id, keep), quiet=quiet
    )
    _report(facts, _predict_lines, json, quiet)


def path(
    file: str,
    /,
    *,
    clusters: int | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
    n_threads: Threads = None,
    columns: str | None = None,
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
        Use only these columns of a table: names, or positions from 0, with commas between them.
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
        file, out, {**given(limits), **given(parameters)}, clusters, _names(columns, "--columns"), quiet
    )
    _report(follow(job), _path_lines, json, quiet)


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

    _report(run_verify(folder, file, threads=n_threads, quiet=quiet), _verify_lines, json, quiet)


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

    _report(describe(file), _fact_lines, json)


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

    _report(run_demo(out, quiet=quiet), _fit_lines, json, quiet)


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


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _fit_lines(facts: dict[str, Any]) -> list[str]:
    source, sizes, left = facts["input"], facts["cluster_sizes"], facts["clusters_left"]
    asked, steps = facts["clusters"], facts["iterations"]
    dropped = f" ({asked - left:,} of {asked:,} dropped)" if left < asked else ""
    return [
        f"{source['file']}: {_counted(source['rows'], 'row')} x {_counted(source['columns'], 'column')} in "
        f"{_counted(left, 'cluster')}{dropped} by {facts['method']}",
        f"{'' if steps is None else _counted(steps, 'iteration') + ' in '}{facts['seconds']:.3g} s, {_objective(facts)}"
        f"{sizes['smallest']:,} to {_counted(sizes['largest'], 'row')} a cluster",
        *(f"{name.replace('_', ' ')} {score:.3f}" for name, score in facts.get("scores", {}).items()),
        *(line for race in facts.get("races", {}).items() for line in _race_lines(*race)),
        *_file_lines(facts),
    ]


def _objective(facts: dict[str, Any]) -> str:
    if facts["objective"] is None:
        return ""
    direction = " (higher is better)" if facts["higher_is_better"] else ""
    return f"{facts['objective_name']} {facts['objective']:.8g}{direction}, "


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
        f"{facts['input']['file']}: {_counted(facts['input']['rows'], 'row')} labelled in {facts['seconds']:.3g} s, "
        f"{_counted(facts['clusters'], 'cluster')}",
        *_file_lines(facts),
    ]


def _verify_lines(facts: dict[str, Any]) -> list[str]:
    return [f"{facts['folder']}: the same bits, in {facts['seconds']:.3g} s"]


def _path_lines(facts: dict[str, Any]) -> list[str]:
    source, counts = facts["input"], facts["clusters"]
    return [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns, "
        f"{len(facts['gammas']):,} gammas up to {facts['gammas'][-1]:.4g}, {counts[0]:,} to {counts[-1]:,} clusters",
        f"{facts['iterations']:,} iterations in {facts['seconds']:.3g} s, "
        f"duality gaps up to {facts['largest_gap']:.2g} of the objective",
        *(["rows part again at some gammas: see fissions in summary.json"] if facts["fissions"] else []),
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


def _names(columns: str | None, flag: str) -> list[str | int] | None:
    """The names and positions between the commas of --columns and its like."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise UsageError(f"{flag} must be names or positions with commas between them, got {columns!r}.")
    return [int(name) if name.isdecimal() else name for name in names]


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
