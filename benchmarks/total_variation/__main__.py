"""See `benchmarks.total_variation`."""

from benchmarks.total_variation.benchmark import main

if __name__ == "__main__":
    main()
