from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.labs.sentence_encoder import findings

FLAT = np.full((3, 3), 0.9)
FALLING = np.array([[0.9, 0.8, 0.4], [0.91, 0.7, 0.5], [0.89, 0.75, 0.45]])


def test_sentences(snapshot: SnapshotAssertion) -> None:
    uneven = FALLING.copy()
    uneven[2] = 0.9
    one = np.ones((1, 2))
    eight = np.tile(FALLING, (3, 1))[:8] + np.linspace(0, 0.01, 8)[:, None]
    flat = np.full((8, 3), 0.9)
    right, new = (np.array([0.98, 0.96]), np.array([0.5, 0.7]))
    real = np.zeros((4, 3, 3))
    real[0, 0] = 1, 0.1, 0.9  # the embedding does not count
    real[1:, 0] = [(1, 0.5, 0.2), (1, 0.6, 0.1), (1, 0.1, 0.3)]
    random = np.zeros((4, 3, 3))
    random[1:, 0, 2] = 0.5
    assert [
        findings.similarity_verdict(FLAT, FALLING),
        findings.similarity_note(FLAT, FALLING),
        findings.similarity_verdict(FLAT, FLAT),
        findings.similarity_note(FLAT, FLAT),
        findings.similarity_note(FLAT, uneven),
        findings.similarity_verdict(FLAT[:1, :2], FALLING[:1, [1, 2]]),
        findings.similarity_note(one, one * 0),
        findings.controls_finding((FLAT, FALLING), (FLAT, FLAT), (FLAT, FLAT - 0.01)),
        findings.controls_finding((flat, eight), (flat, flat), (flat, flat)),
        findings.nearest_neighbour_finding(FLAT, FLAT - 0.1),
        findings.nearest_neighbour_finding(FLAT, FLAT * 0 + 0.5),
        findings.word_sense_finding(right, new, 0.49),
        findings.word_sense_finding(right, right, None),
        findings.masked_word_finding(right, right * 0 + 0.9, 0.5),
        findings.masked_word_finding(right, right * 0 + 0.5, None),
        findings.format_sense(True, "money", "lender", 0.987),
        findings.format_sense(False, "money", "lender", -0.2),
        findings.word_in_sentences_finding("bank", 0, real, None),
        findings.word_in_sentences_finding("bank", 0, real, random),
    ] == snapshot
