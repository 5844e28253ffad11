"""Initial centers: rows of the data."""

from coterie.seeding.greedy import k_means_plus_plus
from coterie.seeding.markov_chain import afk_mc2
from coterie.seeding.seeds import random_rows

__all__ = ["afk_mc2", "k_means_plus_plus", "random_rows"]
