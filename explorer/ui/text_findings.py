"""What the race of the language models comes to, in sentences made from its numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer.inspection.comparing import difference
from explorer.training.estimate import duration
from explorer.ui.findings import listed
from explorer.ui.text_standings import Standing

CLOSE = 0.001  # nats: a difference that nobody should make a sentence of


def leader(found: Mapping[str, Standing], live: bool, token: str) -> str:
    """Who predicts best, and whether counting is beaten. `token`: what one is called here."""
    trained = {model: each for model, each in found.items() if model != "ngram"}
    counts = found.get("ngram")
    if not trained:
        if counts is None:
            return "Nothing has been trained on this text yet."
        return f"Counting alone comes to {_mean(counts):.3f} nats a {token}."
    numbers = {model: each for model, each in trained.items() if np.isfinite(_mean(each))}
    if not numbers:
        ends = "The losses of the networks are no numbers any more"
        return f"{ends}; counting has {_mean(counts):.3f} nats a {token}." if counts else f"{ends}."
    best = min(numbers.values(), key=_mean)
    so_far = "So far the" if live else "The"
    ahead = f"{so_far} {best.row.title} predicts best of the networks, with {_mean(best):.3f} nats a {token}"
    rest = [each for each in numbers.values() if each is not best]
    if rest:
        second = min(rest, key=_mean)
        apart = difference(best.held_out, second.held_out, paired=False)
        if apart and apart.noise:
            ahead += f", which could be luck: the {second.row.title} has {_mean(second):.3f}"
    if counts is None:
        return f"{ahead}."
    margin = _mean(counts) - _mean(best)
    if abs(margin) < CLOSE:
        return f"{ahead}: as good as counting."
    if margin < 0:
        return f"{ahead}. A table of counts has {_mean(counts):.3f}, and no network here beats it{' yet' * live}."
    when = f" It passed the counts at step {best.passed[0]:,}, after {duration(best.passed[1])}." if best.passed else ""
    return f"{ahead}; counting has {_mean(counts):.3f}.{when}"


def passing(found: Mapping[str, Standing], live: bool = False) -> str:
    """For every network when it passes the counts, if it does. `live`: while some still train, nothing is never."""
    if "ngram" not in found:
        return ""
    trained = [each for model, each in found.items() if model != "ngram"]
    did = [f"{e.row.title} at step {e.passed[0]:,} ({duration(e.passed[1])})" for e in trained if e.passed]
    never = [e.row.title for e in trained if not e.passed]
    parts = [f"Below the counts: {listed(did)}."] if did else []
    if never:
        never_yet = "Not yet" if live else "Never"
        parts.append(f"{never_yet} below {'them' if did else 'the counts'}: {listed(never)}.")
    return " ".join(parts)


def overfitting(found: Mapping[str, Standing]) -> str:
    """Whose best is behind it, and how far apart what is known and what is new are."""
    trained = [each for model, each in found.items() if model != "ngram" and np.isfinite(each.end)]
    if not trained:
        return ""
    over = [each for each in trained if each.overfits]
    parts = [
        f"The {e.row.title} has begun to overfit: it was best at step {e.best_step:,} and has lost "
        f"{e.end - e.best:.3f} nats since, while it still gets better at what it has seen."
        for e in over
    ]
    fallen = [each for each in trained if each.risen and not each.overfits]
    if not over:
        where = f"{'each is' if len(trained) > 1 else 'it is'} best where it ended"
        parts.append("No model overfits." if fallen else f"No model overfits yet: {where}.")
    parts += [
        f"The {e.row.title} was best at step {e.best_step:,} and has lost {e.end - e.best:.3f} nats since, but has not "
        "got better at what it has seen either: its training is unstable."
        for e in fallen
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
