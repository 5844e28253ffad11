"""Build and check the folder of real data."""

import argparse
import sys
from pathlib import Path

import numpy as np

import benchmarks.prepare
from benchmarks.harness.options import words
from benchmarks.prepare.sets import SETS, DataSet, Downloads, MissingFilesError, check
from coterie.outputs import replacing


def prepare(one: DataSet, folder: Path, downloads: Downloads, *, build: bool) -> str:
    """Build a set unless it is there; return what is to be said of it, which begins with WRONG if it cannot be used."""
    path = folder / one.file
    state = "there" if path.is_file() else "built"
    try:
        if not path.is_file():
            if not build:
                return "missing"
            arrays = one.built(downloads, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary, open(temporary, "wb") as file:
                np.savez_compressed(file, **arrays)
        return f"{state}: {check(path, one)}"
    except MissingFilesError as error:
        return f"missing: {error}"
    except (ValueError, KeyError) as error:
        return f"WRONG: {error}"


def main() -> None:
    known = {one.file.removesuffix(".npz"): one for one in SETS}
    reader = argparse.ArgumentParser(
        "python -m benchmarks.prepare", description=benchmarks.prepare.__doc__.splitlines()[0]
    )
    reader.add_argument("folder", type=Path, help="what becomes COTERIE_DATA")
    reader.add_argument("--downloads", type=Path, help="folder of the original files (default: the same)")
    reader.add_argument("--only", type=words, default=list(known), help="only these sets: mnist,graphs/mnist")
    reader.add_argument("--check", action="store_true", help="build nothing, only look at what is there")
    options = reader.parse_args()
    if unknown := [name for name in options.only if name not in known]:
        reader.error(f"no {', '.join(unknown)}; there are {', '.join(known)}")
    if options.downloads is not None and not options.downloads.is_dir():
        reader.error(f"there is no folder {options.downloads}")
    downloads = Downloads(*(folder for folder in (options.downloads, options.folder) if folder is not None))
    wrong = []
    for name in (name for name in known if name in options.only):
        text = prepare(known[name], options.folder, downloads, build=not options.check)
        print(f"{known[name].file}: {text}", flush=True)
        if text.startswith("WRONG"):
            wrong.append(known[name].file)
    if wrong:
        sys.exit(f"Cannot be used: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
