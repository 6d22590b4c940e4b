"""Sentences about the results of the language models, made from numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from explorer.inspection.compare import is_paired
from explorer.inspection.verdicts import compare_with_best
from explorer.labs.text.standings import Standing
from explorer.training.comparability import loss_context
from explorer.ui.verdict_sentences import SHARED_TEST_SET, comparison_finding, comparison_note
from explorer.ui.wording import count_seeds, join_words, number_word

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
    networks = [each for model, each in standings.items() if model != "ngram"]
    finite = [each for each in networks if np.isfinite(median_loss(each))]
    if not networks and ngram:
        return f"The n-gram has a loss of {median_loss(ngram):.3f} nats per {token}; no network has been trained yet."
    if not finite:
        return "The losses of the networks are not finite: their training diverged."
    best = min(finite, key=median_loss)
    title, loss = f"the {best.row.title}", median_loss(best)
    if ngram is None:
        only = "has a loss of" if len(finite) == 1 else "has the lowest loss,"
        return f"T{title[1:]} {only} {loss:.3f} nats per {token}{_details(best)}."
    margin = median_loss(ngram) - loss
    if abs(margin) < _NEGLIGIBLE:
        return f"T{title[1:]} is as good as the n-gram: {loss:.3f} nats per {token}{_details(best)}."
    if margin < 0:
        lowest = f"{median_loss(ngram):.3f} nats per {token}"
        return f"No network beats the n-gram: {lowest}, {title} {loss:.3f}{_details(best)}."
    if (best.held_out >= median_loss(ngram)).any():
        count = int((best.held_out < median_loss(ngram)).sum())
        seeds = f"{number_word(count)} of {count_seeds(len(best.held_out))}"
        return f"T{title[1:]} beats the n-gram ({median_loss(ngram):.3f} nats per {token}) with {seeds}."
    return (
        f"T{title[1:]} beats the n-gram: {loss:.3f} against {median_loss(ngram):.3f} nats per {token}{_details(best)}."
    )


def _details(standing: Standing) -> str:
    return f" (median of {count_seeds(len(standing.held_out))})" if len(standing.held_out) > 1 else ""


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
    parts = []
    for model, each in standings.items():
        if model != "ngram" and model in parameters:
            parts.append((parameters[model], each.training_tokens, each.row.title))
    groups: dict[tuple[int, int], list[str]] = {}
    for count, tokens, title in parts:
        groups.setdefault((round(count / 1e5), round(tokens / 1e5)), []).append(title)
    sentences = [
        f"{join_words(titles)}: {_range([c for c, _, t in parts if t in titles])} parameters, "
        f"{max(n for _, n, t in parts if t in titles) / 1e6:.1f} million {token}s read in training"
        for titles in groups.values()
    ]
    return f"{'; '.join(sentences)}." if sentences else ""


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


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
    """Return which networks overfit or train unstably as a headline, then since when."""
    trained = [each for model, each in standings.items() if model != "ngram" and np.isfinite(each.final_loss)]
    if not trained:
        return "No network has been trained to the end yet.", ""
    overfitting = [each for each in trained if each.overfits]
    unstable = [each for each in trained if each.has_risen and not each.overfits]
    if overfitting:
        names = join_words([each.row.title for each in overfitting])
        headline = f"The {names} overfit{'s' if len(overfitting) == 1 else ''}."
    elif unstable:
        names = join_words([each.row.title for each in unstable])
        headline = f"No network overfits; the training of the {names} is unstable."
    else:
        who = "each network" if len(trained) > 1 else "the network"
        headline = f"No network overfits yet: the held-out loss of {who} is lowest at the end."
    parts = [
        f"The held-out loss of the {e.row.title} was lowest at step {e.best_step:,} and has risen by "
        f"{e.final_loss - e.best_loss:.3f} nats since, "
        + ("while its training loss still falls." if e.overfits else "and so has its training loss.")
        for e in [*overfitting, *unstable]
    ]
    return headline, " ".join(parts)


def median_loss(standing: Standing) -> float:
    """Return the median held-out loss over the seeds, in nats per token."""
    return float(np.median(standing.held_out))
