"""Included networks and the best n-gram under the same context, from a file that a benchmark computes.

python -m benchmarks.language_models contexts
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.tasks.text.config import TextConfig
from explorer.ui.wording import join_words

FILE: Final = Path(__file__).with_name("same_context.json")
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
    stored = json.loads(FILE.read_text("utf-8"))
    networks = {
        name: MeasuredNetwork(
            each["model"], each["parameters"], {label: tuple(losses) for label, losses in each["losses"].items()}
        )
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
    } | {
        name: charts.Column(f"{each.title} {each.parameters / 1e6:.1f} M", "number", wrap=True)
        for name, each in table.networks.items()
    }
    rows = [
        {"context": context if context == "reading on" else f"blocks of {context}", "ngram": f"{best.loss:.3f}"}
        | {name: _loss_range(each, context) for name, each in table.networks.items()}
        for context, best in table.ngrams.items()
    ]
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
        ngrams = {context: table.ngrams[context].loss for context in each.losses}
        groups = {
            "beats the best n-gram": [c for c, losses in each.losses.items() if max(losses) < ngrams[c]],
            "is worse than the best n-gram": [c for c, losses in each.losses.items() if min(losses) > ngrams[c]],
        }
        groups["beats it with some seeds"] = [
            context for context in each.losses if context not in {c for group in groups.values() for c in group}
        ]
        seeds = max(map(len, each.losses.values()))
        parts = [f"{what} {_describe_contexts(group, table)}" for what, group in groups.items() if group]
        sentences.append(f"The {each.title} with {each.parameters:,} parameters ({seeds} seeds) {'; '.join(parts)}.")
    return " ".join(sentences)


def same_context_caption(table: SameContextTable) -> str:
    """Return what the numbers are and how they were measured."""
    kinds: dict[str, list[str]] = {}
    for context, best in table.ngrams.items():
        kinds.setdefault(f"{_SMOOTHINGS[best.smoothing]} of order {best.n}", []).append(context)
    described = join_words([f"{kind} ({_describe_contexts(contexts, table)})" for kind, contexts in kinds.items()])
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
    parts = [f"in blocks of {join_words(blocks)}"] if blocks else []
    return " and ".join([*parts, *(["reading on"] if "reading on" in contexts else [])])


def _loss_range(network: MeasuredNetwork, context: str) -> str:
    losses = network.losses.get(context)
    return f"{min(losses):.3f}–{max(losses):.3f}" if losses else "–"
