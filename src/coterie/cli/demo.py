"""`coterie demo`: two fits of data that are always available, texts with embeddings and handwritten digits."""

from __future__ import annotations

import numpy as np

from coterie.cli.fit import run_fit
from coterie.cli.output import show_page
from coterie.cli.runs import REPORT
from coterie.datasets import load_definitions, load_digits
from coterie.outputs import replacing
from coterie.reports import require_report
from coterie_command.options import DemoOptions, FitOptions

N_CLUSTERS = 10


def run_demo(options: DemoOptions) -> int:
    """Write the data, fit both, print the clusters, and return the exit code."""
    require_report()
    import pyarrow as pa
    from pyarrow import parquet

    found, out = load_definitions(), options.out
    embeddings = pa.FixedSizeListArray.from_arrays(found.data.ravel(), found.data.shape[1])
    category = found.target_names[found.target]
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "texts.parquet") as path:
        parquet.write_table(
            pa.table({"text": found.texts, "category": category, "embedding": embeddings}), path
        )
    with replacing(out / "digits.npy") as path, open(path, "wb") as file:
        np.save(file, load_digits()[0].astype(np.uint8))
    for name, folder in (("texts.parquet", "topics"), ("digits.npy", "digits")):
        asked = FitOptions(
            k=N_CLUSTERS, out=out / folder, report=True, force=options.force, json=options.json, quiet=options.quiet,
        )  # fmt: skip
        code = run_fit(str(out / name), asked)
        if code != 0:
            return code
    if options.open:
        show_page(out / "topics" / REPORT)
    return 0
