"""An order, and the events that come back from an executor: in this process and from a process of its own."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psutil
import pytest
import torch

from explorer.errors import InvalidSetting, LimitExceeded, NeedsText
from explorer.jobs import executor as executor_module
from explorer.jobs.executor import Executor, InProcessExecutor, TrainingFailed, WorkerLost
from explorer.jobs.order import Order, decode_order, encode_order
from explorer.jobs.worker_processes import ProcessExecutor
from explorer.run_store import store
from explorer.training.config import RunConfig, branch_from
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.recorder import Recorder, record_run
from explorer.training.slices import Slice
from explorer.training.train import train
from tests.export.alike import checkpoints, comparable_events, full_training, interrupt_training, short_config
from tests.training.objectives.test_text import short as short_text


def events(order: Order, executor: Executor | None = None) -> list[Event]:
    async def collect() -> list[Event]:
        chosen = executor or InProcessExecutor()
        return [event async for part in chosen.slices(order) for event, _ in part.events]

    return asyncio.run(collect())


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessExecutor]:
    if sys.platform != "linux":
        pytest.skip("Worker processes are possible on Linux only.")
    executor = ProcessExecutor()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LINEAGE_MOST_MEMORY", "1")  # 200 MB remain for each worker
        executor.start()
    yield executor
    executor.close()


def order_to_resume(config: RunConfig, folder: Path, step: int) -> Order:
    store.write_run(interrupt_training(Recorder(config), train(config), step), folder)
    return Order(config, step, store.load(folder).checkpoint(step))


def step_of(event: Event) -> int:
    return getattr(event, "step", 0)


def without_replaced(received: Iterable[Event]) -> list[object]:
    """Return the events in a form that compares, without checkpoints that a later one in the same slice replaces."""
    return comparable_events(event for event in received if not isinstance(event, Checkpoint) or event.is_snapshot)


def test_an_order_survives_its_way_as_bytes(tmp_path: Path) -> None:
    for order in (
        Order(short_config(replicas=2), text="naïve \ud800".encode("utf-8", "ignore").decode()),
        Order(branch_from(short_config(), 3, {})),
        order_to_resume(short_config(replicas=2), tmp_path, 3),
    ):
        again = decode_order(encode_order(order))
        assert (again.config, again.step, again.text) == (order.config, order.step, order.text)
        assert bool(again.snapshot) == bool(order.snapshot) and encode_order(again) == encode_order(order)


@pytest.mark.parametrize("step", [None, 0, 20])
def test_an_order_trains_from_its_checkpoint(step: int | None, tmp_path: Path) -> None:
    config = short_config("gru", replicas=2)
    received = events(Order(config) if step is None else order_to_resume(config, tmp_path, step))
    assert isinstance(received[0], Started)
    expected = [event for event in full_training(config) if step is None or step_of(event) > step]
    assert without_replaced(received) == without_replaced(expected)


def test_an_order_for_a_branch_trains_from_its_parent_and_an_impossible_one_is_rejected(tmp_path: Path) -> None:
    parent = short_config(replicas=2)
    store.write_run(record_run(parent), tmp_path)
    branch = branch_from(parent, 10, {"order": 1})
    expected = list(train(branch, checkpoints(full_training(parent))[10]))
    order = Order(branch, 10, store.load(tmp_path).checkpoint(10))
    assert without_replaced(events(order)) == without_replaced(expected)
    for impossible in (replace(order, config=short_config("gru")), Order(branch)):
        with pytest.raises(InvalidSetting) as raised:
            events(impossible)
        assert "\n" not in str(raised.value)


def consume_together(consume: Callable[[InProcessExecutor, Any], Awaitable[None]], trainings: Iterable[object]) -> None:
    async def together() -> None:
        executor = InProcessExecutor()
        await asyncio.gather(*(consume(executor, each) for each in trainings))

    asyncio.run(together())


def test_alternating_trainings_keep_their_own_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "SLICE_SECONDS", 0.0)  # every event ends a slice
    configs = [short_config("bag_of_words", threads=threads, epochs=2) for threads in (1, 2, 3)]
    received: dict[RunConfig, list[tuple[Event, int]]] = {config: [] for config in configs}

    async def consume(executor: InProcessExecutor, config: RunConfig) -> None:
        async for part in executor.slices(Order(config)):
            received[config] += [(event, torch.get_num_threads()) for event, _ in part.events]

    consume_together(consume, configs)
    for config in configs:  # Started and Checkpoint only copy
        computed = {threads for event, threads in received[config] if isinstance(event, Step | Evaluation)}
        assert computed == {config.threads}
        assert comparable_events(event for event, _ in received[config]) == comparable_events(full_training(config))


def test_trainings_in_this_process_get_the_same_share_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {0: 1.0, 1: 10.0, 2: 100.0}  # seconds of one slice of each training

    def slices(order: Order, slice_seconds: float) -> Iterator[Slice]:
        for i in range(1_000):
            yield Slice((), (i + 1) * costs[order.config.seed])

    monkeypatch.setattr(executor_module, "carry_out", slices)
    used = dict.fromkeys(costs, 0.0)

    async def consume(executor: InProcessExecutor, seed: int) -> None:
        async for part in executor.slices(Order(short_config(seed=seed))):
            used[seed] = part.seconds
            if sum(used.values()) > 3_000:
                return

    consume_together(consume, costs)
    assert max(used.values()) - min(used.values()) <= 2 * max(costs.values()), used


def test_closing_the_iterator_stops_the_training() -> None:
    async def some() -> int:
        stream = InProcessExecutor().slices(Order(short_config(epochs=2_000)))
        parts = [await anext(stream) for _ in range(5)]
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return sum(isinstance(event, Step) for part in parts for event, _ in part.events)

    assert asyncio.run(some()) > 3


def test_a_worker_process_sends_the_same_events(processes: ProcessExecutor, tmp_path: Path) -> None:
    config = short_config("lstm", replicas=2, threads=2)
    assert without_replaced(events(Order(config), processes)) == without_replaced(full_training(config))
    again = events(order_to_resume(config, tmp_path, 10), processes)
    assert without_replaced(again) == without_replaced(event for event in full_training(config) if step_of(event) > 10)


def test_the_text_of_a_visitor_and_the_problems_of_a_worker_process_travel_as_they_are(
    processes: ProcessExecutor, tmp_path: Path
) -> None:
    text = "to be or not to be, that is the question. " * 40
    config = short_text("gru", corpus="own", size=100_000, text=hashlib.sha256(text.encode()).hexdigest())
    started = events(Order(config, text=text), processes)[0]
    assert isinstance(started, Started) and "q" in started.tokenizer
    with pytest.raises(NeedsText):
        events(Order(config), processes)
    with pytest.raises(InvalidSetting, match="does not fit"):
        events(replace(order_to_resume(short_config(), tmp_path, 3), config=short_config("gru")), processes)
    with pytest.raises(InvalidSetting, match="threads = -1 is not possible"):
        events(Order(replace(short_config(), threads=-1)), processes)
    with pytest.raises(TrainingFailed, match="Traceback"):
        events(Order(short_config(), text=cast(str, 3)), processes)


def test_a_worker_process_that_needs_too_much_memory_says_so(processes: ProcessExecutor) -> None:
    with pytest.raises(LimitExceeded, match="fewer seeds"):
        events(Order(short_config("transformer", width=128, hidden=512, layers=8, replicas=32)), processes)
    assert isinstance(events(Order(short_config()), processes)[0], Started), "another training is not disturbed"


def test_killed_processes_are_reported_as_lost_and_the_next_order_is_carried_out(processes: ProcessExecutor) -> None:
    async def train_and_kill() -> None:
        async for part in processes.slices(Order(short_config(epochs=2_000))):
            if part.events:
                helper_of(processes).children()[0].kill()

    with pytest.raises(WorkerLost):
        asyncio.run(train_and_kill())
    assert isinstance(events(Order(short_config()), processes)[0], Started)
    helper_of(processes).kill()
    assert isinstance(events(Order(short_config()), processes)[0], Started)


def helper_of(processes: ProcessExecutor) -> psutil.Process:
    assert processes._helper
    return psutil.Process(processes._helper.pid)


def test_closing_the_iterator_ends_the_worker_process(processes: ProcessExecutor) -> None:
    async def begin() -> None:
        async with aclosing(processes.slices(Order(short_config(epochs=2_000)))) as slices:  # type: ignore[type-var]
            async for part in slices:
                if part.events:
                    return

    asyncio.run(begin())
    while helper_of(processes).children():
        time.sleep(0.005)
