"""See `benchmarks.graphs`."""

from benchmarks.graphs.benchmark import main

if __name__ == "__main__":
    main()
