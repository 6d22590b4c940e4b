"""A copy that needs no looking, and one that does: a small causal Transformer with and without its attention.

Where the token to be written is the one just read, as in the notebook this program grew from, each position can answer
from itself. Where the source comes first, then a separator, then the copy, every token has to come from somewhere else.
Trained here and now, on fresh sequences in every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from explorer.inspection.opening import to_array
from explorer.models.configs import TransformerTextConfig
from explorer.models.layers import stack
from explorer.models.taps import Intervention, intervene, tap_names
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.seeds import generator
from explorer.training.config import Optimiser
from explorer.training.optimisers import Stepper

LENGTH, SYMBOLS = 12, 20  # as in the notebook
SEQUENCES, FRESH = 24, 128  # in a step; in a test
STEPS, SEEDS = 250, 3
ASKED = (0, 5, 10, 20, 35, 50, 75, 100, 125, 150, 175, 200, 225, 250)  # steps
_MODEL = TransformerTextConfig(
    width=32,
    heads=4,
    layers=2,
    hidden=64,
    positions="sinusoidal",
    norm="layer",
    norm_place="post",
    activation="relu",
    biases=True,
    start="usual",
)


@dataclass(frozen=True)
class Copied:
    """The share of tokens that are right on fresh sequences, with attention and without."""

    steps: tuple[int, ...]
    by_looking: Mapping[bool, Float[ndarray, "steps replicas"]]


def copied(separated: bool) -> Copied:
    """Train on the notebook's copy, or on the one after a separator, with its attention and with none."""
    return Copied(ASKED, {looking: _trained(separated, looking) for looking in (True, False)})


def _trained(separated: bool, looking: bool) -> Float[ndarray, "steps replicas"]:
    words, places = SYMBOLS + separated, LENGTH * (1 + separated) + separated
    seeds = range(SEEDS)
    model = stack([TransformerDecoder(_MODEL, words, places, generator(seed, "start")) for seed in seeds])
    stepper = Stepper(model, Optimiser(learning_rate=5e-3), SEEDS, 0.0)
    fresh = _pairs(separated, FRESH, "copying/fresh")
    found = []
    with nullcontext() if looking else intervene(model, _blind(model)):
        for step in range(STEPS + 1):
            if step in ASKED:
                with torch.inference_mode():
                    found.append(_right(model, *fresh))
            ids, wanted = _pairs(separated, SEQUENCES, f"copying/{step}")
            losses = _surprise(model(ids), wanted)
            stepper.zero_grad()
            losses.backward(torch.ones(SEEDS))  # type: ignore[no-untyped-call]
            stepper.step(step + 1, STEPS + 1)
    return to_array(torch.stack(found))


def _pairs(separated: bool, count: int, purpose: str) -> tuple[Tensor, Tensor]:
    """What is read and what is wanted at each place, one set a seed; -1 where nothing is."""
    rows = [torch.randint(SYMBOLS, (count, LENGTH), generator=generator(seed, purpose)) for seed in range(SEEDS)]
    source = torch.stack(rows)
    if not separated:
        return source, source
    mark = torch.full((*source.shape[:-1], 1), SYMBOLS)
    nothing = torch.full((*source.shape[:-1], LENGTH), -1)
    # After the separator the first is wanted, after it the second, and so on; the last one read is never asked.
    return torch.cat((source, mark, source), dim=-1), torch.cat((nothing, source, -torch.ones_like(mark)), dim=-1)


def _surprise(
    logits: Float[Tensor, "replicas batch time words"], wanted: Int[Tensor, "replicas batch time"]
) -> Float[Tensor, " replicas"]:
    losses = F.cross_entropy(logits.flatten(0, -2), wanted.flatten(), reduction="none", ignore_index=-1)
    there = (wanted >= 0).sum(dim=(-2, -1))
    return losses.view(wanted.shape).sum(dim=(-2, -1)) / there


def _right(model: TransformerDecoder, ids: Tensor, wanted: Tensor) -> Float[Tensor, " replicas"]:
    right = (model(ids).argmax(dim=-1) == wanted) & (wanted >= 0)
    share: Tensor = right.sum(dim=(-2, -1)) / (wanted >= 0).sum(dim=(-2, -1))
    return share


def _blind(model: TransformerDecoder) -> dict[str, Intervention]:
    """What heads bring together becomes nothing: no position sees any but itself."""
    names = [name for name in tap_names(model).values() if name.endswith("attention.mixed")]
    return dict.fromkeys(names, lambda value, step: torch.zeros_like(value))
