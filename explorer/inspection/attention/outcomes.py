"""Where a model answers, and which outcomes it can answer with."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attention_model import AttentionModel, Ids

MAX_OUTCOMES = 5  # of each text that are kept, the most probable ones


def check_answers(model: AttentionModel) -> None:
    """Raise InvalidSetting for a model that predicts nothing, such as a sentence encoder."""
    if not model.layout.answers:
        raise InvalidSetting("This model predicts nothing, it only makes vectors. Choose a model with an answer.")


def answer_position(model: AttentionModel, tokens: int, position: int | None) -> int:
    """Return where the answer is: by default last; of a classifier first. Raises InvalidSetting beyond the text."""
    if not model.layout.answers_every_token:
        return 0
    if position is None:
        return tokens - 1
    if not 0 <= position < tokens:
        raise InvalidSetting(f"There is no token {position}. Give a position from 0 to {tokens - 1}.")
    return position


@torch.inference_mode()
def answer_logits(model: AttentionModel, ids: Ids, position: int | None) -> Float[Tensor, " outcomes"]:
    """Return the logits of all outcomes where the answer is read; see `answer_position`. Raises InvalidSetting."""
    return model.logits(ids)[answer_position(model, len(ids), position)]


def matching_outcomes(names: Sequence[str], text: str) -> list[int]:
    """Return the indices of the names that are this text, apart from spaces around the name."""
    return [i for i, name in enumerate(names) if text in (name, name.strip())]


def choose_outcomes(
    clean: Float[Tensor, " vocabulary"], changed: Float[Tensor, " vocabulary"], answer: int | None, contrast: int | None
) -> tuple[int, ...]:
    """Return the answer, the contrasting outcome, and the other most probable outcomes of either text.

    By default the answer is the most probable outcome of the clean text, the contrast that of the changed text.
    """
    check_outcomes(len(clean), answer, contrast)
    best = [torch.topk(each, min(MAX_OUTCOMES, len(clean))).indices.tolist() for each in (clean, changed)]
    if answer is None:
        answer = next(each for each in best[0] if each != contrast)
    if contrast is None:
        contrast = next(each for each in best[1] if each != answer)
    others = {each for each in (*best[0], *best[1])} - {answer, contrast}
    return answer, contrast, *sorted(others, key=lambda each: -float(torch.maximum(clean, changed)[each]))


def check_outcomes(count: int, *outcomes: int | None) -> None:
    """Raise InvalidSetting for an outcome that a model with `count` outcomes does not have, and for equal outcomes."""
    given = [outcome for outcome in outcomes if outcome is not None]
    for outcome in given:
        if not 0 <= outcome < count:
            raise InvalidSetting(f"There is no outcome {outcome}. Give a number from 0 to {count - 1:,}.")
    if len(set(given)) < len(given):
        raise InvalidSetting("The two outcomes are the same. Give two different ones.")
