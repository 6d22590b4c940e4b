"""Greedy decoding and beam search of encoder-decoder models, and their loss under teacher forcing.

The score of a sequence is its log-probability in nats: the sum over its tokens of log p(token | source, tokens before
it), <EOS> included. Decoding ends with <EOS> or at a maximum length.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.models.translation import Translator
from explorer.tasks.seq2seq.batches import Pairs
from explorer.tasks.sequence_labelling.rows import position_losses

MAX_BEAM_WIDTH = 8


@dataclass(frozen=True, eq=False)
class GreedyOutput:
    """The sequences of a batch that greedy decoding generated."""

    ids: Int[Tensor, "*replicas batch time"]  # with <EOS>, followed by <EOS> only
    score: Float[Tensor, "*replicas batch"]
    finished: Bool[Tensor, "*replicas batch"]  # whether <EOS> was generated


@dataclass(frozen=True)
class Candidate:
    """A sequence that beam search considered: a kept sequence of the previous step and one more token."""

    step: int  # number of its tokens
    parent: int  # index of the candidate that it extends; -1: the empty sequence
    token: int
    log_probability: float  # of the token alone
    score: float
    kept: bool  # whether it was among the best of its step
    finished: bool  # whether its token is <EOS>


@dataclass(frozen=True)
class Beams:
    """The whole search tree, step by step."""

    candidates: tuple[Candidate, ...]
    best: tuple[int, ...]  # indices of the sequences kept at the end, the likeliest first

    def sequence(self, index: int) -> tuple[int, ...]:
        """Return the ids of a candidate, with <EOS> if it is finished."""
        ids: list[int] = []
        while index >= 0:
            ids.append(self.candidates[index].token)
            index = self.candidates[index].parent
        return tuple(reversed(ids))


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean loss and accuracy at each target position, over the rows that have one there; NaN if no row has."""

    loss: Float[Tensor, "*replicas target"]  # nats
    accuracy: Float[Tensor, "*replicas target"]


@torch.inference_mode()
def greedy_decode(model: Translator, source: Int[Tensor, "*replicas batch source"], longest: int) -> GreedyOutput:
    """Generate the likeliest token at each step. `longest`: the maximum number of tokens, <EOS> included."""
    read = model.encode(source)
    ids = torch.full((*source.shape[:-1], 1), model.bos)
    score = torch.zeros(source.shape[:-1])
    finished = torch.zeros(source.shape[:-1], dtype=torch.bool)
    state: tuple[Tensor, ...] = ()
    tokens: list[Tensor] = []
    while len(tokens) < longest and not finished.all():
        logits, state = model.decode(read, ids, state)
        best = logits[..., -1, :].log_softmax(dim=-1).max(dim=-1)
        score = score + best.values.masked_fill(finished, 0)
        token = best.indices.masked_fill(finished, model.eos)
        finished = finished | (token == model.eos)
        ids = token[..., None]
        tokens.append(token)
    return GreedyOutput(torch.stack(tokens, dim=-1), score, finished)


@torch.inference_mode()
def beam_search(model: Translator, source: Int[Tensor, " source"], width: int, longest: int) -> Beams:
    """Keep the `width` likeliest sequences at every step (Graves 2012; Sutskever et al. 2014, section 3.2).

    Finished sequences stay as long as they are among the likeliest. Longer sequences only have lower scores, so the
    search ends when all kept sequences are finished. Width 1 is greedy decoding. The model must not be a stack of
    replicas. Raises InvalidSetting if `width` is not between 1 and `MAX_BEAM_WIDTH`.
    """
    if not 1 <= width <= MAX_BEAM_WIDTH:
        raise InvalidSetting(f"width = {width} is not possible. Give a whole number from 1 to {MAX_BEAM_WIDTH}.")
    read = model.encode(source[None])
    candidates: list[Candidate] = []
    kept, live = [-1], [-1]  # indices of the kept sequences; of those that are not finished
    state: tuple[Tensor, ...] = ()
    ids = torch.tensor([[model.bos]])
    for step in range(1, longest + 1):
        rows = tuple(part.expand(len(live), *part.shape[1:]) for part in read)
        logits, state = model.decode(rows, ids, state)
        log_p = logits[:, -1].log_softmax(dim=-1).tolist()
        # Rank new sequences together with the finished ones: (score, index or -1, row, token).
        ranked = [(candidates[index].score, index, -1, -1) for index in kept if index >= 0 and index not in live]
        for row, parent in enumerate(live):
            prefix_score = candidates[parent].score if parent >= 0 else 0.0
            ranked += [(prefix_score + value, -1, row, token) for token, value in enumerate(log_p[row])]
        ranked.sort(key=lambda each: -each[0])
        best, first = ranked[:width], len(candidates)
        chosen = {(row, token) for _, _, row, token in best}
        tokens = len(log_p[0])
        for row, parent in enumerate(live):
            prefix_score = candidates[parent].score if parent >= 0 else 0.0
            for token, value in enumerate(log_p[row]):
                in_beam = (row, token) in chosen
                candidates.append(
                    Candidate(step, parent, token, value, prefix_score + value, in_beam, token == model.eos)
                )
        kept = [index if index >= 0 else first + row * tokens + token for _, index, row, token in best]
        extended = [(row, token) for _, index, row, token in best if index < 0 and token != model.eos]
        live = [first + row * tokens + token for row, token in extended]
        if not live:
            break
        ids = torch.tensor([[token] for _, token in extended])
        state = tuple(part[[row for row, _ in extended]] for part in state)
    return Beams(tuple(candidates), tuple(kept))


@torch.inference_mode()
def grade_targets(
    model: Translator, batch: Pairs
) -> tuple[Float[Tensor, "*replicas batch"], Float[Tensor, "*replicas batch"]]:
    """Return for each row 1 if greedy decoding generates the target, else 0, and the loss summed over its tokens.

    The loss is computed with teacher forcing. One forward pass is enough for both: as long as greedy decoding
    is right, its input equals the target.
    """
    logits = model(batch.source, batch.decoder_input)
    right = (logits.argmax(dim=-1) == batch.targets) | ~batch.mask
    losses = position_losses(logits, batch.targets) * batch.mask
    return right.all(dim=-1).float(), losses.sum(dim=-1)


@torch.inference_mode()
def exposure_bias_curves(model: Translator, batch: Pairs) -> tuple[Curve, Curve]:
    """Return loss and accuracy by position with the target, and with greedy output, as input (Ranzato et al. 2016)."""
    own = greedy_decode(model, batch.source, batch.targets.shape[-1]).ids
    own = F.pad(own, (0, batch.targets.shape[-1] - own.shape[-1]), value=model.eos)
    read = torch.cat((batch.decoder_input[..., :1], own[..., :-1]), dim=-1)
    teacher_forced = model(batch.source, batch.decoder_input)
    return _curve(teacher_forced, teacher_forced.argmax(dim=-1), batch), _curve(model(batch.source, read), own, batch)


def _curve(
    logits: Float[Tensor, "*batch target vocabulary"], generated: Int[Tensor, "*batch target"], batch: Pairs
) -> Curve:
    rows = batch.mask.sum(dim=-2)
    losses = position_losses(logits, batch.targets) * batch.mask
    right = (generated == batch.targets) & batch.mask
    return Curve(losses.sum(dim=-2) / rows, right.sum(dim=-2) / rows)
