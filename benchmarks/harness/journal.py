"""Runs that are kept on disk as they end, so that hours of them survive an interruption."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.processes import Processes

__all__ = ["JournaledProcesses", "OutOfTime"]


class OutOfTime(Exception):
    """The time is up before a run has begun."""


class JournaledProcesses:
    """Processes whose results are written to a file; what stands there already is not run again.

    A function is known by its name and its arguments, paths within the benchmark's folder by their names. What returns
    nothing, or what JSON cannot hold, is run each time: it may have written files.

    Parameters
    ----------
    processes : Processes
        Where runs take place.
    path : Path
        A JSON object a line: what was called, and what came of it.
    machine : str
        What figures depend on. What another machine has measured is run again.
    folder : Path
        Where the benchmark's data files go.
    hours : float, optional
        After so many no run begins: `OutOfTime` is raised instead. What the file holds is given still.
    """

    def __init__(
        self, processes: Processes, path: Path, machine: str, folder: Path, hours: float | None = None
    ) -> None:
        self._processes, self._path, self._machine, self._folder = processes, path, machine, folder
        self._end = None if hours is None else time.monotonic() + 3600 * hours
        self._known: dict[str, dict[str, Any]] = {}
        if path.exists():
            # The last line may have been cut short.
            whole = path.read_text().rpartition("\n")[0]
            path.write_text(whole and f"{whole}\n")
            for line in whole.splitlines():
                entry = json.loads(line)
                self._known[entry.pop("call")] = entry

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """See `Processes`."""
        return self._once(None, function, args, kwargs)

    def run_within(self, limit: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """See `Processes`."""
        return self._once(limit, function, args, kwargs)

    def close(self) -> None:
        """See `Processes`."""
        self._processes.close()

    def _once(
        self, limit: float | None, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        call = json.dumps(
            [self._machine, function.__module__, function.__qualname__, limit, args, kwargs],
            default=self._word,
        )
        if call not in self._known:
            if self._end is not None and time.monotonic() >= self._end:
                raise OutOfTime
            try:
                if limit is None:
                    entry = {"result": self._processes.run(function, *args, **kwargs)}
                else:
                    entry = {"result": self._processes.run_within(limit, function, *args, **kwargs)}
            except TimeoutError as error:
                entry = {"timeout": str(error)}
            if not self._write(call, entry):
                return entry["result"]
            self._known[call] = entry
        entry = self._known[call]
        if "timeout" in entry:
            raise TimeoutError(entry["timeout"])
        return entry["result"]

    def _word(self, value: Any) -> str:
        if isinstance(value, Path) and value.is_relative_to(self._folder):
            return value.relative_to(self._folder).as_posix()
        return repr(value)

    def _write(self, call: str, entry: dict[str, Any]) -> bool:
        """Append an entry, if JSON gives it back as it is; tell whether."""
        try:
            line = json.dumps({"call": call, **entry})
            if entry.get("result", "") is None or json.loads(line) != {"call": call, **entry}:
                return False
        except TypeError:
            return False
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(line + "\n")
        return True
