"""Activation patching: which states of a model carry the answer from one text to another.

Two texts of the same number of tokens, the clean and the changed one, differ in a few tokens and in the answer. The
model reads the changed text, one of its states is replaced by the state that it has on the clean text, and the share of
the clean answer that this restores is measured (Meng et al. 2022, section 2; Wang et al. 2022, section 3):

    metric = logit of the clean answer - logit of the changed answer
    share  = (metric(patched) - metric(changed)) / (metric(clean) - metric(changed))

0 is the changed text, 1 the clean one. A share can lie outside, because states can work against each other. Zhang &
Nanda 2023 and Heimersheim & Nanda 2024 recommend the difference of two logits as the metric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Float64
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import forward_with_taps
from explorer.inspection.attention.attention_model import AttentionModel, BlockFunction, Ids, attention_model
from explorer.inspection.attention.outcomes import answer_position, check_answers, choose_outcomes
from explorer.inspection.load_model import to_array
from explorer.models.taps import Trace, intervene

MAX_TOKENS = 64  # of each text: 30 layers take a minute then
MAX_POSITIONS = 24  # at which the residual stream is patched
LAYER_PARTS = ("attention", "feedforward", "layer")  # what a layer adds to the residual stream, and both together
_MAX_ROW_TOKENS = 1_024  # in memory at once: rows times tokens
_MIN_DIFFERENCE = 1e-4  # of the metric; a smaller one is rounding


@dataclass(frozen=True, eq=False)
class Patching:
    """The predictions of a model on the changed text with each state taken from the clean text, and without.

    All arrays of predictions are log-probabilities of `outcomes`: the clean answer, the changed answer, and further
    ones. `share` turns them into the share of the clean answer that is restored.
    """

    position: int  # where the answer is read
    outcomes: tuple[int, ...]
    clean: Float32[ndarray, " outcomes"]
    changed: Float32[ndarray, " outcomes"]
    # Positions of the residual stream that are patched. With a causal mask they begin at the first token that differs,
    # because the states before are the same, and end where the answer is read.
    positions: tuple[int, ...]
    residual: Float32[ndarray, "depths positions outcomes"]  # after the embedding and after each layer, one position
    heads: Float32[ndarray, "layers heads outcomes"]  # the output of one head, at all positions
    # What the attention, the feedforward layer or the whole layer adds, at all positions (LAYER_PARTS). The last two
    # are NaN if a norm follows each part, because then a layer does not add its parts to the residual stream.
    layers: Float32[ndarray, "layers 3 outcomes"]

    def metric(self, log_probabilities: Float[ndarray, "*states outcomes"]) -> Float64[ndarray, "*states"]:
        """Return the difference of the logits of the two answers."""
        return np.asarray(log_probabilities[..., 0].astype(np.float64) - log_probabilities[..., 1])

    def share(self, log_probabilities: Float[ndarray, "*states outcomes"]) -> Float64[ndarray, "*states"]:
        """Return the share of the clean answer that states restore."""
        changed = self.metric(self.changed)
        return np.asarray((self.metric(log_probabilities) - changed) / (self.metric(self.clean) - changed))


@torch.inference_mode()
def patch_states(
    model: nn.Module | AttentionModel,
    clean: Ids,
    changed: Ids,
    position: int | None = None,
    answer: int | None = None,
    contrast: int | None = None,
) -> Patching:
    """Patch the states of a single model one at a time: residual stream, heads, parts of layers.

    clean, changed: the ids of two texts with the same number of tokens
    position: where the answer is read; by default at the last token, of a classifier at its first
    answer: the clean answer; by default the most probable outcome of the clean text
    contrast: the changed answer; by default the most probable outcome of the changed text, or the second most probable
        one if the first is the clean answer

    Layers below the patched one are not computed again. Raises InvalidSetting for texts of different lengths, equal
    texts, more than MAX_TOKENS tokens, a position or outcomes that do not exist, and equal answers to both texts.
    """
    transformer = attention_model(model)
    check_answers(transformer)
    check_texts(clean, changed)
    at = answer_position(transformer, len(clean), position)
    (clean_logits, clean_trace), (changed_logits, changed_trace) = (
        forward_with_taps(transformer, ids) for ids in (clean, changed)
    )
    if len(clean_trace[transformer.depth_taps[0]][0]) != len(clean):
        raise InvalidSetting(
            "This model reads one text and answers in another, so its states do not belong to the tokens of the text. "
            "Choose a model that only has an encoder or only a decoder."
        )
    answers = [logits[at].log_softmax(dim=-1) for logits in (clean_logits, changed_logits)]
    outcomes = choose_outcomes(answers[0], answers[1], answer, contrast)
    clean_answer, changed_answer = (each[list(outcomes)] for each in answers)
    _check_difference(clean_answer - changed_answer)
    is_causal = not transformer.visible_pairs(changed_trace, changed).triu(1).any()
    positions = patched_positions(clean, changed, at, is_causal)
    _, blocks = transformer.embed_and_blocks(torch.tensor([tuple(changed)]))
    patcher = _Patcher(transformer, blocks, clean_trace, changed_trace, at, outcomes)
    layers = range(len(blocks))
    return Patching(
        at,
        outcomes,
        to_array(clean_answer),
        to_array(changed_answer),
        positions,
        to_array(torch.stack([patcher.patch_positions(depth, positions) for depth in range(len(blocks) + 1)])),
        to_array(torch.stack([patcher.patch_heads(layer) for layer in layers])),
        to_array(torch.stack([patcher.patch_layer(layer) for layer in layers])),
    )


class _Patcher:
    """The states of one model on both texts, and the layers that compute an answer from a patched state."""

    def __init__(
        self,
        model: AttentionModel,
        blocks: Sequence[BlockFunction],
        clean: Trace,
        changed: Trace,
        at: int,
        outcomes: Sequence[int],
    ) -> None:
        self.model, self.blocks, self.at, self.outcomes = model, blocks, at, list(outcomes)
        self.clean_trace, self.changed_trace = clean, changed
        self.clean, self.changed = ([trace[tap] for tap in model.depth_taps] for trace in (clean, changed))
        self.rows = max(1, _MAX_ROW_TOKENS // self.changed[0].shape[1])  # computed at once

    def patch_positions(self, depth: int, positions: Sequence[int]) -> Float[Tensor, "positions outcomes"]:
        """Take the residual stream at a depth from the clean text, at one position in each row."""
        found = []
        for some in torch.split(torch.tensor(positions), self.rows):
            rows = self.changed[depth].repeat(len(some), 1, 1)
            rows[range(len(some)), some] = self.clean[depth][0, some]
            found.append(self._answers(depth, rows))
        return torch.cat(found)

    def patch_heads(self, layer: int) -> Float[Tensor, "heads outcomes"]:
        """Take the output of one head in each row from the clean text."""
        every_head = torch.eye(self.model.layout.heads, dtype=torch.bool)
        some_heads = torch.split(every_head, self.rows)
        return torch.cat([self._answers(layer + 1, self._block_with_heads(layer, some)) for some in some_heads])

    def patch_layer(self, layer: int) -> Float[Tensor, "3 outcomes"]:
        """Take what the attention, the feedforward layer, or both add from the clean text."""
        rows = [self._block_with_heads(layer, torch.ones(1, self.model.layout.heads, dtype=torch.bool))]
        if self.model.adds_up:
            whole = self.changed[layer] + self.clean[layer + 1] - self.clean[layer]
            attention = self._attention(layer, self.clean_trace) - self._attention(layer, self.changed_trace)
            rows += [whole - attention, whole]
        found = self._answers(layer + 1, torch.cat(rows))
        missing = found.new_full((len(LAYER_PARTS) - len(found), found.shape[-1]), torch.nan)
        return torch.cat([found, missing])

    def _block_with_heads(self, layer: int, patched: Bool[Tensor, "rows heads"]) -> Float[Tensor, "rows time width"]:
        """Return the output of a layer on the changed text with the output of these heads from the clean text."""
        tap = self.model.tap(layer, "mixed")
        clean = self.clean_trace[tap]

        def replace(mixed: Tensor, step: int) -> Tensor:
            return torch.where(patched[:, :, None, None], clean, mixed)

        with intervene(self.model.module, {tap: replace}):
            return self.blocks[layer](self.changed[layer].repeat(len(patched), 1, 1))

    def _attention(self, layer: int, trace: Trace) -> Float[Tensor, "time width"]:
        """Return what the attention of a layer adds to the residual stream."""
        mixed = trace[self.model.tap(layer, "mixed")][0]
        return self.model.head_outputs(layer, mixed).sum(dim=0) + self.model.attention_bias(layer)

    def _answers(self, depth: int, rows: Float[Tensor, "rows time width"]) -> Float[Tensor, "rows outcomes"]:
        """Return the log-probabilities that follow from the residual stream at a depth."""
        for block in self.blocks[depth:]:
            rows = block(rows)
        logits = self.model.readout(rows[:, self.at : self.at + 1])[:, 0]
        return logits.log_softmax(dim=-1)[:, self.outcomes]


def check_texts(clean: Ids, changed: Ids) -> None:
    """Raise InvalidSetting unless two texts have the same number of tokens, at most MAX_TOKENS, and differ."""
    if len(clean) != len(changed):
        raise InvalidSetting(
            f"The first text has {len(clean)} tokens, the changed text {len(changed)}. Patching needs the same number, "
            "because it replaces the states token by token: exchange words without adding or removing any."
        )
    if len(clean) > MAX_TOKENS:
        raise InvalidSetting(
            f"The texts have {len(clean):,} tokens. Patching takes at most {MAX_TOKENS}, because it runs the model "
            "once for every state. Give shorter texts."
        )
    if tuple(clean) == tuple(changed):
        raise InvalidSetting("The two texts are the same. Change a word on which the answer depends.")


def _check_difference(difference: Float[Tensor, " outcomes"]) -> None:
    """Raise InvalidSetting unless the metric differs between the texts; `difference` is that of log-probabilities."""
    metric = float(difference[0] - difference[1])
    if not math.isfinite(metric):
        raise InvalidSetting("The model predicts no finite probabilities for these texts. Choose other weights.")
    if abs(metric) < _MIN_DIFFERENCE:
        raise InvalidSetting(
            "The logits of the two answers differ by the same number for both texts, so there is no difference to "
            "restore. Change a word on which the answer depends and which comes before it, or compare other answers."
        )


def patched_positions(clean: Ids, changed: Ids, at: int, is_causal: bool) -> tuple[int, ...]:
    """Return the patched positions, at most MAX_POSITIONS: tokens that differ, then those nearest to the end."""
    differing = [i for i, (one, other) in enumerate(zip(clean, changed, strict=True)) if one != other]
    possible = range(differing[0], at + 1) if is_causal else range(len(clean))
    selected = [i for i in differing if i in possible][: MAX_POSITIONS // 2]
    selected += [i for i in reversed(possible) if i not in selected]
    return tuple(sorted(selected[:MAX_POSITIONS]))
