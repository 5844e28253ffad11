"""
Cluster a table with missing values and categories
==================================================

Imputation, scaling and encoding are part of the model and are applied to new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import coterie

random = np.random.default_rng(0)
people = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(600)],
        "age": random.integers(18, 90, 600).astype(float),
        "income": random.lognormal(10, 0.5, 600),
        "city": random.choice(["Brno", "Graz", "Lyon"], 600),
    }
)
people.loc[::40, "age"] = np.nan

rows = coterie.prepare_rows(people, exclude=["name"], missing="median", scale="standard", categories=["city"])
model = coterie.KMeans(4, random_state=0).fit(rows)

# %%
# Columns are matched by name, in any order.
shuffled = people[["city", "income", "name", "age"]]
print((model.predict(shuffled) == model.labels_).all())

# %%
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
points = axes.scatter(people["age"], people["income"], c=model.labels_, cmap="tab10", vmax=9, s=14)
axes.legend(*points.legend_elements(), title="cluster")
axes.set(xlabel="age", ylabel="income", yscale="log")
