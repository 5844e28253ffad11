"""The same vectors as .npy and as list columns of Parquet files: fits of each, and what it costs to read them.

    python -m benchmarks.rows [--rows fit,pass,scaled] [--gigabytes 4] [--clusters 100] [--repeats 3] [--threads 2]
                              [--only npy] [--folder scratch] [--quick]

Row fit is a nested fit of each file, in a fresh process; row pass one reading of all blocks; row scaled a fit through
StandardScaler.  The folder needs room for twice the gigabytes, and
TMPDIR for once more: the copy that a fit makes of what it would parse in every pass.
"""
