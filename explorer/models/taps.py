"""Taps: named places inside a model where one may look (`record`) or reach in (`intervene`).

A tap is a tiny module, so it shows when a model is printed and has its name by its place
(`blocks.0.attention.weights`). These names are part of the file format. Who listens is kept in a
context variable, never on the module: one model serves every visitor of the server, and two who
look at it at the same moment never meet.
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
    """Hands its value on unchanged, unless somebody in this context listens. Hit once in a forward."""

    def __call__(self, value: Tensor) -> Tensor:
        # Called directly: nn.Module's own way to forward() costs more than everything a tap does.
        for listener in _listeners.get():
            value = listener(self, value)
        return value


class StepTap(Tap):
    """A tap inside a loop over time: its recording gets a `time` axis before the last one."""


def watched() -> bool:
    """Whether anybody listens here: then a model takes the explicit path, otherwise the fused one."""
    return bool(_listeners.get())


def tap_names(model: nn.Module) -> dict[Tap, str]:
    """Every tap of a model with its dotted name."""
    return {module: name for name, module in model.named_modules() if isinstance(module, Tap)}


class Trace(Mapping[str, Tensor]):
    """What the taps of one forward saw, by name. The tensors still hang on the graph."""

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
    """Listeners act in the order in which their blocks were entered."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def record(model: nn.Module) -> Iterator[Trace]:
    """Keep every tapped value of one forward of `model` inside the block.

    Costs the memory of all its activations for as long as the trace lives.
    """
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
    """Replace tapped values of `model` inside the block.

    A change is a tensor of the value's shape, or a function of (value, step), where step counts
    the hits of that tap from 0. Raises KeyError for a name that the model does not have.
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
