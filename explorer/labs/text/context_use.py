"""Use of context: the loss by the number of tokens that a model could read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.language import loss_by_context as figures
from explorer.labs.text.line_charts import (
    HEIGHT,
    add_line_charts,
    band_caption,
    cache_key,
    line_tracks,
    load_stack,
    missing_models,
    model_line,
    seed_band,
    with_weights,
    without_weights,
)
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.plot_frame import Panel
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation, untrained_panel
from explorer.ui.result_section import result_section
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words

if TYPE_CHECKING:
    from explorer.inspection.language.context_use import ContextUse


def context_section(views: Mapping[str, RunView]) -> None:
    """Draw the loss by the number of tokens before the target."""
    st.header("How far back does it look?", anchor=False)
    trained = with_weights(views)
    if not trained:
        untrained_panel(
            views, "No model has been trained to the end yet. Train some above; the result is shown here.", HEIGHT
        )
        return
    tasks = {name: view.config.task_as(TextConfig) for name, view in trained.items()}
    result_section(
        "text-reach",
        {name: (("reach", *cache_key(view)), partial(_measure, view)) for name, view in trained.items()},
        partial(_draw_losses, tasks, without_weights(views)),
        "The models are reading the held-out text; that takes a few seconds …",
        HEIGHT + 120,
    )
    explanation(
        "At the first place of a row a model has read one token, at the next two, and so on. A perfect model would "
        "gain at each step exactly what the token further back says about the next one, beyond the i tokens h between:"
    )
    st.latex(r"L(i) - L(i+1) = I\,(w_t \,;\, w_{t-i-1} \mid h)")
    explanation(
        "An n-gram and a window read a fixed number of tokens, and those before them have no effect. A recurrent net "
        "pours everything into one state of fixed size, which new tokens overwrite. Attention keeps every token of the "
        "row apart: none is lost on the way, but it has to learn which ones to look at."
    )


def _measure(view: RunView) -> ContextUse:
    from explorer.inspection.language.context_use import measure_context_use  # here: the page must not wait for torch

    return measure_context_use(load_stack(view), view.config)


def _draw_losses(
    tasks: Mapping[str, TextConfig], without: Sequence[str], document: Document, losses: Mapping[str, ContextUse]
) -> None:
    """Write the finding, the lines and the caption. `without`: titles of the models without weights."""
    finite = {name: each for name, each in losses.items() if len(each.losses)}
    if finite:
        document.finding(context_finding({MODELS[name].title: each for name, each in finite.items()}))
        lines = [
            model_line(name, each.bin_ends, each.mean, *seed_band(each.losses, each.error))
            for name, each in finite.items()
        ]
        context = max(int(each.bin_ends[-1]) for each in finite.values())
        alt = "; ".join(
            f"{line.name} {line.y[0]:.2f} after one token, {line.y[-1]:.2f} after {line.x[-1]}" for line in lines
        )
        figure = figures.loss_by_context(lines, context)
        panel = Panel("loss-by-context", figure, f"Loss in nats a token: {alt}.", tracks=line_tracks(lines))
        add_line_charts(document, [panel], "text-reach")
    document.caption(_method_caption({name: tasks[name] for name in losses}, without, losses))


def context_finding(losses: Mapping[str, ContextUse]) -> str:
    """Return which models still gain from more tokens at the end of a row. `found` maps titles to losses."""
    if all(len(each.bin_ends) == 1 for each in losses.values()):
        return "A row gives one token to read here, so nobody can look further back."
    stopped: dict[tuple[int, bool], list[str]] = {}
    for title, each in losses.items():
        if not each.gains_until_end and not each.worsens_with_context:
            blind = each.limit is not None and each.sufficient_context >= each.limit
            stopped.setdefault((each.sufficient_context, blind), []).append(title)
    parts: list[str] = []
    for tokens, blind in sorted(stopped):
        titles = stopped[tokens, blind]
        one = len(titles) == 1
        verb = f" gain{'s' * one} nothing measurable" if not parts else ""
        sees = f", as far as {'it sees' if one else 'they see'}" if blind else ""
        parts.append(f"{join_words(titles)}{verb} beyond {tokens if parts else _tokens(tokens)}{sees}")
    sentences = [f"{'; '.join(parts)}."] if parts else []
    for title, each in losses.items():
        if each.worsens_with_context:
            best = int(each.mean.argmin())
            few = _tokens(int(each.bin_ends[best]))
            ends = f"{each.mean[best]:.2f} nats after {few}, {each.mean[-1]:.2f} after {each.bin_ends[-1]}"
            sentences.append(f"{title} even does worse with more: {ends}.")
    gaining = [title for title, each in losses.items() if each.gains_until_end and not each.worsens_with_context]
    if gaining:
        one, end = len(gaining) == 1, max(int(losses[title].bin_ends[-1]) for title in gaining)
        who = f"{join_words(gaining)} still gain{'s' * one} when {'it has' if one else 'they have'}"
        sentences.append(f"{who} read {end} tokens, all that a row gives.")
    return " ".join(sentences)


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _method_caption(tasks: Mapping[str, TextConfig], without: Sequence[str], losses: Mapping[str, ContextUse]) -> str:
    first = next(iter(losses.values()))
    task = next(iter(tasks.values()))
    whole = all(each.is_complete for each in losses.values())
    targets = f"All {first.targets.sum():,}" if whole else "An evenly spread part of all"
    row = "rows of" if task.rows == "blocks" else "lines of up to" if task.rows == "sentences" else "prefixes of up to"
    sentences = [
        f"{targets} held-out targets, in {row} {task.context} tokens, each row read from a cold start; neighbouring "
        "places share a dot."
    ]
    carried = [MODELS[name].title for name, each in tasks.items() if each.batches == "contiguous" and name != "ngram"]
    if carried:
        whom = "it" if len(carried) == 1 else "them"
        sentences.append(f"{join_words(carried)} learned with carried state, so a cold start is new to {whom}.")
    sentences.append(
        band_caption([len(each.losses) for each in losses.values()], "one standard error, whole rows drawn at random")
    )
    if task.rows != "blocks":
        sentences.append("In a line some places are easier than others for anybody; that too bends the curves.")
    return " ".join([*sentences, *missing_models(without, {name: each.diverged for name, each in losses.items()})])
