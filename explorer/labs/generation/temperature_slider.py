"""Texts that every model generates at every temperature, under one slider."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float32, Int32, UInt16
from numpy import ndarray

from explorer.generation import temperature_grid
from explorer.labs.generation.models import (
    EncodedPrompt,
    encode_prompt,
    focused_model,
    id_tensor,
    limit_length,
    sampling_key,
    sampling_settings,
    text_end,
    tokenizer_of,
)
from explorer.labs.generation.state import GenerationState
from explorer.labs.generation.token_tree import sample_tokens
from explorer.model.model import Model
from explorer.ui.components.base import pop_event
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.wording import join_words
from explorer.web import background
from explorer.web.results import is_ready, pack, register_arrays

MARKS = ((0, "greedy"), (0.7, ""), (1, "unchanged"), (1.2, ""), (2, "more random"))
POSITION = "the position that is shown"  # the key of a result; no run has such a name
MAX_NAMES = 5_000  # tokens whose texts are sent with the data
_KEY = "temperature"


@dataclass(frozen=True, eq=False)
class GeneratedTexts:
    """The texts that one model generates after a prompt, one at every temperature."""

    prompt: EncodedPrompt
    ids: Int32[ndarray, "temperatures tokens"]
    # At each position the two most probable tokens, and their surprisal at temperature 1, in nats.
    likeliest: UInt16[ndarray, "temperatures tokens 2"] | Int32[ndarray, "temperatures tokens 2"]
    surprisals: Float32[ndarray, "temperatures tokens 2"]
    pieces: tuple[str, ...]  # the distinct texts of tokens
    content: bytes  # every array that the browser needs


def cache_key(stored_model: Model, state: GenerationState) -> tuple[Hashable, ...]:
    """Return the cache key of a model's texts. The key of a model trained on a visitor's text contains its SHA-256."""
    return ("studio-texts", *stored_model.cache_key, state.prompt, state.tokens, *sampling_key(state))


def generate_texts(stored_model: Model, state: GenerationState) -> GeneratedTexts:
    """Generate the texts of a model at all temperatures. Raises LineageError.

    It takes a second at most, with a large real model about ten.
    """
    prompt, tokenizer = encode_prompt(stored_model, state.prompt), tokenizer_of(stored_model)
    grid = temperature_grid.compute_temperature_grid(
        stored_model.text_generator(), id_tensor(prompt.ids), state.tokens, sampling_settings(state)
    )
    arrays, pieces = temperature_grid.component_arrays(grid, tokenizer, prompt.ids)
    surprisals = (grid.top_surprisals[..., :2] / temperature_grid.UNITS_PER_NAT).astype(np.float32)
    likeliest = grid.top_ids[..., :2].copy()  # a view would keep the whole array in memory
    return GeneratedTexts(prompt, grid.ids, likeliest, surprisals, pieces, pack(arrays))


@dataclass(frozen=True, eq=False)
class SelectedPosition:
    """The logits and the sampling noise of the position whose distribution is shown."""

    context: str  # the end of the text before it
    content: bytes  # logits and noise, for the browser


def inspect_position(stored_model: Model, state: GenerationState) -> SelectedPosition:
    """Compute the logits of the selected position. Raises LineageError."""
    prompt, preceding = encode_prompt(stored_model, state.prompt), _preceding_ids(stored_model, state)
    found = temperature_grid.sampling_inputs(
        stored_model.text_generator(), id_tensor(prompt.ids), id_tensor(preceding), sampling_settings(state)
    )
    content = pack({"logits": found.logits, "noise": found.noise})
    return SelectedPosition(text_end(tokenizer_of(stored_model).decode([*prompt.ids, *preceding])), content)


def _preceding_ids(stored_model: Model, state: GenerationState) -> tuple[int, ...]:
    """Return the tokens before the selected position: of the text if it is computed, otherwise generated again.

    It does not wait for the text, because work that waits for other work can block all threads.
    """
    future = background.results().get(cache_key(stored_model, state))
    texts = future.result() if future and is_ready(future) and not future.exception() else None
    if isinstance(texts, GeneratedTexts):
        return tuple(texts.ids[state.of, : state.at].tolist())
    return sample_tokens(stored_model, replace(state, t=temperatures()[state.of]), (), state.at)


def section(session: PageSession[GenerationState], models: Mapping[str, Model]) -> None:
    """Draw the slider, the texts and the distribution."""
    state = limit_length(session.state, models)
    if state.tokens < session.state.tokens:
        st.caption(f"Each text has {state.tokens} tokens, because longer texts of a large model take too long.")

    def requests() -> Mapping[str, Request[GeneratedTexts | SelectedPosition]]:
        if apply_events(session, models):
            st.rerun()  # the rest of the page follows
        required = required_results(models, state)
        for name, stored_model in models.items():
            if stored_model.pool != "quick":  # its texts take seconds, so they must not wait among quick results
                background.submit(*required[name], "patient")
        return required

    result_section(
        "studio-texts",
        requests,
        partial(draw_slider, models, state.without_path()),
        "The models are generating texts at 41 temperatures …",
        560,
        partly=any(stored_model.pool != "quick" for stored_model in models.values()),
        events={_KEY: ("temperature", "position")},
    )


def required_results(
    models: Mapping[str, Model], state: GenerationState
) -> dict[str, Request[GeneratedTexts | SelectedPosition]]:
    """Return what the component needs: every model's texts, then the selected position of the focused one."""
    results: dict[str, Request[GeneratedTexts | SelectedPosition]] = {
        name: (cache_key(stored_model, state), partial(generate_texts, stored_model, state))
        for name, stored_model in models.items()
    }
    focus = models[focused_model(models, state)]
    if state.at < state.tokens:
        key = ("studio-place", *cache_key(focus, state)[1:], state.of, state.at)
        results[POSITION] = key, partial(inspect_position, focus, state)
    return results


def draw_slider(
    models: Mapping[str, Model],
    state: GenerationState,
    document: Document,
    found: Mapping[str, GeneratedTexts | SelectedPosition],
) -> None:
    """Draw the texts of those models whose texts are computed."""
    results = {name: texts for name, texts in found.items() if isinstance(texts, GeneratedTexts)}
    if not results:
        return
    if waiting := [each.title for name, each in models.items() if name not in results and _is_generating(each, state)]:
        document.caption(f"Still generating: {join_words(waiting)}. The texts of a large model take several seconds …")
    focus = focused_model({name: models[name] for name in results}, state)
    # While the texts of the focused model are not there yet, another one is in focus: the position is not its own.
    position = found.get(POSITION) if focus == focused_model(models, state) else None
    units = {models[name].unit for name in results}
    data = {
        "temperatures": [round(float(t), 2) for t in temperatures()],
        "temperature": float(state.t),
        "marks": [list(mark) for mark in MARKS],
        "models": [
            {
                "name": name,
                "title": models[name].title,
                "colour": models[name].colour,
                "unit": models[name].unit,
                "address": register_arrays(texts.content, models[name].cache_key),
                "pieces": list(texts.pieces),
                **_token_names(models[name]),
                "prompt": texts.prompt.text,
                "note": texts.prompt.note,
            }
            for name, texts in results.items()
        ],
        "focus": focus,
        "position": {
            "model": focus,
            "of": state.of,
            "at": state.at,
            "address": register_arrays(position.content, models[focus].cache_key)
            if isinstance(position, SelectedPosition)
            else None,
            "context": position.context if isinstance(position, SelectedPosition) else "",
        }
        if state.at < state.tokens and focus == focused_model(models, state)
        else None,
        "cut": {
            "greedy": state.greedy,
            "top_k": int(state.top_k),
            "top_p": float(state.top_p),
            "min_p": float(state.min_p),
        },
        "unit": units.pop() if len(units) == 1 else "token",
        "file": "temperature",
    }
    document.component("temperature", data, _KEY)


def _token_names(stored_model: Model) -> dict[str, object]:
    """Return the texts of all tokens by id, or the address of a long list, which the browser fetches once."""
    names = tokenizer_of(stored_model).tokens
    if len(names) <= MAX_NAMES:
        return {"tokens": list(names)}
    content = np.frombuffer("\0".join(name.replace("\0", "") for name in names).encode(), np.uint8)
    return {"tokens": [], "names": register_arrays(pack({"names": content}), stored_model.cache_key)}


def _is_generating(stored_model: Model, state: GenerationState) -> bool:
    """Return whether the texts of a model are not computed yet; those that failed are."""
    future = background.results().get(cache_key(stored_model, state))
    return future is None or not is_ready(future)


def apply_events(session: PageSession[GenerationState], models: Mapping[str, Model]) -> bool:
    """Apply the component's events to the state, temperature and selected position; return whether it has changed."""
    state = session.state
    if isinstance(event := pop_event(_KEY, "temperature"), int | float) and 0 <= event <= 2:
        state = replace(state, t=round(float(event), 2))
    event = pop_event(_KEY, "position")
    if isinstance(event, dict) and event.get("model") in models:
        of, at = event.get("of"), event.get("at")
        if type(of) is int and type(at) is int and 0 <= of < len(temperatures()) and 0 <= at < state.tokens:
            state = state.with_position(event["model"], of, at)
    changed = state != session.state
    session.state = state
    return changed


def temperatures() -> Sequence[float]:
    """Return the temperatures of the slider."""
    return temperature_grid.TEMPERATURES
