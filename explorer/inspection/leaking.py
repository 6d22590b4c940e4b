"""What models that name the next sign write by themselves, and how sure they are of it.

At every step the last that was written is read anew, as much as a row of training has, and the last place answers: so
does a language model, whether or not it was trained with a mask.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from explorer.generation.sampling import dice, gumbel
from explorer.inspection.opening import OpenedModel, to_array
from explorer.tasks.labelled import asked
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.noise_rows import fresh
from explorer.tasks.tale import LETTERS
from explorer.training.labelling_lesson import task_of


@dataclass(frozen=True, eq=False)
class Written:
    """What every seed wrote after the same first signs, and the largest probability that it had at each step."""

    first: int  # signs that were given
    ids: Int[ndarray, "replicas rows time"]
    surest: Float[ndarray, "replicas steps"]  # mean over the rows


def beginnings(task: NoiseConfig, rows: int, first: int = 2) -> Int[Tensor, "rows first"]:
    """Random symbols to go on from, the same for every model."""
    return fresh(task, rows, seed=1).ids[:, :first]


def spelled(text: str, rows: int) -> Int[Tensor, "rows first"]:
    """The same beginning for so many rows, in the letters of a tale."""
    return torch.tensor([LETTERS.index(letter) for letter in text]).expand(rows, -1)


@torch.inference_mode()
def written(opened: OpenedModel, begins: Int[Tensor, "rows first"], length: int) -> Written:
    """Rows of this length, of which the beginnings are given and the others drawn as the model says. Every model and
    every seed is given the same dice."""
    places, replicas = task_of(opened.config).places, opened.config.replicas
    rows, first = begins.shape
    ids = begins.expand(replicas, rows, first)
    surest = []
    for reached in range(first, length):
        last = ids[..., -places:]
        answers = opened.stack(last) if replicas > 1 else asked(opened.stack, last[0], 1)
        logits = answers[..., -1, :]
        surest.append(logits.softmax(dim=-1).amax(dim=-1).mean(dim=-1))
        thrown = gumbel(dice(reached, 0), rows, logits.shape[-1])
        ids = torch.cat([ids, (logits + thrown).argmax(dim=-1, keepdim=True)], dim=-1)
    return Written(first, ids.numpy(), to_array(torch.stack(surest, dim=-1)))
