"""What a translator answers: greedily by every seed, by beam search of every width, and with the right target given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int32
from numpy import ndarray
from torch import nn

from explorer.errors import DamagedRun
from explorer.generation.translating import WIDEST, Beams, beam_search, exposure, greedy
from explorer.inspection.opening import to_array
from explorer.models.translation import Translator
from explorer.tasks.dates import DatesConfig
from explorer.tasks.pairs import Pairs, fresh_dates, fresh_digits
from explorer.tasks.translation import TranslationConfig, longest_answer

DROPPED = 3  # of those that beam search drops at a step, so many of the best are kept to be seen


@dataclass(frozen=True)
class Answer:
    """What one seed writes greedily."""

    ids: tuple[int, ...]  # with <EOS>, where it came to it
    probabilities: tuple[float, ...]  # of each token, after those before it

    @property
    def log_probability(self) -> float:
        """Of the whole sequence, in nats."""
        return math.fsum(math.log(max(p, 1e-38)) for p in self.probabilities)


@dataclass(frozen=True, eq=False)
class Trees:
    """The beam searches of every width, one after the other, as far as they are drawn.

    The columns of `nodes`: tokens in the sequence; the node it goes on from, counted within its width, or -1 for the
    beginning; the token; whether it was kept; whether it is <EOS>. Those of `logs`: of the token alone, of the
    sequence, in nats.
    """

    starts: tuple[int, ...]  # where the nodes of each width begin, and the end of the last
    nodes: Int32[ndarray, "nodes 5"]
    logs: Float32[ndarray, "nodes 2"]
    best: tuple[tuple[int, ...], ...]  # for each width the nodes that were kept to the end, the likeliest first


@dataclass(frozen=True, eq=False)
class Exposed:
    """Place by place, after the right target and after a seed's own writing; NaN where no target has a token."""

    given_accuracy: Float32[ndarray, "replicas target"]
    own_accuracy: Float32[ndarray, "replicas target"]
    given_loss: Float32[ndarray, "replicas target"]  # nats
    own_loss: Float32[ndarray, "replicas target"]


def translator(model: nn.Module) -> Translator:
    """A model of which its run says that it translates. Raises DamagedRun where it does not."""
    if not isinstance(model, Translator):
        raise DamagedRun("This run holds no model that translates. Train it again.")
    return model


@torch.inference_mode()
def answers(model: Translator, config: TranslationConfig, source: Sequence[int]) -> tuple[Answer, ...]:
    """By each of a stack of replicas, or by the one that it is."""
    read = torch.tensor([list(source)]).expand(*model.replicas, 1, len(source))
    ids = greedy(model, read, longest_answer(config, len(source))).ids
    given = torch.cat((torch.full_like(ids[..., :1], model.bos), ids[..., :-1]), dim=-1)
    shares = model(read, given).softmax(dim=-1).gather(-1, ids[..., None])[..., 0]
    found = []
    for row, said in zip(ids.flatten(0, -2).tolist(), shares.flatten(0, -2).tolist(), strict=True):
        end = row.index(model.eos) + 1 if model.eos in row else len(row)
        found.append(Answer(tuple(row[:end]), tuple(said[:end])))
    return tuple(found)


def trees(model: Translator, config: TranslationConfig, source: Sequence[int]) -> Trees:
    """Beam search of one replica with every width from 1, which is greedy, to the widest."""
    read, longest = torch.tensor(list(source)), longest_answer(config, len(source))
    drawn = [_drawn(beam_search(model, read, width, longest)) for width in range(1, WIDEST + 1)]
    starts = np.cumsum([0, *(len(nodes) for nodes, _, _ in drawn)]).tolist()
    return Trees(
        tuple(starts),
        np.concatenate([nodes for nodes, _, _ in drawn]),
        np.concatenate([logs for _, logs, _ in drawn]),
        tuple(best for _, _, best in drawn),
    )


def _drawn(beams: Beams) -> tuple[Int32[ndarray, "nodes 5"], Float32[ndarray, "nodes 2"], tuple[int, ...]]:
    """All that were kept, and the best that were dropped at each step."""
    shown = []
    dropped: dict[int, list[int]] = {}
    for place, each in enumerate(beams.candidates):
        if each.kept:
            shown.append(place)
        else:
            dropped.setdefault(each.step, []).append(place)
    for places in dropped.values():
        shown += sorted(places, key=lambda place: -beams.candidates[place].score)[:DROPPED]
    shown.sort()
    new = {place: i for i, place in enumerate(shown)} | {-1: -1}
    all_of = [beams.candidates[place] for place in shown]
    nodes = [(each.step, new[each.parent], each.token, each.kept, each.finished) for each in all_of]
    logs = [(each.log_probability, each.score) for each in all_of]
    best = tuple(new[place] for place in beams.best)
    return np.array(nodes, np.int32), np.array(logs, np.float32), best


def exposed(model: Translator, config: TranslationConfig, length: int, count: int, seed: int = 0) -> Exposed:
    """On so many fresh sources of this length, or, of dates, so many in each way of writing."""
    fresh = (
        fresh_dates(config, count, seed)
        if isinstance(config, DatesConfig)
        else fresh_digits(config, [length], count, seed)
    )
    parts = (fresh.source, fresh.given, fresh.wanted, fresh.counted)
    given, own = exposure(model, Pairs(*(part.expand(*model.replicas, *part.shape) for part in parts)))
    curves = (given.accuracy, own.accuracy, given.loss, own.loss)
    return Exposed(*(to_array(curve.view(-1, curve.shape[-1])) for curve in curves))
