"""Short descriptions of stored runs, the runs among which a visitor chooses, and the search in them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from threading import Lock

from cachetools import LRUCache, cached

from explorer.catalogue import model_row
from explorer.errors import InvalidSetting
from explorer.experiments.run_names import run_name, setting_label
from explorer.number_format import format_duration
from explorer.run_store import index
from explorer.run_store.index import Entry, Query
from explorer.run_store.store import StoredRun
from explorer.training.comparability import TOKEN_NOUNS, baseline_name, describe_tokens, loss_context, token_noun
from explorer.training.config import changed_settings, default_config, with_settings

_ENDS = {"finished": "", "stopped": "stopped at step {} of {}", "diverged": "diverged by step {} of {}"}
STATE_WORDS = {
    "finished": "trained to its end",
    "stopped": "stopped before its end",
    "diverged": "diverged",
    "running": "under way",
}


def generated_name(entry: Entry, *, with_task: bool = True) -> str:
    """Return the name that follows from the settings of a run; see `experiments.run_names`."""
    try:
        return _name_of_key(entry.key, with_task, entry)
    except InvalidSetting:  # settings that this version of the program does not have
        return entry.title


@cached(LRUCache(8_192), key=lambda key, with_task, entry: (key, with_task), lock=Lock())
def _name_of_key(key: str, with_task: bool, entry: Entry) -> str:
    config = with_settings(default_config(entry.task, entry.model), entry.settings)
    name = run_name(config, with_task=with_task)
    return f"{name}, branch of {entry.parent}" if entry.parent else name


def display_name(entry: Entry, *, with_task: bool = True) -> str:
    """Return the name that a visitor gave to a run, or else the one that follows from its settings."""
    return entry.name or generated_name(entry, with_task=with_task)


@dataclass(frozen=True)
class Score:
    """The score of a run: its name, its median over the seeds as text, and the value of each seed."""

    name: str
    text: str
    values: tuple[float, ...] = ()  # shares from 0 to 1; empty for another score
    order: float | None = None  # the higher, the better


def find_score(entry: Entry) -> Score:
    """Return the score of a run: a share of right answers, bits per byte, or the loss where there is neither."""
    if metric := index.score_metric(entry.metrics):
        name, values, beside = index.SCORES[metric], _values(entry, metric), ""
        if (baseline := entry.metrics[metric].get("baseline")) is not None:
            beside = f", {baseline_name(entry.task)} {baseline:.3f}"
        middle = median(values)
        if metric == "bits_per_byte":
            return Score(name, f"{middle:.3f} {name}{beside}", (), -middle)
        return Score(name, f"{name} {middle:.3f}{beside}", values, middle)
    losses = _values(entry, "val_loss") or _values(entry, "loss")
    if not losses:
        return Score("", "–")
    unit = f" a {TOKEN_NOUNS[entry.settings.get('tokenizer', 'char')]}" if entry.task == "text" else ""
    return Score("loss", f"{median(losses):.3f} nats{unit}")


def _values(entry: Entry, metric: str) -> tuple[float, ...]:
    """Return the values of a metric over the seeds; without those that are not finite."""
    return tuple(value for value in entry.metrics.get(metric, {}).get("values", []) if value is not None)


def describe_end(entry: Entry) -> str:
    """Return how a run ended; empty if it finished."""
    return _ENDS.get(entry.state, "").format(f"{entry.step:,}", f"{entry.steps:,}")


def format_age(moment: datetime.datetime) -> str:
    """Return how long ago a moment was, in the largest unit that fits."""
    seconds = (datetime.datetime.now(datetime.UTC) - moment).total_seconds()
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"


def describe_measurement(entry: Entry) -> str:
    """Return what a loss on text depends on: its tokens and its context; empty for other tasks."""
    if entry.task != "text":
        return ""
    config = with_settings(default_config(entry.task, entry.model), entry.settings)
    return f"{describe_tokens(config)}, {loss_context(config, brief=True)}"


def run_facts(run: StoredRun) -> list[tuple[str, str]]:
    """Return names and values of the main facts about a run, then its settings that differ from the defaults."""
    card, config = run.card, run.config
    facts = [
        ("model", model_row(config.model).title),
        ("parameters", f"{card.parameters:,}"),
        ("seeds", f"{config.seeds[0]} to {config.seeds[-1]}" if config.replicas > 1 else str(config.seed)),
        ("steps", f"{card.step:,} of {config.steps:,}"),
        ("trained in", format_duration(card.seconds)),
        *([("kind of machine", "; then ".join(card.machines))] if card.machines else []),
    ]
    loss = card.metrics["val_loss"].mean if loss_context(config) else None
    if loss is not None:
        facts += [
            ("held-out loss", f"{loss:.3f} nats a {token_noun(config)}"),
            ("context of the loss", loss_context(config)),
        ]
    settings = changed_settings(config).items()
    return facts + [
        (setting_label(name, config), str(value)) for name, value in settings if name not in ("replicas", "seed")
    ]


# ---- choices and search


MOST_RUNS = 5_000  # of which pages know; the newest ones
MOST_OPTIONS = 500  # runs that the browser receives as options


@dataclass(frozen=True)
class RunOptions:
    """The runs that a widget offers: their labels by key, whether there are more, and a sentence that says so."""

    labels: dict[str, str]
    searchable: bool
    note: str


def matching_entries(entries: Sequence[Entry], text: str) -> list[Entry]:
    """Return the runs that match a text, in their order.

    The text is looked for in what the index stores (names, tags, keys); or its words stand in the name of the run.
    Raises StoreError, InvalidSetting.
    """
    stored = {(entry.key, entry.shipped) for entry in index.search(Query(text=text, limit=MOST_RUNS))}
    words = text.casefold().split()
    return [
        entry
        for entry in entries
        if (entry.key, entry.shipped) in stored
        or (words and all(word in generated_name(entry).casefold() for word in words))
    ]


def find_run_options(text: str, selected: Sequence[str]) -> RunOptions:
    """Return the runs that match a text, the newest first, and the selected ones; at most MOST_OPTIONS."""
    every = index.search(Query(limit=MOST_RUNS))
    entries = matching_entries(every, text) if text else every
    offered = entries[:MOST_OPTIONS]
    chosen = [entry for entry in every if entry.key in set(selected)]
    names = {entry.key: display_name(entry) for entry in (*offered, *chosen)}
    several = {name for name, count in Counter(names.values()).items() if count > 1}
    labels = {run: f"{name} ({run})" if name in several else name for run, name in names.items()}
    note = ""
    if text and not entries:
        note = f"No run matches “{text}”."
    elif len(entries) > len(offered):
        note = f"The newest {len(offered):,} of {len(entries):,} runs can be chosen here; search for others."
    order = [*selected, *(entry.key for entry in offered)]
    return RunOptions({run: labels.get(run, run) for run in order}, len(every) > MOST_OPTIONS, note)
