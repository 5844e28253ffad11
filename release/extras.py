"""Try each extra alone, in a fresh environment: `python -m release.extras WHEEL [EXTRA ...]`.

What an extra promises must not rest on what another one brings.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["PARTS", "main"]

_ROWS = "import numpy as np, coterie; X = np.random.default_rng(0).normal(size=(60, 3)); "
_FIT = _ROWS + "model = coterie.KMeans(3, random_state=0).fit(X); "

# What each extra is for. Every one of them ends by itself, and with an error if something is missing.
PARTS = {
    "": _FIT + "np.save('x.npy', X); assert coterie.open_rows('x.npy').shape == (60, 3)",
    "cli": _ROWS + "np.save('x.npy', X); from coterie.cli import main; "
    "assert main(['fit', 'x.npy', '-k', '3', '--out', 'run']) == 0 == main(['predict', 'run', 'x.npy'])",
    "plot": "import matplotlib; matplotlib.use('agg'); "
    + _FIT
    + "from coterie.plotting import plot_clusters; plot_clusters(X, model)",
    "report": _FIT + "coterie.report(model, X).save('page.html')",
    "io": _FIT + "import pandas; pandas.DataFrame(X, columns=list('abc')).to_parquet('x.parquet'); "
    "assert coterie.open_rows('x.parquet').shape == (60, 3); model.save('m.coterie'); coterie.load('m.coterie')",
    "dask": _FIT
    + "import dask.array as da; assert (model.predict(da.from_array(X, chunks=20)) == model.labels_).all()",
    "remote": _ROWS + "import fsspec; np.save('x.npy', X); "
    "fs = fsspec.filesystem('memory'); fs.pipe('/x.npy', open('x.npy', 'rb').read()); import s3fs, aiohttp",
}


def main(arguments: list[str] | None = None) -> None:
    """Install the wheel with each extra and run its part; end with the names of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument(
        "extras", nargs="*", help=f"of {', '.join(filter(None, PARTS))}; all, and none, by default"
    )
    asked = parser.parse_args(arguments)
    failed = [extra or "none" for extra in asked.extras or PARTS if not works(asked.wheel.resolve(), extra)]
    if failed:
        sys.exit(f"These extras alone do not do what they are for: {', '.join(failed)}")


def works(wheel: Path, extra: str) -> bool:
    """Return whether the part of an extra runs where nothing else is installed; tells what it says otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], check=True)
        done = subprocess.run(
            [python, "-c", PARTS[extra]], cwd=folder, capture_output=True, text=True, check=False
        )
    told = "works" if done.returncode == 0 else f"fails:\n{done.stderr}"
    print(f"{extra or 'none'}: {told}", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    main()
