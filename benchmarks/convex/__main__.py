"""See `benchmarks.convex`."""

from benchmarks.convex.benchmark import main

if __name__ == "__main__":
    main()
