"""The runs behind three common claims, on clipping, shared weights and heads, and one run that tags words.

Needs no torch.
"""

from __future__ import annotations

from typing import Any

from explorer.experiments.learning_rates import searched_rate
from explorer.experiments.model_variant import NamedSettings
from explorer.experiments.recall import VARIANTS
from explorer.training.config import RunConfig, default_config, with_settings

SEEDS, RULE_SEEDS = 5, 8
_NARROW: dict[str, object] = {"model.width": 32, "model.heads": 2, "model.hidden": 64, "causal": True}


class PositionRule(NamedSettings):
    """A rule that depends on the position."""


RULES = (
    PositionRule("turns", "Alternating rule", "the alternating rule", {"period": 2}),
    PositionRule("places", "Twenty positions", "the rule of twenty positions", {"period": 20}),
)
# Two models that share their weights over time, and one with a vector for every position.
RULE_MODELS: dict[str, dict[str, object]] = {
    "rnn": {},
    "gru": {},
    "transformer": {**_NARROW, "positions": "learned"},
}


def position_rule_config(rule: PositionRule, model: str, **shared: object) -> RunConfig:
    """Return the run of a model that learns a rule. Raises InvalidSetting."""
    return with_settings(
        default_config("place", model),
        {
            "replicas": RULE_SEEDS,
            **rule.settings,
            **RULE_MODELS[model],
            **searched_rate(f"place-{rule.name}-{model}"),
            **shared,
        },
    )


def agreement_config(**shared: object) -> RunConfig:
    """Return the run of the Transformer whose heads are measured, with two blocks of four. Raises InvalidSetting."""
    return with_settings(
        default_config("agreement", "transformer"), {"replicas": SEEDS, **_NARROW, "model.heads": 4, **shared}
    )


def clipping_config(clip: float, **shared: Any) -> RunConfig:
    """Return the run of the vanilla RNN of the memory page, with its gradient norm clipped; 0: not clipped."""
    rate = {} if clip else searched_rate("recall-rnn-unclipped")
    return VARIANTS["rnn-usual"].config(**{"clip": clip, **rate, **shared})


def word_sense_config(**shared: object) -> RunConfig:
    """Return the run of a GRU that tags every word with its sense, for the unrolled network. Raises InvalidSetting.

    It must carry a noun over several words before that lowers the loss, hence the width and the number of steps.
    """
    settings = {"model.hidden": 64, "learning_rate": 2e-2, "iterations": 800}
    return with_settings(default_config("gloss", "gru"), {"replicas": SEEDS, **settings, **shared})


def shipped_configs() -> dict[str, RunConfig]:
    """Return every shipped run by name; the clipped one ships with the memory page."""
    runs = {f"place-{rule.name}-{model}": position_rule_config(rule, model) for rule in RULES for model in RULE_MODELS}
    claims = {"agreement-heads": agreement_config(), "recall-50-rnn-unclipped": clipping_config(0.0)}
    return {**runs, **claims, "gloss-gru": word_sense_config()}
