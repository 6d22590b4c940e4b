"""Long texts, generated on the server and streamed to the browser."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.labs.generation import findings
from explorer.labs.generation.models import (
    EncodedPrompt,
    encode_prompt,
    id_tensor,
    sampling_settings,
    text_generator,
    tokenizer_of,
)
from explorer.labs.generation.state import MAX_TEXT_TOKENS, GenerationState
from explorer.ui.components.base import register
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import explanation
from explorer.ui.state.session import PageSession, bind_widget
from explorer.ui.training.stored_models import StoredModel
from explorer.web import token_streams

if TYPE_CHECKING:
    from explorer.generation.streaming import Chunk

_KEY = "writing"
_stream = register("text_stream")


def section(session: PageSession[GenerationState], models: Mapping[str, StoredModel]) -> None:
    """Draw a long text of every model, from the same prompt and with the same random numbers."""
    state = session.state
    st.header("Whole texts", anchor=False)
    explanation(
        "Let them write on. The dice are those of above: at the same temperature a text begins as it stands there."
    )
    ties = bind_widget(session, "studio.length", state.length, lambda s, n: replace(s, length=n))
    st.number_input("Tokens of each", 100, MAX_TEXT_TOKENS, step=100, width=150, **ties)
    prompts = {
        name: (
            ("studio-prompt", *stored_model.cache_key, state.prompt),
            partial(encode_prompt, stored_model, state.prompt),
        )
        for name, stored_model in models.items()
    }

    def draw(found: Mapping[str, EncodedPrompt], old: frozenset[str]) -> None:
        units = {models[name].unit for name in found}
        data = {
            "models": [
                {
                    "name": name,
                    "title": models[name].title,
                    "colour": models[name].row.colour,
                    "address": token_streams.register_stream(
                        f"studio.{name}", partial(stream_text, models[name], state), models[name].cache_key
                    ),
                    "prompt": prompt.text,
                    "unit": models[name].unit,
                }
                for name, prompt in found.items()
            ],
            "most": state.length,
            "cut": findings.describe_sampling(state),
            "temperature": float(state.t),
            "seed": state.seed,
            "full": math.log(max(2, *(len(tokenizer_of(models[name]).tokens) for name in found))),
            "unit": units.pop() if len(units) == 1 else "token",
            "file": "text",
        }
        _stream(data=data, key=_KEY)

    show_latest("studio-writing", lambda: prompts, draw, "The prompt is being read …", 420, pool="quick")


def stream_text(stored_model: StoredModel, state: GenerationState) -> Iterator[Chunk]:
    """Generate the text of a model chunk by chunk. Raises LineageError."""
    from explorer.generation.streaming import stream_chunks

    prompt = id_tensor(encode_prompt(stored_model, state.prompt).ids)
    return stream_chunks(
        text_generator(stored_model), tokenizer_of(stored_model), prompt, state.length, sampling_settings(state)
    )
