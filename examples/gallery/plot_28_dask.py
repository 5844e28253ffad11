"""
Rows on the workers of a Dask cluster
=====================================

``coterie.dask`` fits where the rows are: centroids go to the workers, sums of clusters come back. It needs the extra
``dask``.
"""

import dask.array
import matplotlib.pyplot as plt
from distributed import Client
from sklearn.datasets import make_blobs

import coterie
import coterie.dask

X, _ = make_blobs(20_000, centers=8, n_features=6, random_state=0)

# %%
# Two workers in threads of this process stand for a cluster here; ``Client("tcp://scheduler:8786")`` joins one that is
# there. Each of the ten chunks stays with a worker for the length of the fit.
client = Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
rows = dask.array.from_array(X, chunks=(2_000, 6))
model = coterie.dask.KMeans(8, init="k-means||", random_state=0).fit(rows)

# %%
# What travelled in each pass, there and back, beside the rows themselves, which never did. The last pass brings the
# labels.
passes = model.traffic_
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
travelled = passes.n_sent + passes.n_received
axes.bar(range(1, len(passes) + 1), travelled / 1e3, label="a pass over the rows")
axes.axhline(X.nbytes / 1e3, color="tab:orange", label="the rows")
axes.set(xlabel="pass", ylabel="kB", yscale="log")
axes.legend()

# %%
# Labels are a lazy Dask array. From the same centroids, rows in memory give the same labels, bit by bit.
labels = model.predict(rows)
print(labels)
here = coterie.KMeans(8, init=model.cluster_centers_, max_iter=1, random_state=0).fit(X)
print((labels.compute() == here.predict(X)).mean())
client.close()
