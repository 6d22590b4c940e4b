"""The state of the generation page: each field is a URL parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from explorer.errors import InvalidSetting
from explorer.ui.state.fields import PageState, at_most, setting

MAX_MODELS = 3  # side by side
MAX_PROMPT_LENGTH = 2_000  # characters
MAX_PATH_LENGTH = 120  # tokens that are chosen one by one
MAX_TEXT_TOKENS = 5_000  # tokens of a whole text
DEFAULT_MODELS = ("text-ngram", "text-transformer")


def _check_models(value: object) -> None:
    if not isinstance(value, tuple) or not 1 <= len(value) <= MAX_MODELS:
        raise InvalidSetting(
            f"models names {len(value) if isinstance(value, tuple) else 0} models. Name one to {MAX_MODELS}."
        )


_check_prompt = at_most(MAX_PROMPT_LENGTH)


def _check_path(value: object) -> None:
    if isinstance(value, tuple) and (len(value) > MAX_PATH_LENGTH or any(id < 0 for id in value)):
        raise InvalidSetting(
            f"path is not possible: it is at most {MAX_PATH_LENGTH} numbers of tokens, with commas between."
        )


@dataclass(frozen=True)
class GenerationState(PageState):
    """The models, their prompt, and how they sample."""

    models: tuple[str, ...] = setting(DEFAULT_MODELS, f"Models, up to {MAX_MODELS}", check=_check_models)
    run: str = setting("")  # one run, as any page's address may name it
    focus: str = setting("")  # the model whose distribution is shown; empty: the last one
    prompt: str = setting("Romeo", "Prompt", check=_check_prompt, longest=MAX_PROMPT_LENGTH)
    tokens: int = setting(200, "Tokens of each text", low=20, high=400, step=10)
    seed: int = setting(0, "Seed of the random numbers", low=0, high=2**31 - 1, step=1)
    t: float = setting(0.7, low=0.0, high=2.0)  # the temperature
    greedy: bool = setting(False, "Greedy: always the most probable token")
    top_k: int = setting(0, "top-k (0: all tokens)", low=0, high=20_000, step=1)
    top_p: float = setting(1.0, "top-p", low=0.0, high=1.0, step=0.01)
    min_p: float = setting(0.0, "min-p", low=0.0, high=1.0, step=0.01)
    at: int = setting(0, low=0, high=399)  # the token whose distribution is shown
    of: int = setting(0, low=0, high=40)  # in which of the texts: the index of its temperature
    # Tokens that were chosen one by one; None: none was chosen yet, and the first few are sampled.
    path: tuple[int, ...] | None = setting(None, check=_check_path, longest=6 * MAX_PATH_LENGTH)
    length: int = setting(1_000, "Length in tokens", low=100, high=MAX_TEXT_TOKENS, step=100)  # of a whole text

    @property
    def focused_model(self) -> str:
        """The name of the model whose distribution is shown."""
        return self.focus if self.focus in self.models else self.models[-1]

    def normalize(self, requested: str = "") -> GenerationState:
        """Return the state as the widgets can show it, with the requested run as its only model.

        `requested` is a run that another page has shown.
        """
        run = self.run or requested
        state = replace(self, t=round(self.t, 2), models=tuple(dict.fromkeys(self.models)))  # as the slider has it
        return replace(state.with_models([run]), run="") if run else state

    def with_models(self, models: Iterable[str]) -> GenerationState:
        """Return the state with other models, or unchanged for none; the last MAX_MODELS are kept."""
        chosen = tuple(dict.fromkeys(models))[-MAX_MODELS:]
        return self._restart(models=chosen) if chosen else self

    def with_settings(self, **changes: object) -> GenerationState:
        """Return the state with another prompt or other sampling settings: selected position and path are reset.

        Raises InvalidSetting for a prompt that is too long.
        """
        _check_prompt(changes.get("prompt", ""))
        return self._restart(**changes)

    def with_position(self, model: str, of: int, at: int) -> GenerationState:
        """Return the state with another selected position; the path of another model is reset.

        model: the name of the model.
        of: the index of the temperature; at position 0 it does not matter.
        at: the index of the token.
        """
        path = self.path if model == self.focused_model else None
        return replace(self, focus="" if model == self.models[-1] else model, of=of if at else 0, at=at, path=path)

    def without_path(self) -> GenerationState:
        """Return the state without the path, for what does not depend on it: it stays equal while tokens are chosen."""
        return replace(self, path=None)

    def reset(self) -> GenerationState:
        """Return the state with the default sampling settings, for the same models and prompt."""
        return GenerationState(models=self.models, prompt=self.prompt)

    def with_field(self, name: str, value: Any) -> GenerationState:
        if name == "models":
            return self.with_models(value)
        return super().with_field(name, value) if name == "length" else self.with_settings(**{name: value})

    def _restart(self, **changes: object) -> GenerationState:
        return replace(self, **{"at": 0, "of": 0, "path": None, **changes})  # type: ignore[arg-type]
