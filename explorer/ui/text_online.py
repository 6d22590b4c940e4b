"""Online: models that go on learning while they read the held-out text, beside themselves standing still."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures import adapting as figures
from explorer.figures.adapting import Course
from explorer.figures.style import signed
from explorer.tasks.text import TextConfig
from explorer.training.estimate import duration
from explorer.training.record import Record
from explorer.training.store import StoredRun
from explorer.ui.components import Panel, frame
from explorer.ui.findings import capital, listed
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import each_eventually

if TYPE_CHECKING:
    from explorer.inspection.adapting import Adapting, Progress

RATES: Final = (0.003, 0.01, 0.03, 0.1, 0.3)
RATE: Final = 0.1
# Nats a character saved over 20,000 characters by rates 0.003 to 0.3: GRU .006 .015 .028 .037 .007, GRU with its state
# carried .008 .017 .029 .036 .004, RNN likewise .013 .030 .052 .061 -.007, Transformer .010 .023 .037 .034 -.045.
CHOICE: Final = (
    "Of the rates here it was also the best one, or nearly, for a GRU, an RNN and a Transformer that had learned the "
    "first 81 % of Tiny Shakespeare and read on in the next 9 %. The last tenth was left alone."
)
_SESSION = "lineage.online"
_NOTHING = 0.005  # bits a character that two digits do not show
_HEIGHT = 620  # of what the button brings
PAPERS = (
    (
        "The dynamic model",
        "Mikolov, Karafiát, Burget, Černocký and Khudanpur 2010, Recurrent neural network based language model",
        "https://www.isca-archive.org/interspeech_2010/mikolov10_interspeech.html",
    ),
    (
        "Dynamic evaluation",
        "Krause, Kahembwe, Murray and Renals 2018, Dynamic evaluation of neural sequence models",
        "https://arxiv.org/abs/1709.07432",
    ),
)
Asked = tuple[Hashable, ...]  # what names one reading: a lane's stamp and a rate


@dataclass(frozen=True)
class Online:
    """What a visitor has chosen here."""

    models: tuple[str, ...] = ()  # none: the best one
    rate: float = RATE
    asked: frozenset[Asked] = frozenset()  # the readings that were asked for in this window


@dataclass(frozen=True)
class End:
    """How both readings of one model ended, in bits a character."""

    title: str
    still: float
    learning: float  # NaN: its steps were so long that its losses are no numbers any more

    @property
    def lost(self) -> bool:
        """Whether its losses are no numbers even where it learned nothing: then there is nothing to draw."""
        return not math.isfinite(self.still)

    @property
    def gain(self) -> float:
        return self.still - self.learning


def online_section(lanes: Mapping[str, Lane]) -> None:
    """From the question to the papers."""
    st.header("What if it goes on learning while it reads?", anchor=False)
    explanation(
        "So far every model stood still while it was examined. But nothing forbids it to learn from what it has "
        "already been asked: each piece of the held-out text is **scored first**, then the model takes **one step** "
        "on it, and goes on to the next."
    )
    readers = {name: lane for name, lane in lanes.items() if name != "ngram" and lane.kept}
    if not readers:
        empty_panel("No neural model is trained here yet. Train one above; then it can read on.", 160)
        return
    session: PageSession[Online] = st.session_state.setdefault(_SESSION, PageSession(Online()))
    chosen = _chosen(session.state, readers)
    _controls(session, readers, chosen)
    asked = [name for name in chosen if _asked(readers[name], session.state.rate) in session.state.asked]
    if asked:
        _readings({name: readers[name] for name in asked}, session.state.rate, lanes.get("ngram"))
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")


def _chosen(state: Online, readers: Mapping[str, Lane]) -> list[str]:
    """The chosen models, in the order of their years; without a choice the best one."""
    return [name for name in readers if name in state.models] or [min(readers, key=lambda name: _bits(readers[name]))]


def _bits(lane: Lane) -> float:
    """How good a model was when its training ended; unknown is worst."""
    if lane.result is None or not len(lane.result.evaluated):
        return math.inf
    bits = float(np.mean(lane.result.last("bits_per_char")))
    return bits if math.isfinite(bits) else math.inf


def _asked(lane: Lane, rate: float) -> Asked:
    return (*lane.stamp, rate)


def _controls(session: PageSession[Online], readers: Mapping[str, Lane], chosen: Sequence[str]) -> None:
    """Who reads on, how fast it learns, and the button that starts it."""

    def start() -> None:
        keys = {_asked(readers[name], session.state.rate) for name in chosen}
        session.change(lambda state: replace(state, asked=state.asked | keys))

    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bound(session, "online.models", list(chosen), lambda state, new: replace(state, models=tuple(new)))
        st.pills(
            "Who reads on",
            list(readers),
            selection_mode="multi",
            format_func=lambda name: readers[name].row.title,
            **ties,
        )
        ties = bound(session, "online.rate", session.state.rate, lambda state, new: replace(state, rate=new))
        st.select_slider(
            "Learning rate while it reads",
            RATES,
            format_func=lambda rate: f"{rate:g}",
            width=300,
            help=f"Plain gradient descent. Mikolov and others took 0.1. {CHOICE}",
            **ties,
        )
    missing = [name for name in chosen if _asked(readers[name], session.state.rate) not in session.state.asked]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Read on and learn",
            icon=":material/auto_stories:",
            key="online.start",
            on_click=start,
            disabled=not missing,
        )
        if missing:
            who = capital(listed([_called(readers[name].row.title) for name in missing]))
            st.caption(f"{who} read{'s' * (len(missing) == 1)} the held-out text twice; that takes a few seconds.")


def _readings(readers: Mapping[str, Lane], rate: float, ngram: Lane | None) -> None:
    """The readings that were asked for, drawn when all are there."""
    works: dict[str, tuple[Asked, Callable[[], Any]]] = {}
    for name, lane in readers.items():
        task = lane.config.on(TextConfig)
        assert lane.kept  # it is a reader
        works[name] = ("online", task.text, *_asked(lane, rate)), partial(_read_on, lane.kept, task, rate)
        if ngram and ngram.kept and _same_text(ngram.config.on(TextConfig), task):
            works[f"{name}/ngram"] = ("still", task.text, *ngram.stamp, task), partial(_stand_still, ngram.kept, task)
    who = listed([_called(lane.row.title) for lane in readers.values()])

    def draw(made: Mapping[str, Any]) -> None:
        _draw({name: (lane, made[name], made.get(f"{name}/ngram")) for name, lane in readers.items() if name in made})

    meanwhile = f"{capital(who)} read{'s' * (len(readers) == 1)} on; that takes a few seconds …"
    each_eventually("text-online", works, draw, meanwhile, _HEIGHT)


def _read_on(run: StoredRun | Record, task: TextConfig, rate: float) -> Adapting:
    from explorer.inspection.adapting import read_on  # here: the page must not wait for torch
    from explorer.inspection.opening import open_model

    return read_on(open_model(run).alone(0), task, rate)


def _stand_still(run: StoredRun | Record, task: TextConfig) -> Progress:
    from explorer.inspection.adapting import stand_still
    from explorer.inspection.opening import open_model

    return stand_still(open_model(run).alone(0), task)


def _same_text(one: TextConfig, other: TextConfig) -> bool:
    """Whether two tasks hold out the same tokens, so that one model can read what another one is asked."""
    alike = replace(one, batches=other.batches)
    return (replace(alike, context=other.context) if one.split == "end" else alike) == other


def _draw(read: Mapping[str, tuple[Lane, Adapting, Progress | None]]) -> None:
    """The finding, a panel for each model, how it was measured, and the formula with its numbers."""
    if not read:
        return
    known = {name: _end(lane, each) for name, (lane, each, _) in read.items()}
    st.subheader(plain(finding(list(known.values()))), anchor=False)
    read = {name: those for name, those in read.items() if not known[name].lost}
    if not read:
        return
    ends = [known[name] for name in read]
    to_bits = {name: 1 / each.characters_per_token / math.log(2) for name, (_, each, _) in read.items()}
    courses = {
        name: {
            which: Course(progress.tokens, progress.losses * to_bits[name])
            for which, progress in (("learning", each.learning), ("still", each.still), ("ngram", counts))
            if progress is not None
        }
        for name, (_, each, counts) in read.items()
    }
    y_range = figures.span(
        [course for those in courses.values() for which, course in those.items() if which != "ngram"],
        [those["ngram"] for those in courses.values() if "ngram" in those],
    )
    lane = next(iter(read.values()))[0]
    unit = "characters" if lane.config.on(TextConfig).tokenizer == "char" else "tokens"
    panels = [
        _panel(lane, end, courses[name], y_range, unit)
        for (name, (lane, _, _)), end in zip(read.items(), ends, strict=True)
    ]
    frame(panels, key="text-online", height=300, narrow_height=240, columns=min(len(panels), 3))
    replicas = max(lane.config.replicas for lane, _, _ in read.values())
    reads = {lane.row.title: each for lane, each, _ in read.values()}
    beside = any(counts is not None for _, _, counts in read.values())
    st.caption(plain(how(reads, lane.config.on(TextConfig), unit, replicas, beside)))
    st.latex(r"\theta_{s+1} = \theta_s - \eta \, \frac{g_s}{\max(1, \lVert g_s \rVert)}")
    st.latex(r"g_s = \nabla_{\theta} \, \frac{1}{n} \sum_{t \in s} -\log p_{\theta_s}(w_t \mid w_{<t})")
    explanation("\n\n".join(plain(steps(title, each, unit)) for title, each in reads.items()))


def _end(lane: Lane, read: Adapting) -> End:
    bits = 1 / read.characters_per_token / math.log(2)
    learning = math.nan if read.broken else float(read.learning.losses[-1])
    # Without a first loss there is no course of it, whatever the weights that stand still come to later.
    still = float(read.still.losses[-1]) if len(read.learning.losses) else math.nan
    return End(lane.row.title, still * bits, learning * bits)


def _panel(lane: Lane, end: End, courses: Mapping[str, Course], y_range: tuple[float, float], unit: str) -> Panel:
    row, ngram, still = lane.row, MODELS["ngram"], courses.get("ngram")
    counts = (still, ngram.colour, ngram.dash) if still else None
    tracks: list[dict[str, object]] = [
        {"trace": figures.LEARNING, "title": "learning on", "colour": row.colour},
        {"trace": figures.STILL, "title": "standing still", "colour": row.colour},
    ]
    if still:
        tracks.append({"trace": figures.COUNTS, "title": "n-gram, standing still", "colour": ngram.colour})
    value = "no number" if math.isnan(end.learning) else f"{signed(-end.gain, 3)} bits a character"
    return Panel(
        f"online-{row.name}",
        figures.reading_on(
            courses["learning"],
            courses["still"],
            row.colour,
            y_range,
            f"{unit} read",
            "bits a character so far",
            counts,
        ),
        alt=f"{row.title}: mean bits a character so far over the {unit} read. {finding([end])}",
        title=row.title,
        colour=row.colour,
        value=value,
        tracks=tracks,
    )


def _called(title: str) -> str:
    """A model in the middle of a sentence."""
    return "the feedforward net" if title == "Feedforward" else f"the {title}"


def finding(ends: Sequence[End]) -> str:
    """Whom learning on helped, whom it harmed, and whom it did neither."""
    lost = [end for end in ends if end.lost]
    broken = [end for end in ends if math.isnan(end.learning) and not end.lost]
    told = [end for end in ends if not end.lost and not math.isnan(end.learning)]
    if len(ends) == 1 and told:
        (end,) = told
        numbers = f"{end.learning:.2f} bits a character instead of {end.still:.2f}"
        if end.gain >= _NOTHING:
            return f"Learning on, {_called(end.title)} needs {numbers}."
        if end.gain <= -_NOTHING:
            return f"Learning on does {_called(end.title)} harm: {numbers}."
        return f"Learning on changes next to nothing for {_called(end.title)}: {end.still:.2f} bits a character."
    parts = []
    if helped := [end for end in told if end.gain >= _NOTHING]:
        parts.append(f"saves {_amounts(helped)} bits a character.")
    if harmed := [end for end in told if end.gain <= -_NOTHING]:
        parts.append(f"costs {_amounts(harmed)}{'' if helped else ' bits a character'}.")
    if same := [end for end in told if abs(end.gain) < _NOTHING]:
        parts.append(f"changes next to nothing for {listed([_called(end.title) for end in same])}.")
    parts = [f"{'It' if i else 'Learning on'} {part}" for i, part in enumerate(parts)]
    if broken:
        parts.append(
            f"At this rate the losses of {listed([_called(end.title) for end in broken])} are soon no numbers."
        )
    if lost:
        names = listed([_called(end.title) for end in lost])
        parts.append(f"The losses of {names} are no numbers, even standing still.")
    return " ".join(parts)


def _amounts(ends: Sequence[End]) -> str:
    ordered = sorted(ends, key=lambda end: -abs(end.gain))
    return listed([f"{_called(end.title)} {abs(end.gain):.2f}" for end in ordered])


def how(reads: Mapping[str, Adapting], task: TextConfig, unit: str, seeds: int, counts: bool) -> str:
    """How it was measured."""
    longest = max(reads.values(), key=lambda each: each.tokens)
    most = "at most " if any(each.tokens < longest.tokens for each in reads.values()) else ""
    piece = f"pieces of {task.context}" if task.rows == "blocks" else "pieces of a few lines"
    carried = [_called(title) for title, each in reads.items() if each.carried]
    if not carried:
        state = "each from a cold start"
    elif len(carried) == len(reads):
        state = "the state carried on from piece to piece"
    else:
        state = f"by {listed(carried)} with the state carried on, otherwise each from a cold start"
    parts = [
        f"Mean so far over {most}the first {longest.tokens:,} of {longest.held_out:,} held-out {unit}, read in order "
        f"in {piece}, {state}. Every piece is scored before the step that learns from it. Solid: learning on. "
        "Dashed: the same weights, standing still.",
        "The n-gram reads likewise, and its counts stand still; counting on is not tried here." if counts else "",
        f"The first of {seeds} seeds." if seeds > 1 else "",
        "The steps change a copy; the model of all other pictures stays as it is. Read twice in "
        f"{duration(sum(each.seconds for each in reads.values()))} on this server.",
    ]
    return " ".join(filter(None, parts))


def steps(title: str, read: Adapting, unit: str) -> str:
    """The formula's numbers for one model."""
    cut = int((read.norms > 1).sum())
    length = f"{np.median(read.norms):.2f}" if len(read.norms) else "–"
    moved = f"{read.moved:.1%}" if math.isfinite(read.moved) else "more than can be said"
    return (
        f"{capital(_called(title))} took {len(read.norms):,} steps of η = {read.rate:g}, each on "
        f"n = {read.tokens / max(1, len(read.still.tokens)):.0f} {unit}; the gradient was longer than 1, and cut, "
        f"before {cut:,} of them (median length {length}). All steps together moved its {read.parameters:,} weights "
        f"by {moved} of their length."
    )
