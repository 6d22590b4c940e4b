"""Taps: named points inside a model whose values can be recorded (`record`) or replaced (`intervene`).

A tap is a small module without parameters, so printing a model shows it, and its name is its path in the model
(`blocks.0.attention.weights`). These names are part of the file format. The listeners are in a context variable and not
on the module, because all threads of the server share one model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

Listener = Callable[["Tap", Tensor], Tensor]
Intervention = Tensor | Callable[[Tensor, int], Tensor]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


class Tap(nn.Module):
    """An identity module that passes its value to the listeners of this context. It is called once per forward pass."""

    def __call__(self, value: Tensor) -> Tensor:
        # Overrides __call__ and not forward(), because the overhead of nn.Module.__call__ exceeds that of the tap.
        for listener in _listeners.get():
            value = listener(self, value)
        return value


class StepTap(Tap):
    """A tap inside a loop over time, called once per step. Its recording has a `time` axis before the last axis."""


def is_observed() -> bool:
    """Return whether this context has a listener. If so, models compute step by step; otherwise by fused operations."""
    return bool(_listeners.get())


def tap_names(model: nn.Module) -> dict[Tap, str]:
    """Return all taps of a model with their dotted names."""
    return {module: name for name, module in model.named_modules() if isinstance(module, Tap)}


class Trace(Mapping[str, Tensor]):
    """The values recorded at the taps in one forward pass, by tap name. The tensors are not detached from the graph."""

    def __init__(self) -> None:
        self._values: dict[str, Tensor | list[Tensor]] = {}

    def add(self, name: str, tap: Tap, value: Tensor) -> None:
        if isinstance(tap, StepTap):
            steps = self._values.setdefault(name, [])
            assert isinstance(steps, list)
            steps.append(value)
        elif name in self._values:
            raise RuntimeError(f"{name} was hit twice: record one forward at a time")
        else:
            self._values[name] = value

    def __getitem__(self, name: str) -> Tensor:
        value = self._values[name]
        return torch.stack(value, dim=-2) if isinstance(value, list) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@contextmanager
def _listening(listener: Listener) -> Iterator[None]:
    """Add a listener inside the block. Listeners are called in the order in which their blocks were entered."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def record(model: nn.Module) -> Iterator[Trace]:
    """Record all taps in one forward pass inside the block, in memory. Raises RuntimeError in a second one."""
    names = tap_names(model)
    trace = Trace()

    def keep(tap: Tap, value: Tensor) -> Tensor:
        if tap in names:
            trace.add(names[tap], tap, value)
        return value

    with _listening(keep):
        yield trace


@contextmanager
def intervene(model: nn.Module, changes: Mapping[str, Intervention]) -> Iterator[None]:
    """Replace values at taps of `model` inside the block.

    A change is a tensor of the shape of the value, or a function of (value, step), where `step` counts the calls of
    that tap from 0. Raises KeyError for an unknown tap name, and ValueError in the forward pass for a wrong shape.
    """
    names = tap_names(model)
    unknown = set(changes) - set(names.values())
    if unknown:
        raise KeyError(f"no tap named {sorted(unknown)}; this model has {sorted(names.values())}")
    hits: dict[Tap, int] = {}

    def replace(tap: Tap, value: Tensor) -> Tensor:
        name = names.get(tap)
        if name is None or name not in changes:
            return value
        step = hits[tap] = hits.get(tap, -1) + 1
        change = changes[name]
        new = change if isinstance(change, Tensor) else change(value, step)
        if new.shape != value.shape:
            raise ValueError(f"{name} has shape {tuple(value.shape)}, its replacement {tuple(new.shape)}")
        return new

    with _listening(replace):
        yield
