"""Where a model answers, and which outcomes it can answer with."""

from __future__ import annotations

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attention_model import AttentionModel


def check_answers(model: AttentionModel) -> None:
    """Raise InvalidSetting for a model that predicts nothing, such as a sentence encoder."""
    if not model.layout.answers:
        raise InvalidSetting("This model predicts nothing, it only makes vectors. Choose a model with an answer.")


def answer_position(model: AttentionModel, tokens: int, position: int | None) -> int:
    """Return the position of the answer: the given one, by default the last; of a classifier always the first.

    Raises InvalidSetting for a position that the text does not have.
    """
    if not model.layout.answers_every_token:
        return 0
    if position is None:
        return tokens - 1
    if not 0 <= position < tokens:
        raise InvalidSetting(f"There is no token {position}. Give a position from 0 to {tokens - 1}.")
    return position


def check_outcomes(count: int, *outcomes: int | None) -> None:
    """Raise InvalidSetting for an outcome that a model with `count` outcomes does not have, and for equal outcomes."""
    given = [outcome for outcome in outcomes if outcome is not None]
    for outcome in given:
        if not 0 <= outcome < count:
            raise InvalidSetting(f"There is no outcome {outcome}. Give a number from 0 to {count - 1:,}.")
    if len(set(given)) < len(given):
        raise InvalidSetting("The two outcomes are the same. Give two different ones.")
