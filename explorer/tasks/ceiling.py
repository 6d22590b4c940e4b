"""The best accuracy of a linear readout of word counts on the negation task, computed exactly without training.

Such a classifier gives the sentence with verb v and k "not"s the score a_v + b k. The weight b of "not" is shared by
all verbs; a_v contains the rest of the sentence (the verb and the words that every sentence has).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.tasks.negation import OUTCOME, Sentence


def linear_readout_ceiling(sentences: Sequence[Sentence]) -> float:
    """Return the best accuracy of any linear classifier of word counts on the test distribution.

    Only the sign of b matters: for b > 0 the answer of each verb is "sustain" from some number of "not"s on, for b < 0
    up to some number, for b = 0 always or never. Each verb has its own threshold, so the best accuracy is a maximum
    over signs of a sum over verbs of a maximum over thresholds.
    """
    verbs = [[s for s in sentences if s.verb == verb] for verb in OUTCOME]
    return max(
        sum(
            max(_correct_probability(group, threshold, rising) for threshold in range(len(group) + 1))
            for group in verbs
        )
        for rising in (True, False)
    )


def _correct_probability(group: Sequence[Sentence], threshold: int, rising: bool) -> float:
    return math.fsum(s.probability for s in group if s.label == int((s.nots >= threshold) == rising))


def cross_entropy_scores(sentences: Sequence[Sentence]) -> Float[ndarray, " sentences"]:
    """Return the score of each sentence at the minimum of the expected cross-entropy on the training distribution.

    Newton's method finds the four parameters a_v and b. A tiny weight decay keeps them finite if the classes are
    linearly separable.
    """
    decay = 1e-9
    x = np.array([[*(s.verb == verb for verb in OUTCOME), s.nots] for s in sentences], dtype=float)
    label = np.array([s.label for s in sentences])
    probability = np.array([s.train_probability for s in sentences])
    weights = np.zeros(x.shape[1])
    for _ in range(100):
        p = 0.5 * (1 + np.tanh(0.5 * (x @ weights)))  # the logistic function, without overflow
        gradient = x.T @ (probability * (p - label)) + decay * weights
        curvature = (x * (probability * p * (1 - p))[:, None]).T @ x + decay * np.eye(x.shape[1])
        step = np.linalg.solve(curvature, gradient)
        # Far from the minimum a full Newton step overshoots on a logistic loss.
        weights -= step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    return x @ weights


def cross_entropy_accuracy(sentences: Sequence[Sentence]) -> float:
    """Return the accuracy on the test distribution of the classifier that minimizes cross-entropy."""
    scores = cross_entropy_scores(sentences)
    return math.fsum(s.probability for s, score in zip(sentences, scores, strict=True) if s.label == int(score > 0))
