"""Accuracy of `choose_k` on data with a known number of clusters, and without clusters.

    python -m benchmarks.choose_k [--rows known,none,named,huge] [--threads 2] [--quick]

Row known: twenty generated data sets, of 2 to 60 clusters in 2 to 200 columns, equal and unequal sizes, with noise.
Row none: ten without clusters. Row named: digits, half moons, rings. Row huge: 1,000,000 x 32, k from 2 to 100, with
all curves. Seeds and shapes are other ones than those that the rule was made with.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import islice

import numpy as np
from sklearn.datasets import load_digits, make_moons

from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.options import SystemParser
from coterie import choose_k

# Standard deviations, of the widest cluster, between the closest centers.
_APART = 6.5


def draw_blobs(
    seed: int,
    k: int,
    n_columns: int,
    n_rows: int,
    *,
    sizes: float = 1.0,
    noise: float = 0.0,
    spread: float = 1.0,
) -> np.ndarray:
    """Draw Gaussian blobs whose centers are at least 6.5 of the larger standard deviations apart.

    `sizes` and `spread` are the largest size and standard deviation over the smallest; `noise` is a share of rows.
    """
    random = np.random.RandomState(seed)
    deviations = spread ** random.uniform(0, 1, k)
    shares = sizes ** random.uniform(0, 1, k)
    counts = np.maximum(20, (shares / shares.sum() * n_rows).astype(int))
    centers = _apart(k, n_columns, _APART * deviations.max(), random)
    rows = [
        random.normal(center, scale, (count, n_columns))
        for center, scale, count in zip(centers, deviations, counts)
    ]
    clustered = np.concatenate(rows)
    low, high = clustered.min(axis=0), clustered.max(axis=0)
    background = random.uniform(low, high, (int(noise * len(clustered)), n_columns))
    return random.permutation(np.concatenate([clustered, background]))


def _apart(k: int, n_columns: int, distance: float, random: np.random.RandomState) -> np.ndarray:
    """Draw centers one after the other in a box that grows until they fit."""
    side, found = distance, [np.zeros(n_columns)]
    while len(found) < k:
        for _ in range(200):
            center = random.uniform(-side, side, n_columns) / min(1.0, np.sqrt(n_columns / 8))
            if min(np.linalg.norm(center - other) for other in found) >= distance:
                found.append(center)
                break
        else:
            side *= 1.1
    return np.array(found)


def _rings(seed: int, radii: tuple[float, ...], n_rows: int, noise: float) -> np.ndarray:
    random = np.random.RandomState(seed)
    radius = np.repeat(radii, n_rows // len(radii))
    angle = random.uniform(0, 2 * np.pi, len(radius))
    rows = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return random.permutation(rows + noise * random.standard_normal(rows.shape))


# Clusters, columns, rows, sizes, noise, spread.
_SETTINGS = [
    (2, 2, 400, 1, 0, 1), (2, 50, 600, 8, 0, 1), (3, 3, 600, 4, 0.05, 1), (3, 200, 900, 1, 0, 1),
    (4, 10, 1000, 1, 0.1, 1), (5, 2, 1000, 5, 0, 2), (6, 100, 1500, 3, 0, 1), (7, 5, 1500, 10, 0, 1),
    (8, 32, 1600, 1, 0.05, 1), (10, 2, 2000, 1, 0, 1), (12, 20, 2400, 6, 0, 2), (15, 3, 3000, 1, 0.05, 1),
    (18, 64, 3000, 4, 0, 1), (20, 8, 3000, 1, 0, 1), (25, 2, 4000, 1, 0, 1), (30, 16, 4500, 5, 0.05, 1),
    (36, 4, 5000, 1, 0, 1), (45, 128, 4500, 1, 0, 1), (50, 10, 6000, 3, 0, 1), (60, 24, 9000, 2, 0.05, 1),
]  # fmt: skip

# By name: the number of clusters (None: there are none), and what draws the rows.
Cases = dict[str, tuple[int | None, Callable[[], np.ndarray]]]
KNOWN: Cases = {
    f"{k} clusters, {n_rows} x {d}, sizes 1:{sizes}, noise {noise:.0%}, spread 1:{spread}": (
        k, partial(draw_blobs, seed, k, d, n_rows, sizes=sizes, noise=noise, spread=spread)
    )
    for seed, (k, d, n_rows, sizes, noise, spread) in enumerate(_SETTINGS, 37_001)
}  # fmt: skip


def _drawn(
    seed: int, draw: Callable[[np.random.RandomState], np.ndarray]
) -> tuple[None, Callable[[], np.ndarray]]:
    return None, lambda: draw(np.random.RandomState(seed))


NONE: Cases = {
    "uniform, 1500 x 2": _drawn(38_001, lambda random: random.uniform(size=(1500, 2))),
    "uniform, 2000 x 20": _drawn(38_002, lambda random: random.uniform(size=(2000, 20))),
    "Gaussian, 1000 x 3": _drawn(38_003, lambda random: random.standard_normal((1000, 3))),
    "Gaussian, 800 x 150": _drawn(38_004, lambda random: random.standard_normal((800, 150))),
    "Gaussian, 2000 x 10, variances 1 to 500": _drawn(
        38_005, lambda random: random.standard_normal((2000, 10)) * np.geomspace(1, 22, 10)
    ),
    "walk, 2000 x 3": _drawn(38_006, lambda random: random.standard_normal((2000, 3)).cumsum(axis=0)),
    "walk, 3000 x 20": _drawn(38_007, lambda random: random.standard_normal((3000, 20)).cumsum(axis=0)),
    "exponential, 2000 x 5": _drawn(38_008, lambda random: random.exponential(size=(2000, 5))),
    "Student's t of 4 degrees, 2000 x 4": _drawn(38_009, lambda random: random.standard_t(4, (2000, 4))),
    "uniform in a triangle, 1500": _drawn(38_010, lambda random: random.dirichlet(np.ones(3), 1500)[:, :2]),
}
NAMED: Cases = {
    "digits": (10, lambda: load_digits().data),
    "half moons, 1000": (2, lambda: make_moons(1000, noise=0.06, random_state=39_001)[0]),
    "half moons, 3000": (2, lambda: make_moons(3000, noise=0.08, random_state=39_002)[0]),
    "two rings, 1000": (2, partial(_rings, 39_003, (1.0, 0.5), 1000, 0.05)),
    "three rings, 1800": (3, partial(_rings, 39_004, (3.0, 2.0, 1.0), 1800, 0.12)),
}


def choose_all(benchmark: Benchmark, key: str, cases: Cases) -> None:
    """Choose for every case, without the curves, which do not decide."""
    cases = dict(islice(cases.items(), 2 if benchmark.quick else None))
    lines, n_right = [], 0
    for name, (n_clusters, draw) in cases.items():
        rows = draw()
        began = time.process_time()
        found = choose_k(rows, (2, 100), max_time=1e-9, random_state=0, n_threads=benchmark.threads)
        seconds = time.process_time() - began
        n_right += found.n_clusters == n_clusters
        low, high = found.interval
        answer, wanted = str(found.n_clusters or "none"), str(n_clusters or "none")
        shown = answer if answer == wanted else f"**{answer}**"
        lines.append([name, wanted, shown, f"{low}-{high}", f"{seconds:.2f}"])
    benchmark.report.table(key, ["data", "clusters", "found", "half samples", "CPU s"], lines)
    benchmark.say(f"Right: {n_right} of {len(cases)}.")


def huge(benchmark: Benchmark, key: str) -> None:
    n_rows = 20_000 if benchmark.quick else 1_000_000
    rows = draw_blobs(39_100, 40, 32, n_rows, sizes=3, noise=0.02).astype(np.float32)
    began, cpu = time.perf_counter(), time.process_time()
    found = choose_k(rows, (2, 100), random_state=0, n_threads=benchmark.threads)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    shape = f"{len(rows):,} x {rows.shape[1]}, 40 clusters"
    line = [shape, str(found.n_clusters), str(len(found.criteria)), f"{seconds:.1f}", f"{cpu:.1f}"]
    benchmark.report.table(key, ["data", "found", "curves", "seconds", "CPU s"], [line])


CASES = {"known": KNOWN, "none": NONE, "named": NAMED}
STEPS = {key: partial(choose_all, cases=cases) for key, cases in CASES.items()} | {"huge": huge}

if __name__ == "__main__":
    parser = SystemParser("choose_k", __doc__, list(STEPS), rounds=None)
    run_steps("choose_k", parser.read(), STEPS)
