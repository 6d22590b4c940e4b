"""Findings about recall: which models solve it, at which lengths, and which have learned a fixed length only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import SOLVED, SWEEP_LENGTHS
from explorer.number_format import format_range
from explorer.tasks.recall import MAX_EVALUATED_LENGTH, RecallConfig, evaluation_lengths
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.budgets import budget_sentence
from explorer.ui.verdict_sentences import solved_comparison
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

_MORE_STEPS = " With more, others may solve it."
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


def solved_finding(results: Mapping[str, RecallResult], length: int) -> str:
    """Return which models solve recall at the trained length, and with how many seeds."""
    if not results:
        return ""
    every = [each for each in results.values() if each.solved == len(each.accuracy)]
    never = [each for each in results.values() if not each.solved]
    some = [each for each in results.values() if 0 < each.solved < len(each.accuracy)]
    parts = []
    if every:
        parts.append(f"{describe_variants([e.variant for e in every])} in every seed")
    parts += [
        f"{describe_variants([e.variant])} in {number_word(e.solved)} of {number_word(len(e.accuracy))}" for e in some
    ]
    if never:
        parts.append(f"{describe_variants([e.variant for e in never])} in none")
    seeds_by_model = "; ".join(parts)
    symbols = "symbol" if length == 1 else "symbols"
    return f"Who can name the first of {length:,} {symbols}? {capitalize(seeds_by_model)}."


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
    if far > length:
        solved = [e for e in solvers if e.accuracy_at(far, True).min() >= SOLVED]
        lost = [e for e in solvers if e not in solved]
        if solved:
            names = join_words([_describe_solvers(each) for each in solved])
            sentences.append(f"Trained at {length:,}, asked at {far:,}: {names} still know.")
        for each in lost:
            verb, values = "is" if each.solved == 1 else "are", each.accuracy_at(far, True)
            sentences.append(f"Asked at {far:,}, {_describe_solvers(each)} {verb} right in {_format_range(values)}.")
    for each in solvers:
        accuracy = each.accuracy_at(length + 1, True)
        chance = 1 / each.config.task_as(RecallConfig).symbols
        below = accuracy <= chance - BELOW_CHANCE
        clocks = int(below.sum())
        if clocks:
            sentences.append(
                f"One symbol further, at {length + 1:,}, {number_word(clocks)} of the {count_seeds(each.solved)} of "
                f"{describe_variants([each.variant])} {'is' if clocks == 1 else 'are'} not lost but wrong: right in "
                f"{_format_range(accuracy[below])}. What such a net learned is a clock that is right at "
                f"{length:,}.{_others_sentence(accuracy[~below])}"
            )
    return sentences


def _describe_solvers(each: RecallResult) -> str:
    """Return the seeds of a run that solve it, in words: all eight seeds of the GRU with open gates."""
    many = len(each.accuracy)
    some = (
        f"all {count_seeds(many)}" if each.solved == many > 1 else f"{number_word(each.solved)} of {count_seeds(many)}"
    )
    return f"{some} of {describe_variants([each.variant])}"


def _others_sentence(others: Float[ndarray, " seeds"]) -> str:
    return f" The others are right in {_format_range(others)} there." if len(others) else ""


def _format_range(values: Float[ndarray, " seeds"]) -> str:
    return format_range(values.min(), values.max())


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
        f"{end:,} at a learning rate of {rate:g}" if end else f"none at {rate:g}"
        for rate, end in sorted(longest.items())
    ]
    return f"The longest that any seed of {names} solves: {join_words(parts)}."


def sweep_finding(results: Mapping[str, Mapping[int, RecallResult]]) -> str:
    """Return which variants solve every length of the sweep with every seed, which none, and which some."""
    always: list[ModelVariant] = []
    never: list[ModelVariant] = []
    mixed: list[ModelVariant] = []
    for by_length in results.values():
        if len(by_length) < len(SWEEP_LENGTHS):
            continue  # the row is incomplete
        variant = next(iter(by_length.values())).variant
        solved = [(r.solved, len(r.accuracy)) for r in by_length.values()]
        group = always if all(s == n for s, n in solved) else never if not any(s for s, _ in solved) else mixed
        group.append(variant)
    parts = []
    if always:
        parts.append(
            f"{capitalize(describe_variants(always))} solve{'s' * (len(always) == 1)} every length here in every seed."
        )
    if never:
        parts.append(f"{capitalize(describe_variants(never))} solve{'s' * (len(never) == 1)} none.")
    if mixed:
        parts.append(f"For {describe_variants(mixed)} it depends on the length and on the seed.")
    return " ".join(parts)


def train_set_findings(curves_by_model: Mapping[str, Curves]) -> list[str]:
    """Return the accuracy on the training sequences and on new ones after longer training, for each model."""
    sentences = []
    for model, curves in curves_by_model.items():
        own, fresh = (curves.last(name) for name in ("train_accuracy", "accuracy"))
        learned = fresh >= SOLVED
        title = MODELS[model].title
        sentence = f"After {curves.step:,} steps the {title} is right in {_format_range(own)} of its own sequences. "
        if learned.all():
            sentence += f"On fresh ones too: {_format_range(fresh)}."
        elif not learned.any():
            sentence += f"On fresh ones, in {_format_range(fresh)}."
        else:
            few, rest = int(learned.sum()), int((~learned).sum())
            sentence += (
                f"On fresh ones {number_word(rest)} of {count_seeds(len(fresh))} {'is' if rest == 1 else 'are'} "
                "right in "
                f"{_format_range(fresh[~learned])}; {number_word(few)} {'has' if few == 1 else 'have'} learned it."
            )
        sentences.append(sentence)
    return sentences


def notebook_caption(curves_by_model: Mapping[str, Curves], step: int) -> str:
    """Return the mean accuracies at the step at which the notebook stops."""
    parts = []
    for model, curves in curves_by_model.items():
        at = int(np.searchsorted(curves.evaluated, step))
        if at < len(curves.evaluated) and curves.evaluated[at] == step:
            own, fresh = (float(curves.metrics[name][at].mean()) for name in ("train_accuracy", "accuracy"))
            parts.append(f"{MODELS[model].title} {own:.2f} and {fresh:.2f}")
    return f"At step {step} here, on its own and on fresh sequences, mean: {'; '.join(parts)}." if parts else ""
