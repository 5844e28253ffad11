"""
Find operating states in sensor data
====================================

A machine has three sensors. Windows of its signals are clustered into operating states; new windows that fit no state
raise an alarm. The data arrive as a stream, so the model is updated batch by batch.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import coterie

# %%
# The file
# --------
# Ten hours at one sample per second in a CSV file: idle, run and clean in turn. From the eighth hour on a bearing
# fails, which adds a vibration.
random = np.random.default_rng(0)
seconds = np.arange(36_000)
state = (seconds // 600) % 3
vibration = np.array([0.1, 1.0, 0.5])[state] * random.normal(size=36_000)
failing = seconds >= 28_800
vibration[failing] += 1.5 * np.sin(seconds[failing] * 2.1)
signals = pd.DataFrame(
    {
        "time": seconds,
        "vibration": vibration,
        "temperature": np.array([20.0, 60.0, 40.0])[state] + random.normal(size=36_000),
        "current": np.array([0.2, 5.0, 2.0])[state] + 0.3 * random.normal(size=36_000),
    }
)
signals.to_csv("sensors.csv", index=False)

# %%
# Windows
# -------
# A window of one minute becomes a row of features. The level matters for temperature and current, the strength for
# vibration. Features that do not depend on the state would only add noise to the distances.
signals = pd.read_csv("sensors.csv")
windows = signals.groupby(signals["time"] // 60).agg(
    vibration=("vibration", "std"), temperature=("temperature", "mean"), current=("current", "mean")
)
print(windows.head(3).round(2))

# %%
# Scale and cluster
# -----------------
# The columns have different units, so they are scaled. The model remembers the scaling. The first six hours are known
# to be healthy.
healthy = windows.iloc[:360]
rows = coterie.prepare_rows(healthy, scale="standard")
print(coterie.DensityClustering().fit(rows).n_clusters_)
model = coterie.KMeans(3, n_init=10, random_state=0).fit(rows)

# %%
# Interpret the states
# --------------------
print(healthy.groupby(model.labels_).mean().round(2))

# %%
# Watch new windows
# -----------------
# The outlier score of a window compares it with the windows of its state. The threshold is the largest score of the
# healthy windows.
labels = model.predict(windows)
scores = model.outlier_scores(windows, labels)
threshold = model.outlier_scores_.max()
alarms = np.flatnonzero(scores > threshold)

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(windows.index / 60, scores, lw=0.8)
axes.axhline(threshold, color="tab:red", label="threshold")
axes.axvline(8, color="0.5", ls=":", label="failure begins")
axes.set(xlabel="hour", ylabel="outlier score", yscale="log")
axes.legend()
print(f"first alarm in minute {alarms[0]}; {np.sum(alarms < 480)} alarms before the failure")

# %%
# Decision
# --------
# Stop the machine after three alarms in a row. Where states drift slowly, update the centers with healthy windows only:
# ``MiniBatchKMeans(init=model).partial_fit(batch)`` takes one batch at a time.
runs = np.flatnonzero(np.convolve(scores > threshold, np.ones(3), mode="valid") == 3)
print(f"stop in minute {runs[0] + 2}")
