"""What a longer context costs each model: seconds and bytes of a training step, measured when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures import reach as figures
from explorer.figures.reach import Line
from explorer.models.configs import TransformerTextConfig
from explorer.tasks.text import TextConfig
from explorer.training.config import RunConfig
from explorer.training.estimate import duration
from explorer.ui.components import Panel
from explorer.ui.findings import listed
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.slowly import eventually
from explorer.ui.text_lines import HEIGHT, framed, line_of, tracks

if TYPE_CHECKING:
    from explorer.inspection.prices import Price, Prices

_ASKED = "text.prices"  # what this visitor last asked to be measured, and a token of that press
_ALIKE = 1.25  # times as much, which may be the other work on the server


def price_section(lanes: Mapping[str, Lane]) -> None:
    """Seconds and bytes of a training step by the length of a row, measured when somebody asks."""
    st.header("What does context cost?", anchor=False)
    configs = {name: lane.config for name, lane in lanes.items() if name != "ngram"}
    if not configs:
        empty_panel("Counting takes no training steps. Choose a model that learns, and its steps can be timed.", 120)
        return
    sizes = tuple((each.model, each.on(TextConfig)) for each in configs.values())
    token, asked = st.session_state.get(_ASKED, ("", None))

    def measure() -> None:
        st.session_state[_ASKED] = (uuid4().hex, sizes)  # each press measures anew, whatever others have measured

    label = "Measure again" if asked == sizes else "Measure on this server"
    st.button(label, icon=":material/timer:", on_click=measure, key="text-prices-measure")
    if asked != sizes:
        what = listed([MODELS[name].title for name in configs])
        empty_panel(
            f"Steps of {what} at seven lengths of a row, at the same number of tokens in all: about ten seconds.",
            120,
        )
    else:

        def made() -> Prices:
            from explorer.inspection.prices import measured

            return measured(configs)

        text = next(iter(configs.values())).on(TextConfig).text
        eventually(
            "text-prices",
            ("prices", text, token, *sizes),
            made,
            lambda found: _draw_prices(configs, found),
            "Steps are being timed on this server; that takes about ten seconds …",
            HEIGHT + 120,
            pool="timing",
        )
    explanation(
        "Longer rows are fewer rows: a batch holds the same tokens. What a model does with each token alone then costs "
        "the same, a level line. A recurrent net takes n steps one after the other, each with fewer rows beside it; a "
        "processor cannot share that work out. Attention compares each token with all before it: n² pairs a row, n for "
        "each token."
    )


def _draw_prices(configs: Mapping[str, RunConfig], found: Prices) -> None:
    from explorer.inspection.prices import LENGTHS, TOKENS

    lengths = np.array(LENGTHS)
    st.subheader(price_finding(found), anchor=False)
    seconds = [line_of(p.model, lengths, p.seconds, hollow=p.explicit) for p in found.prices]
    memory = [line_of(p.model, lengths, p.kept / 1e6, hollow=p.explicit) for p in found.prices]
    longest = int(lengths[-1])
    framed(
        [
            Panel(
                "seconds-a-step",
                figures.cost_by_length(seconds, "seconds", longest),
                f"Seconds of a training step: {_ends(seconds, 3)}.",
                title="Seconds a step",
                tracks=tracks(seconds),
            ),
            Panel(
                "megabytes-a-step",
                figures.cost_by_length(memory, "megabytes", longest),
                f"Megabytes that a step keeps for its way back: {_ends(memory, 1)}.",
                title="Megabytes kept for the way back",
                tracks=tracks(memory, digits=1),
            ),
        ],
        "text-prices",
        columns=2,
    )
    missing = any(not np.isfinite(price.seconds).all() for price in found.prices)
    explicit = any(price.explicit for price in found.prices)
    said = [
        f"Forward and backward of one batch of {TOKENS:,} random tokens in models freshly built at these sizes, one "
        f"thread, the median of up to five; measured in {duration(found.seconds)} on this server, and other work on it "
        "slows it. Megabytes are what autograd saves, parameters aside.",
        "Explicit, hollow: attention that stores every weight, as when somebody looks at it; otherwise a fused kernel "
        "never does." * explicit,
        _powers(found) * bool(_growths(found, "seconds")),
        "What is missing would have taken too long, or too much memory." * missing,
    ]
    st.caption(plain(" ".join(filter(None, said))))
    for sentence, formula in price_formulas(configs, found):
        explanation(plain(sentence))
        st.latex(formula)


def price_finding(found: Prices) -> str:
    """How much dearer the same tokens are in long rows, in time and in memory."""
    from explorer.inspection.prices import FROM

    time, memory = _growths(found, "seconds"), _growths(found, "kept")
    if not time or not memory:
        return "These models are too large to be measured here in a few seconds. Choose smaller sizes."
    said = f"In rows of {max(each.end for each in time):,} instead of {FROM} tokens, the same number of tokens takes "
    slower = sorted((each for each in time if each.times >= _ALIKE), key=lambda each: -each.times)
    level = [each.name for each in time if each.times < _ALIKE]
    if slower:
        first, *rest = slower
        longer = f"{first.name} {first.times:.1f} times as long"
        said += listed([longer, *(f"{each.name} {each.times:.1f}" for each in rest)])
        said += f"; {listed(level)} no longer." if level else "."
    else:
        said += "nobody longer."
    more = sorted((each for each in memory if each.times >= _ALIKE), key=lambda each: -each.times)
    if not more:
        return f"{said} Nobody needs more memory."
    few = listed([f"{each.times:.1f} times for {each.name}" for each in more])
    return f"{said} Memory grows {few}{'' if len(more) == len(memory) else ', for the others not'}."


@dataclass(frozen=True)
class _Growth:
    """How a line grows in long rows."""

    name: str
    end: int  # tokens of the longest row that was measured
    power: float
    times: float  # as much as where the fit begins


def _growths(found: Prices, what: str) -> list[_Growth]:
    from explorer.inspection.prices import FROM, LENGTHS, slope

    growths = []
    for price in found.prices:
        values = getattr(price, what)
        there = [n for n, value in zip(LENGTHS, values, strict=True) if n >= FROM and np.isfinite(value)]
        if len(there) > 1:
            power = slope(values)
            ends = values[LENGTHS.index(there[-1])] / values[LENGTHS.index(there[0])]
            times = ends if what == "kept" else (there[-1] / there[0]) ** power  # bytes are exact, seconds are not
            growths.append(_Growth(_way(price), there[-1], power, float(times)))
    return growths


def _powers(found: Prices) -> str:
    """The power of n of every line."""
    powers = listed([f"{each.name} {each.power:.2f}".replace("-", "−") for each in _growths(found, "seconds")])
    return f"Time grows as n to the power, fitted from 128 tokens on: {powers}."


def _way(price: Price) -> str:
    return f"{MODELS[price.model].title} (explicit)" if price.explicit else MODELS[price.model].title


def price_formulas(configs: Mapping[str, RunConfig], found: Prices) -> list[tuple[str, str]]:
    """What attention adds, in words, in symbols, and in the numbers of these sizes."""
    from explorer.inspection.prices import LENGTHS, TOKENS, weights_kept

    formulas = []
    for name, config in configs.items():
        m = config.model
        if not isinstance(m, TransformerTextConfig):
            continue
        n, each = LENGTHS[-1], weights_kept(config, 1) / 1e6
        said = (
            f"Stored weights are a number for each pair of a row, in every block and head. With T = {TOKENS:,} tokens, "
            f"L = {m.layers} and h = {m.heads} that is {each * n:,.0f} MB in rows of n = {n:,}"
        )
        kept = {price.explicit: price.kept[-1] for price in found.prices if price.model == name}
        if np.isfinite(more := (kept.get(True, np.nan) - kept.get(False, np.nan)) / 1e6):
            said += f"; measured are {more:,.0f} MB more than without them"
        formulas.append(
            (
                f"{said}.",
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


def _ends(lines: Sequence[Line], digits: int) -> str:
    return "; ".join(
        f"{line.name} {there[0]:.{digits}f} to {there[-1]:.{digits}f}"
        for line in lines
        if len(there := line.y[np.isfinite(line.y)])
    )
