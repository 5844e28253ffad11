"""
Fit on a Dask cluster
=====================

Estimators fit ``coterie.dask.rows`` on the workers that hold the rows: centers are sent to the workers, cluster sums
come back. It needs the extra ``dask``.
"""

import dask.array
import matplotlib.pyplot as plt
from distributed import Client
from sklearn.datasets import make_blobs

import coterie
import coterie.dask

X, _ = make_blobs(20_000, centers=8, n_features=6, random_state=0)

# %%
# Two workers in threads of this process; ``Client("tcp://scheduler:8786")`` connects to a
# running cluster. Each of the ten chunks stays on one worker during the fit.
client = Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
rows = coterie.dask.rows(dask.array.from_array(X, chunks=(2_000, 6)))
model = coterie.KMeans(8, init="k-means||", random_state=0).fit(rows)

# %%
# The inertia after each pass over the rows.
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.plot(model.history_.iteration, model.history_.objective, marker="o")
axes.set(xlabel="iteration", ylabel="inertia")

# %%
# Labels are a lazy Dask array, bit-identical to those of rows in memory.
labels = model.predict(rows)
print(labels)
here = coterie.KMeans(8, init=model.cluster_centers_, max_iter=1, random_state=0).fit(X)
print((labels.compute() == here.predict(X)).mean())
client.close()
