"""Rows as kernels want them: block by block, in their own order, shuffled, or in batches."""
