"""Time-energy curves of nested mini-batch k-means and of what competes with it, as in Figure 2 of its paper.

`python -m benchmarks.papers nested` makes them. Curves show the energy (mean squared distance to the nearest centroid)
of held-out rows against the seconds of the fit, evaluation not counted. The start is the paper's, k distinct rows drawn
uniformly, the same for all that take one.
"""
