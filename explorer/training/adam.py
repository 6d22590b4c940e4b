"""Adam (Kingma & Ba 2015, algorithm 1) on one vector that holds every parameter.

Our models are so small that a step costs what its calls cost, not what its numbers cost. With all
parameters as views of one vector a step is six operations, however many matrices there are; this is
about a quarter of the time of `torch.optim.Adam(fused=True)` here, with the same result to rounding.
Element by element, so replicas never mix.
"""

from __future__ import annotations

import torch
from torch import nn


class Adam:
    """Moves the parameters of a model into one vector and steps along its gradient."""

    def __init__(
        self, model: nn.Module, learning_rate: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        self.learning_rate = learning_rate
        self.betas = betas
        self.eps = eps
        self.steps = 0
        parameters = list(model.parameters())
        self.weights = torch.cat([p.detach().flatten() for p in parameters])
        self.gradient = torch.zeros_like(self.weights)
        self.mean = torch.zeros_like(self.weights)
        self.square = torch.zeros_like(self.weights)
        sizes = [p.numel() for p in parameters]
        parts = zip(parameters, torch.split(self.weights, sizes), torch.split(self.gradient, sizes), strict=True)
        for parameter, weight, gradient in parts:
            parameter.data = weight.view(parameter.shape)
            parameter.grad = gradient.view(parameter.shape)  # backward adds into it

    def state(self) -> dict[str, torch.Tensor]:
        """The averages, as they stand; with the weights and the step count all it takes to go on."""
        return {"mean": self.mean.clone(), "square": self.square.clone()}

    def restore(self, state: dict[str, torch.Tensor], steps: int) -> None:
        """Go on from averages that `state` gave after so many steps."""
        self.mean.copy_(state["mean"])
        self.square.copy_(state["square"])
        self.steps = steps

    def zero_grad(self) -> None:
        self.gradient.zero_()

    def step(self) -> None:
        """m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2,  w <- w - lr m^ / (sqrt(v^) + eps)."""
        self.steps += 1
        beta1, beta2 = self.betas
        self.mean.lerp_(self.gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(self.gradient, self.gradient, value=1 - beta2)
        # The bias corrections of m^ = m / (1 - b1^t) and v^ = v / (1 - b2^t), moved to the scalars.
        root = (1 - beta2**self.steps) ** 0.5
        size = self.learning_rate * root / (1 - beta1**self.steps)
        self.weights.addcdiv_(self.mean, self.square.sqrt().add_(self.eps * root), value=-size)
