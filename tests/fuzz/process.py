"""The process that fuzzes one target: ``python -m tests.fuzz.process TARGET FINDINGS CORPUS [-OPTION=...]``.

With ``-runs`` the fuzzer is blind: it mutates the corpus without seeing what the mutations reach, since what they reach
depends on caches, threads and addresses, and would choose other inputs each time.

An exception that is a finding does not end the run: the first input of each kind (type, and the place of coterie that
raised it) is kept. Crashes, time and memory are libFuzzer's: they end the run.
"""

from __future__ import annotations

import hashlib
import os
import re
import resource
import sys
import traceback
from contextlib import nullcontext
from pathlib import Path

import atheris

IS_BLIND = any(word.startswith("-runs=") for word in sys.argv)

with nullcontext() if IS_BLIND else atheris.instrument_imports(include=["coterie", "zipfile", "numpy.lib"]):
    from tests.fuzz.inputs import run_input, working_folder

MOST_ADDRESSES = 6 * 2**30


def main() -> None:
    """Fuzz until libFuzzer has enough."""
    target, findings = sys.argv[1], Path(sys.argv[2])
    known: set[str] = set()

    @atheris.instrument_func  # the fuzzer will not run without anything that it sees
    def one_input(data: bytes) -> None:
        try:
            run_input(target, data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            kind = kind_of(error)
            if kind not in known:
                known.add(kind)
                digest = hashlib.sha256(kind.encode()).hexdigest()[:8]
                (findings / f"{target}-{type(error).__name__}-{digest}").write_bytes(data)
                print(f"FINDING {kind}", file=sys.__stderr__)
                traceback.print_exc(file=sys.__stderr__)

    # For the sake of the machine: what is more fails with a MemoryError.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    with working_folder():
        atheris.Setup([sys.argv[0], *sys.argv[3:]], one_input)
        atheris.Fuzz()


def kind_of(error: BaseException) -> str:
    """Return what tells a finding from others: its type, and where in coterie it was raised."""
    frames = traceback.extract_tb(error.__cause__.__traceback__ if error.__cause__ else error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}coterie{os.sep}" in frame.filename] or list(frames)
    told = re.sub(r"\d+", "N", str(error))[:20]
    return f"{type(error).__name__} {Path(ours[-1].filename).name}:{ours[-1].name} {told}"


if __name__ == "__main__":
    main()
