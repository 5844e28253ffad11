"""Shared code of the benchmarks of all methods.

- `contenders`: what is compared; `seedings`: the same initial centers for several systems
- `options`: the command lines; `benchmark`: one run, what its steps work with
- `processes`, `rounds`, `measuring`: where, in which order and how runs are measured; `limits` of the machine
- `data`: real data sets, stand-ins and generators
- `quality`, `cells`, `reporting`: what is computed of results, and how it is shown
"""
