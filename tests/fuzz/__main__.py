"""``make fuzz``, or ``python -m tests.fuzz``: fuzz every target for a while; exit code 1 if there is a finding.

Without ``--seconds`` (or FUZZ_SECONDS) each target gets a number of mutations of the corpus, the same ones each time:
no change fails by what a fuzzer happens to find on a day. With it the fuzzer explores, from the corpus and from what
earlier runs have added in ``build/fuzz``. Each target runs in a process of its own, with atheris (libFuzzer). What a
finding was made by is left in ``build/fuzz/findings``, one file for each kind of it: put it into the corpus when it is
mended. ``python -m tests.fuzz --replay FILE ...`` runs such files again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.inputs import as_input, replay
from tests.fuzz.seeds import CORPUS
from tests.fuzz.targets import TARGETS

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))

# What the process may take; what one input may add is `tests.fuzz.targets.MOST_BYTES`.
MOST_MEGABYTES = 3_000
LONGEST_INPUT = 40_000


def main() -> int:
    """Run the targets that are asked for; return 1 if there is a finding."""
    options = read_options()
    if options.replay:
        return replay(options.replay)
    findings = options.folder / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    with ThreadPoolExecutor(options.at_once) as pool:
        failed = [name for name in pool.map(lambda name: fuzz(name, options), options.targets) if name]
    new = sorted(set(findings.iterdir()) - before)
    for path in new:
        print(f"finding: {path}")
    return 1 if new or failed else 0


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each target, however many inputs")
    parser.add_argument(
        "--slowest", type=int, default=10, help="seconds that an input may take, by the clock"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="another one tries other inputs; 0 is a random one"
    )
    parser.add_argument("--at-once", type=int, default=2, help="processes")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"), help="where inputs are kept")
    parser.add_argument("--replay", type=Path, nargs="+", help="run these files of inputs instead")
    return parser.parse_args()


def fuzz(name: str, options: argparse.Namespace) -> str | None:
    """Fuzz one target; return its name if its process ended otherwise than it should."""
    inputs = (options.folder / (name if options.seconds else f"{name}-corpus")).resolve()
    inputs.mkdir(parents=True, exist_ok=True)
    for path in (CORPUS / name).iterdir():
        (inputs / path.name).write_bytes(as_input(name, path))
    findings = (options.folder / "findings").resolve()
    command = [sys.executable, "-m", "tests.fuzz.process", name, str(findings), str(inputs)]
    command += [
        *([f"-max_total_time={options.seconds:.0f}"] if options.seconds else blind(name)),
        f"-timeout={options.slowest}",
        f"-rss_limit_mb={MOST_MEGABYTES}",
        f"-max_len={LONGEST_INPUT}",
        f"-artifact_prefix={findings}/{name}-",
        f"-seed={options.seed}",
        "-print_final_stats=1",
    ]
    log = options.folder / f"{name}.log"
    began = time.monotonic()
    with open(log, "w") as file:
        code = subprocess.run(command, stdout=file, stderr=file, check=False).returncode
    lines = log.read_text(errors="replace").splitlines()
    facts = [line.split()[-1] for line in lines if line.startswith("stat::number_of_executed_units")]
    tried = facts[0] if facts else "an unknown number of"
    print(f"{name}: {tried} inputs in {time.monotonic() - began:.0f} s, exit code {code}, {log}", flush=True)
    if code:
        print(*lines[-12:], sep="\n", flush=True)
    return name if code else None


def blind(name: str) -> list[str]:
    """Return the options for the same inputs each time, from the whole corpus."""
    return [f"-runs={TARGETS[name].inputs}", "-keep_seed=1", "-use_cmp=0", "-len_control=0"]


if __name__ == "__main__":
    sys.exit(main())
