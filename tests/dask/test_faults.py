"""What can go wrong on a cluster of real processes: workers that are killed, a scheduler that is lost, Ctrl-C, TLS."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import coterie
from tests.dask.clusters import held_by_scheduler, in_processes

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.dask.passes import WorkerPasses  # noqa: E402

pytestmark = pytest.mark.slow

K = 20

# More of them find more, as does another seed; each takes a second.
KILLS = int(os.environ.get("COTERIE_FAULTS", 20))
SEED = int(os.environ.get("COTERIE_FAULTS_SEED", 0))


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Files of rows, and how many of them are a chunk here."""
    folder, draw = tmp_path_factory.mktemp("shards"), np.random.default_rng(0)
    centers = draw.normal(size=(K, 8)) * 2
    for number in range(6):
        X = centers[draw.integers(K, size=6000)] + draw.normal(size=(6000, 8))
        np.save(folder / f"part-{number}.npy", X.astype(np.float32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.dask.chunks._CHUNK_BYTES", 4096 * 32)
        yield str(folder / "part-*.npy")


def fitted(path, max_iter=12, **options):
    seeds = coterie.open_rows(path).take(np.arange(K))
    model = coterie.KMeans(K, init=seeds, algorithm="yinyang", tol=0, max_iter=max_iter, **options)
    return model.fit(coterie.dask.rows(path))


def pids(client):
    return [pid for pid in client.run(os.getpid, on_error="ignore").values() if isinstance(pid, int)]


def test_workers_are_killed_in_one_fit(shards, monkeypatch):
    with contextlib.ExitStack() as stack:
        cluster, _ = in_processes(stack, 2)
        n_iterations, draw, killed = KILLS + 2, random.Random(SEED), set()
        expected = fitted(shards, n_iterations)

        def kill(progress):
            # Parameters that workers fetch from each other are lost with the one that has them.
            monkeypatch.setattr("coterie.dask.passes._LARGE_BYTES", 0 if progress.iteration % 2 else 1 << 18)
            there = []
            while len(killed) < KILLS and not there:
                time.sleep(0.01)
                # One that is killed before its nanny knows that it runs is never started again.
                running = [
                    nanny for nanny in cluster.workers.values() if nanny.process.status.name == "running"
                ]
                there = sorted({nanny.pid for nanny in running} - killed - {None})
            for pid in draw.sample(there, min(len(there), draw.choice([1, 1, 2]), KILLS - len(killed))):
                killed.add(pid)
                threading.Timer(draw.random() * 0.05, os.kill, (pid, signal.SIGKILL)).start()

        found = fitted(shards, n_iterations, callback=kill)
        assert len(killed) == KILLS
        np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
        np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_chunks_that_dask_computed_are_computed_again(shards):
    with contextlib.ExitStack() as stack:
        _, client = in_processes(stack, 2)
        X = da.random.default_rng(0).normal(size=(6000, 4), chunks=(1000, 4))
        options = {"init": "random", "random_state": 0, "n_init": 1, "tol": 0, "max_iter": 8}
        rows = coterie.dask.rows(X)
        expected = coterie.KMeans(5, **options).fit(rows)

        def kill(progress):
            if progress.iteration == 3:
                os.kill(pids(client)[0], signal.SIGKILL)

        found = coterie.KMeans(5, **options, callback=kill).fit(rows)
        np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)


def test_a_worker_is_added(shards, monkeypatch):
    # A pass looks for new workers if the last look is longer ago than this; a whole fit here takes less than a second.
    monkeypatch.setattr("coterie.dask.passes._INTERVAL", 0.01)
    with contextlib.ExitStack() as stack:
        cluster, client = in_processes(stack, 1)
        expected = fitted(shards)

        def add(progress):
            if progress.iteration == 3:
                cluster.scale(2)
                client.wait_for_workers(2, timeout=240)

        run, homes = WorkerPasses.run, []
        monkeypatch.setattr(
            WorkerPasses,
            "run",
            lambda passes, *args, **kw: homes.append({*passes._homes}) or run(passes, *args, **kw),
        )
        found = fitted(shards, callback=add)
        np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
        assert len(homes[-1]) == 2 > len(homes[0])


def test_clusters_with_tls(shards):
    pytest.importorskip("cryptography", reason="temporary certificates need cryptography")
    with contextlib.ExitStack() as stack:
        _, client = in_processes(stack, 1, security=distributed.Security.temporary())
        assert client.scheduler.address.startswith("tls://")
        here = coterie.KMeans(K, init=coterie.open_rows(shards).take(np.arange(K)), tol=0, max_iter=12)
        found = fitted(shards)
        np.testing.assert_array_equal(found.labels_, here.fit(coterie.open_rows(shards)).labels_)


CHILD = """
import sys, time
import distributed
import coterie, coterie.dask
from coterie.dask import chunks

chunks._CHUNK_BYTES = 4096 * 32
if __name__ == "__main__":
    client = distributed.Client(sys.argv[1])
    print("begun", flush=True)
    report = lambda progress: print(progress.iteration, flush=True) or time.sleep(1)
    model = coterie.KMeans(20, init="random", random_state=0, tol=0, n_init=1, callback=report)
    model.fit(coterie.dask.rows(sys.argv[2]))
"""


@contextlib.contextmanager
def fit_in_a_child(address, shards):
    """A slow fit in a process of its own, once it is under way."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, address, shards],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while child.stdout.readline().strip() != "3":
            assert child.poll() is None, child.stderr.read()
        yield child
    finally:
        child.kill()
        child.communicate()


def test_nothing_is_left_after_an_interrupt(shards):
    with contextlib.ExitStack() as stack:
        cluster, client = in_processes(stack, 1)
        with fit_in_a_child(cluster.scheduler_address, shards) as child:
            assert held_by_scheduler(client) != []
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=60)
            assert "KeyboardInterrupt" in errors
        assert held_by_scheduler(client, 20) == []


def test_the_scheduler_is_lost(shards, tmp_path):
    environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
    place = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    with contextlib.ExitStack() as stack:
        scheduler = subprocess.Popen(
            [*command, "--scheduler-file", str(place)], stderr=subprocess.DEVNULL, env=environment
        )
        stack.callback(scheduler.wait)
        stack.callback(scheduler.kill)
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(place), "--no-nanny",
             "--nthreads", "1", "--no-dashboard"],
            stderr=subprocess.DEVNULL,
            env=environment,
        )  # fmt: skip
        stack.callback(worker.wait)
        stack.callback(worker.kill)
        client = stack.enter_context(distributed.Client(scheduler_file=str(place), timeout="60s"))
        client.wait_for_workers(1, timeout=60)
        address = client.scheduler.address
        with fit_in_a_child(address, shards) as child:
            scheduler.kill()
            _, errors = child.communicate(timeout=90)
        assert "ClusterLostError: The Dask scheduler" in errors
        client.close(timeout=1)


def test_nested_mini_batches_when_workers_are_killed(shards):
    options = {"batch_size": 200, "random_state": 0, "bounds": "yinyang"}
    with contextlib.ExitStack() as stack:
        _, client = in_processes(stack, 2)
        rows = coterie.dask.rows(shards)
        expected = coterie.NestedMiniBatchKMeans(K, **options).fit(rows)
        for at in (2, 5):

            def kill(progress, at=at):
                if progress.iteration == at:
                    os.kill(pids(client)[0], signal.SIGKILL)

            found = coterie.NestedMiniBatchKMeans(K, **options, callback=kill).fit(rows)
            np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
            np.testing.assert_array_equal(found.labels_, expected.labels_)
            np.testing.assert_array_equal(found.history_.n_changed, expected.history_.n_changed)
            client.wait_for_workers(2, timeout=240)
