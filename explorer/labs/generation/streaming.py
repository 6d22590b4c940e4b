"""Long texts, generated on the server and streamed to the browser."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import streamlit as st

from explorer import ui
from explorer.generation import streaming
from explorer.labs.generation import findings
from explorer.labs.generation.models import EncodedPrompt, encode_prompt, id_tensor, sampling_settings, tokenizer_of
from explorer.labs.generation.state import GenerationState
from explorer.model.model import Model
from explorer.web.results import register as register_answer
from explorer.web.token_streams import StreamAnswer

_KEY = "writing"


def section(session: ui.PageSession[GenerationState], models: Mapping[str, Model]) -> None:
    """Draw a long text of every model, from the same prompt and with the same random numbers."""
    state = session.state
    ui.explanation(
        "The random numbers are those of above, so at the same temperature each text begins in the same way."
    )
    ui.bind_widget(session, "length", st.number_input, width=150)
    addresses = {
        name: register_answer(
            ui.tab_token(f"stream.{name}"),
            StreamAnswer(partial(stream_text, stored_model, state)),
            stored_model.cache_key,
        )
        for name, stored_model in models.items()
    }
    calls = {name: ui.Call(encode_prompt, stored_model, state.prompt) for name, stored_model in models.items()}
    context, waiting = (models, addresses, state.without_path()), "The prompt is being tokenized …"
    ui.show_each("studio-writing", calls, streams_view, *context, waiting=waiting, height=420, pool="quick")


def streams_view(
    document: ui.Document,
    prompts: Mapping[str, EncodedPrompt],
    models: Mapping[str, Model],
    addresses: Mapping[str, str],
    state: GenerationState,
) -> None:
    """Write the prompt of each model and the address from which its text is streamed."""
    units = {models[name].unit for name in prompts}
    data = {
        "models": [
            {
                "name": name,
                "title": models[name].title,
                "colour": models[name].colour,
                "address": addresses[name],
                "prompt": prompt.text,
                "unit": models[name].unit,
            }
            for name, prompt in prompts.items()
        ],
        "most": state.length,
        "cut": findings.describe_sampling(state),
        "temperature": float(state.t),
        "seed": state.seed,
        "full": math.log(max(2, *(len(tokenizer_of(models[name]).tokens) for name in prompts))),
        "unit": units.pop() if len(units) == 1 else "token",
        "file": "text",
    }
    document.component("text_stream", data, _KEY)


def stream_text(stored_model: Model, state: GenerationState) -> Iterator[streaming.Chunk]:
    """Generate the text of a model chunk by chunk. Raises LineageError."""
    prompt = id_tensor(encode_prompt(stored_model, state.prompt).ids)
    return streaming.stream_chunks(
        stored_model.text_generator(),
        tokenizer_of(stored_model),
        prompt,
        state.length,
        sampling_settings(state, state.t),
    )
