"""The command line: what `coterie --help` shows, and which command the arguments name."""

from __future__ import annotations

import difflib
import platform
import shlex
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, get_args, get_origin

try:
    from cyclopts import App, CycloptsError, Parameter
    from cyclopts.exceptions import (
        CoercionError,
        MissingArgumentError,
        RepeatArgumentError,
        UnknownCommandError,
        UnknownOptionError,
        UnusedCliTokensError,
    )
except ImportError as error:
    raise ImportError("The command line needs cyclopts and rich: pip install 'coterie[cli]'") from error

from threadpoolctl import threadpool_info

from coterie import __version__, _kernels
from coterie.cli import demo, fit, info, path, predict, report, selection
from coterie.cli.errors import UsageError, warning_of
from coterie.cli.inputs import DASH, STANDARD_INPUT
from coterie.cli.models import find_offered, offered_methods
from coterie.cli.options import flag_of_token
from coterie.cli.output import tell_warnings
from coterie.cli.runs import command_line
from coterie.fitting.threads import effective_n_threads
from coterie.rows.remote import without_secrets

# The end of the completion script of cyclopts depends on the name of the installed file. With this end it also works
# when it is sourced, and in a file of any name that zsh loads at the first completion.
_ZSH_END = """if [[ "$funcstack[1]" == _* ]]; then
  _cyclopts_coterie "$@"
else
  compdef _cyclopts_coterie coterie
fi"""


def run(arguments: list[str]) -> None:
    """Parse the arguments and run the command that they name."""
    # The parser would take a lone dash for an option.
    words = [STANDARD_INPUT if word == DASH else word for word in arguments]
    if sorted(words) == ["--verbose", "--version"]:
        print("\n".join(installation_lines()))
        return
    command_line.set(shlex.join(["coterie", *map(without_secrets, arguments)]))
    method = _requested_option(words, "--method")
    app = build_app(() if method is None else (find_offered(method).name,))
    try:
        command, bound, *_ = app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(_in_words(error)) from error
    with warnings.catch_warnings():
        if bound.kwargs.get("quiet"):
            warnings.simplefilter("ignore")
        warnings.showwarning = _show_warning
        command(*bound.args, **bound.kwargs)


def _requested_option(words: Sequence[str], flag: str) -> str | None:
    """Return the value that a command line gives to an option, before it is parsed; None where it does not."""
    for word, after in zip(words, [*words[1:], None]):
        if word == flag:
            return after
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None


def build_app(shown: Sequence[str] = ()) -> App:
    """Return the command line with the options of all methods; those of some methods are in the help of `fit`."""
    app = App(
        name="coterie",
        version=f"coterie {__version__}",
        help="Cluster files of vectors: exact k-means, mixtures, graph cuts, convex clustering.",
        help_format="markdown",
        default_parameter=Parameter(show_default=lambda value: None if value is False else value),
    )
    # In the order of `coterie --help`.
    app.command(fit.command(shown))
    for command in (
        predict.predict,
        selection.compare,
        report.report,
        info.info,
        report.verify,
    ):
        app.command(command)
    app.command(path.command())
    app.command(demo.demo)
    app.command(completion)
    app.register_install_completion_command()
    return app


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script by which a shell completes commands, options and their words.

    For this terminal: source <(coterie completion bash), or zsh after compinit. For all: coterie --install-completion.

    Parameters
    ----------
    shell
        Name of the shell.
    """
    print(
        build_app([method.name for method in offered_methods()]).generate_completion(
            prog_name="coterie", shell=shell
        )
    )
    if shell == "zsh":
        print(_ZSH_END)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning that no command has recorded, without the place in the code."""
    tell_warnings([warning_of(str(message))])


def _in_words(error: CycloptsError) -> str:
    """Return the error of a command line without Python terms."""
    command = " ".join(["coterie", *(error.command_chain or ())])
    helped = f"{command} --help shows how it is used."
    if isinstance(error, UnknownCommandError):
        return _unknown(
            str((error.unused_tokens or [""])[0]), "command", [str(name) for name in build_app()], helped
        )
    if isinstance(error, UnknownOptionError):
        known = [name for argument in error.argument_collection or () for name in argument.names]
        return _unknown(str(error.token.keyword or error.token.value), "option", known, helped, command)
    if isinstance(error, UnusedCliTokensError):
        words = " ".join(map(repr, error.unused_tokens or ()))
        return f"{command} does not take the argument {words}: {helped}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        names = error.argument.names or ("",)
        if error.keyword:
            return f"{error.keyword} needs a value."
        return f"{command} needs {min(names, key=len)}: {helped}"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} is given more than once."
    if isinstance(error, CoercionError) and error.token is not None:
        token = error.token
        allowed = _words_of(error.target_type)
        must = f"must be one of {', '.join(allowed)}" if allowed else "has a value that it cannot have"
        name = flag_of_token(token) or (error.argument.names[0] if error.argument else "")
        return f"{name} {must}, got {token.value!r}."
    return str(error).strip()


def _unknown(word: str, kind: str, known: Sequence[str], helped: str, command: str = "coterie") -> str:
    """Return the message of a word that is no command or option, with the one that is meant."""
    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.65)
    kind = "option" if word.startswith("-") else kind
    return f"{command} has no {kind} {word}. " + (f"Did you mean {near[0]}?" if near else helped)


def _words_of(type_: Any) -> list[str]:
    if get_origin(type_) is Literal:
        return list(map(str, get_args(type_)))
    return [word for part in get_args(type_) for word in _words_of(part)]


# Requirements of coterie, then those of its extras, which may be missing.
LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "threadpoolctl", "cyclopts", "rich", "matplotlib",
    "jinja2", "openTSNE", "openpyxl", "pyarrow", "pandas", "h5py",
    "zarr", "dask", "distributed", "fsspec", "s3fs", "aiohttp",
)  # fmt: skip


def installation_lines() -> list[str]:
    """Return a line for each fact about this installation, the version first."""
    others = [name for name in _kernels.available_instruction_sets() if name != _kernels.instruction_set()]
    facts = [
        ("coterie", _kernels.__version__),
        ("instruction set", f"{_kernels.instruction_set()} (also here: {', '.join(others) or 'none'})"),
        ("compiler", getattr(_kernels, "__compiler__", "unknown")),
        ("threads", str(effective_n_threads(None))),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
    ]
    for pool in threadpool_info():  # of the libraries with threads that are loaded by now
        version_text = " ".join(str(pool[fact]) for fact in ("version", "architecture") if pool.get(fact))
        kind = "OpenMP" if pool["user_api"] == "openmp" else "BLAS"
        told = f"{version_text or 'version unknown'}, {pool['num_threads']} threads"
        facts.append((f"{kind}: {pool['prefix']}", told))
    for name in LIBRARIES:
        try:
            facts.append((name, version(name)))
        except PackageNotFoundError:
            facts.append((name, "not installed"))
    width = max(len(name) for name, _ in facts)
    return [f"{name:<{width}}  {fact}" for name, fact in facts]
