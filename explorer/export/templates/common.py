"""What every exported file has: its settings, the file of weights and examples beside it, and the steps of a training.

`python_file.py` replaces its first definitions by those of a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from explorer.seeds import generator

# Functions and the class of the model, which `python_file.py` chooses for a run.
Network: Any = None
make_optimizers: Any = None
make_tokenizer: Any = None
batch_losses: Any = None
train_model: Any = None
answer_text: Any = None
# Settings of a run.
FILE = Path(__file__).with_suffix(".safetensors")  # the weights of the run and its examples
SEEDS = [0]
SIZES = [0]
COMMAND = "predict"
OPTIONS: dict[str, float] = {}
MODEL: Any = SimpleNamespace()
TRAINING: Any = SimpleNamespace()


@cache
def stored() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors of the file beside this one, and its vocabularies and other facts."""
    with safe_open(FILE, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["facts"])  # noqa: SIM118


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    return Network(MODEL, *SIZES, generator(seed, "start"))


def load_models(file: Path = FILE) -> list[nn.Module]:
    """Return the trained model of each seed: those of the run, or that of a file which `train` wrote."""
    with safe_open(file, "pt") as found:
        weights = {name[8:]: found.get_tensor(name) for name in found.keys() if name.startswith("weights.")}  # noqa: SIM118
    if not weights:
        raise SystemExit("Train the model first, and give the file that train writes with --weights.")
    models = []
    for i in range(len(next(iter(weights.values())))):
        model = build_model(SEEDS[0])
        model.load_state_dict({name: value[i] for name, value in weights.items()})
        models.append(model.eval())
    return models


def batches() -> Iterator[dict[str, Tensor]]:
    """Yield the examples of each step: those of the first seed of the run, and after the last stored step again."""
    data = {name[5:]: value for name, value in stored()[0].items() if name.startswith("data.")}
    if not data:
        raise SystemExit("The training text of this run was not on the machine that made this file: no training.")
    for step in range(TRAINING.steps):
        batch = {name: value[step % len(value)] for name, value in data.items()}
        yield {name: value if value.dtype == torch.bool else value.long() for name, value in batch.items()}


def schedule(step: int) -> float:
    """Return the factor of the learning rate in a step, counted from 1."""
    left = 1 - (step - 1) / TRAINING.steps
    shape = {"constant": 1.0, "linear": left, "cosine": (1 - math.cos(math.pi * left)) / 2}[TRAINING.schedule]
    return float((TRAINING.end + (1 - TRAINING.end) * shape) * min(1.0, step / (TRAINING.warmup + 1)))


def in_bfloat16(losses: Iterator[Tensor]) -> Iterator[Tensor]:
    """Yield losses, computed with matrix products of 16-bit numbers."""
    while True:
        with torch.autocast("cpu", torch.bfloat16):
            loss = next(losses, None)
        if loss is None:
            return
        yield loss


def train_steps(model: nn.Module, losses: Iterator[Tensor]) -> Iterator[float]:
    """Take an optimizer step for the loss of each batch; yields the losses."""
    parameters = list(model.parameters())
    optimizers = make_optimizers(model, TRAINING)
    if TRAINING.average:
        means = [p.detach().clone() for p in parameters]
    if TRAINING.precision == "bfloat16":
        losses = in_bfloat16(losses)
    for step, loss in enumerate(losses, start=1):
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if TRAINING.clip:
            nn.utils.clip_grad_norm_(parameters, TRAINING.clip)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * schedule(step)
                for p in group["params"]:
                    p.data.mul_(1 - group["lr"] * group["decay"])
            optimizer.step()
        if TRAINING.average:
            for mean, p in zip(means, parameters, strict=True):
                mean.lerp_(p.detach(), 1 - min(TRAINING.average, step / (step + 9)))
        yield loss.item()
    if TRAINING.average:
        for mean, p in zip(means, parameters, strict=True):
            p.data.copy_(mean)


def ids_of(symbols: str | list[str], vocabulary: list[str]) -> list[int]:
    """Return the ids of some symbols, or end the program if one of them is not in the vocabulary."""
    unknown = [symbol for symbol in symbols if symbol not in vocabulary]
    if unknown or not symbols:
        raise SystemExit(f"The model knows {' '.join(vocabulary)}, and not {' '.join(unknown) or 'an empty text'}.")
    return [vocabulary.index(symbol) for symbol in symbols]


def describe(names: list[str], probabilities: Tensor) -> str:
    """Return a line for each outcome, the most probable first."""
    ranked = sorted(zip(probabilities.tolist(), names, strict=True), key=lambda each: -each[0])
    return "\n".join(f"{probability:.4f}  {name}" for probability, name in ranked)
