"""Reports: what they add to a fit of 100,000 rows, and what they look like.

python -m benchmarks.reports                                       # seconds and bytes
python -m benchmarks.reports --plot FILE.png [--of texts|table|cells|choose-k|compare] [--scheme dark] [--width 400]
"""
