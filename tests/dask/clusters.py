"""Clusters that tests start: workers in threads or in processes of their own, on the loopback."""

import time

import pytest


def in_threads(stack, n_workers):
    """Return a client of workers in threads of this process."""
    distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
    cluster = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None
    )
    return stack.enter_context(distributed.Client(stack.enter_context(cluster)))


def in_processes(stack, n_workers, **options):
    """Return a cluster of worker processes, which are started again when they die, and a client of it."""
    distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
    dask = pytest.importorskip("dask")
    options_of_dask = {
        "distributed.comm.timeouts.connect": "120s",  # a machine with other work takes its time to start one
        "distributed.deploy.lost-worker-timeout": "10 minutes",  # after which it would not be started again
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    stack.enter_context(dask.config.set(options_of_dask))
    # Workers begin with the modules of a fit instead of importing them for seconds.
    distributed.utils.get_mp_context().set_forkserver_preload(
        ["distributed", "coterie.dask", "coterie.kmeans.exact"]
    )
    cluster = distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=50,
        **options,
    )
    stack.enter_context(cluster)
    return cluster, stack.enter_context(distributed.Client(cluster))


def held_by_scheduler(client, seconds=0):
    """Return the names of the tasks of fits that the scheduler knows, at the latest after some seconds."""

    def held(dask_scheduler=None):
        return [str(name) for name in dask_scheduler.tasks if str(name).startswith("coterie-")]

    end = time.monotonic() + seconds
    while (names := client.run_on_scheduler(held)) and time.monotonic() < end:
        time.sleep(0.1)
    return names
