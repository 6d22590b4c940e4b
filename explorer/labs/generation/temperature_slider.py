"""Texts that every model generates at every temperature, under one slider, and the formulas with their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float32, Int32, UInt16
from numpy import ndarray

from explorer import ui
from explorer.generation import sampling, temperature_grid
from explorer.labs.generation.models import (
    EncodedPrompt,
    encode_prompt,
    focused_model,
    id_tensor,
    limit_length,
    sampling_settings,
    text_end,
    tokenizer_of,
)
from explorer.labs.generation.state import GenerationState
from explorer.labs.generation.token_tree import sample_tokens
from explorer.model.model import Model
from explorer.ui.wording import visible_whitespace
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


def texts_call(stored_model: Model, state: GenerationState) -> ui.Call[GeneratedTexts]:
    """Return the call for the texts of a model at all temperatures."""
    return ui.Call(generate_texts, stored_model, state.prompt, state.tokens, sampling_settings(state))


def generate_texts(stored_model: Model, prompt_text: str, tokens: int, settings: sampling.Sampling) -> GeneratedTexts:
    """Generate the texts of a model at all temperatures. Raises LineageError.

    It takes a second at most, with a large real model about ten.
    """
    prompt, tokenizer = encode_prompt(stored_model, prompt_text), tokenizer_of(stored_model)
    grid = temperature_grid.compute_temperature_grid(
        stored_model.text_generator(), id_tensor(prompt.ids), tokens, settings
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


def inspect_position(
    stored_model: Model, prompt_text: str, tokens: int, settings: sampling.Sampling, of: int, at: int
) -> SelectedPosition:
    """Compute the logits of the position `at` in the text of temperature `of`. Raises LineageError."""
    prompt = encode_prompt(stored_model, prompt_text)
    # It does not wait for the text, because work that waits for other work can block all threads: the text is used if
    # it is computed, otherwise its tokens are generated again.
    future = background.results().get(ui.Call(generate_texts, stored_model, prompt_text, tokens, settings).key)
    texts = future.result() if future and is_ready(future) and not future.exception() else None
    preceding = (
        tuple(texts.ids[of, :at].tolist())
        if isinstance(texts, GeneratedTexts)
        else sample_tokens(
            stored_model, prompt.ids, (), at, replace(settings, temperature=temperature_grid.TEMPERATURES[of])
        )
    )
    found = temperature_grid.sampling_inputs(
        stored_model.text_generator(), id_tensor(prompt.ids), id_tensor(preceding), settings
    )
    content = pack({"logits": found.logits, "noise": found.noise})
    return SelectedPosition(text_end(tokenizer_of(stored_model).decode([*prompt.ids, *preceding])), content)


def section(session: ui.PageSession[GenerationState], models: Mapping[str, Model]) -> None:
    """Draw the slider, the texts and the distribution."""
    state = limit_length(session.state, models)
    if state.tokens < session.state.tokens:
        ui.caption(f"Each text has {state.tokens} tokens, because longer texts of a large model take too long.")
    calls = slider_calls(models, state)

    def handle_fragment() -> None:
        if apply_events(session, models):
            st.rerun()  # the rest of the page follows
        for name, stored_model in models.items():
            if stored_model.pool != "quick":  # its texts take seconds, so they must not wait among quick results
                background.submit(calls[name].key, calls[name], "patient")

    ui.show_each(
        "studio-texts",
        calls,
        slider_view,
        models,
        state.without_path(),
        waiting="The models are generating texts at 41 temperatures …",
        height=560,
        partly=any(stored_model.pool != "quick" for stored_model in models.values()),
        events={_KEY: ("temperature", "position")},
        on_event=handle_fragment,
    )


def slider_calls(
    models: Mapping[str, Model], state: GenerationState
) -> dict[str, ui.Call[GeneratedTexts | SelectedPosition]]:
    """Return what the component needs: every model's texts, then the selected position of the focused one."""
    calls: dict[str, ui.Call[Any]] = {name: texts_call(model, state) for name, model in models.items()}
    if state.at < state.tokens:
        focus, settings = models[focused_model(models, state)], sampling_settings(state)
        calls[POSITION] = ui.Call(inspect_position, focus, state.prompt, state.tokens, settings, state.of, state.at)
    return calls


def slider_view(
    document: ui.Document,
    found: Mapping[str, GeneratedTexts | SelectedPosition],
    models: Mapping[str, Model],
    state: GenerationState,
) -> None:
    """Write the texts of those models whose texts are computed."""
    results = {name: texts for name, texts in found.items() if isinstance(texts, GeneratedTexts)}
    if not results:
        return
    if waiting := [each.title for name, each in models.items() if name not in results and _is_generating(each, state)]:
        document.text(f"Still generating: {ui.join_words(waiting)}. The texts of a large model take several seconds …")
    focus = focused_model({name: models[name] for name in results}, state)
    # While the texts of the focused model are not there yet, another one is in focus: the position is not its own.
    own = focus == focused_model(models, state)
    position = found.get(POSITION) if own else None
    units = {models[name].unit for name in results}
    data = {
        "temperatures": [round(float(t), 2) for t in temperature_grid.TEMPERATURES],
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
        "position": _position_data(focus, models[focus], state, position) if own and state.at < state.tokens else None,
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


def _position_data(name: str, model: Model, state: GenerationState, position: object) -> dict[str, object]:
    """Return the selected position in the text of the named model; its distribution may not be computed yet."""
    data: dict[str, object] = {"model": name, "of": state.of, "at": state.at, "address": None, "context": ""}
    if isinstance(position, SelectedPosition):
        data |= {"address": register_arrays(position.content, model.cache_key), "context": position.context}
    return data


def _token_names(stored_model: Model) -> dict[str, object]:
    """Return the texts of all tokens by id, or the address of a long list, which the browser fetches once."""
    names = tokenizer_of(stored_model).tokens
    if len(names) <= MAX_NAMES:
        return {"tokens": list(names)}
    content = np.frombuffer("\0".join(name.replace("\0", "") for name in names).encode(), np.uint8)
    return {"tokens": [], "names": register_arrays(pack({"names": content}), stored_model.cache_key)}


def _is_generating(stored_model: Model, state: GenerationState) -> bool:
    """Return whether the texts of a model are not computed yet; those that failed are."""
    future = background.results().get(texts_call(stored_model, state).key)
    return future is None or not is_ready(future)


def apply_events(session: ui.PageSession[GenerationState], models: Mapping[str, Model]) -> bool:
    """Apply the component's events to the state, temperature and selected position; return whether it has changed."""
    state = session.state
    if isinstance(event := ui.pop_event(_KEY, "temperature"), int | float) and 0 <= event <= 2:
        state = replace(state, t=round(float(event), 2))
    event = ui.pop_event(_KEY, "position")
    if isinstance(event, dict) and event.get("model") in models:
        of, at = event.get("of"), event.get("at")
        if (
            type(of) is int
            and type(at) is int
            and 0 <= of < len(temperature_grid.TEMPERATURES)
            and 0 <= at < state.tokens
        ):
            state = state.with_position(event["model"], of, at)
    changed = state != session.state
    session.state = state
    return changed


# ---- why the same random numbers give another text


def formulas_section(state: GenerationState, models: Mapping[str, Model]) -> None:
    """Draw the formulas of temperature and of the Gumbel-max trick, with the logits of the selected position."""
    ui.explanation(
        "A model gives every token a number, its logit. The softmax of the logits divided by the temperature τ gives "
        "the probabilities: below 1 the differences grow, above 1 they shrink. Sampling adds a random number g to each "
        "and takes the largest (the Gumbel-max trick):"
    )
    st.latex(r"p_i = \frac{e^{l_i / \tau}}{\sum_j e^{l_j / \tau}}")
    st.latex(r"\text{next} = \operatorname*{arg\,max}_i \left( \frac{l_i}{\tau} + g_i \right)")
    st.latex(r"g_i = -\ln(-\ln u_i)")
    state = limit_length(state, models)
    if models and state.at < state.tokens:
        focus = models[focused_model(models, state)]
        call = texts_call(focus, state)
        ui.show_when_ready(
            "studio-formulas",
            call.key,
            call,
            partial(draw_example, state, focus),
            "The text is being generated …",
            260,
            on_error=lambda _: None,  # the formulas_section of the slider shows it
        )
    ui.explanation(
        "The random numbers do not change with the temperature, so a token stays the same until another one has the "
        "larger sum. From there on, the model continues another text."
    )


def draw_example(state: GenerationState, stored_model: Model, texts: GeneratedTexts) -> None:
    """Draw the formulas with the numbers of the selected position."""
    names = tokenizer_of(stored_model).tokens
    first, second = (visible_whitespace(names[id]) for id in texts.likeliest[state.of, state.at].tolist())
    title, named = (ui.escape_markdown(each) for each in (stored_model.title, f"“{first}” and “{second}”"))
    ui.explanation(f"The two most probable tokens of the {title} at the position that is shown above, {named}:")
    for line in temperature_formulas(state, texts):
        st.latex(line)


def temperature_formulas(state: GenerationState, texts: GeneratedTexts) -> list[str]:
    """Return the formulas for the ratio of the two largest probabilities, as LaTeX."""
    first, second = texts.surprisals[state.of, state.at]
    gap = float(second - first)
    lines = [
        r"\frac{p_1}{p_2} = e^{(l_1 - l_2) / \tau}",
        rf"\tau = 1: \quad e^{{{gap:.2f}}} = {format_power_of_e(gap)}",
    ]
    if state.t not in (0, 1):
        value = format_power_of_e(gap / state.t)
        lines.append(rf"\tau = {state.t:.2f}: \quad e^{{{gap:.2f} / {state.t:.2f}}} = {value}")
    return lines


def format_power_of_e(nats: float) -> str:
    """Return exp(nats) as LaTeX, for nats >= 0; in scientific notation where it is large."""
    if nats < math.log(1e4):
        value = math.exp(nats)
        return f"{value:.2f}" if value < 100 else f"{value:,.0f}".replace(",", r"{,}")
    power, rest = divmod(nats / math.log(10), 1)
    mantissa = f"{10**rest:.1f}"
    if mantissa == "10.0":
        power, mantissa = power + 1, "1.0"
    return rf"{mantissa} \cdot 10^{{{power:.0f}}}"
