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
    """Return which network has the lowest loss, and whether it beats the n-gram. `token` is the noun for a token."""
    trained = {model: each for model, each in standings.items() if model != "ngram"}
    ngram = standings.get("ngram")
    if not trained:
        if ngram is None:
            return (
                "No model has been evaluated yet." if live else "No model has been trained to the end on this text yet."
            )
        return f"The n-gram alone has {_mean(ngram):.3f} nats a {token}."
    finite = {model: each for model, each in trained.items() if np.isfinite(_mean(each))}
    if not finite:
        ends = "The losses of the networks are no numbers any more"
        return f"{ends}; the n-gram has {_mean(ngram):.3f} nats a {token}." if ngram else f"{ends}."
    best = min(finite.values(), key=_mean)
    so_far = "So far the" if live else "The"
    sentence = f"{so_far} {best.row.title} has the lowest loss of the networks, {_mean(best):.3f} nats a {token}"
    if len(best.held_out) > 1:
        sentence += f" (the mean of {count_seeds(len(best.held_out))})"
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
    """Return how far the best network is ahead of the others at the end; a verdict only with enough seeds."""
    trained = [each for model, each in standings.items() if model != "ngram" and np.isfinite(_mean(each))]
    paired = all(is_paired(trained[0].config, each.config) for each in trained)
    found = compare_with_best({each.row.title: each.held_out for each in trained}, paired, higher=False)
    return f"{comparison_finding(found, unit='nats')} {comparison_note(found)} {SHARED_TEST_SET}" if found else ""


def ngram_passed_finding(standings: Mapping[str, Standing], live: bool = False) -> str:
    """Return when each network passed the n-gram, if it did. While training is `live`, "never" is "not yet"."""
    if "ngram" not in standings:
        return ""
    trained = [each for model, each in standings.items() if model != "ngram"]
    passed = [
        f"{e.row.title} at step {e.ngram_passed[0]:,} ({format_duration(e.ngram_passed[1])})"
        for e in trained
        if e.ngram_passed
    ]
    never = [e.row.title for e in trained if not e.ngram_passed]
    parts = [f"Below the n-gram: {join_words(passed)}."] if passed else []
    if never:
        never_yet = "Not yet" if live else "Never"
        parts.append(f"{never_yet} below {'it' if passed else 'the n-gram'}: {join_words(never)}.")
    return " ".join(parts)


def contexts_note(standings: Mapping[str, Standing]) -> str:
    """Return how much text each model reads before a token, if that differs; otherwise an empty text."""
    titles: dict[str, list[str]] = {}
    for each in standings.values():
        titles.setdefault(loss_context(each.config), []).append(each.row.title)
    if len(titles) < 2:
        return ""
    parts = [f"{context} ({join_words(names)})" for context, names in titles.items()]
    return f"These losses are measured in different contexts: {'; '.join(parts)}. More context lowers a loss."


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
