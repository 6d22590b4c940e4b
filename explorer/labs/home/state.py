"""The state of the home page: the sentence that four models are asked about."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.ui.state.fields import PageState, setting

FIRST_SENTENCE = "human not preserve nature"


@dataclass(frozen=True)
class HomeState(PageState):
    """The sentence, a URL parameter."""

    say: str = setting(FIRST_SENTENCE, "Type a sentence", longest=300)
