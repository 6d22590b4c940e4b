"""The best accuracy of a linear readout of word counts on the negation task, computed without training.

For the grammar it is exact. A classifier gives the sentence with verb v and k "not"s the score a_v + b k. The weight b
of "not" is shared by all verbs; a_v contains the rest of the sentence (the verb and the words that every sentence has).

For own sentences, the largest number of training sentences that one readout gets right cannot be computed in reasonable
time (it is NP-hard), but a linear programme decides whether one readout gets all of them right; see
`fit_linear_readout`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.lazy_libraries import optimize, sparse
from explorer.tasks.negation import OUTCOME, Negation, Sentence


def linear_readout_ceiling(sentences: Sequence[Sentence]) -> float:
    """Return the best accuracy of any linear classifier of word counts on the test distribution.

    Only the sign of b matters: for b > 0 the answer of each verb is "sustain" from some number of "not"s on, for b < 0
    up to some number, for b = 0 always or never. Each verb has its own threshold, so the best accuracy is a maximum
    over signs of a sum over verbs of a maximum over thresholds.
    """

    def correct(group: Sequence[Sentence], threshold: int, rising: bool) -> float:
        return math.fsum(s.probability for s in group if s.label == int((s.nots >= threshold) == rising))

    verbs = [[s for s in sentences if s.verb == verb] for verb in OUTCOME]
    return max(
        sum(max(correct(group, threshold, rising) for threshold in range(len(group) + 1)) for group in verbs)
        for rising in (True, False)
    )


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


@dataclass(frozen=True)
class LinearReadout:
    """A linear readout of word counts that was fitted to the training sentences of a file."""

    training: float  # its accuracy on the training sentences
    held_out: float
    separable: bool | None  # whether a readout gets all training sentences right; None: not known


def fit_linear_readout(task: Negation, seconds: float = 10.0) -> LinearReadout | None:
    """Return the readout with the smallest sum of margin violations over the training sentences.

        minimize  sum_i s_i   subject to   (w_y - w_k) . x_i + b_y - b_k >= 1 - s_i,  s_i >= 0,  for all k other than y

    This is the multiclass hinge loss of Crammer and Singer (2001) without regularization: x_i are the word counts of
    sentence i, y its class, w and b the weights and biases. HiGHS solves this linear programme exactly. Its minimum is
    0 if and only if some readout gets every training sentence right. If it is above 0, the readout of the minimum shows
    an accuracy that can be reached, not the highest.
    Return None if no readout is found within `seconds`.
    """
    counts, labels = _word_counts(task), np.array(task.labels)
    train = np.array([s.train_probability > 0 for s in task.sentences])
    y, classes, features = labels[train], len(task.classes), counts.shape[1]
    slack, blocks = sparse.eye_array(len(y), format="csr"), []
    for other in range(classes):
        wrong = np.flatnonzero(y != other)
        row, feature = counts[train][wrong].nonzero()
        value = counts[train][wrong][row, feature]
        columns = [y[wrong][row] * features + feature, np.full(len(row), other) * features + feature]
        shape = (len(wrong), classes * features)
        block = sparse.coo_array(
            (np.concatenate([-value, value]), (np.tile(row, 2), np.concatenate(columns))), shape=shape
        )
        # The weights of class 0 are 0, because only differences between classes count.
        blocks.append(sparse.hstack([block.tocsr()[:, features:], -slack[wrong]], format="csr"))
    constraints = sparse.vstack(blocks, format="csr")
    weights = (classes - 1) * features
    solved = optimize.linprog(
        np.concatenate([np.zeros(weights), np.ones(len(y))]),
        A_ub=constraints,
        b_ub=-np.ones(constraints.shape[0]),
        bounds=[(None, None)] * weights + [(0, None)] * len(y),
        method="highs",
        options={"time_limit": seconds},
    )
    if solved.x is None:
        return None
    found = np.concatenate([np.zeros((1, features)), solved.x[:weights].reshape(classes - 1, features)])
    right = (counts @ found.T).argmax(axis=1) == labels
    training = float(right[train].mean())
    separable = True if training == 1 else False if solved.status == 0 and solved.fun > 1e-6 else None
    return LinearReadout(training, float(right[~train].mean()), separable)


def _word_counts(task: Negation) -> Float[ndarray, "sentences features"]:
    """Return how often each token is in each sentence; the markers of its ends are constant and act as the bias."""
    counts = np.zeros((len(task.sentences), len(task.vocabulary.tokens)))
    for i, row in enumerate(task.rows):
        np.add.at(counts[i], list(row.ids[: row.length]), 1.0)
    return counts
