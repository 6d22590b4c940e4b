"""One recurrent net, unrolled over what a visitor writes, in four shapes of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.catalogue import MODELS
from explorer.errors import InvalidSetting, LineageError, UnknownWords, shortened
from explorer.tasks import meanings, negation
from explorer.tasks.dates import DatesConfig
from explorer.tasks.gloss import MEANINGS, GlossConfig
from explorer.tasks.translation import right_answer, said, spelled
from explorer.training import store
from explorer.training.config import RunConfig
from explorer.ui import shapes_net_findings as findings
from explorer.ui.components import register
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.session import PageSession, bound, part
from explorer.ui.shapes import LONGEST, Shapes
from explorer.ui.slowly import latest

if TYPE_CHECKING:
    from explorer.inspection.shapes import Unrolled

HEIGHT = 400
WRITES = 20  # characters
_PART = "shapes-net"
_unrolled = register("unrolled")
_SHAPES = {
    "one": "many → one",
    "each": "many → many, aligned",
    "other": "many → many, unaligned",
    "from-one": "one → many",
}
_ANSWERS = {"senses": "the sense of each word", "letters": "the next character"}


@dataclass(frozen=True)
class Live:
    """One example: a run of ours, what is typed, and what becomes of it."""

    run: str
    text: str  # the field of the state with what is typed
    label: str
    words: str  # which inputs and answers it uses
    most: int
    read: Callable[[str, int], Unrolled]  # text and seed; raises LineageError
    finding: Callable[[Unrolled, str], str]


def net_section(session: PageSession[Shapes]) -> None:
    """The whole section."""
    st.header("The same net, four shapes", anchor=False)
    part(session, _PART, lambda: _inside(session))
    st.latex(r"h_t = f(W_{xh}\,x_t,\; W_{hh}\,h_{t-1}) \qquad y_t = \mathrm{softmax}(W_{hy}\,h_t)")
    st.caption("Without biases. f is tanh of the sum in the RNN; a GRU has three such sums, so its matrices are three.")


def _inside(session: PageSession[Shapes]) -> None:
    state = session.state
    ties = bound(session, "shapes.shape", state.shape, lambda s, v: replace(s, shape=v), (_PART,))
    st.segmented_control("Shape", list(_SHAPES), format_func=_SHAPES.__getitem__, required=True, **ties)
    live = LIVES[state.answers if state.shape == "each" else state.shape]
    config = store.find(live.run).config
    replica = min(state.replica, config.replicas - 1)
    _choices(session, live, config, replica)
    explanation(live.words)
    text = getattr(state, live.text)
    wanted = {live.run: (("shapes-net", live.run, live.text, text, replica), partial(live.read, text, replica))}

    def draw(found: Mapping[str, Unrolled], old: frozenset[str]) -> None:
        if live.run in found and live.run not in old:
            _show(live, found[live.run], text, config, replica)
        else:
            empty_panel("The net reads …", HEIGHT)

    latest(f"shapes-net-{live.text}", lambda: wanted, draw, "The net reads …", HEIGHT)


def _choices(session: PageSession[Shapes], live: Live, config: RunConfig, replica: int) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if state.shape == "each":
            ties = bound(session, "shapes.answers", state.answers, lambda s, v: replace(s, answers=v), (_PART,))
            st.segmented_control("Answers", list(_ANSWERS), format_func=_ANSWERS.__getitem__, required=True, **ties)
        st.text_input(
            live.label,
            max_chars=live.most,
            width=360,
            **bound(
                session,
                f"shapes.{live.text}",
                getattr(state, live.text),
                lambda s, new: replace(s, **{live.text: new}),
                (_PART,),
            ),
        )
        ties = bound(session, "shapes.replica", replica, lambda s, v: replace(s, replica=v), (_PART,))
        seeds = config.seeds
        st.selectbox("Seed", list(range(len(seeds))), format_func=lambda one: f"{seeds[one]}", width=110, **ties)
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda s: s.fresh()),
            disabled=state == state.fresh(),
            key="shapes.fresh",
        )


def _show(live: Live, net: Unrolled, text: str, config: RunConfig, replica: int) -> None:
    st.subheader(plain(live.finding(net, text)), anchor=False)
    row = MODELS[config.model_name]
    title = f"{row.title}, seed {config.seeds[replica]}"
    _unrolled(data=pictured(net, title, row.colour, f"shapes-{live.text}"), key="shapes-net-figure")
    if live.text == "senses":
        right = [value for value in store.find(live.run).card.metrics["sense"].values if value is not None]
        st.caption(findings.senses_caption(right))


def pictured(net: Unrolled, title: str, colour: str, file: str) -> dict[str, object]:
    """What travels to the browser."""
    steps = [
        {
            "input": findings.visible(step.reads),
            "used": step.used,
            "top": [[findings.visible(label), round(p, 5)] for label, p in step.best],
            "state": [round(float(value), 3) for value in step.state],
            "fed_back": step.fed_back,
        }
        for step in net.steps
    ]
    return {
        "steps": steps,
        "weights": [vars(each) for each in net.weights],
        "title": title,
        "colour": colour,
        "file": file,
    }


# ---- the examples; torch comes in with the first that is asked for


def _ends(text: str, replica: int) -> Unrolled:
    words = _known(negation.VOCABULARY.split, text)
    from explorer.inspection.opening import open_model
    from explorer.inspection.shapes import one_answer

    return one_answer(open_model(store.find("negation-single-rnn")), replica, words)


def _senses(text: str, replica: int) -> Unrolled:
    words = _known(meanings.TYPED.split, text)
    from explorer.inspection.opening import open_model
    from explorer.inspection.shapes import labels

    return labels(open_model(store.find("gloss-gru")), replica, words, GlossConfig().vocabulary, MEANINGS)


def _letters(text: str, replica: int) -> Unrolled:
    ids, tokens = _characters(text)
    from explorer.inspection.opening import open_model
    from explorer.inspection.shapes import next_tokens

    return next_tokens(open_model(store.find("text-rnn")), replica, ids, tokens)


def _writes(text: str, replica: int) -> Unrolled:
    ids, tokens = _characters(text)
    from explorer.inspection.opening import open_model
    from explorer.inspection.shapes import written

    return written(open_model(store.find("text-rnn")), replica, ids[0], tokens, WRITES)


def _date(text: str, replica: int) -> Unrolled:
    source = spelled(DatesConfig(), text)
    from explorer.inspection.opening import open_model
    from explorer.inspection.shapes import translated

    return translated(open_model(store.find("dates-vector")), replica, DatesConfig(), source)


def _known(split: Callable[[str], tuple[str, ...]], text: str) -> tuple[str, ...]:
    """The words of a text. Raises SentenceError, or InvalidSetting that says which words are near."""
    try:
        return split(text)
    except UnknownWords as error:
        near = list(dict.fromkeys(word for words in error.nearest.values() for word in words))
        raise InvalidSetting(f"{error} {', '.join(near)}.") from error


def _characters(text: str) -> tuple[list[int], tuple[str, ...]]:
    """Ids of the characters, and all characters. Raises InvalidSetting."""
    from explorer.tokenization.text import from_json

    tokenizer = from_json(store.find("text-rnn").tokenizer)
    if not text:
        raise InvalidSetting("There is no character here. Give at least one: letters, spaces, punctuation.")
    if unknown := tokenizer.unknown_in(text):
        raise InvalidSetting(
            f"This net never saw “{shortened(unknown[0])}”: it learned from Shakespeare’s plays. Give letters without "
            "accents, spaces and common punctuation."
        )
    return tokenizer.encode(text).tolist(), tokenizer.tokens


def _right_date(text: str) -> str | None:
    try:
        right = right_answer(DatesConfig(), spelled(DatesConfig(), text))
    except LineageError:
        return None
    return None if right is None else said(DatesConfig(), right)


LIVES = {
    "one": Live(
        "negation-single-rnn",
        "ends",
        "Sentence",
        "The net reads “human … nature” and is asked once, at the end: sustain or collapse? In pale ink stands what "
        "it would have said before.",
        200,
        _ends,
        lambda net, text: findings.one_finding(net, negation.VOCABULARY.split(text)),
    ),
    "senses": Live(
        "gloss-gru",
        "senses",
        "Sentence",
        "Every word is answered as it is read: most mean themselves, a bank or a bat has two senses. What comes later "
        "in the sentence cannot help an answer that was given before. Try “the bank is near the water and the boat”.",
        300,
        _senses,
        lambda net, _: findings.senses_finding(net),
    ),
    "letters": Live(
        "text-rnn",
        "letters",
        "Text",
        "Every character is answered with the one that should come next. This is how a language model is trained.",
        LONGEST,
        _letters,
        lambda net, _: findings.letters_finding(net),
    ),
    "other": Live(
        "dates-vector",
        "date",
        "Date",
        "One net reads the whole date and says nothing. Its last state becomes one vector. Another net starts from it "
        "and is given it at every step, through C; it writes in an order and a length of its own.",
        50,
        _date,
        lambda net, text: findings.other_finding(net, _right_date(text)),
    ),
    "from-one": Live(
        "text-rnn",
        "first",
        "First character",
        f"One character goes in. Then the net reads its own likeliest answer, {WRITES} times; nothing is drawn by lot.",
        1,
        _writes,
        lambda net, _: findings.writes_finding(net),
    ),
}
