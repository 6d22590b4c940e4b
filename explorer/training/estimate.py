"""What a training will cost, before it is asked for: about so many seconds, and so many parameters."""

from __future__ import annotations

from functools import lru_cache

from explorer.errors import LineageError
from explorer.tasks.text import TextConfig
from explorer.training import store
from explorer.training.config import RunConfig, changed, default

_WORK = 2e10  # multiplications a second that one thread does in matrices of our sizes


@lru_cache(maxsize=512)
def parameters(config: RunConfig) -> int:
    """Numbers to be learned by one replica. Needs torch."""
    from explorer.training.building import build

    return sum(p.numel() for p in build(changed(config, {"replicas": 1})).parameters())


def _work(config: RunConfig, learned: int) -> float:
    """Tokens in a batch, times numbers to be learned."""
    return 1.0 * config.batch_size * config.on(TextConfig).context * config.replicas * learned


def seconds(config: RunConfig) -> float:
    """About how long the training takes by itself, by the time a step of the shipped run took.

    On the negation task a step costs mostly its calls, so fewer seeds save little; wide layers add the time of their
    products. On text it is mostly products: for every token read, each number of the model is used.
    """
    text = isinstance(config.task, TextConfig)
    try:
        shipped = store.find(f"text-{config.model_name}" if text else f"negation-single-{config.model_name}")
    except LineageError:
        return 0.0
    if text:
        grown = _work(config, parameters(config)) / max(_work(shipped.config, shipped.card.parameters), 1)
        return shipped.card.seconds / shipped.card.step * (0.2 + 0.8 * grown) * (config.steps - config.first_step)
    usual = default("negation", config.model_name)
    step = shipped.card.seconds / shipped.config.steps * (0.6 + 0.4 * config.replicas / shipped.config.replicas)
    more = parameters(config) - parameters(usual) if config.model != usual.model else 0
    products = 6 * max(more, 0) * 6 * config.replicas  # forward and backward, for each of some six sentences
    layers = getattr(config.model, "layers", 1) / getattr(usual.model, "layers", 1)
    return (step * layers + products / _WORK) * (config.steps - config.first_step)
