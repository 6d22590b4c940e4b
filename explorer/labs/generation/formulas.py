"""Why the same random numbers give another text at another temperature: the formulas with their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer import ui
from explorer.labs.generation.models import focused_model, limit_length, tokenizer_of
from explorer.labs.generation.state import GenerationState
from explorer.labs.generation.temperature_slider import GeneratedTexts, texts_call
from explorer.model.model import Model
from explorer.ui.wording import visible_whitespace


def section(state: GenerationState, models: Mapping[str, Model]) -> None:
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
            partial(_draw_example, state, focus),
            "The text is being generated …",
            260,
            on_error=lambda _: None,  # the section of the slider shows it
        )
    ui.explanation(
        "The random numbers do not change with the temperature, so a token stays the same until another one has the "
        "larger sum. From there on, the whole text differs."
    )


def _draw_example(state: GenerationState, stored_model: Model, texts: GeneratedTexts) -> None:
    """Draw the formulas with the numbers of the selected position."""
    first, second = likeliest_tokens(stored_model, state, texts)
    named = ui.escape_markdown(f"“{first}” and “{second}”")
    title = ui.escape_markdown(stored_model.title)
    ui.explanation(f"The two most probable tokens of the {title} at the position that is shown above, {named}:")
    for line in temperature_formulas(state, texts):
        st.latex(line)


def likeliest_tokens(stored_model: Model, state: GenerationState, texts: GeneratedTexts) -> tuple[str, str]:
    """Return the texts of the two most probable tokens at the selected position."""
    names = tokenizer_of(stored_model).tokens
    first, second = (visible_whitespace(names[id]) for id in texts.likeliest[state.of, state.at].tolist())
    return first, second


def temperature_formulas(state: GenerationState, texts: GeneratedTexts) -> list[str]:
    """Return the formulas for the ratio of the two largest probabilities, as LaTeX."""
    first, second = texts.surprisals[state.of, state.at]
    gap = float(second - first)
    lines = [
        r"\frac{p_1}{p_2} = e^{(l_1 - l_2) / \tau}",
        rf"\tau = 1: \quad e^{{{gap:.2f}}} = {format_power_of_e(gap)}",
    ]
    if state.t not in (0, 1):
        lines.append(
            rf"\tau = {state.t:.2f}: \quad e^{{{gap:.2f} / {state.t:.2f}}} = {format_power_of_e(gap / state.t)}"
        )
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
