"""The state of the home page: the sentence that six models are asked about."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.ui.state.fields import PageState, setting
from explorer.ui.training.model_input import ENGLISH_EXAMPLES

FIRST_SENTENCE = ENGLISH_EXAMPLES[0]


@dataclass(frozen=True)
class HomeState(PageState):
    """The sentence, a URL parameter."""

    say: str = setting(FIRST_SENTENCE, "Type any English sentence", longest=300)
