"""A Ray head with two nodes for workers on this machine, of which one is lost while it trains."""

from __future__ import annotations

import time

import numpy as np
import psutil
import pytest

from benchmarks.load.sweep_kills import ray_cluster
from explorer.jobs.ray_executor import RayExecutor
from explorer.jobs.scheduler import JobService
from explorer.run_store import store
from explorer.training.recorder import record_run
from tests import needs
from tests.export.alike import short_config
from tests.jobs.test_ray_executor import process_of

pytestmark = [
    needs.ray,
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # Ray leaves files open
]


def _nodes() -> set[psutil.Process]:
    """Return the processes that manage the nodes of the cluster."""
    return {each for each in psutil.Process().children(recursive=True) if each.name() == "raylet"}


def test_a_training_of_a_lost_node_goes_on_at_another_to_the_same_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    config = short_config("rnn", epochs=1_000)
    with ray_cluster(2) as address:
        executor = RayExecutor(address)
        service = JobService(executor)
        try:
            job = service.submit(config, "ada")
            while not job.view().step:
                assert not job.view().done, job.view().problem
                time.sleep(0.05)
            nodes = _nodes()
            lost = process_of(executor).parent()
            assert lost in nodes and len(nodes) == 3
            lost.kill()
            while not job.view().done:
                time.sleep(0.05)
        finally:
            service.close()
    assert (job.view().state, job.view().problem) == ("finished", "")
    assert job.crashes == 0, "the loss of a machine does not count against a training"
    assert np.array_equal(store.find(job.key).curves.losses, record_run(config).curves.losses)
