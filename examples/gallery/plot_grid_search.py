"""
Use a pipeline and a grid search
================================

Estimators follow the interface of scikit-learn: they can be cloned, piped and searched.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import coterie

X, y = load_wine(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), coterie.KMeans(random_state=0))


def agreement(estimator, X, y):
    """Score clusters of rows that were left out by their agreement with the classes."""
    return coterie.metrics.adjusted_rand_score(y, estimator.predict(X))


search = GridSearchCV(pipeline, {"kmeans__n_clusters": [2, 3, 4, 5, 6]}, scoring=agreement, cv=5).fit(X, y)
scores = search.cv_results_["mean_test_score"]

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(search.param_grid["kmeans__n_clusters"], scores, marker="o")
axes.set(xlabel="clusters", ylabel="adjusted Rand index of rows left out", ylim=(0, 1))
