"""The forecast for many machines follows from the throughput of one thread."""

from benchmarks.dask import forecast


def test_forecast_of_the_page():
    assert list(forecast(60.8e9)) == [
        ["rows of a worker, GiB", "57.2", "14.3", "3.6"],
        ["computing, s", "15.8", "3.9", "1.0"],
        ["centers and sums through the client, s", "0.8", "3.1", "12.6"],
    ]
