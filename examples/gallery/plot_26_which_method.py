"""
Which method, or any
====================

``coterie.compare`` gives the methods that suit the rows the same rows and the same seeds, and asks which find their
clusters again in halves of the rows. Its advice may be that the data prefer none.
"""

import numpy as np
from sklearn.datasets import make_moons

import coterie

X, classes = make_moons(400, noise=0.06, random_state=0)
found = coterie.compare(X, 2, labels=classes, random_state=0)
print(found)

# %%
# Stability with its interval, agreement, and criteria that each favour their own kind.
figure = found.plot()

# %%
# The advice does not look at the classes; here is how right each method was. ``found.models`` has the best fit of each,
# ``found.table()`` all of this as an Arrow table, and ``found.page()`` a page for people.
for record in found.records:
    print(f"{record['method']:>16}: accuracy {record['accuracy']:.1%}, {record['seconds']:.2f} s")

# %%
# Uniform rows have no twelve clusters, whoever looks.
uniform = np.random.default_rng(1).uniform(size=(200, 6))
print(coterie.compare(uniform, 12, methods=["k-means", "gmm"], random_state=0).reasons[0])
