"""The weights that an included run keeps: few steps with few bits, so that all runs together stay small."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy import ndarray

from explorer.experiments import recall, text_setups
from explorer.experiments.pretraining import tags_of
from explorer.run_store.store import Metric, StoredRun
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig
from explorer.training.record import Record, Snapshot

# Runs whose weights a page shows during training, with a first step and a distance n. The run keeps the initialization
# and, from the first step on, every n-th snapshot, counted back from the last one.
SNAPSHOTS = {
    "text-through-training": (8, 2),  # the heads
    "induction-two": (40, 2),
    "induction-one": (40, 3),
    **{f"recall-50-{name}": (3, 2) for name in recall.DEFAULT_VARIANTS},  # gradients and gates
    "negation-single-transformer": (11, 1),  # the heads
    "negation-single-transformer-attending": (11, 1),
    "negation-single-transformer-usual-start": (11, 1),
}
# Runs whose weights give figures that the pages or lessons state to two or three digits.
QUOTED = ("agreement-heads", "induction-two", "text-transformer")
EXACT = ("echo-learned",)  # a page shows that the positions beyond the training rows keep their initialization
_BITS_QUOTED, _HALF, _LEAST = 14, 11, 6  # significant bits; half precision has 11, single precision 24
_PRECISIONS = (_LEAST, 7, 8, 9, 10, _HALF, _BITS_QUOTED, 17, 20)
_SAME_ANSWERS = 1e-4  # largest change of a metric, relative where it is above 1: pages show three digits
_ONE_SENTENCE = 3.1e-3  # of the smallest part of the test of English sentences, of which pages show two digits

Evaluate: TypeAlias = Callable[[Record], Mapping[str, Metric]]  # the metrics of the last weights, computed again


def allowed_change(config: RunConfig) -> float:
    """Return by how much rounded weights may change a metric of an included run, relative where it is above 1."""
    return _ONE_SENTENCE if isinstance(config.task, SentimentConfig) else _SAME_ANSWERS


def kept_steps(name: str, config: RunConfig, last: int) -> list[int]:
    """Return the steps whose weights an included run keeps; `last` is the last step of its training."""
    snapshots = [step for step in config.snapshot_steps if step <= last]
    if name in SNAPSHOTS:
        first, every = SNAPSHOTS[name]
        later = [step for step in snapshots if step >= first]
        return [0, *later[(len(later) - 1) % every :: every]]
    return [0, last] if _starts_are_compared(name) else [last]


def trim_for_release(name: str, run: StoredRun, evaluate: Evaluate) -> dict[int, Mapping[str, ndarray]]:
    """Return the weights that an included run keeps, by step: few steps, rounded to few bits.

    After the last step they are rounded to as few bits as give the same metrics, before it to six. Initial weights
    have half precision; those that the page on comparing runs looks for in other runs stay exact. To resume or branch
    from a step of an included run, train it again, which takes seconds.
    """
    last = run.curves.step
    kept: dict[int, Mapping[str, ndarray]] = {}
    for step in kept_steps(name, run.config, last):
        weights = run.weights(step)
        if run.config.model_name == "ngram" or name in EXACT or (step == 0 and _starts_are_compared(name)):
            kept[step] = weights
        else:
            bits = fewest_bits(name, run, evaluate) if step == last else _LEAST if step else _HALF
            kept[step] = round_weights(weights, bits)
    return kept


def _starts_are_compared(name: str) -> bool:
    return name.startswith("negation-single-")


def fewest_bits(name: str, run: StoredRun, evaluate: Evaluate) -> int:
    """Return the fewest significant bits of the last weights with which no metric of a seed changes visibly.

    Language models keep at least half precision, because they also generate text, where small differences add up. Those
    of the experiments and setups need not, because they are compared by their losses only.
    """
    compared = name in text_setups.shipped_configs() or "experiment" in tags_of(name) or name == "text-best-seeds"
    generates = isinstance(run.config.task, TextConfig) and not compared
    least = _BITS_QUOTED if name in QUOTED else _HALF if generates else _LEAST
    allowed = allowed_change(run.config)
    for bits in _PRECISIONS:
        if bits >= least and largest_change(run, round_weights(run.weights(), bits), evaluate) <= allowed:
            return bits
    return np.finfo(np.float32).nmant + 1


def largest_change(run: StoredRun, weights: Mapping[str, ndarray], evaluate: Evaluate) -> float:
    """Return by how much a metric of the run changes at most with other weights, relative where it is above 1."""
    snapshots = {run.curves.step: Snapshot(weights, None)}
    rounded = Record(run.config, run.card.parameters, run.card.seconds, run.curves, snapshots, tokenizer=run.tokenizer)
    changes = [0.0]
    for name, metric in evaluate(rounded).items():
        stored = run.card.metrics.get(name, metric)  # a run of an earlier version may not have it
        for before, after in zip(stored.values, metric.values, strict=True):
            if before is None or after is None or not np.isfinite([before, after]).all():
                changes.append(0.0 if before == after else np.inf)
            else:
                changes.append(abs(after - before) / max(1.0, abs(before)))
    return max(changes)


def round_weights(weights: Mapping[str, ndarray], bits: int) -> dict[str, ndarray]:
    """Return weights rounded to `bits` significant bits.

    With at most the bits of half precision, a tensor whose values are in its range is rounded to half precision.
    """
    rounded = {}
    for name, value in weights.items():
        mantissa, exponent = np.frexp(value.astype(np.float32))
        coarse = np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits).astype(np.float32)
        with np.errstate(over="ignore"):
            half = coarse.astype(np.float16).astype(np.float32)
        fits = bits <= _HALF and np.array_equal(np.isfinite(half), np.isfinite(coarse))
        rounded[name] = half if fits else coarse
    return rounded
