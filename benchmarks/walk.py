"""Run the commands of docs/development/walk.md, and write what they print: `python -m benchmarks.walk`."""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from coterie.datasets import load_definitions

PAGE = Path(__file__).parents[1] / "docs" / "development" / "walk.md"

# Lines of a command, and letters of a line.
N_LINES, N_LETTERS = 10, 118


def write_data(folder: Path) -> None:
    """Write customers of four kinds, two of them without an income, and 2,000 definitions with embeddings."""
    random, kind = np.random.default_rng(0), np.repeat(np.arange(4), 100)
    customers = pd.DataFrame({
        "customer_id": [f"c{i:04}" for i in range(400)],
        "age": (np.take([24, 35, 46, 66], kind) + random.normal(0, 4, 400)).astype(int),
        "income": np.take([22_000, 31_000, 48_000, 61_000], kind) + random.normal(0, 2_500, 400).round(),
        "visits": np.take([9, 5, 1, 2], kind) + random.integers(0, 3, 400),
        "city": random.choice(["Oslo", "Rome", "Lima"], 400),
    })  # fmt: skip
    customers.loc[[7, 250], "income"] = np.nan
    customers.to_csv(folder / "customers.csv", index=False)
    customers[::8].to_csv(folder / "new.csv", index=False)
    customers.to_csv(folder / "kunden.csv", index=False, sep=";", decimal=",")
    found = load_definitions()
    embedding = pa.FixedSizeListArray.from_arrays(found.data.ravel(), found.data.shape[1])
    parquet.write_table(
        pa.table({"definition": found.texts, "embedding": embedding}), folder / "definitions.parquet"
    )


def shown(command: str, folder: Path) -> list[str]:
    """Return the first lines that a command prints, without progress and times."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "COLUMNS": str(N_LETTERS)},
    )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if line.startswith(("coterie:", "Traceback"))]
    told = [part for line in told for part in textwrap.wrap(line, N_LETTERS, break_on_hyphens=False)]
    lines = [line.rstrip() for line in [*told, *done.stdout.splitlines()] if line.strip()]
    lines = [re.sub(r"\b[\d.e-]+ s\b", "... s", line) for line in lines[:N_LINES]]
    return [line if len(line) <= N_LETTERS else f"{line[: N_LETTERS - 1]}…" for line in lines]


def main() -> None:
    """Run all commands of the page in their order, and write the page."""
    before, block, after = re.split(
        r"(?<=```console\n)|(?=^```\n)", PAGE.read_text("utf-8"), flags=re.MULTILINE
    )
    commands = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        lines = [line for command in commands for line in (f"$ {command}", *shown(command, Path(folder)))]
    PAGE.write_text(before + "".join(f"{line}\n" for line in lines) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
