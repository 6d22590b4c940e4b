"""The optimizers of an exported file, one function for each method; `common.py` sets rates and decays the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from explorer.training.optimisers import orthogonalize


def group_of(model: nn.Module, settings: Any) -> list[dict[str, Any]]:
    """Return the parameters of a model as one group."""
    return [{"params": list(model.parameters()), "rate": settings.learning_rate, "decay": settings.weight_decay}]


def adam(model: nn.Module, settings: Any) -> list[torch.optim.Optimizer]:
    """Return Adam (Kingma & Ba 2015); with weight decay it is AdamW."""
    return [torch.optim.Adam(group_of(model, settings), settings.learning_rate, (0.9, settings.beta2))]


def sgd(model: nn.Module, settings: Any) -> list[torch.optim.Optimizer]:
    """Return gradient descent with momentum."""
    return [torch.optim.SGD(group_of(model, settings), settings.learning_rate, settings.momentum)]


def rmsprop(model: nn.Module, settings: Any) -> list[torch.optim.Optimizer]:
    """Return RMSProp (Hinton 2012)."""
    return [torch.optim.RMSprop(group_of(model, settings), settings.learning_rate, settings.beta2)]


class Muon(torch.optim.Optimizer):
    """Momentum whose update of every matrix is orthogonalized (Jordan et al. 2024)."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p, parts in zip(group["params"], group["parts"], strict=True):
                direction = self.state[p].setdefault("direction", torch.zeros_like(p))
                direction.lerp_(p.grad, 1 - group["momentum"])
                update: Tensor = torch.lerp(p.grad, direction, group["momentum"])  # Nesterov momentum
                rows, columns = len(p) // parts, p.shape[1]
                update = orthogonalize(update.view(parts, rows, columns)) * max(1.0, rows / columns) ** 0.5
                p.sub_(update.view(p.shape), alpha=group["lr"])


def muon(model: nn.Module, settings: Any) -> list[torch.optim.Optimizer]:
    """Return Muon for every matrix between embedding and readout, and Adam for the rest."""
    named = list(model.named_parameters())
    inner = [n for n, p in named if p.dim() == 2 and {"embedding", "position", "readout"}.isdisjoint(n.split("."))]
    others = [p for n, p in named if n not in inner]
    rest = {"params": others, "rate": settings.learning_rate, "decay": settings.rest_decay}
    optimizers: list[torch.optim.Optimizer] = [torch.optim.Adam([rest], settings.learning_rate, (0.9, settings.beta2))]
    if inner:
        matrices = {"params": [p for n, p in named if n in inner], "rate": settings.matrix_rate}
        parts = [3 if n.endswith("project.weight") else 1 for n in inner]  # queries, keys and values
        group = {**matrices, "decay": settings.weight_decay, "parts": parts}
        optimizers.append(Muon([group], {"lr": settings.matrix_rate, "momentum": settings.momentum}))
    return optimizers
