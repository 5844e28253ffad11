"""See `benchmarks.kmeans`."""

from benchmarks.kmeans.benchmark import main

if __name__ == "__main__":
    main()
