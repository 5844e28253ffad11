"""Centres and what rows have to do with them: nearest centres, bounds, sums, means, cells."""
