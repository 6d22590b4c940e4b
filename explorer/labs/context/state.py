"""The state of the page on context: a text and the models that read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from explorer.catalogue import MODELS, models_of
from explorer.experiments.text_setups import SETUPS
from explorer.training.config import RunConfig
from explorer.ui.state.fields import PageState, one_of, setting

TEXTS = {
    "shakespeare": "Tiny Shakespeare",
    "shakespeare-bpe": "Tiny Shakespeare, BPE",
    "repeats": "Repeats",
    "brackets": "Brackets",
}
_TITLES = {model: MODELS[model].title for model in models_of("text")}


@dataclass(frozen=True)
class ContextState(PageState):
    """The text and the models. Each field is a URL parameter; every run is included (`text_setups`)."""

    setup: Literal["shakespeare", "shakespeare-bpe", "repeats", "brackets"] = setting(
        "shakespeare", "Text", options=TEXTS
    )
    models: tuple[str, ...] = setting(
        ("ngram", "feedforward", "gru", "transformer"), "Models", options=_TITLES, check=one_of(_TITLES)
    )

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The configuration of each model, in chronological order."""
        return {name: SETUPS[self.setup].config(name) for name in _TITLES if name in self.models}

    def validate(self) -> ContextState:
        """Return the state with at least one model."""
        return self if self.models else replace(self, models=type(self)().models)

    def with_models(self, names: Iterable[str]) -> ContextState:
        """Return the state with these models in chronological order; at least one stays."""
        return replace(self, models=tuple(name for name in _TITLES if name in set(names)) or self.models)
