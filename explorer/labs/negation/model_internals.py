"""The internals of the models: how each computes its answer, and what it has learned about the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.charts.style import INK, SOFT, css_colour, escape_markup, horizontal_line, labelled_ticks, round_values
from explorer.inspection import load_model
from explorer.inspection.words import negation_sentences
from explorer.inspection.words.attending_head import find_attending_head
from explorer.labs.negation import findings
from explorer.labs.negation.answers import classes_of
from explorer.labs.negation.session import EnglishSession, NegationSession
from explorer.number_format import format_percent, format_signed
from explorer.tasks.negation import NegationConfig
from explorer.ui.wording import join_words

_COLUMNS = 3  # panels side by side
_MOST_BARS = 14  # tokens of a sentence in one panel
_TRANSFORMERS: dict[str, dict[str, object]] = {  # the settings that the switch chooses; none: those of the preset
    "attending": {},
    "small": {"start": 0.1},
    "standard": {"start": 1.0},
}
_TRANSFORMER_LABELS = {
    "attending": "8 heads",
    "small": "1 head, small initialization",
    "standard": "1 head, standard initialization",
}
_TRANSFORMER_HELP = (
    "The embeddings start with a standard deviation of 0.5 (8 heads), 0.1 (small) or 1, PyTorch's default (standard). "
    "In this training attention stays nearly uniform with the small one, and with the standard one some seeds do not "
    "learn the task."
)


def internals_section(session: ui.PageSession[Any], views: Mapping[str, ui.RunView]) -> None:
    """Draw how one seed of each model computes its answer; the session is one of either language."""
    lab = session.state
    count, first = lab.value("replicas"), lab.value("seed")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("How does each model compute its answer?", anchor=False, width="content")
        with st.popover("Seed and head", icon=":material/tune:"):
            seeds = {i: str(first + i) for i in range(count)}
            ui.bind_widget(session, "look", st.selectbox, label="Seed", options=seeds, width=120)
            if "transformer" in views:
                if isinstance(session, NegationSession):
                    _transformer_choice(session)
                _attention_choices(session)
    if runs := ui.loaded_runs(views, "Without a finished run there is nothing to look into.", 120):
        _show_panels(session, runs, _shown_first(session, list(runs)), "insides")


def _transformer_choice(session: NegationSession) -> None:
    """Draw the choice among the Transformers of the six words; the page then selects the head."""
    own = session.experiment.own.get("transformer", {})
    ui.bind_widget(
        session,
        "start",
        st.selectbox,
        shown=next((name for name, settings in _TRANSFORMERS.items() if own == settings), None),
        update=lambda lab, name: replace(
            lab.with_settings(lab.shared, {**lab.own, "transformer": _TRANSFORMERS[name]}), head=None
        ),
        label="Transformer",
        options=_TRANSFORMER_LABELS,
        placeholder="own settings",
        help=_TRANSFORMER_HELP,
        width=260,
    )


def _attention_choices(session: ui.PageSession[Any]) -> None:
    """Draw the choices of the layer and of the head of the attention map, where there are several."""
    layers, heads = (session.state.value(name, "transformer") for name in ("layers", "heads"))
    if layers > 1:
        options = {i: f"{i + 1} of {layers}" for i in range(layers)}
        ui.bind_widget(session, "layer", st.selectbox, label="Layer", options=options, width=110)
    if heads > 1:
        head = session.state.head
        ui.bind_widget(
            session,
            "head",
            st.selectbox,
            shown=-1 if head is None else head,
            update=lambda lab, head: replace(lab, head=None if head < 0 else head),
            label="Head",
            options={-1: "most on “not”", **{i: f"{i + 1} of {heads}" for i in range(heads)}},
            width=150,
        )


def _columns(session: ui.PageSession[Any]) -> int:
    """Return how many panels stand side by side: in English they are beside the answers."""
    return 1 if isinstance(session, EnglishSession) else _COLUMNS


def _shown_first(session: ui.PageSession[Any], models: Sequence[str]) -> list[str]:
    """Return the models whose panels are open: one row of them, or in English two below each other."""
    chosen = [model for model in _WITH_PANEL if model in models][: max(_columns(session), 2)]
    return [model for model in models if model in chosen]


def _show_panels(session: ui.PageSession[Any], runs: Mapping[str, ui.Run], models: Sequence[str], name: str) -> None:
    """Draw a panel for each of these models; it follows the sentence."""

    def calls() -> dict[str, ui.Call[list[ui.Panel]]]:
        lab, words = session.state, session.words  # type: ignore[attr-defined]
        return {
            model: ui.Call(sentence_panels, model, runs[model], words, lab.look, lab.layer, lab.head)
            for model in models
        }

    if models:
        waiting = "The models read the sentence …"
        columns = _columns(session) if name == "insides" else _COLUMNS
        ui.show_each(name, calls, panels_view, f"negation-{name}", columns, waiting=waiting, height=400, pool="quick")
    else:
        titles = join_words([MODELS[model].title for model in runs])
        ui.empty_panel(f"There is no picture of how {titles} computes its answer.", 120)


def panels_view(document: ui.Document, results: Mapping[str, Sequence[ui.Panel]], key: str, columns: int) -> None:
    """Write the panels of all models in so many columns."""
    panels = [panel for each in results.values() for panel in each]
    document.figures(key, panels, height=320 if columns > 1 else 210, narrow_height=300, columns=columns)


@dataclass(frozen=True)
class _Sum:
    """How the panel of a model whose readout is linear is drawn, and what it adds up."""

    key: str
    title: str
    part: str  # of its input to the readout
    parts_are_tokens: bool = False  # then they are highlighted with the tokens of the sentence


_SUMS = {
    "bag_of_words": _Sum("sum-of-words", "Bag of words adds up its words", "token", parts_are_tokens=True),
    "bag_of_bigrams": _Sum("sum-of-pairs", "Bag of bigrams adds up its pairs", "pair"),
    "bag_of_words_hidden": _Sum("sum-of-units", "The hidden layer adds up its units", "hidden unit"),
    "convolution": _Sum("sum-of-windows", "The convolution adds up its filters", "window"),
}


def _sum_panel(model: str, view: negation_sentences.Contributions, classes: Sequence[str]) -> ui.Panel:
    """Return the panel of the sum that a linear readout computes."""
    about, name = _SUMS[model], classes[view.towards]
    other = classes[1 - view.towards] if len(classes) == 2 else "the other classes"
    finding = findings.contributions_finding(model, view.parts, view.values)
    parts, values = _strongest(view.parts, view.values, _MOST_BARS if about.parts_are_tokens else 8)
    tokens: dict[str, Any] = {"token_axis": "y", "token_offset": 1, "token_count": len(parts)}
    total = f"every {about.part}'s contribution to {name}, together {format_signed(view.total)}"
    return ui.Panel(
        about.key,
        charts.waterfall(parts, values, view.bias, f"{MODELS[model].title}: {total}. {finding}"),
        title=about.title,
        caption=f"{finding} Right: {name}. Left: {other}.",
        **(tokens if about.parts_are_tokens and len(parts) == len(view.parts) else {}),
    )


def sentence_panels(
    model: str, run: ui.Run, words: tuple[str, ...], look: int, layer: int, head: int | None
) -> list[ui.Panel]:
    """Return the panel of one model for a sentence; no panel for a model that is not in `_WITH_PANEL`.

    words: the words of the sentence
    look: the index of the seed
    layer, head: those of the attention map; None is the head that attends most to “not”
    """
    row, classes, task = MODELS[model], classes_of(run), run.config.task
    of_grammar = isinstance(task, NegationConfig) and task.corpus == "grammar"
    if model in _SUMS:
        contributions = negation_sentences.CONTRIBUTIONS[model](load_model.shared_model(run), words, look)
        return [_sum_panel(model, contributions, classes)]
    if model in ("rnn", "lstm", "gru"):
        reading = negation_sentences.sustain_by_token(load_model.shared_model(run), words, look)
        name = classes[reading.towards]
        others = classes[0] if len(classes) == 2 else f"not {name}"
        finding = findings.reading_finding(reading.tokens, reading.sustain, name)
        words_of_chart = f"{row.title}: probability of {name} after each word. {finding}"
        return [
            ui.Panel(
                f"reading-{model}",
                reading_chart(reading.tokens, reading.sustain, row.colour, (others, name), words_of_chart),
                title=f"The {row.title}’s answer after each token",
                caption=finding,
                token_axis="x",
                token_count=len(reading.tokens),
            )
        ]
    if model == "transformer":
        window = getattr(run.config.model, "window", 0) if of_grammar else 0  # other sentences may be long
        attention = negation_sentences.sentence_attention(load_model.shared_model(run), words, look, window)
        layer = min(layer, len(attention.weights) - 1)
        heads = attention.weights[layer]
        chosen = find_attending_head(attention.tokens, heads) if head is None else min(head, len(heads) - 1)
        weights = heads[chosen]
        finding = findings.attention_finding(attention.tokens, heads, chosen, layer, len(attention.weights))
        which = f"Head {chosen + 1} of {len(heads)}. " if len(heads) > 1 else ""
        masked = " Empty: masked padding." if np.isnan(weights).any() else ""
        return [
            ui.Panel(
                "attention",
                charts.HeatMap(
                    "Transformer: attention weights",
                    "attention",
                    attention.tokens,
                    attention.tokens,
                    weights,
                    charts.tile_texts(weights, 0.095),
                    hover=[[f"{query} → {key}" for key in attention.tokens] for query in attention.tokens],
                    words=f"Transformer: attention weights; rows: query token, columns: key token. {which}{finding}",
                ),
                title=findings.attention_title(attention.tokens, weights),
                caption=f"{which}Rows: query token, columns: key token (where it looks). {finding}{masked}",
                token_axis="xy",
                token_count=len(attention.tokens),
            )
        ]
    return []


# The models that have a panel, first those whose panels are open.
_WITH_PANEL = tuple(dict.fromkeys(("bag_of_words", "transformer", "rnn", "lstm", "gru", *_SUMS)))


def _strongest(
    parts: Sequence[str], values: Float[ndarray, " parts"], most: int = 8
) -> tuple[Sequence[str], Float[ndarray, " _"]]:
    """Return the `most` parts with the largest contributions, and the sum of all others as one more part."""
    if len(parts) <= most:
        return parts, values
    order = np.argsort(-np.abs(values), kind="stable")
    kept, others = np.sort(order[:most]), order[most:]
    return (*(parts[i] for i in kept), f"{len(others)} others"), np.append(values[kept], values[others].sum())


def reading_chart(
    tokens: Sequence[str], sustain: Float[ndarray, " tokens"], colour: str, classes: tuple[str, str], words: str
) -> charts.Drawing:
    """Return the answer of a recurrent network after each token, with its numbers; the middle line is "undecided"."""
    trace = {
        "type": "scatter",
        "mode": "lines+markers" + ("+text" if len(tokens) <= 12 else ""),
        "x": list(range(len(tokens))),
        "y": round_values(sustain),
        "text": [f"{value:.2f}" for value in sustain],
        "textposition": ["top center" if value >= 0.5 else "bottom center" for value in sustain],
        "textfont": {"size": 14, "color": INK},
        "line": {"width": 3, "color": css_colour(colour)},
        "marker": {"size": 9, "color": css_colour(colour)},
        "cliponaxis": False,
        "name": f"probability of {escape_markup(classes[1])}",
        "hoverinfo": "skip",
    }
    layout = {
        "xaxis": {**labelled_ticks(tokens), "range": [-0.5, len(tokens) - 0.5], "tickangle": -35},
        "yaxis": charts.Axis(span=(-0.16, 1.16), ticks={0: classes[0], 0.5: "undecided", 1: classes[1]}).layout(),
        "shapes": [horizontal_line(0.5, SOFT)],
    }
    return charts.Drawing(words, [trace], layout)


def weights_panel(model: str, run: ui.Run, look: int) -> ui.Panel | None:
    """Return the weights of a bag of words or bigrams, or the embeddings of another model if it has any, of a seed."""
    task, row = run.config.task, MODELS[model]
    own = not (isinstance(task, NegationConfig) and task.corpus == "grammar")
    if model in ("bag_of_words", "bag_of_bigrams"):
        weights_of = negation_sentences.word_weights if model == "bag_of_words" else negation_sentences.pair_weights
        view, classes = weights_of(load_model.shared_model(run), look), classes_of(run)
        colours = f"Brown is {classes[0]}, teal is {classes[1]}." if len(classes) == 2 else ""
        which = "words" if model == "bag_of_words" else "pairs"
        kept = (
            f"Of all {which} of the training part, those whose weights differ most between the classes."
            if own
            else "Words that are in every sentence act as a bias."
            if model == "bag_of_words"
            else "Of the pairs of the grammar, those that differ between its sentences."
        )
        return ui.Panel(
            "word-weights" if model == "bag_of_words" else "pair-weights",
            weights_chart(f"{row.title}: weight of each of the {which}", view.tokens, view.weights, classes),
            title=f"{row.title}: weights",
            caption=f"{colours} {kept}".strip(),
        )
    plane = negation_sentences.embedding_map(load_model.shared_model(run), look)
    if plane is None:
        return None
    share = format_percent(plane.share, 0)
    return ui.Panel(
        f"embeddings-{model}",
        embedding_chart(
            plane, row.colour, f"{row.title}: word embeddings in two dimensions, {share} of their variance"
        ),
        title=f"{row.title}: embeddings",
        caption=f"The two directions shown hold {share} of the variance of the vectors."
        + (f" The {len(plane.tokens)} most frequent words." if own else ""),
    )


def weights_chart(
    subject: str, tokens: Sequence[str], weights: Float[ndarray, "classes tokens"], classes: Sequence[str]
) -> charts.BarChart:
    """Return bars of the weight of each token for each class.

    With more than two classes, each token has one bar, for its class: by how much its largest weight is above the mean
    of the others.
    """
    groups = [("--sign-1", classes[0], weights[0]), ("--sign-5", classes[1], weights[1])]
    if len(classes) > 2:
        largest, count = weights.max(axis=0), len(classes)
        above = (largest - weights.mean(axis=0)) * count / (count - 1)
        groups = [("--sign-5", "above the other classes", above)]
        tokens = [f"{token} → {classes[i]}" for token, i in zip(tokens, weights.argmax(axis=0), strict=True)]
    extent = 1.25 * max(float(np.abs(values).max()) for _, _, values in groups)
    bars = [charts.Bars(name, values, colour) for colour, name, values in groups]
    return charts.BarChart(subject, tokens, bars, charts.Axis("weight", (-extent, extent)))


def embedding_chart(plane: negation_sentences.EmbeddingMap, colour: str, subject: str) -> charts.PointChart:
    """Return word vectors in the plane; both axes have the same unit, so distances can be compared."""
    axis = charts.Axis(ticks=())
    return charts.PointChart(subject, plane.points, plane.tokens, colour, axis, axis, same_unit=True)


def learned_weights_section(session: ui.PageSession[Any], views: Mapping[str, ui.RunView]) -> None:
    """Draw how the remaining models compute their answer, then the weights or the embeddings of every model."""
    look = session.state.look
    runs = ui.loaded_runs(views, "Without a finished run there is nothing to look into.", 120)
    if not runs:
        return
    first = _shown_first(session, list(runs))
    if others := [model for model in runs if model not in first and model in _WITH_PANEL]:
        _show_panels(session, runs, others, "more-insides")
    calls = {model: ui.Call(weights_panel, model, run, look) for model, run in runs.items()}
    ui.show_each("look", calls, weights_view, waiting="The weights are loaded …", height=340, pool="quick")


def weights_view(document: ui.Document, results: Mapping[str, ui.Panel | None]) -> None:
    """Write the panels of the models that have one."""
    panels = [panel for panel in results.values() if panel]
    document.figures("negation-look", panels, height=300, columns=4)
