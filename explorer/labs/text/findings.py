"""Sentences about the results of the language models, made from numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer.inspection.compare import is_paired
from explorer.inspection.verdicts import compare_with_best
from explorer.labs.text.standings import Standing
from explorer.number_format import format_duration
from explorer.training.comparability import loss_context
from explorer.ui.verdict_sentences import SHARED_TEST_SET, comparison_finding, comparison_note
from explorer.ui.wording import count_seeds, join_words

_NEGLIGIBLE = 0.001  # nats: a difference that nobody should make a sentence of


def best_model_finding(standings: Mapping[str, Standing], live: bool, token: str) -> str:
    """Return which network has the lowest loss in each context, and whether it beats the n-gram in the same context.

    Losses in different contexts are not ranked. `token` is the noun for a token.
    """
    if not standings:
        return "No model has been evaluated yet." if live else "No model has been trained to the end on this text yet."
    return " ".join(_best_in_context(group, live, token) for group in group_by_context(standings))


def group_by_context(standings: Mapping[str, Standing]) -> list[dict[str, Standing]]:
    """Return the standings in groups within which losses can be compared: their contexts are the same."""
    groups: dict[str, dict[str, Standing]] = {}
    for model, each in standings.items():
        groups.setdefault(loss_context(each.config), {})[model] = each
    return list(groups.values())


def _best_in_context(standings: Mapping[str, Standing], live: bool, token: str) -> str:
    """Return which network of one context has the lowest loss, and whether it beats the n-gram."""
    trained = [each for model, each in standings.items() if model != "ngram"]
    ngram = standings.get("ngram")
    where = _context_phrase(next(iter(standings.values())))
    finite = [each for each in trained if np.isfinite(_mean(each))]
    if not finite:
        n_gram = f"the n-gram has {_mean(ngram):.3f} nats a {token}" if ngram else ""
        ends = f"the losses of the {'network is' if len(trained) == 1 else 'networks are'} no numbers any more"
        return f"{where}, {'; '.join(part for part in (ends * bool(trained), n_gram) if part)}."
    best = min(finite, key=_mean)
    loss = f"{_mean(best):.3f} nats a {token}"
    loss += f" (the mean of {count_seeds(len(best.held_out))})" if len(best.held_out) > 1 else ""
    has = "has the lowest loss of the networks," if len(finite) > 1 else "has"
    sentence = f"{where}, the {best.row.title} {has} {loss}"
    if live:
        sentence = f"So far, {sentence[0].lower()}{sentence[1:]}"
    if ngram is None:
        return f"{sentence}."
    margin = _mean(ngram) - _mean(best)
    if abs(margin) < _NEGLIGIBLE:
        return f"{sentence}: as good as the n-gram."
    if margin < 0:
        return f"{sentence}. The n-gram has {_mean(ngram):.3f}, and no network here beats it{' yet' * live}."
    when = (
        f" It passed the n-gram at step {best.ngram_passed[0]:,}, after {format_duration(best.ngram_passed[1])}."
        if best.ngram_passed
        else ""
    )
    return f"{sentence}; the n-gram has {_mean(ngram):.3f}.{when}"


def network_comparison_finding(standings: Mapping[str, Standing]) -> str:
    """Return how far the best network of each context is ahead of the others; a verdict only with enough seeds."""
    sentences, notes = [], []
    for group in group_by_context(standings):
        trained = [each for model, each in group.items() if model != "ngram" and np.isfinite(_mean(each))]
        paired = all(is_paired(trained[0].config, each.config) for each in trained)
        found = compare_with_best({each.row.title: each.held_out for each in trained}, paired, higher=False)
        if found:
            where = _context_phrase(trained[0])
            sentences.append(f"{where}: {comparison_finding(found, unit='nats')}")
            notes.append(comparison_note(found))
    return " ".join([*sentences, *dict.fromkeys(notes), SHARED_TEST_SET]) if sentences else ""


def ngram_passed_finding(standings: Mapping[str, Standing], live: bool = False) -> str:
    """Return when each network passed the n-gram, if it did. While training is `live`, "never" is "not yet".

    Networks whose loss is measured in another context than that of the n-gram are named and not compared.
    """
    ngram = standings.get("ngram")
    if ngram is None:
        return ""
    context = loss_context(ngram.config)
    trained = [each for model, each in standings.items() if model != "ngram"]
    same = [each for each in trained if loss_context(each.config) == context]
    passed = [
        f"{e.row.title} at step {e.ngram_passed[0]:,} ({format_duration(e.ngram_passed[1])})"
        for e in same
        if e.ngram_passed
    ]
    never = [e.row.title for e in same if not e.ngram_passed]
    parts = [f"Below the n-gram: {join_words(passed)}."] if passed else []
    if never:
        never_yet = "Not yet" if live else "Never"
        parts.append(f"{never_yet} below {'it' if passed else 'the n-gram'}: {join_words(never)}.")
    if others := [e.row.title for e in trained if e not in same]:
        parts.append(f"Not compared with the n-gram, because the context differs: {join_words(others)}.")
    return " ".join(parts)


def _context_phrase(standing: Standing) -> str:
    """Return the context of a loss as the beginning of a sentence, such as "In blocks of 64"."""
    context = loss_context(standing.config, brief=True)
    return "Reading on" if context == "reading on" else f"In {context}"


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


def overfitting_finding(standings: Mapping[str, Standing]) -> str:
    """Return which models overfit or train unstably, and the widest generalization gap."""
    trained = [each for model, each in standings.items() if model != "ngram" and np.isfinite(each.final_loss)]
    if not trained:
        return ""
    overfitting = [each for each in trained if each.overfits]
    parts = [
        f"The {e.row.title} has begun to overfit: it was best at step {e.best_step:,} and has lost "
        f"{e.final_loss - e.best_loss:.3f} nats since, while it still gets better at what it has seen."
        for e in overfitting
    ]
    unstable = [each for each in trained if each.has_risen and not each.overfits]
    if not overfitting:
        where = f"{'each is' if len(trained) > 1 else 'it is'} best where it ended"
        parts.append("No model overfits." if unstable else f"No model overfits yet: {where}.")
    parts += [
        f"The {e.row.title} was best at step {e.best_step:,} and has lost {e.final_loss - e.best_loss:.3f} nats since, "
        "but has not got better at what it has seen either: its training is unstable."
        for e in unstable
    ]
    widest = max(trained, key=lambda each: each.gap)
    parts.append(
        f"The widest gap between new text and known text has the {widest.row.title}, {widest.gap:.3f} nats."
        if len(trained) > 1
        else f"New text costs it {widest.gap:.3f} nats more than known text."
    )
    return " ".join(parts)


def _mean(each: Standing) -> float:
    return float(np.mean(each.held_out))
