"""The models, prompt and sampling settings of the generation page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st
from jaxtyping import Int

from explorer import ui
from explorer.catalogue import task_row
from explorer.errors import InvalidSetting, LineageError
from explorer.generation import generate, sampling
from explorer.labs.generation.state import MAX_MODELS, GenerationState
from explorer.lazy_libraries import torch
from explorer.model.model import Model
from explorer.model.run_model import RunModel
from explorer.tasks.text.config import TextConfig
from explorer.ui.training import stored_models
from explorer.ui.training.stored_models import real_model_titles
from explorer.ui.wording import quote_first

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.tokenization.text import Tokenizer

_MAX_CONTEXT = 24  # characters


@dataclass(frozen=True)
class EncodedPrompt:
    """A prompt as the token ids of one model."""

    ids: tuple[int, ...]
    text: str
    note: str  # what of it was changed, left out or truncated


def sampling_settings(state: GenerationState, temperature: float = 1.0) -> sampling.Sampling:
    """Return the sampling settings of the state with a temperature, which texts at all temperatures ignore.

    Greedy is top-k 1.
    """
    top_k = 1 if state.greedy else state.top_k
    return sampling.Sampling(float(temperature), top_k, float(state.top_p), float(state.min_p), state.seed)


def encode_prompt(stored_model: Model, prompt: str) -> EncodedPrompt:
    """Encode a prompt for a stored model. Raises DamagedRun or TextError."""
    tokenizer = tokenizer_of(stored_model)
    lowered = prompt.lower() if stored_model.lowercase else prompt
    ids, unseen = stored_model.read_prompt(prompt)
    text = tokenizer.decode(ids[len(stored_model.prompt_start) :])
    notes = []
    if not tokenizer.encode(lowered).tolist():
        notes.append(generate.FROM_NOTHING if prompt.strip() else "")
    if lowered != prompt:
        notes.append("It learned from small letters only.")
    if unseen:
        become = "left out" if tokenizer.unknown is None else "read as <unk>"
        notes.append(f"It never saw {quote_first(unseen)}: {become}.")
    if forgotten := stored_model.count_truncated(len(ids)):
        remaining = len(ids) - forgotten
        end = text_end(tokenizer.decode(ids[:forgotten]))
        notes.append(f"It sees only the last {remaining} {stored_model.unit}s; all up to “{end}” is forgotten.")
    if tokenizer.kind == "bpe":
        notes.append("Its tokenizer keeps no spaces: one stands between all tokens.")
    return EncodedPrompt(tuple(ids), text, " ".join(filter(None, notes)))


def limit_length(state: GenerationState, models: Mapping[str, Model]) -> GenerationState:
    """Return the state with texts that all models can generate in a few seconds, so that they have the same length."""
    return replace(state, tokens=min([state.tokens, *(each.most_generated for each in models.values())]))


def tokenizer_of(stored_model: Model) -> Tokenizer:
    """Return the tokenizer of a language model."""
    tokenizer = stored_model.tokenizer
    assert tokenizer, "a language model has one"
    return tokenizer


def focused_model(models: Mapping[str, Model], state: GenerationState) -> str:
    """Return the name of the model whose distribution is shown, among those that can generate."""
    return state.focused_model if state.focused_model in models else list(models)[-1]


def id_tensor(ids: Sequence[int]) -> Int[Tensor, " tokens"]:
    """Return token ids as a tensor."""
    return torch.tensor(ids, dtype=torch.int64)


def text_end(text: str) -> str:
    """Return the last characters of a text on one line."""
    line = text.replace("\n", "↵")
    return line if len(line) <= _MAX_CONTEXT else f"…{line[-_MAX_CONTEXT:]}"


# ---- controls


def prompt_row(session: ui.PageSession[GenerationState]) -> None:
    """Draw the controls for the prompt, the models, and how they sample."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "prompt", st.text_input, placeholder="Empty: the start of a line", width=330)
        model_picker(session)
        with st.popover("Sampling settings", icon=":material/tune:"):
            ui.bind_widget(session, "greedy", st.toggle)
            ui.bind_widget(session, "top_k", st.number_input, disabled=state.greedy)
            ui.bind_widget(session, "top_p", st.slider, disabled=state.greedy)
            ui.bind_widget(session, "min_p", st.slider, disabled=state.greedy)
            ui.bind_widget(session, "seed", st.number_input)
            ui.bind_widget(session, "tokens", st.slider)
            if state.reset() != replace(state, t=state.reset().t, at=0, of=0, path=None, focus=""):
                ui.reset_button(session)


def model_picker(session: ui.PageSession[GenerationState]) -> None:
    """Draw the choice of models."""
    titles = stored_models.model_titles(("text",), selected=session.state.models) | real_model_titles("decoder")
    ui.bind_widget(session, "models", st.multiselect, options=titles, max_selections=MAX_MODELS, width=420)


def selected_models(session: ui.PageSession[GenerationState]) -> dict[str, Model]:
    """Return the selected models that can generate, by name; show why others cannot."""
    found, messages = {}, []
    for name in session.state.models:
        try:
            stored_model = stored_models.find_model(name)
            check_generates_text(stored_model)
            found[name] = stored_model
        except LineageError as error:
            messages.append(str(error))
    ui.show_problems(messages)
    for stored_model in found.values():
        if stored_model.summary:
            ui.caption(ui.escape_markdown(stored_model.summary))
    return found


def check_generates_text(stored_model: Model) -> None:
    """Raise InvalidSetting for a model that generates no text; a run of another task may be linked to this page."""
    if isinstance(stored_model, RunModel) and not isinstance(stored_model.config.task, TextConfig):
        task = task_row(stored_model.config.task).title.lower()
        raise InvalidSetting(f"The run “{stored_model.name}” learned {task}, it cannot write. Choose a language model.")
    stored_model.check_generates_text()
