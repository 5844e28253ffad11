"""The commands and their options; what they do is in `coterie.cli`, which is imported when a command begins."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

try:
    from cyclopts import App, CycloptsError, Group, Parameter
    from cyclopts.exceptions import (
        CoercionError,
        MissingArgumentError,
        RepeatArgumentError,
        UnknownCommandError,
        UnknownOptionError,
        UnusedCliTokensError,
    )
except ImportError:
    sys.exit("coterie: error: The command line needs cyclopts: pip install 'coterie[cli]'")

from coterie_command.progress import Progress

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

# The parser would take a lone dash for an option.
_DASH = "standard input"

_TABLE, _OUTPUT = Group("Columns and reading", sort_key=2), Group("Output", sort_key=3)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


# The words of the command that runs.
running: list[str] = []


class UsageError(Exception):
    """A command line that cannot be run: a wrong option, a wrong value, or options that exclude each other."""


# --- values of options -----------------------------------------------------------------------------------------------


def _value(convert: Callable[[str], Any]) -> Parameter:
    """Return an option whose text is converted, with an error that names the option."""

    def converted(_: Any, tokens: Sequence[Any]) -> Any:
        text = "-" if tokens[0].value == _DASH else tokens[0].value
        try:
            return convert(text)
        except ValueError as error:
            raise UsageError(f"{tokens[0].keyword or 'An argument'} must be {error}, got {text!r}.") from None

    return Parameter(converter=converted)


def _whole(least: int, most: int = 2**63 - 1) -> Parameter:
    noun = f"a whole number from {least}" + (f" to {most}" if most < 2**63 - 1 else "")

    def convert(text: str) -> int:
        if not re.fullmatch(r"-?\d{1,19}", text) or not least <= int(text) <= most:
            raise ValueError(noun)
        return int(text)

    return _value(convert)


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smh]?)", text.strip())
    if found is None or float(found[1]) == 0:
        raise ValueError("a time above 0 such as 90, 90s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def _path(text: str) -> Path:
    if not text:
        raise ValueError("a file or a folder")
    return Path(text)


def _named(*names: str) -> Parameter:
    return Parameter(name=names)


def _help(text: str, group: Group | None = None) -> Parameter:
    return Parameter(help=text, group=group, negative="") if group else Parameter(help=text, negative="")


Input = Annotated[str, _value(str)]
File = Annotated[str | None, _value(str)]
Clusters = Annotated[int | None, _named("-k", "--n-clusters"), _help("Number of clusters."), _whole(1)]
NeededClusters = Annotated[int, _named("-k", "--n-clusters"), _help("Number of clusters."), _whole(1)]
MaxTime = Annotated[
    float | None,
    _help("Time limit such as 90s, 5m or 1h; the best result so far is written."),
    _value(_seconds),
]
Seed = Annotated[
    int, _help("Seed of the random numbers: the same seed, the same clusters."), _whole(0, 2**32 - 1)
]
Threads = Annotated[int | None, _help("Number of threads; by default all processors."), _whole(1, 4096)]
Values = Annotated[
    list[str] | None,
    _named("-p", "--parameter"),
    _help("A parameter of the method: -p NAME=VALUE; may be repeated."),
]
OptionalOut = Annotated[Path | None, _named("--out", "-o"), Parameter(group=_OUTPUT), _value(_path)]
Out = Annotated[Path, _named("--out", "-o"), Parameter(group=_OUTPUT), _value(_path)]
Switch = Annotated[bool, Parameter(negative="", group=_OUTPUT)]
Force = Annotated[bool, _help("Replace the results of another run.", _OUTPUT)]
Json = Annotated[bool, _help("Print the summary as JSON.", _OUTPUT)]
Quiet = Annotated[bool, _named("--quiet", "-q"), _help("Print errors only.", _OUTPUT)]
Open = Annotated[bool, _help("Show the report in a browser.", _OUTPUT)]
ColumnsOut = Annotated[
    Literal["none", "id", "all"],
    _help("Columns of the input that the labels keep; vectors are left out.", _OUTPUT),
]
CsvEscape = Annotated[bool, _help("Write ' before text that a spreadsheet would run as a formula.", _OUTPUT)]
Exclude = Annotated[str | None, _help("Leave these columns out.", _TABLE)]
Id = Annotated[str | None, _help("The column that names the rows; it is not clustered.", _TABLE)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a text file or a spreadsheet is read; what is not given is detected."""

    header: Annotated[
        Literal["yes", "no"] | None, _help("Whether the first row names the columns.", _TABLE)
    ] = None
    sep: Annotated[str | None, _help("Separator of the fields such as ';', or tab.", _TABLE)] = None
    decimal: Annotated[str | None, _help("Decimal sign: '.' or ','.", _TABLE)] = None
    thousands: Annotated[str | None, _help("Sign between thousands, such as ',' or ' '.", _TABLE)] = None
    missing_words: Annotated[
        str | None, _help("Cells that mean a missing value, with commas between them: '?,-,n/a'.", _TABLE)
    ] = None
    skip_lines: Annotated[
        int | None, _help("Number of lines above the header to skip.", _TABLE), _whole(0)
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, as `coterie.open_rows` takes them."""
        sep = {"tab": "\t", "\\t": "\t", "space": " "}.get(str(self.sep), self.sep)
        if sep is not None and len(sep) != 1:
            raise UsageError(f"--sep must be one character such as ';', or tab, got {sep!r}.")
        found = {
            "header": None if self.header is None else self.header == "yes",
            "sep": sep,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "missing_words": None if self.missing_words is None else self.missing_words.split(","),
            "skip_lines": self.skip_lines,
        }
        return {name: value for name, value in found.items() if value is not None}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns to cluster, and the preparation of their rows."""

    columns: Annotated[
        str | None, _help("Cluster only these: names, positions, ranges (a:c), patterns (e*).", _TABLE)
    ] = None
    exclude: Exclude = None
    id: Id = None
    missing: Annotated[
        Literal["error", "drop", "mean", "median"],
        _help("Missing numbers: an error, drop their rows, or the mean or median instead.", _TABLE),
    ] = "error"
    scale: Annotated[
        Literal["none", "standard", "robust"],
        _help("Divide columns by their standard deviation, or by their quartile range.", _TABLE),
    ] = "none"
    categories: Annotated[
        str | None, _help("Encode these columns as zeros and ones; auto: all of few texts.", _TABLE)
    ] = None


def column_names(text: str | None, option: str) -> list[str | int] | None:
    """Return the names and positions between the commas of an option."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{option} must be names or positions with commas between them, got {text!r}.")
    return [int(name) if name.isdecimal() else name for name in names]


# --- commands --------------------------------------------------------------------------------------------------------

app = App(
    name="coterie",
    version=lambda: _version(),
    help="Cluster files of numbers and vectors: exact k-means, mixtures, graph methods, density, convex clustering.",
    help_format="markdown",
    default_parameter=Parameter(show_default=lambda value: None if value in (None, False, "none") else value),
)


@app.command
def fit(
    file: Input,
    /,
    *,
    k: Clusters = None,
    method: str | None = None,
    parameters: Values = None,
    labels: File = None,
    graph: File = None,
    outliers: str | None = None,
    max_time: MaxTime = None,
    seed: Seed = 0,
    threads: Threads = None,
    columns: Columns = Columns(),
    reading: Reading = Reading(),
    out: Out = Path("coterie-out"),
    columns_out: ColumnsOut = "all",
    csv_escape: CsvEscape = False,
    report: Switch = False,
    open: Open = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Cluster the rows of a file; write labels, a table of the clusters, the model and a summary to a folder.

    - `coterie fit points.npy -k 10`
    - `coterie fit customers.csv -k 5 --scale standard -o customers --report`
    - `coterie fit vectors.parquet -k 100 --method gmm -p covariance_type=spherical`

    Parameters
    ----------
    file
        A table or an array: .csv, .tsv, .jsonl, .parquet, .feather, .xlsx, .npy, .npz, .h5, .h5ad, .zarr, .svm, a
        folder or a quoted pattern of files, an address (s3://, https://, hf://), or - for the standard input.
    method
        One of those that `coterie methods` lists; by default k-means, of more than 100,000 rows nested.
    labels
        Known classes of some rows: a column, or a file with one for each row, -1 or empty where unknown.
    graph
        A graph of the rows instead of nearest neighbors: a sparse matrix, or arrays `ids` and `distances` (.npz).
    outliers
        Label this share of the rows -1, such as 1%: those farthest from their clusters.
    out
        Folder for the results.
    report
        Also write report.html.
    """
    from coterie.cli.fit import Job, run_fit

    job = Job(
        file, k=k, method=method, parameters=parameters or [], labels=labels, graph=graph, outliers=outliers,
        max_time=max_time, seed=seed, threads=threads, columns=columns, reading=reading.given(), out=out,
        columns_out=columns_out, csv_escape=csv_escape, report=report or open, force=force,
    )  # fmt: skip
    return run_fit(job, show=open, json=json, quiet=quiet)


@app.command
def predict(
    model: Input,
    file: Input,
    /,
    *,
    out: OptionalOut = None,
    exclude: Exclude = None,
    id: Id = None,
    outliers: str | None = None,
    names: File = None,
    merges: File = None,
    threads: Threads = None,
    reading: Reading = Reading(),
    columns_out: ColumnsOut = "all",
    csv_escape: CsvEscape = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Label the rows of a file by a model.

    Parameters
    ----------
    model
        The folder of `coterie fit`, or a model file.
    file
        The rows: any file that `coterie fit` reads, or - for the standard input.
    out
        File for the labels: .npy, .csv, .tsv, .parquet, .feather, .jsonl, .xlsx, .h5ad (a copy of an .h5ad file), or -
        for one label a line on the standard output. By default labels with the ending of the input.
    outliers
        Label this share of the rows -1, such as 1%; by default by the threshold of the fit, if it had one.
    names
        Names of clusters: names.csv of a report, with the columns cluster and name; by default those of the fit.
    merges
        Clusters to merge: merges.csv of a report, with the columns cluster and into.
    """
    from coterie.cli.predict import run_predict

    return run_predict(
        model, file, out=out, exclude=exclude, id=id, outliers=outliers, names=names, merges=merges,
        threads=threads, reading=reading.given(), columns_out=columns_out, csv_escape=csv_escape, force=force,
        json=json, quiet=quiet,
    )  # fmt: skip


@app.command
def compare(
    file: Input,
    /,
    *,
    k: NeededClusters,
    methods: str | None = None,
    labels: File = None,
    max_time: MaxTime = None,
    seed: Seed = 0,
    threads: Threads = None,
    columns: Columns = Columns(),
    reading: Reading = Reading(),
    out: Out = Path("coterie-compare"),
    open: Open = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Cluster at most 20,000 rows of a file by several methods, and recommend one.

    Parameters
    ----------
    file
        Any file that `coterie fit` reads.
    methods
        Only these methods, with commas between them; by default those that suit the rows.
    labels
        Known classes, which add accuracy, NMI and ARI: a column, or a file with one for each row.
    out
        Folder for comparison.csv, comparison.html and summary.json.
    """
    from coterie.cli.compare import run_compare

    return run_compare(
        file, k=k, methods=methods, labels=labels, max_time=max_time, seed=seed, threads=threads, columns=columns,
        reading=reading.given(), out=out, show=open, force=force, json=json, quiet=quiet,
    )  # fmt: skip


@app.command
def report(
    folder: Path,
    file: File = None,
    /,
    *,
    out: OptionalOut = None,
    known: str | None = None,
    names: File = None,
    id: str | None = None,
    text: str | None = None,
    points: Annotated[Path | None, Parameter(group=_OUTPUT), _value(_path)] = None,
    open: Open = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Write an HTML report of a fit: a map, named clusters, their quality, and how it was made.

    Parameters
    ----------
    folder
        What `coterie fit` wrote.
    file
        The rows, if they are no longer where the summary says; - for the standard input.
    out
        A .html file, or .md with pictures beside it; by default report.html in the folder.
    known
        Known classes to compare with: a column, or a file with one for each row.
    names
        Names of clusters: a .csv file with the columns cluster and name.
    id
        The column that names the rows.
    text
        The column with a text of each row; by default that of the longest texts.
    points
        Also write the rows of the map to this .parquet file: x, y, cluster, id, text.
    """
    from coterie.cli.report import run_report

    return run_report(
        folder, file, out=out, known=known, names=names, id=id, text=text, points=points, show=open, json=json,
        quiet=quiet,
    )  # fmt: skip


@app.command
def verify(
    folder: Path, file: File = None, /, *, threads: Threads = None, json: Json = False, quiet: Quiet = False
) -> int:
    """Repeat a fit and compare all that its summary says, bit by bit: exit code 0 if it is the same, else 1.

    Parameters
    ----------
    folder
        What `coterie fit` wrote.
    file
        The rows, if they are no longer where the summary says; - for the standard input.
    """
    from coterie.cli.verify import run_verify

    return run_verify(folder, file, threads=threads, json=json, quiet=quiet)


@app.command
def path(
    file: Input,
    /,
    *,
    k: Clusters = None,
    parameters: Values = None,
    graph: File = None,
    max_time: MaxTime = None,
    seed: Seed = 0,
    threads: Threads = None,
    columns: Columns = Columns(),
    reading: Reading = Reading(),
    out: Out = Path("coterie-path"),
    report: Switch = False,
    open: Open = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Follow convex clustering from single rows to one cluster: labels of every step, two pictures.

    Parameters
    ----------
    file
        Any file of dense rows that `coterie fit` reads.
    k
        Color the pictures by this number of clusters; by default by the number that lasts longest.
    graph
        A graph of the rows instead of nearest neighbors: a sparse matrix, or arrays `ids` and `distances` (.npz).
    out
        Folder for path.npz, labels (a column for each gamma), path.png, dendrogram.png and summary.json.
    report
        Also write report.html, with a slider along the path.
    """
    from coterie.cli.path import run_path

    return run_path(
        file, k=k, parameters=parameters or [], graph=graph, max_time=max_time, seed=seed, threads=threads,
        columns=columns, reading=reading.given(), out=out, report=report or open, show=open, force=force, json=json,
        quiet=quiet,
    )  # fmt: skip


@app.command
def info(file: Input, /, *, reading: Reading = Reading(), json: Json = False) -> int:
    """Describe a table column by column, an array, a model, or the folder of a run.

    Parameters
    ----------
    file
        A file that `coterie fit` reads, a model, or the folder of a run.
    """
    from coterie.cli.info import run_info

    return run_info(file, reading.given(), json=json)


@app.command
def methods(method: str | None = None, /, *, json: Json = False) -> int:
    """List the methods, or the parameters of one with their types and defaults.

    Parameters
    ----------
    method
        Name of a method.
    """
    from coterie.cli.methods import run_methods

    return run_methods(method, json=json)


@app.command
def demo(
    *,
    out: Out = Path("coterie-demo"),
    open: Open = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Cluster 2,000 texts by their embeddings, and handwritten digits.

    Parameters
    ----------
    out
        Folder for the data, the results and the reports.
    """
    from coterie.cli.demo import run_demo

    return run_demo(out, show=open, force=force, json=json, quiet=quiet)


app.register_install_completion_command()


# --- running, and errors as one line ---------------------------------------------------------------------------------


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 done, 1 bad data or a failure, 2 wrong use, 130 interrupted.

    Errors are one line on the standard error stream, unless the environment variable COTERIE_TRACEBACK is set.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    running[:] = words
    try:
        if sorted(words) == ["--verbose", "--version"]:
            from coterie.cli.info import installation_lines

            print("\n".join(installation_lines()))
            return DONE
        command, bound, *_ = parsed(words)
        if command in (fit, path, compare):  # a line before the imports
            with Progress(bound.kwargs.get("quiet", False)) as progress:
                progress.begin(f"starting coterie {words[0]}")
        with warnings.catch_warnings():
            if bound.kwargs.get("quiet"):
                warnings.simplefilter("ignore")
            warnings.showwarning = _show_warning
            code = command(*bound.args, **bound.kwargs)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("coterie: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away; the interpreter must not fail on flushing at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if os.environ.get("COTERIE_TRACEBACK"):
            raise
        return _tell_error(error)
    return code if isinstance(code, int) else DONE


def _tell_error(error: Exception) -> int:
    if isinstance(error, UsageError):
        text, code = str(error), WRONG_USE
    else:
        from coterie.cli.errors import is_wrong_use, message_of

        text, code = message_of(error), WRONG_USE if is_wrong_use(error) else FAILED
    print(
        f"coterie: error: {''.join(c if c.isprintable() else ascii(c)[1:-1] for c in text)}", file=sys.stderr
    )
    return code


def parsed(words: Sequence[str]) -> Any:
    """Return the command that words name with its arguments; a UsageError if they are wrong."""
    try:
        words = [_DASH if word == "-" else word for word in words]
        return app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(_in_words(error)) from error


def _version() -> str:
    from importlib.metadata import version

    return f"coterie {version('coterie')}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning that no command has recorded, without the place in the code."""
    print(f"coterie: warning: {' '.join(str(message).split())}", file=sys.stderr)


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return the question after the one of the known words that is most like a wrong one, or an empty text."""
    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""


def _in_words(error: CycloptsError) -> str:
    """Return the error of a command line without Python terms."""
    command = " ".join(["coterie", *(error.command_chain or ())])
    helped = f" {command} --help shows how it is used."
    if isinstance(error, UnknownCommandError):
        word = str((error.unused_tokens or [""])[0])
        return f"coterie has no command {word!r}.{did_you_mean(word, list(app)) or helped}"
    if isinstance(error, UnknownOptionError):
        word = str(error.token.keyword or error.token.value)
        known = [name for argument in error.argument_collection or () for name in argument.names]
        return f"{command} has no option {word}.{did_you_mean(word, known) or _as_parameter(word) or helped}"
    if isinstance(error, UnusedCliTokensError):
        return f"{command} does not take {shlex.join(error.unused_tokens or ())!r}.{helped}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        if error.keyword:
            return f"{error.keyword} needs a value."
        return f"{command} needs {min(error.argument.names or ('',), key=len)}.{helped}"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} is given more than once."
    if isinstance(error, CoercionError) and error.token is not None:
        allowed = _choices(error.target_type)
        name = error.token.keyword or (error.argument.names[0] if error.argument else "")
        must = f"one of {', '.join(allowed)}" if allowed else "another value"
        return f"{name} must be {must}, got {error.token.value!r}."
    return " ".join(str(error).split())


def _as_parameter(word: str) -> str:
    """Return the advice for an option that may be a parameter of a method."""
    name = word.lstrip("-").partition("=")[0].replace("-", "_")
    return f" Parameters of methods are given as -p {name}=VALUE; coterie methods lists them."


def _choices(type_: Any) -> list[str]:
    if get_origin(type_) is Literal:
        return list(map(str, get_args(type_)))
    return [word for part in get_args(type_) for word in _choices(part)]
