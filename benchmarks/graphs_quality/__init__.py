"""One table of quality: our methods and their peers on every labeled set, told the number of classes alone.

    python -m benchmarks.graphs_quality [--sets iris,mnist] [--only SLK,Leiden] [--skip EVoC] [--seeds 1]
                                        [--most-rows 5000] [--limit 300] [--page] [--quick]

Sets of many kinds, real and generated. Every cell is a file of its own in the folder of results: a run that was ended
goes on where it was. --page writes the page of docs/benchmarks from what is there.
"""
