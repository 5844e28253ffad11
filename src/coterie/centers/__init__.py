"""Centers: nearest centers of rows, bounds, cluster sums, means, cells."""
