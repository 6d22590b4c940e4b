"""What models that were trained on noise write by themselves, and how sure they are of it.

At every step all that was written so far is read anew, and the last place answers: so does a language model, whether
or not it was trained with a mask.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.inspection.opening import OpenedModel, to_array
from explorer.seeds import generator
from explorer.tasks.labelled import asked
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.noise_rows import fresh


@dataclass(frozen=True, eq=False)
class Written:
    """What every seed wrote after the same first symbols, and the largest probability that it had at each step."""

    first: int  # symbols that were given
    ids: Int[ndarray, "replicas rows time"]
    surest: Float[ndarray, "replicas steps"]  # mean over the rows


@torch.inference_mode()
def written(opened: OpenedModel, rows: int = 64, first: int = 2) -> Written:
    """Rows of a whole length, of which the first symbols are given and the others drawn as the model says."""
    task, replicas = opened.config.on(NoiseConfig), opened.config.replicas
    ids = fresh(task, rows, seed=1).ids[:, :first].expand(replicas, rows, first)
    surest = []
    for length in range(first, task.length):
        answers = opened.stack(ids) if replicas > 1 else asked(opened.stack, ids[0], 1)
        p = answers[..., -1, :].softmax(dim=-1)
        surest.append(p.amax(dim=-1).mean(dim=-1))
        drawn = torch.multinomial(p.flatten(0, 1), 1, generator=generator(length, "noise/written"))
        ids = torch.cat([ids, drawn.view(replicas, rows, 1)], dim=-1)
    return Written(first, ids.numpy(), to_array(torch.stack(surest, dim=-1)))
