"""See `benchmarks.laplacian_kmodes`."""

from benchmarks.laplacian_kmodes.benchmark import main

if __name__ == "__main__":
    main()
