"""A training as an order in JSON, and the events that come back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import torch

from explorer.errors import DamagedRun, InvalidSetting, LineageError, UnknownRun
from explorer.training import store
from explorer.training.config import RunConfig, branched, to_json
from explorer.training.events import Event, Started, Step
from explorer.training.executor import Executor, InThisProcess, order
from explorer.training.recorder import Recorder, record_run
from explorer.training.train import train
from tests.training.alike import broken_off, checkpoints, short, told, whole


def events(text: str) -> list[Event]:
    async def collect() -> list[Event]:
        return [event async for event in InThisProcess().events(text)]

    return asyncio.run(collect())


def kept(config: RunConfig, folder: Path, step: int) -> Path:
    store.write(broken_off(Recorder(config), train(config), step), folder)
    return folder


def test_an_order_is_json(tmp_path: Path) -> None:
    config = short(replicas=2)
    assert json.loads(order(config)) == {"config": to_json(config), "resume": None}
    assert json.loads(order(branched(config, 3, {}), tmp_path, 3)) == {
        "config": to_json(branched(config, 3, {})),
        "resume": {"folder": str(tmp_path), "step": 3},
    }


def test_the_one_of_this_process_is_an_executor() -> None:
    assert isinstance(InThisProcess(), Executor)


def test_a_fresh_order_is_trained_from_its_start() -> None:
    config = short("gru", replicas=2)
    found = events(order(config))
    assert isinstance(found[0], Started)
    assert told(found) == told(whole(config))


@pytest.mark.parametrize("step", [0, 10, 20])
def test_an_order_to_go_on_is_trained_from_its_checkpoint(step: int, tmp_path: Path) -> None:
    config = short(replicas=2)
    assert told(events(order(config, kept(config, tmp_path, step), step))) == told(whole(config), after=step)


def test_an_order_for_a_branch_is_trained_from_its_parent(tmp_path: Path) -> None:
    parent = short(replicas=2)
    store.write(record_run(parent), tmp_path)
    branch = branched(parent, 10, {"order": 1})
    expected = list(train(branch, checkpoints(whole(parent))[10]))
    assert told(events(order(branch, tmp_path, 10))) == told(expected)


def test_an_order_that_cannot_be_carried_out_is_refused_in_a_sentence(tmp_path: Path) -> None:
    config = short()
    folder = kept(config, tmp_path / "kept", 3)
    refused: list[tuple[str, type[LineageError]]] = [
        (order(config, tmp_path / "nothing", 3), UnknownRun),
        (order(config, folder, 2), DamagedRun),
        (order(short("gru"), folder, 3), InvalidSetting),
        (order(branched(config, 3, {})), InvalidSetting),
        (json.dumps({"config": {}, "resume": None}), InvalidSetting),
    ]
    for text, error in refused:
        with pytest.raises(error) as raised:
            events(text)
        assert "\n" not in str(raised.value)


def test_trainings_that_take_turns_keep_their_own_number_of_threads() -> None:
    configs = [short("bag_of_words", threads=threads, epochs=2) for threads in (1, 2, 3)]

    async def in_turns() -> list[list[tuple[Event, int]]]:
        streams = [InThisProcess().events(order(config)) for config in configs]
        found: list[list[tuple[Event, int]]] = [[] for _ in configs]
        going = dict(enumerate(streams))
        while going:
            for index, stream in list(going.items()):
                try:
                    found[index].append((await anext(stream), torch.get_num_threads()))
                except StopAsyncIteration:
                    del going[index]
        return found

    for config, found in zip(configs, asyncio.run(in_turns()), strict=True):
        assert {threads for _, threads in found} == {config.threads}
        assert told(event for event, _ in found) == told(whole(config))


def test_closing_the_stream_stops_the_training() -> None:
    async def some() -> int:
        stream = InThisProcess().events(order(short(epochs=2_000)))
        seen = [await anext(stream) for _ in range(12)]
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return sum(isinstance(event, Step) for event in seen)

    assert asyncio.run(some()) > 3
