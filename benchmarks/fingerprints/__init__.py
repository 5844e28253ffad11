"""Fingerprints of what every system computes, bit by bit: a refactoring leaves all of them equal.

    python -m benchmarks.fingerprints --instruction-set all --out before.txt       # before
    python -m benchmarks.fingerprints --instruction-set all --compare before.txt   # after: lists what differs

    python -m benchmarks.fingerprints --groups mixture convex --compare before.txt --compare-set avx512

Each line is an instruction set, a case, and a hash over all that a user sees of it: labels, centers, objectives,
histories but for their seconds, predictions of other rows. Only the public interface is used (and the choice of the
instruction set), so the same files run before and after modules move. Hashes of two machines differ: their libraries
round differently. Some cases run with one, two and three threads, and fail where these do not give the same bits.
"""
