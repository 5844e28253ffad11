"""Run Python in a separate process with limited memory, and return its peak."""

import json
import os
import subprocess
import sys

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

# The peak of memory is counted from after the imports, which take 200 MB or so by themselves.
_SCRIPT = """
import json, resource, sys
import coterie, pyarrow.parquet, pyarrow.feather, h5py, zarr, sklearn.datasets
from coterie.cli import main

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

before = peak()
{code}
print(json.dumps({{"result": result, "grown": peak() - before, "peak": peak()}}))
"""


def run_limited(code, folder, *, timeout=120):
    """Run statements that set `result`, which JSON can hold; gives it, and by how many bytes memory grew at most."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(code=code)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        cwd=folder,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
