"""Three questions to the models of the Language models page: how far back they look, what that costs, and who keeps
track of what is open. Each a section with its finding, its figure, how it was measured, and why it is so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures import reach as figures
from explorer.figures.reach import PER_LINE, Line
from explorer.models.configs import TransformerTextConfig
from explorer.tasks.text import TextConfig
from explorer.training.config import RunConfig
from explorer.ui.components import Panel, frame
from explorer.ui.findings import duration, listed, number
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.slowly import each_eventually, eventually

if TYPE_CHECKING:
    from explorer.inspection.closing import Closings
    from explorer.inspection.prices import Price, Prices
    from explorer.inspection.reach import Reach

_ASKED = "text.prices"  # what this visitor last asked to be measured
_HEIGHT, _NARROW = 380, 320  # of a figure, in pixels
_FAR = 16  # characters that neither counts nor a short window reach
_ALIKE = 1.25  # times as much, which may be the other work on the server


# How far back it looks


def distance_section(lanes: Mapping[str, Lane]) -> None:
    """Loss by how many tokens could be read."""
    st.header("How far back does it look?", anchor=False)
    asked = _with_weights(lanes)
    if not asked:
        empty_panel("No model here has been trained yet. Train some above, and this place shows it.", _HEIGHT)
        return
    each_eventually(
        "text-reach",
        {name: (("reach", *_names(lane)), _reach_of(lane)) for name, lane in asked.items()},
        lambda found: _draw_distance(lanes, found),
        "The models are reading the held-out text; that takes a few seconds …",
        _HEIGHT + 120,
    )
    explanation(
        "At the first place of a row a model has read one token, at the next two, and so on. A perfect model would "
        "gain at each step exactly what the token further back says about the next one, beyond the i tokens h between:"
    )
    st.latex(r"L(i) - L(i+1) = I\,(w_t \,;\, w_{t-i-1} \mid h)")
    explanation(
        "Counts and a window end somewhere, and whatever stands before does not exist for them. A recurrent net pours "
        "everything into one state of fixed size, which new tokens write over. Attention keeps every token of the row "
        "apart: none is lost on the way, but it has to learn which ones to look at."
    )


def _reach_of(lane: Lane) -> Callable[[], Reach]:
    def made() -> Reach:
        from explorer.inspection.opening import open_model
        from explorer.inspection.reach import reach

        assert lane.kept
        return reach(open_model(lane.kept).stack, lane.kept.config)

    return made


def _draw_distance(lanes: Mapping[str, Lane], found: Mapping[str, Reach]) -> None:
    sound = {name: each for name, each in found.items() if len(each.losses)}
    if sound:
        st.subheader(distance_finding({MODELS[name].title: each for name, each in sound.items()}), anchor=False)
        lines = []
        for name, each in sound.items():
            several = len(each.losses) > 1
            low = each.losses.min(axis=0) if several else each.mean - each.error
            high = each.losses.max(axis=0) if several else each.mean + each.error
            lines.append(_line(name, each.last, each.mean, low, high))
        context = max(int(each.last[-1]) for each in sound.values())
        alt = "; ".join(
            f"{line.name} {line.y[0]:.2f} after one token, {line.y[-1]:.2f} after {line.x[-1]}" for line in lines
        )
        figure = figures.loss_by_context(lines, context)
        _framed(
            [Panel("loss-by-context", figure, f"Loss in nats a token: {alt}.", tracks=_tracks(lines))], "text-reach"
        )
    st.caption(plain(_how_far_was_measured(lanes, found)))


def distance_finding(found: Mapping[str, Reach]) -> str:
    """Who still gains from more tokens at the end of a row, and who stopped before; by title."""
    if all(len(each.last) == 1 for each in found.values()):
        return "A row gives one token to read here, so nobody can look further back."
    stopped: dict[tuple[int, bool], list[str]] = {}
    for title, each in found.items():
        if not each.gains_to_the_end and not each.suffers:
            blind = each.limit is not None and each.enough >= each.limit
            stopped.setdefault((each.enough, blind), []).append(title)
    parts: list[str] = []
    for tokens, blind in sorted(stopped):
        titles = stopped[tokens, blind]
        one = len(titles) == 1
        verb = f" gain{'s' * one} nothing measurable" if not parts else ""
        sees = f", as far as {'it sees' if one else 'they see'}" if blind else ""
        parts.append(f"{listed(titles)}{verb} beyond {tokens if parts else _tokens(tokens)}{sees}")
    said = [f"{'; '.join(parts)}."] if parts else []
    for title, each in found.items():
        if each.suffers:
            best = int(each.mean.argmin())
            few = _tokens(int(each.last[best]))
            ends = f"{each.mean[best]:.2f} nats after {few}, {each.mean[-1]:.2f} after {each.last[-1]}"
            said.append(f"{title} even does worse with more: {ends}.")
    gaining = [title for title, each in found.items() if each.gains_to_the_end and not each.suffers]
    if gaining:
        one, end = len(gaining) == 1, max(int(found[title].last[-1]) for title in gaining)
        who = f"{listed(gaining)} still gain{'s' * one} when {'it has' if one else 'they have'}"
        said.append(f"{who} read {end} tokens, all that a row gives.")
    return " ".join(said)


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _how_far_was_measured(lanes: Mapping[str, Lane], found: Mapping[str, Reach]) -> str:
    first = next(iter(found.values()))
    tasks = {name: lane.config.on(TextConfig) for name, lane in lanes.items() if name in found}
    task = next(iter(tasks.values()))
    whole = "All" if all(each.whole for each in found.values()) else "An evenly spread part of all"
    row = "rows of" if task.rows == "blocks" else "lines of up to" if task.rows == "sentences" else "prefixes of up to"
    said = [
        f"{whole} {first.targets.sum():,} held-out targets, in {row} {task.context} tokens, each row read from a cold "
        "start; neighbouring places share a dot."
    ]
    if whole != "All":
        said[0] = said[0].replace(f"{whole} {first.targets.sum():,} held-out targets", f"{whole} held-out targets")
    carried = [MODELS[name].title for name, each in tasks.items() if each.batches == "contiguous" and name != "ngram"]
    if carried:
        whom = "it" if len(carried) == 1 else "them"
        said.append(f"{listed(carried)} learned with carried state, so a cold start is new to {whom}.")
    said.append(_bands([len(each.losses) for each in found.values()], "one standard error, whole rows drawn at random"))
    if task.rows != "blocks":
        said.append("In a line some places are easier than others for anybody; that too bends the curves.")
    return " ".join([*said, *_absent(lanes, {name: each.diverged for name, each in found.items()})])


# What context costs


def price_section(lanes: Mapping[str, Lane]) -> None:
    """Seconds and bytes of a training step by the length of a row, measured when somebody asks."""
    st.header("What does context cost?", anchor=False)
    configs = {name: lane.config for name, lane in lanes.items() if name != "ngram"}
    if not configs:
        empty_panel("Counting takes no training steps. Choose a model that learns, and its steps can be timed.", 120)
        return
    sizes = tuple((each.model, each.on(TextConfig)) for each in configs.values())
    turn, asked = st.session_state.get(_ASKED, (0, None))

    def measure() -> None:
        st.session_state[_ASKED] = (turn + 1 if asked == sizes else turn, sizes)

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
            ("prices", text, turn, *sizes),
            made,
            lambda found: _draw_prices(configs, found),
            "Steps are being timed on this server; that takes about ten seconds …",
            _HEIGHT + 120,
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
    seconds = [_line(p.model, lengths, p.seconds, hollow=p.explicit) for p in found.prices]
    memory = [_line(p.model, lengths, p.kept / 1e6, hollow=p.explicit) for p in found.prices]
    longest = int(lengths[-1])
    _framed(
        [
            Panel(
                "seconds-a-step",
                figures.cost_by_length(seconds, "seconds", longest),
                f"Seconds of a training step: {_ends(seconds, 3)}.",
                title="Seconds a step",
                tracks=_tracks(seconds),
            ),
            Panel(
                "megabytes-a-step",
                figures.cost_by_length(memory, "megabytes", longest),
                f"Megabytes that a step keeps for its way back: {_ends(memory, 1)}.",
                title="Megabytes kept for the way back",
                tracks=_tracks(memory, digits=1),
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


# Who keeps track of what is open


def closing_section(lanes: Mapping[str, Lane], choose_brackets: Callable[[], None]) -> None:
    """Marks closed rightly, by how far back they were opened; on the text that is made for it."""
    st.header("Who keeps track of what is open?", anchor=False)
    task = next((lane.config.on(TextConfig) for lane in lanes.values()), None)
    if task is None or not can_be_asked(task):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                "That can be counted on a text of nested brackets and quotes, in characters, with its end held out."
            )
            st.button("Choose it", icon=":material/data_object:", on_click=choose_brackets, key="text-brackets")
        return
    asked = _with_weights(lanes)
    if not asked:
        empty_panel("No model here has been trained on the brackets yet. Train some above.", _HEIGHT)
        return
    each_eventually(
        "text-closing",
        {name: (("closing", *_names(lane)), _closings_of(lane)) for name, lane in asked.items()},
        lambda found: _draw_closing(lanes, found),
        "The models are being asked to close brackets; that takes a few seconds …",
        _HEIGHT + 120,
    )
    explanation(
        "Which mark must close is decided by the last one still open, however much stands between. Counts of n tokens "
        "see it only if it is among the last n − 1. A recurrent net has to remember: a pile of open marks, in a state "
        "that every letter changes. Attention can look the mark up, but has to work out which of them is still open."
    )


def can_be_asked(task: TextConfig) -> bool:
    """Whether it is the text for this, in characters, with an end that training never saw."""
    return (task.corpus, task.tokenizer, task.rows, task.split) == ("brackets", "char", "blocks", "end")


def _closings_of(lane: Lane) -> Callable[[], Closings]:
    def made() -> Closings:
        from explorer.inspection.closing import closing
        from explorer.inspection.opening import open_model

        assert lane.kept
        return closing(open_model(lane.kept).stack, lane.kept.config)

    return made


def _draw_closing(lanes: Mapping[str, Lane], found: Mapping[str, Closings]) -> None:
    sound = {name: each for name, each in found.items() if len(each.right) and len(each.last)}
    first = next(iter(found.values()))
    if not first.asked.sum():
        st.caption("No mark closes in the held-out end of this text. Hold out more of it, or make it longer.")
        return
    if sound:
        st.subheader(plain(closing_finding({MODELS[name].title: e for name, e in sound.items()})), anchor=False)
        lines = []
        for name, each in sound.items():
            several = len(each.right) > 1
            low = each.right.min(axis=0) if several else np.maximum(each.mean - each.error, 0)
            high = each.right.max(axis=0) if several else np.minimum(each.mean + each.error, 1)
            lines.append(_line(name, each.last, each.mean, low, high))
        figure = figures.accuracy_by_distance(
            lines, first.usual, f"always {first.usual_mark}", first.context, int(first.last[-1])
        )
        alt = "; ".join(
            f"{line.name} {line.y[0]:.2f} at the shortest, {line.y[-1]:.2f} at the longest" for line in lines
        )
        _framed(
            [Panel("accuracy-by-distance", figure, f"Marks closed rightly: {alt}.", tracks=_tracks(lines))],
            "text-closing",
        )
    st.caption(plain(_how_closing_was_measured(lanes, found)))


def closing_finding(found: Mapping[str, Closings]) -> str:
    """Who still knows what is open when it was opened long ago; by title."""
    first = next(iter(found.values()))
    far = first.last > _FAR
    if not far.any():
        far = ~far
    where = f"From {int(first.last[~far].max()) + 1} characters on" if not far.all() else "At these distances"
    usual = f"Always answering “{first.usual_mark}” gets {first.usual:.2f}"
    shares = sorted(((each.over(far), title) for title, each in found.items()), key=lambda pair: -pair[0][0])
    told = [title for (share, error), title in shares if share > first.usual + 2 * error]
    guessing = [f"{title} {share:.2f}" for (share, _), title in shares if title not in told]
    knowing = [f"{title} {share:.2f}" for (share, _), title in shares if title in told]
    if not knowing:
        rest = listed(guessing)
        return f"{where} nobody knows what is open: {rest} of the marks are closed rightly. {usual}."
    said = f"{where} {_closes(knowing)} of the marks rightly"
    if guessing:
        said += f"; {listed(guessing)} {'is' if len(guessing) == 1 else 'are'} no better than one answer for all"
    return f"{said}. {usual}."


def _closes(names: Sequence[str]) -> str:
    first, *rest = names
    title, _, share = first.rpartition(" ")
    return listed([f"{title} closes {share}", *rest])


def _how_closing_was_measured(lanes: Mapping[str, Lane], found: Mapping[str, Closings]) -> str:
    first = next(iter(found.values()))
    which = "Every place" if all(each.whole for each in found.values()) else "An evenly spread part of the places"
    return " ".join(
        [
            f"{which} of the held-out end where a mark closes another ({first.asked.sum():,}). Every model reads the "
            f"{first.context} characters before it from a cold start, recurrent nets too; its answer is the likeliest "
            "of the four marks that close.",
            _bands([len(each.right) for each in found.values()], "one standard error of a share (binomial)"),
            *_absent(lanes, {name: each.diverged for name, each in found.items()}),
        ]
    )


# What the sections share


def _with_weights(lanes: Mapping[str, Lane]) -> dict[str, Lane]:
    return {name: lane for name, lane in lanes.items() if lane.kept}


def _names(lane: Lane) -> tuple[Hashable, ...]:
    """What names these weights; with an own text's SHA-256, by which its results are forgotten."""
    return lane.config.on(TextConfig).text, *lane.stamp


def _line(
    model: str,
    x: Int[ndarray, " points"],
    y: Float[ndarray, " points"],
    low: Float[ndarray, " points"] | None = None,
    high: Float[ndarray, " points"] | None = None,
    hollow: bool = False,
) -> Line:
    row = MODELS[model]
    return Line("explicit" if hollow else row.title, row.colour, row.dash, x, y, low, high, hollow)


def _tracks(lines: Sequence[Line], digits: int = 3) -> list[dict[str, object]]:
    """Lines whose numbers are read while the pointer moves; a band only where there is one."""
    found: list[dict[str, object]] = []
    for i, line in enumerate(lines):
        title = f"Transformer, {line.name}" if line.hollow else line.name
        track: dict[str, object] = {"trace": PER_LINE * i + 2, "title": title, "colour": line.colour, "digits": digits}
        if line.low is not None:
            track |= {"low": PER_LINE * i, "high": PER_LINE * i + 1}
        found.append(track)
    return found


def _framed(panels: Sequence[Panel], key: str, columns: int = 1) -> None:
    frame(panels, key=key, height=_HEIGHT, narrow_height=_NARROW, columns=columns)


def _bands(seeds: Sequence[int], error: str) -> str:
    """What a line and its band are."""
    several = [count for count in seeds if count > 1]
    if not several:
        return f"Band: {error}."
    count = f"{number(several[0])} seeds" if len(set(several)) == 1 else "all seeds"
    one = "" if len(several) == len([count for count in seeds if count]) else f" (where there is one seed: {error})"
    return f"Line: the mean of {count}, band: from the lowest to the highest{one}."


def _absent(lanes: Mapping[str, Lane], diverged: Mapping[str, int]) -> list[str]:
    """Models without a line, and why."""
    said = []
    without = [MODELS[name].title for name, lane in lanes.items() if not lane.kept]
    if without:
        said.append(f"Without weights yet: {listed(without)}.")
    lost = [f"{MODELS[name].title} ({number(count)})" for name, count in diverged.items() if count]
    if lost:
        said.append(f"Seeds whose training diverged give no numbers and are left out: {listed(lost)}.")
    return said
