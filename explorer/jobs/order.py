"""An order: a training that an executor carries out, and its form as bytes for a worker process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numpy import ndarray
from safetensors.numpy import load, save

from explorer.errors import LimitExceeded
from explorer.training import recorder, slices, train
from explorer.training.config import RunConfig, parse_config, to_json
from explorer.training.record import Snapshot
from explorer.training.slices import in_slices


@dataclass(frozen=True)
class Order:
    """A training for an executor. It contains everything that the training needs, so no disk has to be shared."""

    config: RunConfig
    step: int = 0  # to resume from
    snapshot: Snapshot | None = None  # the weights and optimizer state there; for a branch those of its parent
    text: str = ""  # the visitor's own text, if the training reads one


def carry_out(order: Order, slice_seconds: float) -> Iterator[slices.Slice]:
    """Carry out an order in this thread. Raises LineageError if it is impossible or needs too much memory."""
    checkpoint = recorder.as_checkpoint(order.step, order.snapshot) if order.snapshot else None
    try:
        yield from in_slices(train.train(order.config, checkpoint), slice_seconds)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or re.search("allocate memory|out of memory", str(error)):  # of torch
            raise LimitExceeded(
                "The training needs more memory than this server gives to one training. Take fewer seeds, smaller "
                "batches or a smaller model."
            ) from error
        raise


def encode_order(order: Order) -> bytes:
    """Return an order as bytes."""
    arrays: dict[str, ndarray] = {}
    if order.snapshot:
        arrays |= with_prefix("weights.", order.snapshot.weights)
        arrays |= with_prefix("optimiser.", order.snapshot.optimiser or {})
    header = {"config": to_json(order.config), "step": order.step, "text": order.text, "resumes": bool(order.snapshot)}
    return encode(header, arrays)


def decode_order(content: bytes) -> Order:
    """Return the order in these bytes. Raises InvalidSetting for an impossible configuration."""
    header, arrays = decode(content)
    snapshot = Snapshot(of_prefix("weights.", arrays), of_prefix("optimiser.", arrays)) if header["resumes"] else None
    return Order(parse_config(header["config"]), header["step"], snapshot, header["text"])


def encode(header: Mapping[str, object], arrays: Mapping[str, ndarray]) -> bytes:
    """Return JSON data and arrays as one message: the length of the JSON text in 8 bytes, this text, safetensors."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + save(dict(arrays))


def decode(content: bytes) -> tuple[dict[str, Any], dict[str, ndarray]]:
    """Return the JSON data and the arrays of a message."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), load(content[end:])


def with_prefix(prefix: str, arrays: Mapping[str, ndarray]) -> dict[str, ndarray]:
    """Return arrays by names that begin with a prefix."""
    return {prefix + name: value for name, value in arrays.items()}


def of_prefix(prefix: str, arrays: Mapping[str, ndarray]) -> dict[str, ndarray]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
