"""Short descriptions of a stored run: its name, settings, end, age, size and result."""

from __future__ import annotations

import datetime

from explorer.catalogue import model_row
from explorer.number_format import format_duration
from explorer.run_store.index import Entry
from explorer.run_store.store import StoredRun
from explorer.training.comparability import TOKEN_NOUNS, describe_tokens, loss_context, token_noun
from explorer.training.config import changed_settings, default_config, with_settings

_ENDS = {"finished": "", "stopped": "stopped at step {} of {}", "diverged": "diverged by step {} of {}"}
STATE_WORDS = {
    "finished": "trained to its end",
    "stopped": "stopped before its end",
    "diverged": "diverged",
    "running": "under way",
}


def display_name(entry: Entry) -> str:
    """Return the name that a visitor gave to a run, or else the title of its model."""
    return entry.name or entry.title


def describe_settings(entry: Entry) -> str:
    """Return the settings in which a run differs from the released defaults."""
    parts = [f"{name} = {value}" for name, value in entry.settings.items() if name not in ("replicas", "seed")]
    if entry.parent:
        parts.append(f"branch of {entry.parent}")
    return ", ".join(parts) or "as released"


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


def format_result(entry: Entry) -> str:
    """Return the accuracy of a run, or the held-out loss of a language model."""
    loss = entry.metrics.get("val_loss", {}).get("mean")
    if entry.accuracy is not None:
        return f"{entry.accuracy:.3f}"
    return "–" if loss is None else f"{loss:.3f} nats a {TOKEN_NOUNS[entry.settings.get('tokenizer', 'char')]}"


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
    ]
    loss = card.metrics["val_loss"].mean if "val_loss" in card.metrics else None
    if loss is not None:
        facts += [
            ("held-out loss", f"{loss:.3f} nats a {token_noun(config)}"),
            ("context of the loss", loss_context(config)),
        ]
    settings = changed_settings(config).items()
    return facts + [(name, str(value)) for name, value in settings if name not in ("replicas", "seed")]
