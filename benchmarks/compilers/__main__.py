"""The table: `python -m benchmarks.compilers NAME=FOLDER NAME=FOLDER ...`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.compilers import __doc__ as PURPOSE
from benchmarks.compilers import cases
from benchmarks.harness.reporting import markdown_table


def main() -> None:
    """Run all cases of all builds in turn, and print the least CPU seconds of each beside those of the first build."""
    parser = argparse.ArgumentParser(
        description=PURPOSE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "builds", nargs="+", metavar="NAME=FOLDER", help="the first is what others are compared with"
    )
    parser.add_argument("--cases", nargs="+", choices=cases.CASES, default=list(cases.CASES))
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    builds = dict(build.split("=", 1) for build in asked.builds)
    lines = []
    for case in asked.cases:
        seconds: dict[str, list[float]] = {name: [] for name in builds}
        hashes: dict[str, str] = {}
        for _ in range(asked.rounds):
            for name, folder in builds.items():
                taken, hashes[name] = run(case, folder)
                seconds[name].append(taken)
        least = {name: min(taken) for name, taken in seconds.items()}
        first = next(iter(builds))
        same = all(found == hashes[first] for found in hashes.values())
        ratios = [f"{least[name] / least[first]:.2f}" for name in builds if name != first]
        lines.append(
            [case, *(f"{least[name]:.3f}" for name in builds), *ratios, "same" if same else "differ"]
        )
        print(*lines[-1], sep="  ", flush=True)
    others = [f"{name} / {first}" for name in builds if name != first]
    print(*markdown_table(["case", *(f"{name}, CPU s" for name in builds), *others, "bits"], lines), sep="\n")


def run(case: str, folder: str) -> tuple[float, str]:
    """Run a case in a process of its own; returns its CPU seconds and the hash of its result."""
    environment = {**os.environ, "PYTHONPATH": str(Path(folder).resolve())}
    done = subprocess.run(
        [sys.executable, cases.__file__, case], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{case} with {folder} failed:\n{done.stderr}")
    seconds, found = done.stdout.split()
    return float(seconds), found


if __name__ == "__main__":
    main()
