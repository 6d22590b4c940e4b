"""The batches of several replicas as one batch, with a leading replica axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from explorer.lazy_libraries import torch

Batch = TypeVar("Batch", bound=tuple[Any, ...])


def stack_replicas(parts: Sequence[Batch], *fills: int) -> Batch:
    """Return named tuples of tensors stacked on a new first axis; a single one stays as it is.

    fills: for each field, what pads its last axis to the longest; by default 0
    """
    if len(parts) == 1:
        return parts[0]
    fields: list[tuple[Any, ...]] = list(zip(*parts, strict=True))
    padding = [*fills, *[0] * (len(fields) - len(fills))]
    stacked = (
        None if each[0] is None else pad_and_stack(each, fill) for each, fill in zip(fields, padding, strict=True)
    )
    made: Any = type(parts[0])
    return made(*stacked)


def pad_and_stack(parts: Sequence[torch.Tensor], fill: int) -> torch.Tensor:
    """Return tensors stacked on a new first axis, each padded on its last axis to the longest."""
    longest = max(part.shape[-1] for part in parts)
    return torch.stack([torch.nn.functional.pad(part, (0, longest - part.shape[-1]), value=fill) for part in parts])
