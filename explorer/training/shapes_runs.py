"""The runs behind three popular claims: of clipping, of shared weights, and of heads; and one that tags words.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.training.config import RunConfig, changed, default
from explorer.training.recall_runs import CONTESTANTS

SEEDS = 5
_NARROW: dict[str, object] = {"model.width": 32, "model.heads": 2, "model.hidden": 64, "causal": True}


@dataclass(frozen=True)
class Rule:
    """A rule that depends on the place."""

    name: str
    title: str
    words: str  # in the middle of a sentence
    settings: Mapping[str, object] = field(hash=False)


RULES = (
    Rule("turns", "In turns", "the rule that changes from place to place and back", {"period": 2}),
    Rule("places", "Twenty places", "the rule that is another one at each of twenty places", {"period": 20}),
)
# Who shares its weights over time, and who has a vector of its own for every place.
COUNTERS: dict[str, dict[str, object]] = {
    "rnn": {},
    "gru": {},
    "transformer": {**_NARROW, "positions": "learned", "iterations": 150},
}


def place(rule: Rule, model: str, **shared: object) -> RunConfig:
    """A model that learns a rule. Raises InvalidSetting."""
    return changed(default("place", model), {"replicas": SEEDS, **rule.settings, **COUNTERS[model], **shared})


def agreement(**shared: object) -> RunConfig:
    """The Transformer whose heads are looked at: two blocks of four. Raises InvalidSetting."""
    return changed(default("agreement", "transformer"), {"replicas": SEEDS, **_NARROW, "model.heads": 4, **shared})


def clipping(clip: float, **shared: object) -> RunConfig:
    """The plain recurrent net of the memory lab, with its gradients clipped at this length; 0: never."""
    return CONTESTANTS["rnn-usual"].config(clip=clip, **shared)


def senses(**shared: object) -> RunConfig:
    """A gated net that says of every word what it means, for the net that is unrolled. Raises InvalidSetting.

    It has to carry a noun over several words before it finds out that it pays, hence the width and the time.
    """
    given = {"model.hidden": 64, "learning_rate": 2e-2, "iterations": 800}
    return changed(default("gloss", "gru"), {"replicas": SEEDS, **given, **shared})


def recipes() -> dict[str, RunConfig]:
    """Every run that ships for them by its name; the clipped one ships with the memory lab."""
    runs = {f"place-{rule.name}-{model}": place(rule, model) for rule in RULES for model in COUNTERS}
    claims = {"agreement-heads": agreement(), "recall-50-rnn-unclipped": clipping(0.0)}
    return {**runs, **claims, "gloss-gru": senses()}
