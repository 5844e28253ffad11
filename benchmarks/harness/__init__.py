"""Shared code of the benchmarks of all methods.

- `contenders`: what is compared
- `options`: the command lines; `benchmark`: one run, what its steps work with; `papers`: figures and tables of papers
- `processes`, `rounds`, `measuring`: where, in which order and how runs are measured
- `data`: real data sets, stand-ins and generators
- `quality`, `cells`, `reporting`, `results`: what is computed of results, how it is shown and kept
"""
