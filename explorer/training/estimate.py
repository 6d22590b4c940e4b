"""What a training will cost, before it is asked for: about so many seconds, and so many parameters."""

from __future__ import annotations

from functools import lru_cache

from explorer.catalogue import task_row
from explorer.errors import LineageError
from explorer.tasks.recall import RecallConfig
from explorer.tasks.text import TextConfig
from explorer.training import store
from explorer.training.config import RunConfig, changed, default
from explorer.training.recall_runs import CONTESTANTS

_WORK = 2e10  # multiplications a second that one thread does in matrices of our sizes


@lru_cache(maxsize=512)
def parameters(config: RunConfig) -> int:
    """Numbers to be learned by one replica. Needs torch."""
    from explorer.training.building import build

    return sum(p.numel() for p in build(changed(config, {"replicas": 1})).parameters())


# The shipped run of a labelling task by which its trainings are estimated, where it is not the encoder of two blocks.
_LIKE = {
    "noise": "noise-causal",
    "tale": "tale-causal",
    "echo": "echo-learned",
    "place": "place-turns-rnn",
    "agreement": "agreement-heads",
}


def _work(config: RunConfig, learned: int) -> float:
    """Tokens in a batch, times numbers to be learned."""
    return 1.0 * config.batch_size * config.on(TextConfig).context * config.replicas * learned


def seconds(config: RunConfig) -> float:
    """About how long the training takes by itself, by the time a step of a shipped run took; 0 where none is there."""
    task = task_row(config.task).name
    of = {"text": _of_text, "recall": _of_recall, "negation": _of_negation}
    of |= dict.fromkeys(("reverse", "copy", "dates"), _of_translation)
    of |= dict.fromkeys(("noise", "tale", "echo", "gloss", "gist", "place", "agreement"), _of_labelling)
    try:
        return of[task](config) * (config.steps - config.first_step) if task in of else 0.0
    except LineageError:
        return 0.0


def _of_text(config: RunConfig) -> float:
    """Mostly products: for every token read, each number of the model is used."""
    shipped = store.find(f"text-{config.model_name}")
    grown = _work(config, parameters(config)) / max(_work(shipped.config, shipped.card.parameters), 1)
    return shipped.card.seconds / shipped.card.step * (0.2 + 0.8 * grown)


def _of_recall(config: RunConfig) -> float:
    """Mostly calls, as many as there are symbols; more rows make each a little slower. Needs no torch."""
    like = next(name for name, each in CONTESTANTS.items() if each.model == config.model_name)
    shipped = store.find(f"recall-50-{like}")
    rows = config.batch_size * config.replicas / (shipped.config.batch_size * shipped.config.replicas)
    longer = config.on(RecallConfig).length / shipped.config.on(RecallConfig).length
    return shipped.card.seconds / shipped.card.step * longer * (0.3 + 0.7 * rows)


def _of_translation(config: RunConfig) -> float:
    """Mostly calls, as many as there are tokens; more rows, and more numbers in the model, make each slower."""
    task = task_row(config.task).name
    like = "additive" if getattr(config.model, "attention", "") == "additive" else "vector"
    shipped = store.find(f"{task}-{'transformer' if config.model_name.startswith('transformer') else like}")
    rows = config.batch_size * config.replicas / (shipped.config.batch_size * shipped.config.replicas)
    wider = parameters(config) / max(shipped.card.parameters, 1)
    longer = getattr(config.task, "longest", 1) / getattr(shipped.config.task, "longest", 1)
    return shipped.card.seconds / shipped.card.step * longer * (0.3 + 0.7 * rows * wider)


def _of_labelling(config: RunConfig) -> float:
    """About half calls, half products, of as many rows and as many numbers as there are."""
    task = task_row(config.task).name
    shipped = store.find(_LIKE.get(task, f"{task}-two"))
    rows = config.batch_size * config.replicas / (shipped.config.batch_size * shipped.config.replicas)
    wider = parameters(config) / max(shipped.card.parameters, 1)
    return shipped.card.seconds / shipped.card.step * (0.5 + 0.5 * rows * wider)


def _of_negation(config: RunConfig) -> float:
    """Mostly calls, so fewer seeds save little; wide layers add the time of their products."""
    shipped = store.find(f"negation-single-{config.model_name}")
    usual = default("negation", config.model_name)
    step = shipped.card.seconds / shipped.config.steps * (0.6 + 0.4 * config.replicas / shipped.config.replicas)
    more = parameters(config) - parameters(usual) if config.model != usual.model else 0
    products = 6 * max(more, 0) * 6 * config.replicas  # forward and backward, for each of some six sentences
    layers = getattr(config.model, "layers", 1) / getattr(usual.model, "layers", 1)
    return step * layers + products / _WORK


def duration(seconds: float) -> str:
    """A time as one says it."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.0f} h"
