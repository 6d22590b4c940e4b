"""What every model answers to the typed source: token by token with its probabilities, right or wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.errors import InvalidSetting
from explorer.tasks import dates
from explorer.tasks.dates import WAYS, DatesConfig
from explorer.tasks.translation import EOS, TranslationConfig, read_back, right_answer, said, spelled, target_tokens
from explorer.training.store import StoredRun
from explorer.training.translation_runs import Contestant
from explorer.ui import runs
from explorer.ui import translation_answers_findings as findings
from explorer.ui.components import register
from explorer.ui.page import empty_panel, explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import latest
from explorer.ui.translation import EXAMPLES, Translation
from explorer.ui.translation_choices import seed_choice, with_runs, without_runs

if TYPE_CHECKING:
    from explorer.inspection.opening import OpenedModel
    from explorer.inspection.translating import Answer

_ROW = 62  # pixels of a model
_MEANWHILE = "The models read the source …"
_answers = register("answers")


@dataclass(frozen=True)
class Answered:
    """One source, and what every seed of a model writes about it."""

    task: TranslationConfig
    source: tuple[int, ...]
    answers: tuple[Answer, ...]


def answers_section(session: PageSession[Translation], lanes: Mapping[str, Lane]) -> None:
    """The whole section. `lanes` are those of the page, by the name of their contestant."""
    st.header("What they answer", anchor=False)
    explanation(
        "Give a source of your own. Every model reads it as a whole, then writes the likeliest token at each step, "
        "until it writes its end."
    )
    state = session.state
    known = with_runs(lanes, state.contestants)
    _choices(session, known)
    without_runs(lanes, state.contestants)
    try:
        source = spelled(state.settings, state.source)
    except InvalidSetting as error:
        problems([str(error)])
        empty_panel("Correct the source above: it is answered at once.", _ROW * max(1, len(known)))
        return
    if not known:
        empty_panel("No model with a run to ask: choose some above and train them.", _ROW)
        return
    names = {f"{state.task} {name}": name for name in known}  # of another task nothing may stay meanwhile
    wanted = {
        one: (
            ("translation-answers", *known[name].stamp, source),
            partial(answered, known[name], state.settings, source),
        )
        for one, name in names.items()
    }

    def draw(found: Mapping[str, Answered], old: frozenset[str]) -> None:
        every = {names[one]: each for one, each in found.items() if one in names}
        new = {name: each for name, each in every.items() if each.source == source}
        if shown := new or _about_one(every):
            _show(state, shown)
        if old or not shown:
            st.caption(_MEANWHILE)

    height = 130 + _ROW * len(known)
    latest("translation-answers", lambda: wanted, draw, _MEANWHILE, height, pool="quick")


def _about_one(every: Mapping[str, Answered]) -> dict[str, Answered]:
    """Those about the source that the first of them is about."""
    sources = [each.source for each in every.values()]
    return {name: each for name, each in every.items() if each.source == sources[0]}


def opened(lane: Lane) -> OpenedModel:
    """The model of a lane that has weights. Raises DamagedRun."""
    from explorer.inspection.opening import open_model

    assert lane.kept is not None
    return runs.opened(lane.kept) if isinstance(lane.kept, StoredRun) else open_model(lane.kept)


def answered(lane: Lane, task: TranslationConfig, source: tuple[int, ...]) -> Answered:
    """Ask every seed. Raises DamagedRun."""
    from explorer.inspection.translating import answers, translator

    return Answered(task, source, answers(translator(opened(lane).stack), task, source))


@lru_cache(maxsize=1)
def _longest_date() -> int:
    """Letters in the longest date that any way writes: no month and no weekday is longer than these."""
    return max(len(dates.written(date(1997, 9, day), way)) for day in range(1, 31) for way in WAYS)


def longest_trained(task: TranslationConfig) -> int:
    """Tokens in the longest source that is trained."""
    return _longest_date() if isinstance(task, DatesConfig) else task.longest


def _choices(session: PageSession[Translation], known: Mapping[str, Lane]) -> None:
    """The source, examples of one, and which seed writes."""
    state, examples = session.state, EXAMPLES[session.state.task]
    with st.container(horizontal=True, vertical_alignment="top"):
        st.text_input(
            "A date" if state.task == "dates" else "Digits",
            placeholder=examples[0],
            max_chars=200,
            width=330,
            **bound(session, "translation.say", state.say, lambda s, new: s.saying((new or "").strip())),
        )
        if known:
            seed_choice(session, next(iter(known.values())), "translation.answers")
    picked = state.source if state.source in examples else None
    st.pills(
        "Take a source",
        examples,
        format_func=plain,
        label_visibility="collapsed",
        wrap=True,
        width="content",
        **bound(session, "translation.pick", picked, lambda s, new: s.saying(new) if new else s),
    )


def _show(state: Translation, shown: Mapping[str, Answered]) -> None:
    """The finding and a row each, all about one source."""
    task, source = next((each.task, each.source) for each in shown.values())
    text, right = read_back(task, source), right_answer(task, source)
    wanted = None if right is None else said(task, right)
    at = {name: each.answers[min(state.replica, len(each.answers) - 1)] for name, each in shown.items()}
    every = [
        findings.Said(state.contestants[name].words, said(task, one.ids), _ended(task, one)) for name, one in at.items()
    ]
    why = dates.understood(text).why if isinstance(task, DatesConfig) else ""
    headline = findings.answered(state.task, text, every, wanted)
    st.subheader(plain(f"{why} {headline}".strip()), anchor=False)
    unit = "letters" if isinstance(task, DatesConfig) else "digits"
    _answers(
        data={
            "head": [
                {"title": "source", "tokens": list(text)},
                *([{"title": "right answer", "tokens": list(wanted)}] if wanted is not None else []),
            ],
            "rows": [_row(state.contestants[name], each, at[name], wanted) for name, each in shown.items()],
            "caption": " ".join(
                [
                    findings.beyond(len(source), longest_trained(task), unit),
                    "Shade: the probability of a token, after those before it. The number behind the verdict is the "
                    "probability of the whole answer. "
                    + ("Framed: another token would be right there." if wanted is not None else ""),
                ]
            ).strip(),
            "file": f"{state.task}-answers",
            "label": f"What {len(shown)} models write about {text}",
        },
        key="translation-answers-rows",
    )


def _ended(task: TranslationConfig, one: Answer) -> bool:
    return bool(one.ids) and one.ids[-1] == len(target_tokens(task)) - 1


def _row(contestant: Contestant, each: Answered, one: Answer, wanted: str | None) -> dict[str, object]:
    texts = [_whole(each.task, other) for other in each.answers]
    shown = _whole(each.task, one)
    return {
        "title": contestant.title,
        "colour": contestant.colour,
        "detail": "writes nothing",
        "tokens": _tokens(each.task, one, wanted),
        "sure": probability(math.exp(one.log_probability)),
        "right": None if wanted is None else shown == wanted + EOS,
        "note": findings.agreed(texts, None if wanted is None else wanted + EOS, shown),
    }


def _whole(task: TranslationConfig, one: Answer) -> str:
    """An answer with its end, so that one which does not end is another."""
    return said(task, one.ids) + (EOS if _ended(task, one) else "")


def _tokens(task: TranslationConfig, one: Answer, wanted: str | None) -> list[dict[str, object]]:
    """Each token with its probability, and what would be right in its place where it is another."""
    vocabulary = target_tokens(task)
    written = ["end" if vocabulary[i] == EOS else vocabulary[i] for i in one.ids]
    right: Sequence[str] = [] if wanted is None else [*wanted, "end"]
    return [
        {
            "text": text,
            "p": round(p, 4),
            "wanted": None if wanted is None or text == _at(right, i) else _at(right, i),
        }
        for i, (text, p) in enumerate(zip(written, one.probabilities, strict=True))
    ]


def _at(tokens: Sequence[str], place: int) -> str:
    """The token at a place; behind the end nothing is right."""
    return tokens[place] if place < len(tokens) else ""


def probability(p: float) -> str:
    """Two digits, and never 0 or 1 for what is not."""
    return "<0.01" if p < 0.005 else ">0.99" if p >= 0.995 else f"{p:.2f}"
