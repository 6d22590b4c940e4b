"""Use of context: the loss by the number of tokens that a model could read, and models with the same context.

The losses of included runs are stored: `python -m benchmarks.language_models context-use` and `contexts`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.charts.style import css_colour
from explorer.inspection import load_model
from explorer.inspection.language import context_use
from explorer.number_format import format_units
from explorer.run_store.store import StoredRun
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import carries_state
from explorer.training.record import Record
from explorer.ui.language_lines import (
    HEIGHT,
    NARROW,
    band_caption,
    missing_models,
    model_line,
    seed_values,
    without_weights,
)

FILE: Final = Path(__file__).with_name("context_use.json")


def context_section(views: Mapping[str, ui.RunView]) -> None:
    """Draw the loss by the number of tokens before the target."""
    runs = {name: view.loaded_run for name, view in views.items() if view.loaded_run}
    carried = tuple(name for name, run in runs.items() if carries_state(run.config))
    if len(carried) == len(runs):
        sentence = "No model has been trained to the end yet; the result is shown here afterwards."
        ui.untrained_panel(views, _carried_note(carried) or sentence, HEIGHT)
        return
    ui.show_each(
        "text-reach",
        {name: ui.Call(find_or_measure, run) for name, run in runs.items() if name not in carried},
        losses_view,
        without_weights(views),
        carried,
        waiting="The models are reading the held-out text; that takes a few seconds …",
        height=HEIGHT + 120,
        partly=True,
    )


def formula_section() -> None:
    """Draw what the loss by context measures, and what limits the context of each kind of model."""
    ui.explanation(
        "Each model predicts the same targets after the last 1, 2, 4, … tokens, from a zero state. It uses a context "
        "if a shorter one has a measurably higher loss than the longest: by at least 0.005 nats and 2.5 standard "
        "errors. A perfect model would gain from each further token exactly what that token says about the next one, "
        "given the i tokens h between them (their conditional mutual information):"
    )
    st.latex(r"L(i) - L(i+1) = I\,(w_t \,;\, w_{t-i-1} \mid h)")
    ui.explanation(
        "An n-gram and a feedforward network read a fixed number of tokens; earlier ones have no effect. A recurrent "
        "network keeps all it has read in one state of fixed size, which new tokens overwrite. Attention keeps every "
        "token of the row, but must learn which ones to attend to."
    )


def _carried_note(names: Sequence[str]) -> str:
    if not names:
        return ""
    return (
        f"Left out: {ui.join_words([MODELS[name].title for name in names])}, trained with the state carried from "
        "row to row. At the start of a row from a zero state, such a network recovers; its loss there does not say "
        "how much context it uses."
    )


def find_or_measure(run: StoredRun | Record) -> context_use.ContextUse:
    """Return the stored measurement of an included run, or measure another one now."""
    return stored_context_use(run.key) or context_use.measure_context_use(load_model.load_model(run).stack, run.config)


def stored_context_use(run: str) -> context_use.ContextUse | None:
    """Return the stored measurement of an included run; None if there is none. `run` is the key of the run."""
    stored = _read_stored().get(run)
    if stored is None:
        return None
    arrays: dict[str, Any] = {
        name: np.array(stored[name]) for name in ("contexts", "losses", "error", "gain", "gain_error")
    }
    numbers: dict[str, Any] = {name: stored[name] for name in ("targets", "limit", "diverged")}
    return context_use.ContextUse(**numbers, **arrays)


@cached()
def _read_stored() -> dict[str, Any]:
    """Return the measurements of included runs by key, from `benchmarks.language_models context-use`."""
    return dict(json.loads(FILE.read_text("utf-8"))) if FILE.exists() else {}


def losses_view(
    document: ui.Document,
    losses: Mapping[str, context_use.ContextUse],
    without: Sequence[str],
    carried: Sequence[str],
) -> None:
    """Write the finding, the lines and the caption.

    without: titles of the models without weights.
    carried: names of the models that are left out because they were trained with carried state.
    """
    if finite := {name: each for name, each in losses.items() if len(each.losses)}:
        document.finding(context_finding({MODELS[name].title: each for name, each in finite.items()}))
        panel = ui.Panel("loss-by-context", context_chart(finite))
        document.figures("text-reach", [panel], columns=1, height=HEIGHT, narrow_height=NARROW)
    sentences = [
        f"Loss on the same {next(iter(losses.values())).targets:,} held-out targets. Vertical: what a model uses.",
        band_caption([len(each.losses) for each in losses.values()], "one standard error over targets"),
        *missing_models(without, {name: each.diverged for name, each in losses.items()}),
        _carried_note(carried),
    ]
    document.caption(" ".join(filter(None, sentences)))


def context_chart(losses: Mapping[str, context_use.ContextUse]) -> charts.LineChart:
    """Return the loss of each model by the number of tokens that it could read."""
    longest = max(int(each.contexts[-1]) for each in losses.values())
    return charts.LineChart(
        "Loss in nats per token by the number of tokens before the target",
        [model_line(name, each.contexts, seed_values(each.losses, each.error)) for name, each in losses.items()],
        charts.Axis("tokens before the target", log=True, ticks=charts.doubling_ticks(1, longest)),
        charts.Axis("nats per token"),
        [_mark(MODELS[name].colour, each.sufficient_context) for name, each in losses.items()],
        margin=118,
        digits=3,
    )


def _mark(colour: str, tokens: int) -> charts.Rule:
    """Return the vertical line at the context that a model uses."""
    return replace(charts.limit(tokens, f"{tokens:,}"), colour=css_colour(colour))


def context_finding(losses: Mapping[str, context_use.ContextUse]) -> str:
    """Return how many tokens of context measurably lower the loss of each model. `losses` by title of the model."""
    end = max(int(each.contexts[-1]) for each in losses.values())
    if end == 1:
        return "A row has one token here, so no model has more context."
    titles: dict[int, list[str]] = {}
    parts = []
    for title, each in losses.items():
        if each.worsens_with_context:
            best = int(each.median.argmin())
            parts.append(
                f"the loss of the {title} rises after {format_units(int(each.contexts[best]), 'token')}, from "
                f"{each.median[best]:.2f} to {each.median[-1]:.2f} nats"
            )
        else:
            titles.setdefault(each.sufficient_context, []).append(title)
    order = sorted(titles, reverse=True)
    verb = f" use{'s' * (len(titles[order[0]]) == 1)}" if order else ""
    used = [f"the {ui.join_words(titles[n])}{verb * (n == order[0])} {n:,}" for n in order]
    of_all = [f"of {end:,} tokens before the target, {ui.join_words(used)}"] * bool(used)
    return f"{ui.capitalize('; '.join([*of_all, *parts]))}."


# ---- included networks and the best n-gram under the same context


SAME_CONTEXT_FILE: Final = Path(__file__).with_name("same_context.json")
_SMOOTHINGS: Final = {
    "kneser_ney": "Kneser–Ney",
    "modified_kneser_ney": "modified Kneser–Ney",
    "stupid_backoff": "stupid backoff",
}


@dataclass(frozen=True)
class BestNgram:
    """The n-gram with the lowest held-out loss in one context."""

    smoothing: str
    n: int
    loss: float  # nats per character


@dataclass(frozen=True)
class MeasuredNetwork:
    """An included network and its losses in nats per character: by context, one for each seed."""

    model: str  # its name in the catalogue
    parameters: int
    losses: Mapping[str, tuple[float, ...]]

    @property
    def title(self) -> str:
        return MODELS[self.model].title


@dataclass(frozen=True)
class SameContextTable:
    """Losses by context: a number of characters in a block, or "reading on"."""

    ngrams: Mapping[str, BestNgram]
    networks: Mapping[str, MeasuredNetwork]  # by the name of the run


@cached()
def read_table() -> SameContextTable:
    """Return the stored losses."""
    stored = json.loads(SAME_CONTEXT_FILE.read_text("utf-8"))
    networks = {
        name: MeasuredNetwork(each["model"], each["parameters"], {c: tuple(v) for c, v in each["losses"].items()})
        for name, each in stored["networks"].items()
    }
    return SameContextTable({context: BestNgram(**best) for context, best in stored["ngram"].items()}, networks)


def same_context_section() -> None:
    """Draw the losses of included networks and of the best n-gram, context by context."""
    ui.draw_now(same_context_view, read_table())


def same_context_view(document: ui.Document, table: SameContextTable) -> None:
    """Write the finding and the table."""
    document.text(same_context_finding(table))
    columns = {
        "context": charts.Column("context", wrap=True),
        "ngram": charts.Column("best n-gram", "number", wrap=True),
    }
    for name, each in table.networks.items():
        columns[name] = charts.Column(f"{each.title} {each.parameters / 1e6:.1f} M", "number", wrap=True)
    rows = []
    for context, best in table.ngrams.items():
        row = {"context": context if context == "reading on" else f"blocks of {context}", "ngram": f"{best.loss:.3f}"}
        for name, each in table.networks.items():
            losses = each.losses.get(context)
            row[name] = f"{min(losses):.3f}–{max(losses):.3f}" if losses else "–"
        rows.append(row)
    label = "Held-out loss by context, in nats per character"
    document.table("text-same-context", charts.Table(columns, rows, label, same_context_caption(table)))


def is_measured_text(task: TextConfig) -> bool:
    """Return whether a task has the text, tokens and held-out part of the stored losses."""
    usual = TextConfig()
    return replace(task, context=usual.context, batches=usual.batches) == usual


def same_context_finding(table: SameContextTable) -> str:
    """Return for each network in which contexts all its seeds have a lower or a higher loss than the best n-gram."""
    sentences = []
    for each in table.networks.values():
        groups: dict[str, list[str]] = {}
        for context, losses in each.losses.items():
            ngram = table.ngrams[context].loss
            below, above = max(losses) < ngram, min(losses) > ngram
            some = "" if below or above else " with some seeds only"
            groups.setdefault(f"{'is worse than' if above else 'beats'} the best n-gram{some}", []).append(context)
        seeds = max(map(len, each.losses.values()))
        parts = [f"{what} {_describe_contexts(group, table)}" for what, group in groups.items()]
        sentences.append(f"The {each.title} with {each.parameters:,} parameters ({seeds} seeds) {'; '.join(parts)}.")
    return " ".join(sentences)


def same_context_caption(table: SameContextTable) -> str:
    """Return what the numbers are and how they were measured."""
    kinds: dict[str, list[str]] = {}
    for context, best in table.ngrams.items():
        kinds.setdefault(f"{_SMOOTHINGS[best.smoothing]} of order {best.n}", []).append(context)
    described = ui.join_words([f"{kind} ({_describe_contexts(contexts, table)})" for kind, contexts in kinds.items()])
    return (
        "Nats per character on the held-out tenth of Tiny Shakespeare, from the lowest to the highest seed; M: million "
        f"parameters. Best n-gram: {described}. It is the best of three smoothings and orders 1 to 8 on the held-out "
        "text itself, which is in its favour. Blocks are read without earlier context. Reading on: the n-gram reads "
        "one row, the GRU carries its state, and the Transformer reads overlapping windows of 128 characters (64 to "
        "128 characters of context); the first 64 characters are left out for the n-gram and the "
        "Transformer. –: longer than the context in training."
    )


def _describe_contexts(contexts: list[str], table: SameContextTable) -> str:
    if len(contexts) == len(table.ngrams):
        return "in every context"
    blocks = [context for context in contexts if context != "reading on"]
    parts = [f"in blocks of {ui.join_words(blocks)}"] if blocks else []
    return " and ".join([*parts, *(["reading on"] if "reading on" in contexts else [])])
