"""A training as a request in JSON, and the events that come back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import torch

from explorer.errors import DamagedRun, InvalidSetting, LineageError, UnknownRun
from explorer.jobs.executor import Executor, InProcessExecutor, encode_request
from explorer.run_store import store
from explorer.training.config import RunConfig, branch_from, to_json
from explorer.training.events import Event, Started, Step
from explorer.training.recorder import Recorder, record_run
from explorer.training.train import train
from tests.export.alike import checkpoints, comparable_events, full_training, interrupt_training, short_config


def events(text: str) -> list[Event]:
    async def collect() -> list[Event]:
        return [event async for event in InProcessExecutor().events(text)]

    return asyncio.run(collect())


def write_checkpoint(config: RunConfig, folder: Path, step: int) -> Path:
    store.write_run(interrupt_training(Recorder(config), train(config), step), folder)
    return folder


def test_a_request_is_json(tmp_path: Path) -> None:
    config = short_config(replicas=2)
    assert json.loads(encode_request(config)) == {"config": to_json(config), "resume": None}
    assert json.loads(encode_request(branch_from(config, 3, {}), tmp_path, 3)) == {
        "config": to_json(branch_from(config, 3, {})),
        "resume": {"folder": str(tmp_path), "step": 3},
    }


def test_in_process_executor_follows_the_protocol() -> None:
    assert isinstance(InProcessExecutor(), Executor)


def test_a_new_request_trains_from_step_zero() -> None:
    config = short_config("gru", replicas=2)
    received = events(encode_request(config))
    assert isinstance(received[0], Started)
    assert comparable_events(received) == comparable_events(full_training(config))


@pytest.mark.parametrize("step", [0, 10, 20])
def test_a_request_to_resume_trains_from_its_checkpoint(step: int, tmp_path: Path) -> None:
    config = short_config(replicas=2)
    assert comparable_events(
        events(encode_request(config, write_checkpoint(config, tmp_path, step), step))
    ) == comparable_events(full_training(config), after=step)


def test_a_request_for_a_branch_trains_from_its_parent(tmp_path: Path) -> None:
    parent = short_config(replicas=2)
    store.write_run(record_run(parent), tmp_path)
    branch = branch_from(parent, 10, {"order": 1})
    expected = list(train(branch, checkpoints(full_training(parent))[10]))
    assert comparable_events(events(encode_request(branch, tmp_path, 10))) == comparable_events(expected)


def test_an_impossible_request_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    config = short_config()
    folder = write_checkpoint(config, tmp_path / "kept", 3)
    refused: list[tuple[str, type[LineageError]]] = [
        (encode_request(config, tmp_path / "nothing", 3), UnknownRun),
        (encode_request(config, folder, 2), DamagedRun),
        (encode_request(short_config("gru"), folder, 3), InvalidSetting),
        (encode_request(branch_from(config, 3, {})), InvalidSetting),
        (json.dumps({"config": {}, "resume": None}), InvalidSetting),
    ]
    for text, error in refused:
        with pytest.raises(error) as raised:
            events(text)
        assert "\n" not in str(raised.value)


def test_alternating_trainings_keep_their_own_number_of_threads() -> None:
    configs = [short_config("bag_of_words", threads=threads, epochs=2) for threads in (1, 2, 3)]

    async def in_turns() -> list[list[tuple[Event, int]]]:
        streams = [InProcessExecutor().events(encode_request(config)) for config in configs]
        received: list[list[tuple[Event, int]]] = [[] for _ in configs]
        going = dict(enumerate(streams))
        while going:
            for index, stream in list(going.items()):
                try:
                    received[index].append((await anext(stream), torch.get_num_threads()))
                except StopAsyncIteration:
                    del going[index]
        return received

    for config, received in zip(configs, asyncio.run(in_turns()), strict=True):
        assert {threads for _, threads in received} == {config.threads}
        assert comparable_events(event for event, _ in received) == comparable_events(full_training(config))


def test_closing_the_stream_stops_the_training() -> None:
    async def some() -> int:
        stream = InProcessExecutor().events(encode_request(short_config(epochs=2_000)))
        seen = [await anext(stream) for _ in range(12)]
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return sum(isinstance(event, Step) for event in seen)

    assert asyncio.run(some()) > 3
