"""See `benchmarks.nested`."""

from benchmarks.nested.benchmark import main

if __name__ == "__main__":
    main()
