"""The device on which a training computes: the processor, or a GPU if LINEAGE_DEVICE names one.

Random numbers are drawn on the processor and moved, so that initial weights, batches and dropout are the same on every
device. Events, snapshots and checkpoints are on the processor too: only a training needs the device.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from explorer.environment import environment
from explorer.errors import InvalidSetting

Batch = TypeVar("Batch")
Model = TypeVar("Model", bound=nn.Module)


def training_device() -> torch.device:
    """Return the device that LINEAGE_DEVICE names. Raises InvalidSetting if this machine does not have it."""
    name = environment().device
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if _has_mps() else "cpu")
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not count:
            raise _missing(name, "PyTorch finds no GPU with CUDA on the machine that trains")
        if device.index is not None and device.index >= count:
            raise _missing(name, f"the machine that trains has the GPUs cuda:0 to cuda:{count - 1}")
    elif device.type == "mps" and not _has_mps():
        raise _missing(name, "the machine that trains has no GPU of an Apple processor")
    return device


def _has_mps() -> bool:
    return torch.backends.mps.is_available()


def _missing(name: str, why: str) -> InvalidSetting:
    return InvalidSetting(f"LINEAGE_DEVICE = {name} is not possible: {why}. Set it to auto or cpu.")


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model's parameters. A model without any (n-gram) is counted on the processor."""
    parameter = next(model.parameters(), None)
    return torch.device("cpu") if parameter is None else parameter.device


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """Return a tensor, or a batch (a named tuple), with all tensors on a device."""
    if device.type == "cpu":  # batches are made there
        return batch
    moved: Any = batch
    if isinstance(moved, Tensor):
        moved = moved.to(device)
    elif isinstance(moved, tuple):
        moved = type(moved)(*(move_batch(part, device) for part in moved))
    return moved


def place_model(model: Model, device: torch.device) -> Model:
    """Move a model to a device, in place, and return it. One without parameters is counted on the processor."""
    has_parameters = next(model.parameters(), None) is not None
    return model.to(device) if has_parameters else model


def on_processor(model: Model) -> Model:
    """Return a model whose weights are on the processor: itself, or a copy. Short evaluations and samples need one."""
    return model if device_of(model).type == "cpu" else copy.deepcopy(model).to("cpu")
