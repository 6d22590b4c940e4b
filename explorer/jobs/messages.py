"""Messages of a worker to the server: JSON data and arrays. On a socket each follows its length in 8 bytes.

hello {pid}                     the worker is ready for its order
slice {seconds, events}         what the training did; see `encode_slice`
end                             the training has reached its end
problem {error, message}        a LineageError of the training
failure {traceback}             any other exception
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy import ndarray

from explorer import errors
from explorer.errors import LineageError
from explorer.jobs.executor import TrainingFailed
from explorer.jobs.order import encode, of_prefix, with_prefix
from explorer.lazy_libraries import torch
from explorer.training import events as event_types
from explorer.training.slices import Slice

Header = Mapping[str, Any]
LENGTH_BYTES = 8
_TENSORS = {"Evaluation": ("answers",), "Checkpoint": ("weights", "optimiser")}  # fields of events that hold tensors


def send(channel: socket.socket, content: bytes) -> None:
    """Send one message. Raises OSError if the other side has ended."""
    channel.sendall(len(content).to_bytes(LENGTH_BYTES, "little"))
    channel.sendall(content)


def receive(channel: socket.socket) -> bytes:
    """Wait for one message and return it; nothing may follow. Raises OSError if the other side has ended."""
    with channel.makefile("rb") as file:
        size = int.from_bytes(file.read(LENGTH_BYTES), "little")
        content = file.read(size)
    if not size or len(content) < size:
        raise ConnectionError("the other side has ended")
    return content


def encode_message(kind: str, **fields: object) -> bytes:
    """Return a message without arrays."""
    return encode({"kind": kind, **fields}, {})


def to_slice(header: Header, arrays: Mapping[str, ndarray]) -> Slice | None:
    """Return the slice of a message, None for `end`. Raises the error of a `problem`, and TrainingFailed."""
    match header["kind"]:
        case "slice":
            return decode_slice(header, arrays)
        case "end":
            return None
        case "problem":
            try:
                error = getattr(errors, header["error"])(header["message"])
            except (AttributeError, TypeError):  # a class whose constructor takes more than a message
                error = LineageError(header["message"])
            raise error
        case _:
            raise TrainingFailed(header["traceback"])


# Slices. The arrays of all steps are stacked; those of the i-th other event have the prefix "i.".


def encode_slice(part: Slice) -> bytes:
    """Return a slice as a message."""
    arrays: dict[str, ndarray] = {}
    others: list[dict[str, object]] = []
    steps: list[tuple[event_types.Step, float]] = []
    order: list[int] = []  # of the events: the index of an event that is no step, or -1 for a step
    for event, seconds in part.events:
        if isinstance(event, event_types.Step):
            steps.append((event, seconds))
            order.append(-1)
            continue
        values = {each.name: getattr(event, each.name) for each in fields(event)}
        for name in _TENSORS.get(type(event).__name__, ()):
            of_event = {key: np.ascontiguousarray(value.numpy()) for key, value in values.pop(name).items()}
            arrays |= with_prefix(f"{len(others)}.{name}.", of_event)
        order.append(len(others))
        others.append({"type": type(event).__name__, "at": seconds, "values": values})
    if steps:
        arrays["steps"] = np.array([step.step for step, _ in steps])
        arrays["seconds"] = np.array([seconds for _, seconds in steps])
        arrays["tokens"] = np.array([step.tokens for step, _ in steps], np.float64)
        arrays["losses"] = np.stack([step.losses.numpy() for step, _ in steps])
        for name in steps[0][0].signals:
            arrays[f"signal.{name}"] = np.stack([step.signals[name].numpy() for step, _ in steps])
    return encode({"kind": "slice", "seconds": part.seconds, "order": order, "events": others}, arrays)


def decode_slice(header: Header, arrays: Mapping[str, ndarray]) -> Slice:
    """Return the slice of a message."""
    events = (_decode_event(each, of_prefix(f"{i}.", arrays)) for i, each in enumerate(header["events"]))
    steps = _decode_steps(arrays)
    ordered = tuple(next(steps) if index < 0 else next(events) for index in header["order"])
    return Slice(ordered, header["seconds"])


def _decode_event(data: Header, arrays: dict[str, ndarray]) -> tuple[Any, float]:
    kind = getattr(event_types, data["type"])
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in data["values"].items()}
    tensors = {name: _to_tensors(of_prefix(f"{name}.", arrays)) for name in _TENSORS.get(data["type"], ())}
    return kind(**values, **tensors), data["at"]


def _decode_steps(arrays: Mapping[str, ndarray]) -> Iterator[tuple[Any, float]]:
    if "steps" not in arrays:
        return
    losses, signals = torch.from_numpy(arrays["losses"]), _to_tensors(of_prefix("signal.", arrays))
    rows = zip(arrays["steps"].tolist(), arrays["tokens"].tolist(), arrays["seconds"].tolist(), strict=True)
    for i, (step, tokens, seconds) in enumerate(rows):
        yield event_types.Step(step, losses[i], tokens, {name: values[i] for name, values in signals.items()}), seconds


def checkpoint_tensors(part: Slice) -> Iterator[torch.Tensor]:
    """Yield the tensors of a slice's checkpoint that is no snapshot, if there is one."""
    for event, _ in part.events:
        if isinstance(event, event_types.Checkpoint) and not event.is_snapshot:
            yield from (*event.weights.values(), *event.optimiser.values())


def without_checkpoint(part: Slice) -> Slice:
    """Return a slice without its checkpoint that is no snapshot."""
    kept = (each for each in part.events if not isinstance(each[0], event_types.Checkpoint) or each[0].is_snapshot)
    return Slice(tuple(kept), part.seconds)


def _to_tensors(arrays: Mapping[str, ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(value) for name, value in arrays.items()}
