"""Answers of every model to the source, token by token with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date

import streamlit as st

from explorer import ui
from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.seq2seq import decoding
from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.state import TranslationState
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
from explorer.ui.state.widgets import draw_examples

_ROW = 62  # pixels of a model


def input_row(session: ui.PageSession[TranslationState]) -> None:
    """Draw the field for the source, and examples."""
    state, examples = session.state, session.state.examples
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
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
    ui.show_problems(filter(None, [state.unread]))


def section(session: ui.PageSession[TranslationState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the answers of every model to the source."""
    state, task = session.state, session.state.task_config
    source = source_ids(task, state.source)
    runs = ui.loaded_runs(views, "No finished run yet: select and train a model.", _ROW)
    if not runs:
        return
    ui.show_each(
        "translation-answers",
        {name: ui.Call(decoding.translate_with, run, task, source) for name, run in runs.items()},
        answers_view,
        state,
        source,
        waiting="The models translate the source …",
        height=130 + _ROW * len(runs),
        pool="quick",
        partly=True,
    )


@cached()
def _longest_date() -> int:
    """Return the number of letters of the longest date in any format."""
    return max(len(dates.format_date(date(1997, 9, day), way)) for day in range(1, 31) for way in DATE_FORMATS)


def longest_trained(task: TranslationConfig) -> int:
    """Return the number of tokens of the longest source in training."""
    if isinstance(task, PairsConfig):
        return task.longest_source
    return _longest_date() if isinstance(task, DatesConfig) else task.longest


def right_answer(task: TranslationConfig, source: tuple[int, ...]) -> str | None:
    """Return the right answer to a source; None if there is none."""
    right = target_ids(task, source)
    return None if right is None else target_text(task, right)


def answers_view(
    document: ui.Document,
    results: Mapping[str, Sequence[decoding.GreedyTranslation]],
    state: TranslationState,
    source: tuple[int, ...],
) -> None:
    """Write which models are right, and a row for each with its answer; `results` are of every seed."""
    task, variants, replica = state.task_config, state.variants, state.replica
    text, expected = source_text(task, source), right_answer(task, source)
    selected = {name: each[min(replica, len(each) - 1)] for name, each in results.items()}
    seed_answers = [
        findings.SeedAnswer(variants[name].words, target_text(task, one.ids), _has_end(task, one))
        for name, one in selected.items()
    ]
    headline = findings.answers_finding(state.task, text, seed_answers, expected)
    error = dates.parse_date(text).error if isinstance(task, DatesConfig) else ""
    document.finding(error or headline)
    document.text(headline if error else "")
    unit = "digits" if isinstance(task, DigitsConfig) else "letters" if isinstance(task, DatesConfig) else "characters"
    caption = (
        findings.length_caption(len(source), longest_trained(task), unit),
        "Shade: probability of the token; number: probability of the whole answer (greedy decoding).",
        "" if expected is None else "Framed: wrong tokens.",
        f"The answers are those of seed {replica}." if max(map(len, results.values())) > 1 else "",
    )
    data = {
        "head": [
            {"title": "source", "tokens": list(text)},
            *([{"title": "right answer", "tokens": list(expected)}] if expected is not None else []),
        ],
        "rows": [answer_row(variants[name], task, results[name], one, expected) for name, one in selected.items()],
        "caption": " ".join(filter(None, caption)),
        "file": f"{state.task}-answers",
        "label": f"Answers of {len(results)} models to {text}",
    }
    document.component("translation_answers", data, "translation-answers-rows")


def _has_end(task: TranslationConfig, one: decoding.GreedyTranslation) -> bool:
    return bool(one.ids) and one.ids[-1] == len(target_vocabulary(task)) - 1


def answer_row(
    variant: ModelVariant,
    task: TranslationConfig,
    seeds: Sequence[decoding.GreedyTranslation],
    one: decoding.GreedyTranslation,
    expected: str | None,
) -> dict[str, object]:
    """Return the answer of one seed for the component, and in how many of the `seeds` it is right."""
    # An answer without its end token differs from one with it.
    texts = [target_text(task, each.ids) + (EOS if _has_end(task, each) else "") for each in (*seeds, one)]
    right = None if expected is None else expected + EOS
    return {
        "title": variant.title,
        "colour": variant.colour,
        "detail": "writes nothing",
        "tokens": answer_tokens(task, one, expected),
        "sure": format_probability(math.exp(one.log_probability)),
        "right": None if right is None else texts[-1] == right,
        "note": findings.seed_agreement(texts[:-1], right, texts[-1]),
    }


def answer_tokens(
    task: TranslationConfig, one: decoding.GreedyTranslation, expected: str | None
) -> list[dict[str, object]]:
    """Return each token with its probability, and the right token where it is wrong; empty beyond the end."""
    vocabulary = target_vocabulary(task)
    written = ["end" if vocabulary[i] == EOS else vocabulary[i] for i in one.ids]
    right = [] if expected is None else [*expected, "end", *[""] * len(written)]
    return [
        {"text": text, "p": round(p, 4), "wanted": None if expected is None or text == right[i] else right[i]}
        for i, (text, p) in enumerate(zip(written, one.probabilities, strict=True))
    ]
