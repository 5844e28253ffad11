"""How the sample of nested mini-batches grows, and the error of rows that it has not seen."""

import matplotlib.pyplot as plt
import numpy as np

import coterie
from coterie.metrics import quantization_error

random = np.random.default_rng(0)
centers = random.normal(scale=3, size=(60, 8))
X = centers[random.integers(60, size=82_000)] + random.normal(size=(82_000, 8))
held_out, X = X[:2_000], X[2_000:]
start = X[random.choice(len(X), 40, replace=False)]


def fit(estimator, **options):
    """Return the fitted model, and after each step the rows looked at so far and the error of held-out rows."""
    errors = []
    model = estimator(
        40, init=start, random_state=0, **options,
        callback=lambda progress: errors.append(quantization_error(held_out, progress.centers)),
    ).fit(X)  # fmt: skip
    return model, np.array(errors)


nested, nested_errors = fit(coterie.NestedMiniBatchKMeans)
batches, batch_errors = fit(coterie.MiniBatchKMeans, max_iter=20)
exact, exact_errors = fit(coterie.KMeans)
looked_at = {
    "nested mini-batches": (np.cumsum(nested.history_.batch_size), nested_errors),
    "mini-batches": (len(X) * np.arange(1, len(batch_errors) + 1), batch_errors),
    "exact k-means": (len(X) * np.arange(1, len(exact_errors) + 1), exact_errors),
}

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4))
sizes = nested.history_.batch_size
left.step(nested.history_.iteration, sizes, where="mid")
left.set(xlabel="iteration", ylabel="rows in the sample", yscale="log")
left.set_yticks(np.unique(sizes), [f"{size:,}" for size in np.unique(sizes)])
left.minorticks_off()
left.set_title("size of the sample")
least = min(errors.min() for _, errors in looked_at.values())
for name, (rows, errors) in looked_at.items():
    right.plot(rows / len(X), 100 * (errors / least - 1), label=name)
right.set(xlabel="rows processed, in passes over all rows", ylabel="error above the lowest, %", xscale="log")
right.set(title="error of held-out rows", ylim=(0, 20))
right.legend()
