"""The state of the home page: the sentence that six models are asked about."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.model.example_texts import ENGLISH_EXAMPLES
from explorer.ui.state.fields import PageState, setting

FIRST_SENTENCE = ENGLISH_EXAMPLES[0]


@dataclass(frozen=True)
class HomeState(PageState):
    """The sentence, a URL parameter."""

    say: str = setting(FIRST_SENTENCE, "Type any English sentence", longest=300)
