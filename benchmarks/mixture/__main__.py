"""See `benchmarks.mixture`."""

from benchmarks.mixture.benchmark import main

if __name__ == "__main__":
    main()
