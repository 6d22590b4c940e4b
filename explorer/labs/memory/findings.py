"""Findings about recall: which models solve it, at which lengths, and which have learned a fixed length only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import SOLVED, SWEEP_LENGTHS
from explorer.number_format import format_range, format_units
from explorer.tasks.recall import MAX_EVALUATED_LENGTH, RecallConfig, evaluation_lengths
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.budgets import budget_sentence
from explorer.ui.verdict_sentences import solved_comparison
from explorer.ui.wording import count_seeds, join_words

_MORE_STEPS = " With more steps, other models may solve the task."
MAX_WORDS = 20  # of a headline
BELOW_CHANCE = 0.25  # accuracy this much below chance, one symbol further: systematically wrong


@dataclass(frozen=True)
class RecallResult:
    """The result of one run on recall."""

    variant: ModelVariant
    config: RunConfig
    accuracy: Float[ndarray, " replicas"]  # at the trained length, on fresh sequences
    solved_at: Int[ndarray, " replicas"]  # the evaluated step from which on a seed solves it; -1: never
    lengths: tuple[int, ...]
    by_length: Float[ndarray, "replicas lengths"]  # NaN if it was stopped before its last evaluation

    @property
    def solved(self) -> int:
        """The number of seeds that solve it."""
        return int((self.accuracy >= SOLVED).sum())

    def accuracy_at(self, length: int, solvers: bool = False) -> Float[ndarray, " replicas"]:
        """Return the accuracy at an evaluated length, of all seeds or of those that solve the trained length."""
        values = self.by_length[:, self.lengths.index(length)]
        return values[self.accuracy >= SOLVED] if solvers else values


@cached()
def recall_result(variant: ModelVariant, config: RunConfig, curves: Curves) -> RecallResult | None:
    """Return the result of a run, or None before its first evaluation."""
    accuracy = curves.metrics.get("accuracy")
    if accuracy is None or not len(accuracy):
        return None
    is_solved = accuracy >= SOLVED
    # A seed solves the task from the step after which its accuracy never falls below SOLVED again.
    stays_solved = np.flip(np.logical_and.accumulate(np.flip(is_solved, 0), axis=0), 0)
    solved_at = np.where(stays_solved.any(axis=0), curves.evaluated[stays_solved.argmax(axis=0)], -1)
    return RecallResult(
        variant,
        config,
        accuracy[-1],
        solved_at,
        evaluation_lengths(config.task_as(RecallConfig).length),
        curves.answers["by_length"][-1],
    )


def describe_variants(names: Sequence[ModelVariant]) -> str:
    """Return several variants in words, grouped by initialization: the LSTM and the GRU with open gates."""
    by_words: dict[str, list[str]] = {}
    for each in names:
        by_words.setdefault(each.words, []).append(f"the {MODELS[each.model].title}")
    return join_words([f"{join_words(titles)} {words}" for words, titles in by_words.items()])


def typed_sentence(text: str, every: Sequence[ModelVariant]) -> str:
    """Return which models name the first symbol of a row with every seed."""
    said = f"Every seed of {short_names(every)} says so." if every else "No model says so with every seed."
    return f"The row begins with {text[0]}. {said}"


def solved_finding(results: Mapping[str, RecallResult], length: int) -> str:
    """Return which models recall the first symbol at the trained length with every seed; at most 20 words."""
    if not results:
        return ""
    task = f"the first of {format_units(length, 'symbol')}"
    every = [each.variant for each in results.values() if each.solved == len(each.accuracy)]
    if not every:
        best = max(results.values(), key=lambda each: each.solved / len(each.accuracy))
        share = f"{short_names([best.variant])} does in {best.solved} of {len(best.accuracy)} seeds"
        return f"No model recalls {task} in every seed; {share}." if best.solved else f"No model recalls {task}."
    where = "in every seed" if max(len(each.accuracy) for each in results.values()) > 1 else "with its only seed"
    finding = f"{short_names(every)} recall{'s' * (len(every) == 1)} {task} {where}."
    many = f"{len(every)} of {len(results)} models recall {task} {where}."
    return finding if len(finding.split()) <= MAX_WORDS else many


def short_names(variants: Sequence[ModelVariant]) -> str:
    """Return several variants in a few words, grouped by initialization: LSTM and GRU (open gates)."""
    by_initialization: dict[str, list[str]] = {}
    for each in variants:
        name, _, initialization = each.title.partition(", ")
        by_initialization.setdefault(initialization, []).append(name)
    return join_words([f"{join_words(names)} ({which})" for which, names in by_initialization.items()])


def budget_caption(results: Mapping[str, RecallResult]) -> str:
    """Return for how many steps each model was trained."""
    more = "" if all(each.solved == len(each.accuracy) for each in results.values()) else _MORE_STEPS
    configs = {f"the {MODELS[each.variant.model].title}": each.config for each in results.values()}
    same = f"All were trained for {next(iter(configs.values())).steps:,} steps."
    return f"{budget_sentence(configs) or same}{more}"


def solved_comparison_finding(results: Mapping[str, RecallResult]) -> str:
    """Return whether the models differ in the number of seeds that solve recall at the trained length."""
    solved = {each.variant.full_label: each.accuracy >= SOLVED for each in results.values()}
    return solved_comparison(solved, f"are right in {SOLVED:.0%} or more")


def other_length_findings(results: Mapping[str, RecallResult], length: int) -> list[str]:
    """Return findings about the accuracy at lengths that were not trained, of the seeds that solve the trained one."""
    solvers = [each for each in results.values() if each.solved and not np.isnan(each.by_length).all()]
    sentences = []
    far = min(MAX_EVALUATED_LENGTH, max(evaluation_lengths(length)))
    lasting = [e for e in solvers if far > length and e.accuracy_at(far, True).min() >= SOLVED]
    if lasting:
        names = join_words([f"{count_seeds(each.solved)} of {describe_variants([each.variant])}" for each in lasting])
        sentences.append(
            f"Trained on {length:,} symbols and tested on {far:,}, all seeds that solve the task still name the first "
            f"one: {names}."
        )
    near = [each for each in evaluation_lengths(length) if abs(each - length) <= 3]
    for each in solvers:
        accuracy = each.accuracy_at(length + 1, True)
        below = accuracy[accuracy <= 1 / each.config.task_as(RecallConfig).symbols - BELOW_CHANCE]
        if len(below):
            shares = format_range(100 * below.min(), 100 * below.max(), 0)
            around = [f"{100 * each.accuracy_at(other, True)[accuracy.argmin()]:.0f}" for other in near]
            sentences.append(
                f"At {length + 1:,} symbols, one more than in training, the accuracy of {len(below)} of the "
                f"{count_seeds(each.solved)} of {describe_variants([each.variant])} that solve the task is only "
                f"{shares} %, less than guessing. At {near[0]:,} to {near[-1]:,} symbols the accuracy of "
                f"{'this seed' if len(below) == 1 else 'the lowest of them'} is {join_words(around)} %."
            )
    return sentences


def learning_rate_finding(results: Mapping[tuple[float, int], RecallResult], names: str) -> str:
    """Return the longest solved length at each learning rate. `results` is keyed by learning rate and length."""
    longest: dict[float, int] = {}
    for (rate, length), each in results.items():
        if each.solved:
            longest[rate] = max(longest.get(rate, 0), length)
        else:
            longest.setdefault(rate, 0)
    if len(longest) < 2:
        return ""
    parts = [
        f"{end:,} at learning rate {rate:g}" if end else f"none at {rate:g}" for rate, end in sorted(longest.items())
    ]
    return f"Longest sequence that any seed of {names} learns: {join_words(parts)}."


def sweep_finding(results: Mapping[str, Mapping[int, RecallResult]]) -> str:
    """Return how many variants learn every length of the sweep with every seed, and how many learn none."""
    complete = [list(each.values()) for each in results.values() if len(each) == len(SWEEP_LENGTHS)]
    if not complete:
        return ""
    always = sum(all(each.solved == len(each.accuracy) for each in row) for row in complete)
    never = sum(not any(each.solved for each in row) for row in complete)
    return (
        f"{always or 'None'} of {len(complete)} models learn{'s' * (always < 2)} every length up to "
        f"{max(SWEEP_LENGTHS)} in every seed; {never or 'none'} learn{'s' * (never < 2)} no length."
    )


def train_set_finding(curves_by_model: Mapping[str, Curves]) -> str:
    """Return the accuracy on the training sequences and on new ones, as medians over the seeds."""
    if not curves_by_model:
        return ""
    parts = []
    for model, curves in curves_by_model.items():
        own, new = (float(np.median(curves.last(name))) for name in ("train_accuracy", "accuracy"))
        parts.append(f"{MODELS[model].title} {100 * own:.0f} % and {100 * new:.0f} %")
    return f"Right on training and on new sequences (median): {'; '.join(parts)}."


def train_set_caption(curves_by_model: Mapping[str, Curves]) -> str:
    """Return how many seeds of each model solve the task on new sequences, after how many steps."""
    parts = [
        f"{MODELS[model].title} {int((curves.last('accuracy') >= SOLVED).sum())} of {len(curves.last('accuracy'))}"
        for model, curves in curves_by_model.items()
    ]
    steps = max((curves.step for curves in curves_by_model.values()), default=0)
    return f"Seeds that solve new sequences after {steps:,} steps: {'; '.join(parts)}." if parts else ""
