"""What asv times over the commits. It imports each module apart from the package `benchmarks`."""
