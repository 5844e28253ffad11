"""k-means: exact, by mini-batches, and by nested mini-batches."""
