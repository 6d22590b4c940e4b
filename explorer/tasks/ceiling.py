"""How far counting can go in the negation world: two exact numbers, without any training.

A linear classifier on counts gives the sentence with verb v and k "not"s the score a_v + b k. The
weight b of "not" is one for all verbs; everything else about the sentence (its verb, and the words
that are always there) is in a_v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.tasks.negation import OUTCOME, Sentence


def ceiling(sentences: Sequence[Sentence]) -> float:
    """The best accuracy of any linear classifier on counts, on endless text.

    Only the sign of b matters: for b > 0 each verb says "sustain" from some number of "not"s on, for
    b < 0 up to some number, for b = 0 always or never. Each verb is free to choose its number, so
    the best is a maximum over signs of a sum over verbs of a maximum over thresholds.
    """
    verbs = [[s for s in sentences if s.verb == verb] for verb in OUTCOME]
    return max(
        sum(max(_right(group, threshold, rising) for threshold in range(len(group) + 1)) for group in verbs)
        for rising in (True, False)
    )


def _right(group: Sequence[Sentence], threshold: int, rising: bool) -> float:
    return math.fsum(s.probability for s in group if s.label == int((s.nots >= threshold) == rising))


def cross_entropy_scores(sentences: Sequence[Sentence]) -> Float[ndarray, " sentences"]:
    """The scores that training by cross-entropy leads to on endless training text, one a sentence.

    Newton's method on the expected loss in the four numbers a_v, b. A breath of weight decay keeps
    the answer finite where counting suffices (no "not", or nothing but "not").
    """
    decay = 1e-9
    x = np.array([[*(s.verb == verb for verb in OUTCOME), s.nots] for s in sentences], dtype=float)
    label = np.array([s.label for s in sentences])
    chance = np.array([s.train_probability for s in sentences])
    weights = np.zeros(x.shape[1])
    for _ in range(100):
        p = 0.5 * (1 + np.tanh(0.5 * (x @ weights)))  # the logistic function, without overflow
        gradient = x.T @ (chance * (p - label)) + decay * weights
        curvature = (x * (chance * p * (1 - p))[:, None]).T @ x + decay * np.eye(x.shape[1])
        step = np.linalg.solve(curvature, gradient)
        # Far from the minimum a full Newton step overshoots on a logistic loss.
        weights -= step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    return x @ weights


def cross_entropy_accuracy(sentences: Sequence[Sentence]) -> float:
    """The accuracy, on endless text, of the classifier that cross-entropy leads to."""
    scores = cross_entropy_scores(sentences)
    return math.fsum(s.probability for s, score in zip(sentences, scores, strict=True) if s.label == int(score > 0))
