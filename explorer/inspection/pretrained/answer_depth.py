"""At which depth the answer of a language model appears: the logit lens over many prompts (nostalgebraist 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.hub.tokenizer import PretrainedTokenizer
from explorer.inspection.attention.attend import forward_with_taps
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.attention.logit_lens import most_probable_by_depth
from explorer.inspection.pretrained.intervals import Estimate, estimate
from explorer.inspection.pretrained.texts import PROMPTS, Prompt


@dataclass(frozen=True, eq=False)
class AnswersByDepth:
    """The answers that a model gives, read off at every depth with its final norm and output layer."""

    prompts: tuple[Prompt, ...]  # those whose answer is the model's most probable token
    single: int  # prompts whose answer is one token
    given: int  # all prompts
    ranks: Int[ndarray, "depths prompts"]  # of the answer; 1 is the most probable token
    probabilities: Float[ndarray, "depths prompts"]
    other_ranks: Float[ndarray, "depths prompts"]  # median over the answers of other prompts of this kind: the control

    @property
    def layers(self) -> int:
        return len(self.ranks) - 1

    def settled_depths(self) -> Int[ndarray, " prompts"]:
        """Return the depth from which on the answer is the most probable token, for each prompt."""
        return _settled_depths(self.ranks > 1)

    def rise_layers(self) -> Int[ndarray, " prompts"]:
        """Return within how many layers the probability rises from a tenth of its highest value to a half of it."""
        relative = self.probabilities / self.probabilities.max(axis=0)
        return (relative >= 0.5).argmax(axis=0) - (relative >= 0.1).argmax(axis=0)

    def median_settled_depth(self) -> Estimate:
        """Return the median depth from which on the answer is the most probable token."""
        return estimate(self.settled_depths(), np.median)

    def median_rise(self) -> Estimate:
        """Return the median number of layers within which the probability rises from a tenth to a half."""
        return estimate(self.rise_layers(), np.median)


@dataclass(frozen=True)
class OwnAnswer:
    """The most probable next token of any text, and where the logit lens shows it."""

    token: int
    probability: float  # after the last layer
    settled_depth: int  # from which on it stays the most probable token
    layers: int


def own_answer(model: AttentionModel, ids: Sequence[int]) -> OwnAnswer:
    """Read off the most probable token after a text at every depth."""
    tokens, probabilities = most_probable_by_depth(model, ids)
    answers = tokens[:, -1]
    depth = _settled_depths((answers != answers[-1])[:, None])[0]
    return OwnAnswer(int(answers[-1]), float(probabilities[-1, -1]), int(depth), len(answers) - 1)


def _settled_depths(wrong: Bool[ndarray, "depths prompts"]) -> Int[ndarray, " prompts"]:
    """Return the depth after the last wrong answer, for each prompt."""
    return np.where(wrong.any(axis=0), len(wrong) - wrong[::-1].argmax(axis=0), 0)


def single_token_prompts(tokenizer: PretrainedTokenizer) -> list[tuple[Prompt, tuple[int, ...], int]]:
    """Return the prompts whose answer is one token, with their ids and the id of the answer."""
    found = []
    for each in PROMPTS:
        space = "" if each.text.endswith("“") else " "
        ids = tokenizer.encode(each.text).tolist()
        whole = tokenizer.encode(each.text + space + each.answer).tolist()
        if whole[: len(ids)] == ids and len(whole) == len(ids) + 1:
            found.append((each, (*tokenizer.before, *ids), whole[-1]))
    return found


@torch.inference_mode()
def answers_by_depth(
    model: AttentionModel, prompts: Sequence[tuple[Prompt, tuple[int, ...], int]], given: int
) -> AnswersByDepth:
    """Read off the answer to each of `single_token_prompts` at every depth, where the model gives it.

    Raises InvalidSetting for a model that does not predict the next token, and if it gives none of the answers.
    """
    if not (model.layout.causal and model.layout.answers):
        raise InvalidSetting("This model does not continue texts. Choose a language model.")
    known, ranks, probabilities, others = [], [], [], []
    for prompt, ids, answer in prompts:
        _, trace = forward_with_taps(model, ids)
        depths = torch.cat([trace[name][:, -1:] for name in model.depth_taps])
        logits = model.readout(depths)[:, 0]
        if int(logits[-1].argmax()) != answer:
            continue
        rivals = [id for other, _, id in prompts if other.kind == prompt.kind and id != answer]
        known.append(prompt)
        ranks.append(_ranks(logits, [answer])[:, 0])
        probabilities.append(logits.softmax(dim=-1)[:, answer].numpy())
        others.append(np.median(_ranks(logits, rivals), axis=1) if rivals else np.full(len(logits), np.nan))
    if not known:
        raise InvalidSetting(
            f"This model gives none of the expected answers to {given} prompts, so there is nothing to look for."
        )
    shape = [np.stack(each, axis=1) for each in (ranks, probabilities, others)]
    return AnswersByDepth(tuple(known), len(prompts), given, shape[0], shape[1], shape[2])


def _ranks(logits: torch.Tensor, ids: Sequence[int]) -> Int[ndarray, "depths ids"]:
    """Return the rank of each token at each depth; 1 is the most probable one."""
    chosen = logits[:, list(ids)]
    return torch.stack([(logits > chosen[:, i : i + 1]).sum(dim=-1) + 1 for i in range(len(ids))], 1).numpy()
