"""
Compare solvers of convex clustering by duality gap
===================================================

The duality gap bounds how far the objective is above the minimum. A fit stops when the gap is small, not when
progress is slow.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import coterie

X = scale(load_wine().data)

# %%
# Accelerated and plain AMA from the same initialization.
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for solver, label in {"ama": "accelerated", "plain-ama": "plain"}.items():
    model = coterie.ConvexClustering(20.0, solver=solver, tol=1e-6).fit(X)
    history = model.history_
    axes.plot(history.n_steps, history.gap / history.objective, label=f"{label} steps")
    print(label, "found", model.n_clusters_, "clusters, gap", model.dual_gap_)
axes.axhline(1e-5, color="0.5", ls=":", label="the default tolerance")
axes.set(xlabel="iterations", ylabel="gap, relative to the objective", yscale="log")
axes.legend()
