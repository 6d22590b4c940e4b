"""Cost of context: seconds and bytes of a training step by the length of a row, measured on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.inspection.language import context_cost
from explorer.models.configs import TransformerTextConfig
from explorer.number_format import format_duration, format_number
from explorer.training.config import RunConfig
from explorer.ui.language_lines import HEIGHT, NARROW, model_line

_REQUEST_KEY = "text.prices"  # what this visitor last asked to be measured, and a token of that press
_SIMILAR = 1.25  # times as much, which may be the other work on the server


def context_cost_section(views: Mapping[str, ui.RunView]) -> None:
    """Draw time and memory of a step by the length of a row."""
    configs = tuple(view.config for name, view in views.items() if name != "ngram")
    if not configs:
        ui.empty_panel("An n-gram takes no training steps. Choose a network above.", 120)
        return
    press, requested = st.session_state.get(_REQUEST_KEY, ("", None))

    def request_measurement() -> None:
        st.session_state[_REQUEST_KEY] = (uuid4().hex, configs)  # each press measures anew, also after others

    label = "Measure again" if requested == configs else "Measure on this server"
    st.button(label, icon=":material/timer:", on_click=request_measurement, key="text-prices-measure")
    if requested != configs:
        what = ui.join_words([MODELS[config.model_name].title for config in configs])
        ui.empty_panel(
            f"Training steps of {what} with rows of seven lengths and the same number of tokens: about ten seconds.",
            120,
        )
    else:
        call = ui.Call(_measure_anew, configs, press)
        waiting = "Training steps are being timed; that takes about ten seconds …"
        ui.show("text-prices", call, costs_view, waiting=waiting, height=HEIGHT + 120, pool="timing")
        ui.show_when_ready(
            "text-prices-formulas",
            call.key,
            call,
            lambda costs: _draw_formulas(configs, costs),
            "The formulas follow with the measured numbers …",
            60,
            on_error=lambda _: None,  # the section above shows it
            pool="timing",
        )
    ui.explanation(
        "A batch always has the same number of tokens, so longer rows are fewer rows. Work that concerns each token "
        "alone costs the same for every length: a horizontal line. A recurrent network takes n steps one after the "
        "other, because each needs the state before it. Attention compares each token with all earlier ones: n² pairs "
        "in a row, n for each token."
    )


def _measure_anew(configs: Sequence[RunConfig], press: str) -> context_cost.ContextCosts:
    """Return the measured costs; `press` is another text for each press of the button, whose numbers are its own."""
    return context_cost.measure_context_costs({config.model_name: config for config in configs})


def costs_view(document: ui.Document, costs: context_cost.ContextCosts) -> None:
    """Write the finding, both charts and the caption."""
    document.finding(context_cost_finding(costs))
    seconds, memory = [each.seconds for each in costs.costs], [each.saved_bytes / 1e6 for each in costs.costs]
    subject = "Megabytes that a step keeps for the backward pass, by the length of a row"
    memory_chart = cost_chart(subject, "megabytes", costs.costs, memory, 1)
    seconds_chart = cost_chart("Seconds of a training step by the length of a row", "seconds", costs.costs, seconds, 3)
    panels = [
        ui.Panel("seconds-a-step", seconds_chart, title="Seconds per training step"),
        ui.Panel("megabytes-a-step", memory_chart, title="Memory kept for the backward pass, MB"),
    ]
    document.figures("text-prices", panels, columns=2, height=HEIGHT, narrow_height=NARROW)
    missing = any(not np.isfinite(price.seconds).all() for price in costs.costs)
    explicit = any(price.explicit for price in costs.costs)
    powers = [f"{name} {format_number(each.exponent)}" for name, each in cost_growths(costs, "seconds").items()]
    sentences = [
        f"Forward and backward of one batch of {context_cost.TOKENS:,} random tokens in models freshly built at these "
        f"sizes, one thread, the median of up to five; measured in {format_duration(costs.seconds)} on this server, "
        "and other work on it slows it. Megabytes are what autograd saves, parameters aside.",
        "Explicit, hollow: attention that stores every weight, as when somebody looks at it; otherwise a fused kernel "
        "never does." * explicit,
        f"Time grows as n to the power, fitted from 128 tokens on: {ui.join_words(powers)}." * bool(powers),
        "What is missing would have taken too long, or too much memory." * missing,
    ]
    document.caption(" ".join(filter(None, sentences)))


def cost_chart(
    subject: str, unit: str, costs: Sequence[context_cost.StepCost], values: Sequence[ndarray], digits: int
) -> charts.LineChart:
    """Return what a step costs by the length of a row; both axes are logarithmic, so a power law is a straight line."""
    lengths = np.array(context_cost.LENGTHS)
    return charts.LineChart(
        subject,
        [model_line(cost.model, lengths, each, cost.explicit) for cost, each in zip(costs, values, strict=True)],
        charts.Axis(
            "tokens in a row", log=True, ticks=charts.doubling_ticks(context_cost.LENGTHS[0], context_cost.LENGTHS[-1])
        ),
        charts.Axis(unit, log=True),
        margin=118,
        digits=digits,
    )


def _draw_formulas(configs: Sequence[RunConfig], costs: context_cost.ContextCosts) -> None:
    for sentence, formula in cost_formulas(configs, costs):
        ui.paragraph(sentence)
        st.latex(formula)


def context_cost_finding(costs: context_cost.ContextCosts) -> str:
    """Return how many times as much time and memory the same tokens take in long rows."""
    time, memory = cost_growths(costs, "seconds"), cost_growths(costs, "saved_bytes")
    if not time or not memory:
        return "These models are too large to be measured here in a few seconds. Choose smaller sizes."
    longest = max(each.longest for each in time.values())
    more = [
        ui.join_words(
            [f"{each.factor:.1f} times for {name}" for name, each in growths.items() if each.factor >= _SIMILAR]
        )
        for growths in (time, memory)
    ]
    seconds, kept = (each or "for no model" for each in more)
    return (
        f"In rows of {longest:,} instead of {context_cost.FIT_FROM} tokens, the same number of tokens needs more time "
        f"({seconds}) and more memory ({kept}). Factors below {_SIMILAR} are left out: they may be other work."
    )


def cost_growths(costs: context_cost.ContextCosts, measure: str) -> dict[str, context_cost.Growth]:
    """Return the growth of "seconds" or "saved_bytes" of every line measured at two lengths or more, by its name."""
    growths = {
        f"{MODELS[cost.model].title}{' (explicit)' * cost.explicit}": context_cost.growth(
            getattr(cost, measure), exact=measure == "saved_bytes"
        )
        for cost in costs.costs
    }
    return {name: growth for name, growth in growths.items() if growth is not None}


def cost_formulas(configs: Sequence[RunConfig], costs: context_cost.ContextCosts) -> list[tuple[str, str]]:
    """Return what attention adds: pairs of a sentence and a LaTeX formula with the numbers of these sizes."""
    formulas = []
    for config in configs:
        m = config.model
        if not isinstance(m, TransformerTextConfig):
            continue
        n, each = context_cost.LENGTHS[-1], context_cost.attention_weight_bytes(config, 1) / 1e6
        sentence = (
            "Stored weights are a number for each pair of a row, in every block and head. With "
            f"T = {context_cost.TOKENS:,} tokens, L = {m.layers} and h = {m.heads} that is {each * n:,.0f} MB in rows "
            f"of n = {n:,}"
        )
        kept = {price.explicit: price.saved_bytes[-1] for price in costs.costs if price.model == config.model_name}
        if np.isfinite(more := (kept.get(True, np.nan) - kept.get(False, np.nan)) / 1e6):
            sentence += f"; measured are {more:,.0f} MB more than without them"
        formulas.append(
            (
                f"{sentence}.",
                rf"\frac{{T}}{{n}} \cdot n^2 \cdot L\, h \cdot 4\;\text{{bytes}} = {each:.3g}\, n\;\text{{MB}}",
            )
        )
        weights, both = 4 * m.width**2 + 2 * m.width * m.hidden, 2 * m.width + m.hidden
        formulas.append(
            (
                f"For each token a block multiplies with its own weights (d = {m.width} wide, m = {m.hidden} hidden "
                f"units), and to attend; the second is as much work as the first in rows of {both:,} tokens:",
                rf"\underbrace{{4 d^2 + 2 d m}}_{{{_thousands(weights)}}} = "
                rf"\underbrace{{2\, n\, d}}_{{{2 * m.width}\, n}} \;\Rightarrow\; n = 2 d + m = {_thousands(both)}",
            )
        )
    return formulas


def _thousands(count: int) -> str:
    return f"{count:,}".replace(",", "{,}")
