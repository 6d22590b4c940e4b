"""The two answers whose logits are compared by patching and by the attribution, as far as the visitor chooses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.errors import InvalidSetting, TextError, shorten
from explorer.labs.attention.state import AttentionState
from explorer.model.model import Model
from explorer.ui.wording import original_whitespace, quote_first, visible_whitespace

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

_FEW = 12  # outcomes that a message lists
_MAX_LENGTH = 200  # characters of a text whose tokens a message names


def find_outcomes(stored_model: Model, answer: str) -> list[int]:
    """Return the outcomes with this text: a word at the beginning of a text and after a space are two tokens.

    Raises InvalidSetting if there is none.
    """
    from explorer.inspection.attention.outcomes import matching_outcomes

    names, text = stored_model.outcomes, original_whitespace(answer)
    if found := matching_outcomes(names, text) or matching_outcomes(names, text.strip()):
        return found
    given = shorten(visible_whitespace(text))
    advice = "or leave the field empty for the most probable answer"
    tokenizer = stored_model.tokenizer
    if len(names) <= _FEW or tokenizer is None:
        raise InvalidSetting(f"The model has no answer “{given}”. Give one of {quote_first(names, _FEW)}, {advice}.")
    pieces = [visible_whitespace(tokenizer.tokens[id]) for id in tokenizer.encode(text[:_MAX_LENGTH]).tolist()]
    split = f", which reads it as {quote_first(pieces)}" if pieces else ""
    raise InvalidSetting(
        f"The answer “{given}” is not one {stored_model.unit} of this model{split}. Give exactly one "
        f"{stored_model.unit} of its vocabulary, {advice}."
    )


def keep_possible_answers(state: AttentionState, stored_model: Model) -> tuple[AttentionState, tuple[str, ...]]:
    """Return the state with those answers that the model has, and a sentence about each other one.

    A model for which nothing is patched keeps the answers of the state for the next model.
    """
    if not stored_model.layout.answers or stored_model.parts:
        return state, ()
    found: dict[str, list[int]] = {}
    problems = []
    for name in ("answer", "contrast"):
        text: str = getattr(state, name)
        try:
            outcomes = find_outcomes(stored_model, text) if text else []
            if outcomes and outcomes in found.values():
                raise InvalidSetting(
                    f"Both answers are “{shorten(visible_whitespace(text))}”, so there is no difference to measure. "
                    "Give another one, or leave the field empty."
                )
            found[name] = outcomes
        except (InvalidSetting, TextError) as error:
            problems.append(f"{error} This answer is automatic now.")
            state = state.with_field(name, "")
    return state, tuple(problems)


def chosen_outcomes(stored_model: Model, state: AttentionState, logits: Float[Tensor, " outcomes"]) -> list[int | None]:
    """Return the two chosen outcomes, None for an automatic one. Raises InvalidSetting.

    If several outcomes have the same text, the most probable one is chosen; `logits` are those of the first text.
    """
    return [
        max(find_outcomes(stored_model, text), key=lambda outcome: float(logits[outcome])) if text else None
        for text in (state.answer, state.contrast)
    ]
