"""``make fuzz``, or ``python -m tests.fuzz``: run mutations of the corpus; exit code 1 if there is a finding.

Without FUZZ_SECONDS each target gets a number of mutations, the same ones each time: no change fails by what is drawn
on a day. With it each target runs for so many seconds, with other mutations. What a finding was made by is left in
`build/fuzz/TARGET`: put it into the corpus when it is mended.
"""

import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.targets import CORPUS, TARGETS
from tests.support.processes import started

FINDINGS = Path("build/fuzz").resolve()
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
# What an input may take, and all memory of a process; what one input may add is `tests.fuzz.targets.MOST_BYTES`.
SLOWEST, MOST_ADDRESSES = 10, 6 * 2**30


def mutated(content: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """Return content with a few bytes changed, left out, inserted, taken from other inputs or repeated."""
    data = bytearray(content)
    for _ in range(draw.randint(1, 5)):
        at, length = draw.randrange(len(data) + 1), 1 << draw.randrange(8)
        other = draw.choice(others)
        begin = draw.randrange(len(other) + 1)
        data[at : at + length] = draw.choice([
            b"", draw.randbytes(length), draw.choice(b"\0\1\x7f\x80\xff-9,\n").to_bytes(1, "little"),
            other[begin : begin + length], data[at : at + length] * 2,
        ])  # fmt: skip
    return bytes(data)


def inputs_of(target: str) -> Iterator[tuple[str, bytes]]:
    """Yield kinds and contents until there are enough."""
    seeds = defaultdict(list)
    for path in sorted((CORPUS / target).iterdir()):
        seeds[path.suffix[1:]].append(path.read_bytes())
    draw, began = random.Random(time.time_ns() if SECONDS else 1), time.monotonic()
    for number in range(sys.maxsize if SECONDS else TARGETS[target].inputs):
        if SECONDS and time.monotonic() - began > SECONDS:
            print(f"{target}: {number} inputs")
            return
        kind = draw.choice(list(seeds))
        yield kind, mutated(draw.choice(seeds[kind]), seeds[kind], draw)


def kind_of(error: BaseException) -> str:
    """Return what tells a finding from others: its type, and where in coterie it was raised."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    ours = [frame for frame in frames if f"{os.sep}coterie{os.sep}" in frame.filename] or list(frames)
    return f"{type(error).__name__} {ours[-1].filename}:{ours[-1].name}"


def run(target: str, folder: Path) -> None:
    """Run a target; the input that runs is in a file, for a crash or the alarm ends the process."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    known: set[str] = set()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for kind, content in inputs_of(target):
            current = folder / f"running.{kind}"
            current.write_bytes(content)
            signal.alarm(SLOWEST)
            try:
                TARGETS[target].run(kind, content)
            except BaseException as error:
                where = kind_of(error)
                if where not in known:
                    known.add(where)
                    digest = hashlib.sha256(where.encode()).hexdigest()[:8]
                    current.rename(folder / f"found-{digest}.{kind}")
                    traceback.print_exc()
            current.unlink(missing_ok=True)
        signal.alarm(0)


def main(waiting: list[str]) -> bool:
    """Fuzz targets, two at a time, in processes of their own; return whether there are findings."""
    running: dict[int, str] = {}
    before = set(FINDINGS.rglob("*.*"))
    has_failed = False
    while waiting or running:
        while waiting and len(running) < 2:
            target = waiting.pop(0)
            folder = FINDINGS / target
            folder.mkdir(parents=True, exist_ok=True)
            running[started(run, target, folder)] = target
        process, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        print(f"{running.pop(process)}: exit code {code}", flush=True)
        has_failed |= code != 0
    found = sorted(set(FINDINGS.rglob("*.*")) - before)
    for path in found:
        print(f"finding: {path}")
    return bool(found) or has_failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [*TARGETS]))
