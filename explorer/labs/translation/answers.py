"""Answers of every model to the source, token by token with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

import streamlit as st

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection import load_model
from explorer.inspection.seq2seq import decoding
from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.model_picker import loaded_views
from explorer.labs.translation.state import Task, TranslationState
from explorer.number_format import format_probability
from explorer.tasks.seq2seq import dates
from explorer.tasks.seq2seq.config import (
    EOS,
    TranslationConfig,
    source_ids,
    source_text,
    target_ids,
    target_text,
    target_vocabulary,
)
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.tasks.seq2seq.digits import DigitsConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.ui.document import Document
from explorer.ui.page_sections import show_problems
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, draw_examples
from explorer.ui.training.run_view import RunView, untrained_panel

_ROW = 62  # pixels of a model


@dataclass(frozen=True)
class SeedAnswers:
    """The answers of every seed of a model to one source."""

    task: TranslationConfig
    source: tuple[int, ...]
    answers: tuple[decoding.GreedyTranslation, ...]
    expected: str | None  # the right answer, if it is known


def input_row(session: PageSession[TranslationState]) -> None:
    """Draw the field for the source, and examples."""
    state, examples = session.state, session.state.examples
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(
            session,
            "say",
            st.text_input,
            shown=state.say,
            update=lambda s, new: s.with_source(new.strip()),
            label={"dates": "Source: a date", "pairs": "Source"}.get(state.task, "Source: digits"),
            placeholder=examples[0],
            width=330,
        )
        label = "Held-out sources" if state.task == "pairs" else "Example sources"
        update = TranslationState.with_source
        draw_examples(session, "pick", label, state.source, examples, update, width="content")
    show_problems(filter(None, [state.unread]))


def section(session: PageSession[TranslationState], views: Mapping[str, RunView]) -> None:
    """Draw the answers of every model to the source.

    `views` are the run views of the page, by name of their variant.
    """
    state = session.state
    loaded = loaded_views(views, state.variants)
    source = source_ids(state.task_config, state.source)
    if not loaded:
        untrained_panel(views, "No finished run yet: select and train a model.", _ROW)
        return
    requests = {
        name: (
            ("translation-answers", *view.cache_key, source, state.text),
            partial(compute_answers, view, state.task_config, source),
        )
        for name, view in loaded.items()
    }
    result_section(
        "translation-answers",
        requests,
        partial(_draw_answers, state.task, state.variants, state.replica),
        "The models translate the source …",
        130 + _ROW * len(loaded),
        pool="quick",
        partly=True,
    )


def load_view_model(view: RunView) -> load_model.LoadedModel:
    """Return the model of a run view that has weights. Raises DamagedRun."""
    assert view.loaded_run is not None
    return load_model.shared_model(view.loaded_run)


def compute_answers(view: RunView, task: TranslationConfig, source: tuple[int, ...]) -> SeedAnswers:
    """Let every seed answer a source. Raises DamagedRun."""
    answers = decoding.greedy_translations(decoding.require_translator(load_view_model(view).stack), task, source)
    right = target_ids(task, source)
    return SeedAnswers(task, source, answers, None if right is None else target_text(task, right))


@cached()
def _longest_date() -> int:
    """Return the number of letters of the longest date in any format."""
    return max(len(dates.format_date(date(1997, 9, day), way)) for day in range(1, 31) for way in DATE_FORMATS)


def longest_trained(task: TranslationConfig) -> int:
    """Return the number of tokens of the longest source in training."""
    if isinstance(task, PairsConfig):
        return task.longest_source
    return _longest_date() if isinstance(task, DatesConfig) else task.longest


def _draw_answers(
    name: Task,
    variants: Mapping[str, ModelVariant],
    replica: int,
    document: Document,
    shown: Mapping[str, SeedAnswers],
) -> None:
    """Draw the finding and a row for each model.

    name: name of the task.
    variants: the variants by name, those without an answer too.
    replica: index of the selected seed.
    document: what the section shows.
    shown: the answers by the name of their variant.
    """
    task, source, expected = next((each.task, each.source, each.expected) for each in shown.values())
    text = source_text(task, source)
    selected = {name: each.answers[min(replica, len(each.answers) - 1)] for name, each in shown.items()}
    seed_answers = [
        findings.SeedAnswer(variants[each].words, target_text(task, one.ids), _has_end(task, one))
        for each, one in selected.items()
    ]
    error = dates.parse_date(text).error if isinstance(task, DatesConfig) else ""
    seeds = {name: each.answers for name, each in shown.items()}
    seed = f"seed {replica}" if max(map(len, seeds.values())) > 1 else ""
    headline = findings.answers_finding(name, text, seed_answers, expected, seed)
    document.finding(error or headline)
    if error:
        document.text(headline)
    unit = "digits" if isinstance(task, DigitsConfig) else "letters" if isinstance(task, DatesConfig) else "characters"
    document.component(
        "translation_answers",
        {
            "head": [
                {"title": "source", "tokens": list(text)},
                *([{"title": "right answer", "tokens": list(expected)}] if expected is not None else []),
            ],
            "rows": [_row(variants[each], found, selected[each], expected) for each, found in shown.items()],
            "caption": " ".join(
                [
                    findings.length_caption(len(source), longest_trained(task), unit),
                    "Shade: probability of the token; number: probability of the whole answer (greedy decoding). "
                    + ("Framed: wrong tokens." if expected is not None else ""),
                ]
            ).strip(),
            "file": f"{name}-answers",
            "label": f"Answers of {len(shown)} models to {text}",
        },
        key="translation-answers-rows",
    )


def _has_end(task: TranslationConfig, one: decoding.GreedyTranslation) -> bool:
    return bool(one.ids) and one.ids[-1] == len(target_vocabulary(task)) - 1


def _row(
    variant: ModelVariant, each: SeedAnswers, one: decoding.GreedyTranslation, expected: str | None
) -> dict[str, object]:
    texts = [_text_with_end(each.task, other) for other in each.answers]
    shown = _text_with_end(each.task, one)
    return {
        "title": variant.title,
        "colour": variant.colour,
        "detail": "writes nothing",
        "tokens": _tokens(each.task, one, expected),
        "sure": format_probability(math.exp(one.log_probability)),
        "right": None if expected is None else shown == expected + EOS,
        "note": findings.seed_agreement(texts, None if expected is None else expected + EOS, shown),
    }


def _text_with_end(task: TranslationConfig, one: decoding.GreedyTranslation) -> str:
    """Return an answer with its end token, so that an answer without one differs."""
    return target_text(task, one.ids) + (EOS if _has_end(task, one) else "")


def _tokens(task: TranslationConfig, one: decoding.GreedyTranslation, expected: str | None) -> list[dict[str, object]]:
    """Return each token with its probability, and the right token where it is wrong."""
    vocabulary = target_vocabulary(task)
    written = ["end" if vocabulary[i] == EOS else vocabulary[i] for i in one.ids]
    right: Sequence[str] = [] if expected is None else [*expected, "end"]
    return [
        {
            "text": text,
            "p": round(p, 4),
            "wanted": None if expected is None or text == _token_at(right, i) else _token_at(right, i),
        }
        for i, (text, p) in enumerate(zip(written, one.probabilities, strict=True))
    ]


def _token_at(tokens: Sequence[str], position: int) -> str:
    """Return the token at a position; empty beyond the end."""
    return tokens[position] if position < len(tokens) else ""
