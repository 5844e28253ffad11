"""Shared code of the benchmarks of all methods.

- `contenders`: what is compared
- `options`: the command lines; `benchmark`: one run, what its steps and the items of papers work with
- `measuring`: where and how runs are measured; `reporting`: how results are shown and kept
- `data`: real data sets, stand-ins and generators
"""
