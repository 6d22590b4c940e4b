"""How a translator writes: greedily, or by beam search; and how it does with the right target put before it.

The score of a sequence is its log-probability, the sum over its tokens of log p(token | source, tokens before it),
<EOS> included, in nats. Writing ends with <EOS> or at a longest length.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.models.translation import Translator
from explorer.tasks.pairs import Pairs

WIDEST = 8


@dataclass(frozen=True, eq=False)
class Written:
    """What was written, side by side."""

    ids: Int[Tensor, "*replicas batch written"]  # with <EOS>, and nothing but <EOS> behind it
    score: Float[Tensor, "*replicas batch"]
    finished: Bool[Tensor, "*replicas batch"]  # whether it came to its <EOS>


@dataclass(frozen=True)
class Candidate:
    """A sequence that beam search considered: one of the kept ones of the step before, and a token more."""

    step: int  # tokens in it
    parent: int  # the place of the sequence it goes on from among all candidates; -1: the beginning
    token: int
    log_probability: float  # of the token alone
    score: float
    kept: bool  # whether it was among the best after its step
    finished: bool  # whether its token is <EOS>


@dataclass(frozen=True)
class Beams:
    """The whole tree of a beam search, step by step."""

    candidates: tuple[Candidate, ...]
    best: tuple[int, ...]  # the places of those that were kept to the end, the likeliest first

    def sequence(self, place: int) -> tuple[int, ...]:
        """The tokens of a candidate, with <EOS> where it is finished."""
        ids: list[int] = []
        while place >= 0:
            ids.append(self.candidates[place].token)
            place = self.candidates[place].parent
        return tuple(reversed(ids))


@dataclass(frozen=True, eq=False)
class Curve:
    """The right token at each place of a target: the mean over all rows that want one there, NaN where none does."""

    loss: Float[Tensor, "*replicas target"]  # nats
    accuracy: Float[Tensor, "*replicas target"]


@torch.inference_mode()
def greedy(model: Translator, source: Int[Tensor, "*replicas batch source"], longest: int) -> Written:
    """The likeliest token at each step, read as the next input. `longest`: the most tokens, <EOS> among them."""
    read = model.encode(source)
    ids = torch.full((*source.shape[:-1], 1), model.bos)
    score = torch.zeros(source.shape[:-1])
    finished = torch.zeros(source.shape[:-1], dtype=torch.bool)
    state: tuple[Tensor, ...] = ()
    written: list[Tensor] = []
    while len(written) < longest and not finished.all():
        logits, state = model.decode(read, ids, state)
        best = logits[..., -1, :].log_softmax(dim=-1).max(dim=-1)
        score = score + best.values.masked_fill(finished, 0)
        token = best.indices.masked_fill(finished, model.eos)
        finished = finished | (token == model.eos)
        ids = token[..., None]
        written.append(token)
    return Written(torch.stack(written, dim=-1), score, finished)


@torch.inference_mode()
def beam_search(model: Translator, source: Int[Tensor, " source"], width: int, longest: int) -> Beams:
    """Keep the `width` likeliest sequences at every step (Graves 2012; Sutskever et al. 2014, section 3.2).

    Finished ones keep their place as long as they are among the likeliest. A sequence only loses by going on, so once
    all that are kept are finished, no other could still overtake the first. With width 1 it is greedy decoding.
    Of one model, not of a stack. Raises InvalidSetting.
    """
    if not 1 <= width <= WIDEST:
        raise InvalidSetting(f"width = {width} is not possible. Give a whole number from 1 to {WIDEST}.")
    read = model.encode(source[None])
    candidates: list[Candidate] = []
    kept, live = [-1], [-1]  # places of the best; of those that are not finished
    state: tuple[Tensor, ...] = ()
    ids = torch.tensor([[model.bos]])
    for step in range(1, longest + 1):
        rows = tuple(part.expand(len(live), *part.shape[1:]) for part in read)
        logits, state = model.decode(rows, ids, state)
        said = logits[:, -1].log_softmax(dim=-1).tolist()
        # Rank what could be next beside what is finished already: (score, place or minus one, row, token).
        ranked = [(candidates[place].score, place, -1, -1) for place in kept if place >= 0 and place not in live]
        for row, parent in enumerate(live):
            so_far = candidates[parent].score if parent >= 0 else 0.0
            ranked += [(so_far + value, -1, row, token) for token, value in enumerate(said[row])]
        ranked.sort(key=lambda each: -each[0])
        best, first = ranked[:width], len(candidates)
        chosen = {(row, token) for _, _, row, token in best}
        tokens = len(said[0])
        for row, parent in enumerate(live):
            so_far = candidates[parent].score if parent >= 0 else 0.0
            for token, value in enumerate(said[row]):
                among = (row, token) in chosen
                candidates.append(Candidate(step, parent, token, value, so_far + value, among, token == model.eos))
        kept = [place if place >= 0 else first + row * tokens + token for _, place, row, token in best]
        going_on = [(row, token) for _, place, row, token in best if place < 0 and token != model.eos]
        live = [first + row * tokens + token for row, token in going_on]
        if not live:
            break
        ids = torch.tensor([[token] for _, token in going_on])
        state = tuple(part[[row for row, _ in going_on]] for part in state)
    return Beams(tuple(candidates), tuple(kept))


def surprise(
    logits: Float[Tensor, "*batch target vocabulary"], wanted: Int[Tensor, "*batch target"]
) -> Float[Tensor, "*batch target"]:
    """The loss of the wanted token at every place, in nats."""
    return F.cross_entropy(logits.flatten(0, -2), wanted.flatten(), reduction="none").view(wanted.shape)


@torch.inference_mode()
def grade(model: Translator, asked: Pairs) -> tuple[Float[Tensor, "*replicas batch"], Float[Tensor, "*replicas batch"]]:
    """For each row 1 where greedy decoding writes the right target to its <EOS>, else 0; and the loss summed over its
    tokens, with the right target before each.

    One forward tells both: as long as all that was written is right, greedy decoding reads what the target gives.
    """
    logits = model(asked.source, asked.given)
    right = (logits.argmax(dim=-1) == asked.wanted) | ~asked.counted
    losses = surprise(logits, asked.wanted) * asked.counted
    return right.all(dim=-1).float(), losses.sum(dim=-1)


@torch.inference_mode()
def exposure(model: Translator, asked: Pairs) -> tuple[Curve, Curve]:
    """Place by place: with the right target before each question, as in training, and with what the model wrote
    itself (greedily), as in use. What lies between the two is exposure bias (Ranzato et al. 2016, section 1).

    After an <EOS> that came too early the model reads <EOS> on and on.
    """
    own = greedy(model, asked.source, asked.wanted.shape[-1]).ids
    own = F.pad(own, (0, asked.wanted.shape[-1] - own.shape[-1]), value=model.eos)
    read = torch.cat((asked.given[..., :1], own[..., :-1]), dim=-1)
    taught = model(asked.source, asked.given)
    return _curve(taught, taught.argmax(dim=-1), asked), _curve(model(asked.source, read), own, asked)


def _curve(
    logits: Float[Tensor, "*batch target vocabulary"], written: Int[Tensor, "*batch target"], asked: Pairs
) -> Curve:
    rows = asked.counted.sum(dim=-2)
    losses = surprise(logits, asked.wanted) * asked.counted
    right = (written == asked.wanted) & asked.counted
    return Curve(losses.sum(dim=-2) / rows, right.sum(dim=-2) / rows)
