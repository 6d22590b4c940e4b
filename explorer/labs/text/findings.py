"""Summaries of finished language models, and sentences about them, made from numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import ModelRow, model_row
from explorer.inspection.compare import is_paired, median_and_range
from explorer.inspection.verdicts import compare_with_best
from explorer.labs.text.state import UNITS, Unit
from explorer.number_format import join_range
from explorer.training.comparability import TOKEN_NOUNS, loss_context
from explorer.training.config import RunConfig
from explorer.training.record import LOSS_RISE, Curves
from explorer.ui.verdict_sentences import SHARED_TEST_SET, comparison_finding, comparison_note
from explorer.ui.wording import count_seeds, join_words, number_word


@dataclass(frozen=True)
class Standing:
    """Summary of the curves of one model. Losses in nats a token, one value a seed unless noted."""

    row: ModelRow
    config: RunConfig
    held_out: Float[ndarray, " replicas"]  # at the end, over everything where that was asked
    train_loss: Float[ndarray, " replicas"]
    best_step: int  # where the median over the seeds was lowest
    best_loss: float
    final_loss: float  # the median at the last evaluation, over the same part of the text as `best_loss`
    train_improvement: float  # how far the median loss on training text has fallen since `best_step`
    training_tokens: float  # read by one seed

    @property
    def gap(self) -> float:
        """The held-out loss minus the training loss, medians over the seeds: the generalization gap."""
        return float(np.median(self.held_out) - np.median(self.train_loss))

    @property
    def has_risen(self) -> bool:
        """Whether the held-out loss has risen by more than `LOSS_RISE` since its best step."""
        return self.final_loss > self.best_loss + LOSS_RISE

    @property
    def overfits(self) -> bool:
        """Whether the held-out loss rises while the training loss still falls; if both rise, training is unstable."""
        return self.has_risen and self.train_improvement > 0


def compute_standing(curves: Curves | None, config: RunConfig) -> Standing | None:
    """Return the summary of the curves; None before the first evaluation."""
    if curves is None or not len(curves.evaluated):
        return None
    part, whole = curves.metrics["val_loss_part"], curves.metrics["val_loss"]
    held_out_medians = median_and_range(part)[:, 0]
    if np.isnan(held_out_medians).all():
        return None
    best = int(np.nanargmin(held_out_medians))
    train_medians = median_and_range(curves.metrics["train_loss"])[:, 0]
    return Standing(
        model_row(config.model),
        config,
        part[-1] if np.isnan(whole[-1]).any() else whole[-1],
        curves.metrics["train_loss"][-1],
        int(curves.evaluated[best]),
        float(held_out_medians[best]),
        float(held_out_medians[-1]),
        float(train_medians[best] - train_medians[-1]),
        float(curves.tokens[-1] - curves.tokens[0]),
    )


def unit_name(unit: Unit, tokenizer: str) -> str:
    """Return the name of a unit of the loss; the tokens are named, as in nats per character."""
    return f"nats per {TOKEN_NOUNS[tokenizer]}" if unit == "loss" else UNITS[unit]


def convert_loss(loss: Float[ndarray, "*shape"], unit: Unit, characters: float | None) -> Float[ndarray, "*shape"]:
    """Convert a loss in nats a token to perplexity, or to bits a character with `characters` per token."""
    if unit == "perplexity":
        return np.asarray(np.exp(np.minimum(loss, 50.0)))
    return np.asarray(loss / math.log(2) / (characters or math.nan)) if unit == "bits" else loss


_NEGLIGIBLE = 0.001  # nats: a difference that three decimals hardly show


def best_model_finding(standings: Mapping[str, Standing], token: str) -> str:
    """Return whether a network beats the n-gram in the same context, or which network has the lowest loss.

    standings: of finished runs; losses in different contexts are not compared.
    token: the noun for a token.
    """
    if not standings:
        return "No model has been trained to the end on this text yet."
    groups = group_by_context(standings)
    group = next((each for each in groups if "ngram" in each and len(each) > 1), None)
    group = group or next((each for each in groups if "ngram" not in each), groups[0])
    return _group_finding(group, token)


def _group_finding(standings: Mapping[str, Standing], token: str) -> str:
    """Return the finding for models whose losses are measured in the same context."""
    ngram = standings.get("ngram")
    networks = [each for model, each in standings.items() if model != "ngram" and np.isfinite(median_loss(each))]
    if not networks:
        known = f"The n-gram has a loss of {median_loss(ngram):.3f} nats per {token}. " if ngram else ""
        return f"{known}No network has been trained to a finite loss."
    best = min(networks, key=median_loss)
    title, loss, count = best.row.title, median_loss(best), len(best.held_out)
    if ngram is None:
        seeds = f" (median of {count_seeds(count)})" if count > 1 else ""
        return f"The {title} has the lowest loss of a network, {loss:.3f} nats per {token}{seeds}."
    rival = median_loss(ngram)
    if loss > rival - _NEGLIGIBLE:
        rank = f", the best of {number_word(len(networks))}," * (len(networks) > 1)
        return f"No network beats counting: loss {loss:.3f} for the {title}{rank} and {rival:.3f} for the n-gram."
    better = sorted((each for each in networks if (each.held_out < rival - _NEGLIGIBLE).all()), key=median_loss)
    if not better:
        seeds = f"{int((best.held_out < rival).sum())} of {count} seeds"
        return f"The {title} beats the n-gram in {seeds}: {loss:.3f} against {rival:.3f} nats per {token} (median)."
    names = join_words([each.row.title for each in better])
    every = "Both networks" if len(better) == 2 else f"All {number_word(len(better))} networks"
    which = every if len(networks) == len(better) > 1 else f"The {names}"
    losses = join_range(f"{loss:.3f}", f"{median_loss(better[-1]):.3f}")
    seeds = " in every seed" * (count > 1)
    return f"{which} beat{'s' * (len(better) == 1)} the n-gram{seeds}: {losses} against {rival:.3f} nats per {token}."


def larger_model_finding(
    larger: Standing, larger_size: int, standings: Mapping[str, Standing], parameters: Mapping[str, int]
) -> str:
    """Return the loss of a larger network beside those that are compared, and how much larger and longer it is.

    larger_size: the number of its parameters
    parameters: of the compared networks
    """
    networks = {model: each for model, each in standings.items() if model != "ngram" and model in parameters}
    if not networks:
        return ""
    size = number_word(round(larger_size / max(parameters[model] for model in networks)))
    text = number_word(round(larger.training_tokens / max(each.training_tokens for each in networks.values())))
    return (
        f"A {larger.row.title} {size} times as large as these networks, trained on {text} times as much text with "
        f"another optimizer, has {median_loss(larger):.3f}."
    )


def group_by_context(standings: Mapping[str, Standing]) -> list[dict[str, Standing]]:
    """Return the standings in groups within which losses can be compared: their contexts are the same."""
    groups: dict[str, dict[str, Standing]] = {}
    for model, each in standings.items():
        groups.setdefault(loss_context(each.config), {})[model] = each
    return list(groups.values())


def network_comparison_finding(standings: Mapping[str, Standing]) -> str:
    """Return how far the best network of each context is ahead of the others; a verdict only with enough seeds."""
    sentences, notes = [], []
    for group in group_by_context(standings):
        trained = [each for model, each in group.items() if model != "ngram" and np.isfinite(each.held_out).all()]
        paired = all(is_paired(trained[0].config, each.config) for each in trained)
        found = compare_with_best({each.row.title: each.held_out for each in trained}, paired, higher=False)
        if found:
            where = context_phrase(trained[0])
            sentences.append(f"{where}: {comparison_finding(found, unit='nats')}")
            notes.append(comparison_note(found))
    return " ".join([*sentences, *dict.fromkeys(notes), SHARED_TEST_SET]) if sentences else ""


def context_phrase(standing: Standing) -> str:
    """Return the context of a loss as the beginning of a sentence, such as "In blocks of 64"."""
    context = loss_context(standing.config, brief=True)
    return "Reading on" if context == "reading on" else f"In {context}"


def effort_note(standings: Mapping[str, Standing], parameters: Mapping[str, int], token: str) -> str:
    """Return how many parameters the networks have and how much text they read in training.

    standings: of finished runs.
    parameters: of one seed of each model.
    token: the noun for a token.
    """
    groups: dict[tuple[int, int], list[Standing]] = {}
    for model, each in standings.items():
        if model != "ngram" and model in parameters:
            size = round(parameters[model] / 1e5), round(each.training_tokens / 1e5)
            groups.setdefault(size, []).append(each)
    sentences = []
    for group in groups.values():
        counts = [parameters[each.row.name] for each in group]
        sentences.append(
            f"{join_words([each.row.title for each in group])}: {join_range(f'{min(counts):,}', f'{max(counts):,}')} "
            f"parameters, {max(each.training_tokens for each in group) / 1e6:.1f} million {token}s read in training"
        )
    return f"{'; '.join(sentences)}." if sentences else ""


def contexts_note(standings: Mapping[str, Standing]) -> str:
    """Return how much text each model reads before a token, if that differs; otherwise an empty text."""
    groups = group_by_context(standings)
    if len(groups) < 2:
        return ""
    parts = [
        f"{loss_context(next(iter(group.values())).config)} ({join_words([each.row.title for each in group.values()])})"
        for group in groups
    ]
    return f"More context lowers a loss, so losses are compared in the same context only: {'; '.join(parts)}."


def overfitting_finding(standings: Mapping[str, Standing]) -> tuple[str, str]:
    """Return which networks overfit as a headline, then since when losses have risen."""
    trained = [each for model, each in standings.items() if model != "ngram" and np.isfinite(each.final_loss)]
    if not trained:
        return "No network has been trained to the end yet.", ""
    risen = [each for each in trained if each.has_risen]
    names = [each.row.title for each in risen if each.overfits]
    headline = f"The {join_words(names)} overfit{'s' * (len(names) == 1)}." if names else "No network overfits."
    parts = [
        f"The held-out loss of the {each.row.title} was lowest at step {each.best_step:,} and has risen by "
        f"{each.final_loss - each.best_loss:.3f} nats since, "
        + ("while its training loss still falls." if each.overfits else "and so has its training loss: it is unstable.")
        for each in risen
    ]
    return headline, " ".join(parts) or "Every held-out loss is lowest at the end, or has not risen much since."


def median_loss(standing: Standing) -> float:
    """Return the median held-out loss over the seeds, in nats per token."""
    return float(np.median(standing.held_out))
