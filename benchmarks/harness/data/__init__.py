"""Data of the benchmarks: real sets where a folder has them, stand-ins and generators elsewhere."""
