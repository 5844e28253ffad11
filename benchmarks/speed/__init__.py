"""One line for each kind of work: our seconds, and those of the fastest other that is at hand.

    python -m benchmarks.speed [--rows k-means,mixture] [--repeats 3] [--threads 2] [--quick]

The work is that of the other benchmarks, which tell more of it. Contenders take turns in fresh processes; a row takes a
minute at most.
"""
