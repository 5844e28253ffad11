"""The memory that a function takes, in a forked child."""

import json
import os
import resource
import sys

from tests.support.processes import ended, started


def peak():
    """Return the most bytes of memory that this process has held, or its parent when it was forked."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run_measured(function):
    """Run a function in a child; gives its result, which JSON can hold, and by how many bytes memory grew at most."""
    reading, writing = os.pipe()

    def measured():
        before = peak()
        result = function()
        os.write(writing, json.dumps([result, peak() - before]).encode())

    child = started(measured)
    os.close(writing)
    with open(reading, "rb") as file:
        told = file.read()
    assert ended(child) == 0
    return json.loads(told)
