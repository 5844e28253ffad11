"""`run.toml`: the options of a run, written with its results and read by `--config`."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from cyclopts import UNSET, Token

from coterie.cli.errors import UsageError
from coterie.cli.inputs import DASH, STANDARD_INPUT
from coterie.cli.options import number_of
from coterie.limits.files import check_regular_file
from coterie.outputs import OutputFolder
from coterie.rows.remote import without_secrets

RUN = "run.toml"

_FLAG = "--config"

# Options of output, which do not change the result.
_NOT_WRITTEN = ("config", "force", "json", "quiet")

# The running command and its options.
_running: ContextVar[tuple[str, Mapping[str, Any]] | None] = ContextVar("running", default=None)


# Values that are written differently than they are parsed.
_TYPED = {STANDARD_INPUT: DASH, "true": True, "false": False}


def requested_option(words: Sequence[str], flag: str) -> str | None:
    """Return the value that a command line gives to an option, before it is parsed; None where it does not."""
    for word, after in zip(words, [*words[1:], None]):
        if word == flag:
            return after
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None


def requested_options(arguments: Any) -> dict[str, Any]:
    """Return the options of parsed arguments that were given, by the names of parameters, as they were written."""
    requested: dict[str, Any] = {}
    for argument in arguments:
        if argument.tokens:
            token = argument.tokens[0]
            value = token.value if token.implicit_value is UNSET else token.implicit_value
            requested[argument.field_info.name] = _TYPED.get(value, value)
    return requested


class RunFile:
    """Options in a TOML file, or in run.toml of a folder: a configuration of cyclopts, used after the command line."""

    def __init__(self, path: str) -> None:
        self.path = str(Path(path, RUN)) if Path(path).is_dir() else path
        check_regular_file(self.path)
        try:
            self._options = tomllib.loads(Path(self.path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{self.path} is not a TOML file: {error}") from error

    def __call__(self, app: Any, commands: tuple[str, ...], arguments: Any) -> None:
        """Give the options to the arguments that the command line has not."""
        command = self._options.get("command", commands[0] if commands else "")
        if not commands or command != commands[0]:
            raise UsageError(
                f"{self.path} has options of coterie {command}, not of coterie {' '.join(commands)}."
            )
        # An option is named by its flags, or by the parameter of the command.
        known = {
            name: argument
            for argument in arguments
            for name in (
                argument.field_info.name.replace("_", "-"),
                *(flag.strip("-").lower() for flag in argument.names),
            )
        }
        for key, value in self._options.items():
            name = key.replace("_", "-")
            if key == "command":
                continue
            if name not in known or name in ("config",):
                near = difflib.get_close_matches(name, known, n=1)
                meant = f" Did you mean {near[0].replace('-', '_')}?" if near else ""
                raise UsageError(f"{self.path}: coterie {command} has no option {key!r}.{meant}")
            if not known[name].tokens:
                entries = value if isinstance(value, list) else [value]
                if not entries or not all(isinstance(entry, str | bool | int | float) for entry in entries):
                    raise UsageError(
                        f"{self.path}: {key} must be a text, a number, true, false, or a list of such."
                    )
                text = ",".join(map(_as_word, entries))
                known[name].append(Token(keyword=key, value=text, source=self.path))


def _as_word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def running_command(command: str, requested: Mapping[str, Any]) -> Iterator[None]:
    """Record the running command and its options within the context."""
    token = _running.set((command, requested))
    try:
        yield
    finally:
        _running.reset(token)


def run_files(folder: Path, name: str = RUN) -> dict[str, Path]:
    """Return what `write_run_file` will write there, as reports list it: nothing where no command runs."""
    return {} if _running.get() is None else {"run": folder / name}


def write_run_file(outputs: OutputFolder, name: str = RUN, **chosen: Any) -> None:
    """Write the file that repeats the command that runs; nothing where none does.

    `chosen` are options that the run has chosen, which replace what was given: another run or version could choose
    others.
    """
    running = _running.get()
    if running is None:
        return
    command, requested = running
    options = {key: value for key, value in {**requested, **chosen}.items() if key not in _NOT_WRITTEN}
    lines = [f"# coterie {command} {_FLAG} {name} does this once more.", f'command = "{command}"']
    lines += [_line(key, value) for key, value in options.items() if value is not None]
    with outputs.writing(name) as path:
        path.write_text("\n".join([*lines, ""]), encoding="utf-8", errors="backslashreplace")


def _line(key: str, value: Any) -> str:
    if isinstance(value, bool | int | float):
        return f"{key} = {_as_word(value)}"
    text = str(value)
    if text == str(number_of(text)):
        return f"{key} = {text}"
    if without_secrets(text) != text:
        return f"# {key} is an address whose query may be a secret: name it on the command line."
    # JSON and TOML write texts alike, but for this character.
    return f"{key} = {json.dumps(text, ensure_ascii=False)}".replace("\x7f", "\\u007f")
