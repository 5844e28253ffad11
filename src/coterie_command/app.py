"""The commands; `coterie_command.options` has their options, `coterie.cli` what they do, imported when one begins."""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

try:
    from cyclopts import App, CycloptsError, Parameter
    from cyclopts.exceptions import UnknownOptionError
except ImportError:
    sys.exit("coterie: error: The command line needs cyclopts: pip install 'coterie[cli]'")

import coterie_command.options as opt
from coterie_command import may_exist
from coterie_command.progress import Progress

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

# The words of the command that runs.
running: list[str] = []

app = App(
    name="coterie",
    version=lambda: f"coterie {metadata.version('coterie')}",
    help="Cluster files of numbers and vectors: exact k-means, mixtures, graph methods, density, convex clustering.",
    help_format="markdown",
    default_parameter=Parameter(show_default=lambda value: None if value in (None, False, "none") else value),
)


@app.command
def fit(file: opt.Rows, /, *, options: opt.FitOptions = opt.FitOptions()) -> int:
    """Cluster the rows of a file; write labels, a table of the clusters, the model and a summary to a folder.

    - `coterie fit points.npy -k 10`
    - `coterie fit customers.csv -k 5 --scale standard -o customers --report`
    - `coterie fit vectors.parquet -k 100 --method gmm -p covariance_type=spherical`
    """
    from coterie.cli.fit import run_fit

    return run_fit(file, options)


@app.command
def predict(
    model: opt.Model, file: opt.Input, /, *, options: opt.PredictOptions = opt.PredictOptions()
) -> int:
    """Label the rows of a file by a model."""
    from coterie.cli.predict import run_predict

    return run_predict(model, file, options)


@app.command
def compare(file: opt.Input, /, *, options: opt.CompareOptions) -> int:
    """Cluster at most 20,000 rows of a file by several methods, and recommend one."""
    from coterie.cli.compare import run_compare

    return run_compare(file, options)


@app.command
def report(
    folder: opt.Folder, file: opt.OptionalInput = None, /, *, options: opt.ReportOptions = opt.ReportOptions()
) -> int:
    """Write an HTML report of a fit: a map, named clusters, their quality, and how it was made."""
    from coterie.cli.report import run_report

    return run_report(folder, file, options)


@app.command
def verify(
    folder: opt.Folder, file: opt.OptionalInput = None, /, *, options: opt.VerifyOptions = opt.VerifyOptions()
) -> int:
    """Repeat a fit and compare all that its summary says, bit by bit: exit code 0 if it is the same, else 1."""
    from coterie.cli.verify import run_verify

    return run_verify(folder, file, options)


@app.command
def path(file: opt.Input, /, *, options: opt.PathOptions = opt.PathOptions()) -> int:
    """Follow convex clustering from single rows to one cluster: labels of every step, two pictures.

    -k is the number of clusters that the pictures color, by default the one that lasts longest.
    """
    from coterie.cli.path import run_path

    return run_path(file, options)


@app.command
def info(file: opt.Described, /, *, options: opt.InfoOptions = opt.InfoOptions()) -> int:
    """Describe a table column by column, an array, a model, or the folder of a run."""
    from coterie.cli.info import run_info

    return run_info(file, options)


@app.command
def methods(method: opt.MethodName = None, /, *, options: opt.Printed = opt.Printed()) -> int:
    """List the methods, or the parameters of one with their types and defaults."""
    from coterie.cli.methods import run_methods

    return run_methods(method, options)


@app.command
def demo(*, options: opt.DemoOptions = opt.DemoOptions()) -> int:
    """Cluster 2,000 texts by their embeddings, and handwritten digits; write data, results and reports to a folder."""
    from coterie.cli.demo import run_demo

    return run_demo(options)


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
        quiet = getattr(bound.kwargs.get("options"), "quiet", False)
        with warnings.catch_warnings(), Progress(quiet) as progress:
            if quiet:
                warnings.simplefilter("ignore")
            warnings.showwarning = _show_warning
            if command in (fit, path, compare) and may_exist(bound.args[0]):  # a line before the imports
                progress.begin("starting")
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
    if isinstance(error, opt.UsageError):
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
        words = [opt.STANDARD_INPUT if word == "-" else word for word in words]
        return app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise opt.UsageError(_in_words(error)) from error


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning that no command has recorded, without the place in the code."""
    print(f"coterie: warning: {' '.join(str(message).split())}", file=sys.stderr)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the question after the one of the known words that is most like a wrong one, or an empty text."""
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean {by_lower[near[0]]}?" if near else ""


def _in_words(error: CycloptsError) -> str:
    """Return the error of a command line with a hint."""
    command = " ".join(["coterie", *(error.command_chain or ())])
    hint = f"{command} --help shows how it is used."
    if isinstance(error, UnknownOptionError) and command in ("coterie fit", "coterie path"):
        name = str(error.token.keyword or error.token.value).lstrip("-").partition("=")[0].replace("-", "_")
        hint = f"Parameters of methods are given as -p {name}=VALUE; coterie methods lists them."
    return f"{' '.join(str(error).split())} {hint}"
