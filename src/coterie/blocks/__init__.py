"""Rows in the layout of the kernels: block by block, in order, shuffled, or in batches."""
