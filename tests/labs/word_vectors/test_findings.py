from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.words.word_vectors import Analogy, AnalogyAccuracy, FrequencyEffects, PairSimilarity
from explorer.labs.word_vectors import findings

QUESTION = ("king", "queen", "father")


def test_sentences(snapshot: SnapshotAssertion) -> None:
    most = Analogy([], ("mother", "mother", "nun"), ("mother", "queen", "father"))
    none = Analogy([], ("mother", "nun"), ("mother", "nun"))
    accuracy = AnalogyAccuracy(12, np.array([0.5, 1.0]), np.array([0.25, 0.25]))
    agreement = np.array([[0.1, 0.2], [0.5, 0.6]]).T
    effects = FrequencyEffects(np.array([1, 9]), np.ones((2, 2)), ("1", "9"), (5, 5), agreement)
    _rare, _frequent = ("15\xa0% (10\xa0% to 20\xa0%)", "55\xa0% (50\xa0% to 60\xa0%)")
    one_seed = FrequencyEffects(np.array([1, 9]), np.ones((1, 2)), ("1", "9"), (5, 5), None)
    near = PairSimilarity("hot", "cold", np.array([0.9, 0.8]), np.array([1, 1]))
    far = PairSimilarity("big", "small", np.array([0.2, 0.1]), np.array([4, 9]))
    leans = (np.array([[0.2], [0.1]]), np.array([[-0.1], [0.3]]))
    assert [
        findings.analogy_finding(QUESTION, most),
        findings.exclusion_sentence(QUESTION, most),
        findings.analogy_finding(QUESTION, none),
        findings.exclusion_sentence(QUESTION, none),
        findings.accuracy_sentence("CBOW", accuracy, planted=True, words=200),
        findings.frequency_finding(effects),
        findings.frequency_finding(one_seed),
        found := findings.antonyms_finding([near]),
        found,
        findings.antonyms_finding([near, far]),
        findings.senses_finding("bank", [near, far], near),
        findings.associations_finding((["pilot"], ["nurse"]), leans, 0.8),
        findings.associations_finding((["pilot"], ["nurse"]), (leans[0], -leans[0]), 0.8),
    ] == snapshot
