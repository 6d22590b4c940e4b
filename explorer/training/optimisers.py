"""Optimisers other than Adam, and the optimiser of a run with its schedule, clipping and weight averaging.

    SGD       m <- mu m + g,                      w <- w - lr m                        (Polyak 1964)
    RMSProp   v <- b2 v + (1 - b2) g^2,           w <- w - lr g / (sqrt(v) + eps)      (Hinton 2012, lecture 6e)
    Muon      M <- mu M + (1 - mu) G,             W <- W - lr sqrt(max(1, rows / columns)) orthogonal(...)
              for every matrix between embedding and readout (Jordan et al. 2024); Adam for the rest

All parameters lie in one vector (`adam.FlatParameters`), or in two under Muon: the hidden matrices, and the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.training.adam import Adam, FlatParameters
from explorer.training.config import Optimiser

_SERIAL = 32_767  # numbers that PyTorch adds up on one thread; with more, the order depends on the number of threads


class SGD(FlatParameters):
    """Gradient descent, with or without momentum."""

    buffers = ("direction",)
    direction: Tensor

    def __init__(
        self, parameters: Iterable[nn.Parameter], learning_rate: float, momentum: float = 0.0, decay: float = 0.0
    ) -> None:
        super().__init__(parameters)
        self.learning_rate, self.momentum, self.decay = learning_rate, momentum, decay

    def step(self) -> None:
        self.weights.mul_(1 - self.learning_rate * self.decay)
        self.direction.mul_(self.momentum).add_(self.gradient)
        self.weights.sub_(self.direction, alpha=self.learning_rate)


class RMSProp(FlatParameters):
    """The gradient divided by the root of its mean square."""

    buffers = ("square",)
    square: Tensor

    def __init__(
        self, parameters: Iterable[nn.Parameter], learning_rate: float, beta2: float = 0.99, decay: float = 0.0
    ) -> None:
        super().__init__(parameters)
        self.learning_rate, self.beta2, self.decay = learning_rate, beta2, decay

    def step(self) -> None:
        self.weights.mul_(1 - self.learning_rate * self.decay)
        self.square.mul_(self.beta2).addcmul_(self.gradient, self.gradient, value=1 - self.beta2)
        self.weights.addcdiv_(self.gradient, self.square.sqrt().add_(1e-8), value=-self.learning_rate)


def orthogonalize(g: Float[Tensor, "matrices rows columns"]) -> Float[Tensor, "matrices rows columns"]:
    """Return about U V^T of each G = U S V^T, by five Newton-Schulz steps (Jordan et al. 2024).

        X <- P X  with  P = 3.4445 + A (-4.775 + 2.0315 A)  and  A = X X^T

    All P are polynomials of the first A, so they commute: P A P is the next A, and X is multiplied only once, at the
    end. That halves the work if there are more columns than rows. Singular values above 0.003 of the Frobenius
    norm of G end between 0.68 and 1.21; smaller ones are multiplied by at most 485 and stay smaller. In single
    precision; see `orthogonalize_in_bfloat16`.
    """
    if g.shape[-2] > g.shape[-1]:
        return orthogonalize(g.mT).mT
    x: Tensor = g / g.norm(dim=2, keepdim=True).norm(dim=1, keepdim=True).clamp_min(1e-7)
    a = x @ x.mT
    product = None
    for step in range(5):
        p = torch.baddbmm(a, a, a, beta=-4.775, alpha=2.0315)
        p.diagonal(dim1=-2, dim2=-1).add_(3.4445)
        product = p if product is None else p @ product
        if step < 4:
            a = p @ a @ p
    assert product is not None
    return product @ x


def orthogonalize_in_bfloat16(g: Float[Tensor, "matrices rows columns"]) -> Float[Tensor, "matrices rows columns"]:
    """Return the same as `orthogonalize`, with products of 16-bit numbers.

    X is multiplied in every step, as in Jordan et al. (2024), because the product of all P would be too inexact.
    """
    if g.shape[-2] > g.shape[-1]:
        return orthogonalize_in_bfloat16(g.mT).mT
    x: Tensor = (g / g.norm(dim=2, keepdim=True).norm(dim=1, keepdim=True).clamp_min(1e-7)).bfloat16()
    for _ in range(5):
        a = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(a, a, a, beta=-4.775, alpha=2.0315), x, beta=3.4445)
    return x.float()


class Muon(FlatParameters):
    """Momentum whose update of every matrix is orthogonalized, so that its larger singular values are about 1."""

    buffers = ("direction",)
    direction: Tensor

    def __init__(
        self,
        named: Sequence[tuple[str, nn.Parameter]],
        learning_rate: float,
        momentum: float = 0.95,
        decay: float = 0.0,
        bfloat16: bool = False,  # whether products have 16-bit factors
    ) -> None:
        super().__init__(p for _, p in named)
        self._orthogonalize = orthogonalize_in_bfloat16 if bfloat16 else orthogonalize
        self.learning_rate, self.momentum, self.decay = learning_rate, momentum, decay
        self._update = torch.zeros_like(self.weights)
        parts = torch.split(self._update, [p.numel() for _, p in named])
        # Matrices of one shape are orthogonalized together. Queries, keys and values share one matrix but are three.
        self._by_shape: dict[tuple[int, int], list[Tensor]] = {}
        for (name, p), part in zip(named, parts, strict=True):
            rows, columns = p.shape[-2:]
            if name.endswith("project.weight"):
                rows //= 3
            self._by_shape.setdefault((rows, columns), []).append(part.view(-1, rows, columns))

    def step(self) -> None:
        self.direction.lerp_(self.gradient, 1 - self.momentum)
        torch.lerp(self.gradient, self.direction, self.momentum, out=self._update)  # Nesterov momentum
        for (rows, columns), parts in self._by_shape.items():
            updates = self._orthogonalize(torch.cat(parts)).mul_(max(1.0, rows / columns) ** 0.5)
            for part, new in zip(parts, torch.split(updates, [len(part) for part in parts]), strict=True):
                part.copy_(new)
        self.weights.mul_(1 - self.learning_rate * self.decay)
        self.weights.sub_(self._update, alpha=self.learning_rate)


class ReplicaOptimizer:
    """The optimiser of one run: method, schedule, clipping and, if `average` is set, a running mean of the weights."""

    def __init__(
        self, model: nn.Module, settings: Optimiser, replicas: int, average: float = 0.0, bfloat16: bool = False
    ) -> None:
        self.settings, self.replicas, self.average = settings, replicas, average
        named = list(model.named_parameters())
        self._parameters = [p for _, p in named]
        rate, decay, betas = settings.learning_rate, settings.weight_decay, (0.9, settings.beta2)
        self._methods: dict[str, Adam | SGD | RMSProp | Muon]
        if settings.method == "muon":
            inner = [(name, p) for name, p in named if _is_hidden_matrix(name, p, replicas)]
            rest = [p for name, p in named if not _is_hidden_matrix(name, p, replicas)]
            self._methods = {"": Adam(rest, rate, betas, decay=settings.rest_decay)}
            if inner:
                self._methods["muon."] = Muon(inner, settings.matrix_rate, settings.momentum, decay, bfloat16)
        elif settings.method == "sgd":
            self._methods = {"": SGD(self._parameters, rate, settings.momentum, decay)}
        elif settings.method == "rmsprop":
            self._methods = {"": RMSProp(self._parameters, rate, settings.beta2, decay)}
        else:
            self._methods = {"": Adam(self._parameters, rate, betas, decay=decay)}
        self._rates = {name: method.learning_rate for name, method in self._methods.items()}
        self._means = [each.weights.clone() for each in self._methods.values()] if average else []

    def zero_grad(self) -> None:
        for method in self._methods.values():
            method.zero_grad()

    def gradient_norm(self) -> Float[Tensor, " replicas"]:
        """Return the norm of each replica's gradient, over all its parameters."""
        if self.replicas == 1:
            parts = (part for method in self._methods.values() for part in torch.split(method.gradient, _SERIAL))
            whole: Tensor = torch.stack([part.norm() for part in parts]).norm()
            return whole[None]
        gradients = (p.grad.flatten(1) for p in self._parameters if p.grad is not None)
        squares: Tensor = torch.stack([g.square().sum(dim=1) for g in gradients]).sum(dim=0)
        return squares.sqrt()

    def step(self, step: int, steps: int, norm: Float[Tensor, " replicas"] | None = None) -> None:
        """Take step `step` of `steps`, from 1 on, with a clipped gradient; `norm`: if it has been computed."""
        if self.settings.clip:
            self._clip((self.settings.clip / (self.gradient_norm() if norm is None else norm)).clamp_max(1.0))
        factor = self.settings.schedule_factor(step, steps)
        for name, method in self._methods.items():
            method.learning_rate = self._rates[name] * factor
            method.step()
        if self._means:
            # A short history gets a lower decay, so that the initial weights are forgotten.
            keep = min(self.average, step / (step + 9))
            torch._foreach_lerp_(self._means, [method.weights for method in self._methods.values()], 1 - keep)

    def _clip(self, share: Float[Tensor, " replicas"]) -> None:
        if self.replicas == 1:
            for method in self._methods.values():
                method.gradient.mul_(share)
            return
        for p in self._parameters:
            if p.grad is not None:
                p.grad.mul_(share.view(-1, *[1] * (p.dim() - 1)))

    def is_finite(self) -> bool:
        """Whether all weights are finite."""
        return all(bool(method.weights.isfinite().all()) for method in self._methods.values())

    def swap_averaged_weights(self) -> None:
        """Exchange the weights and their running mean, which is evaluated and saved; call again to undo."""
        for method, mean in zip(self._methods.values(), self._means, strict=False):
            current = method.weights.clone()
            method.weights.copy_(mean)
            mean.copy_(current)

    def state(self) -> dict[str, Tensor]:
        """Return everything that resuming needs beside the saved model."""
        state = {name + key: value for name, method in self._methods.items() for key, value in method.state().items()}
        if self._means:
            state |= {f"{name}weights": method.weights.clone() for name, method in self._methods.items()}
        return state

    def restore(self, state: Mapping[str, Tensor], steps: int) -> None:
        """Continue from what `state` returned after so many steps; the model already has the saved weights."""
        for index, (name, method) in enumerate(self._methods.items()):
            method.restore({key: state[name + key] for key in method.state()}, steps)
            if self._means:
                self._means[index].copy_(method.weights)
                method.weights.copy_(state[f"{name}weights"])


def _is_hidden_matrix(name: str, parameter: nn.Parameter, replicas: int) -> bool:
    """Whether a parameter is a matrix between embedding and readout, which Muon is for."""
    outer = {"embedding", "position", "readout"}
    return parameter.dim() - (replicas > 1) == 2 and outer.isdisjoint(name.split("."))
