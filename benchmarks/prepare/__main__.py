"""Build and check the folder of real data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import benchmarks.prepare
from benchmarks.harness.options import words
from benchmarks.prepare.checks import check
from benchmarks.prepare.originals import Downloads, MissingFilesError
from benchmarks.prepare.sets import SETS, DataSet
from coterie.persistence import replacing


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.prepare", description=(benchmarks.prepare.__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path, help="what becomes COTERIE_DATA")
    parser.add_argument(
        "--downloads", type=Path, help="where the original files are (default: in the folder)"
    )
    parser.add_argument("--only", type=words, help="only these sets, such as mnist,graphs/mnist")
    parser.add_argument("--check", action="store_true", help="build nothing, only look at what is there")
    return parser


def prepare(one: DataSet, folder: Path, downloads: Downloads, *, build: bool) -> str:
    """Build a set unless it is there; return what is to be said of it, which begins with WRONG if it cannot be used."""
    path = folder / one.file
    state = "there"
    if not path.is_file():
        if not build:
            return "missing"
        try:
            arrays = one.build(downloads, folder)
        except MissingFilesError as error:
            return f"missing: {error}\n    from {one.source}"
        except (ValueError, KeyError) as error:
            return f"WRONG: not built: {error}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **arrays)
        state = "built"
    verdict = check(path, one.facts)
    return f"{state}: {verdict.text}" if verdict.usable else f"WRONG: {path} {verdict.text}"


def chosen(names: Sequence[str] | None) -> list[DataSet]:
    """Return the sets of these names, all where there are none; a ValueError tells those that are unknown."""
    known = {one.file.removesuffix(".npz"): one for one in SETS}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise ValueError(f"no {', '.join(unknown)}; there are {', '.join(known)}")
    return [one for name, one in known.items() if names is None or name in names]


def main() -> None:
    """Go through the sets."""
    reader = parser()
    options = reader.parse_args()
    try:
        sets = chosen(options.only)
    except ValueError as error:
        reader.error(str(error))
    for folder in (options.folder, options.downloads):
        if folder is not None and folder.exists() and not folder.is_dir():
            reader.error(f"{folder} is no folder")
    if options.downloads is not None and not options.downloads.is_dir():
        reader.error(f"there is no folder {options.downloads}")
    if not options.check:
        options.folder.mkdir(parents=True, exist_ok=True)
    downloads = Downloads(*(folder for folder in (options.downloads, options.folder) if folder is not None))
    said = {one.file: prepare(one, options.folder, downloads, build=not options.check) for one in sets}
    for name, text in said.items():
        print(f"{name}: {text}", flush=True)
    wrong = [name for name, text in said.items() if text.startswith("WRONG")]
    if wrong:
        sys.exit(f"Cannot be used: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
