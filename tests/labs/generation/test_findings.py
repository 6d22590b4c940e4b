from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.generation.text_statistics import StatisticsByTemperature
from explorer.labs.generation import findings
from explorer.labs.generation.findings import MeasuredTexts
from explorer.labs.generation.state import GenerationState


def make_texts(corpus: list[float] | None = None, repeats: float = 0.5, held_out: bool = True) -> MeasuredTexts:
    varied = np.array([[0.2, 0.2], [0.8, 0.9], [1.0, 1.0]])
    repeated = np.array([[repeats, repeats], [0.1, 0.0], [0.0, 0.0]])
    likely = np.array([[-0.2, -0.2], [-1.0, -1.2], [-3.0, -3.2]])
    return MeasuredTexts(
        StatisticsByTemperature((0.0, 1.0, 2.0), varied, repeated, likely), corpus and np.array(corpus), held_out
    )


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = [("n-gram", make_texts([0.86, 0.0, -2.1], 0.88)), ("RNN", make_texts([0.25, 0.0, -0.1]))]
    alone = [("RNN", make_texts())]
    ours, theirs = (("RNN", make_texts([1.0, 0.0, -1.0])), ("GRU", make_texts([1.0, 0.0, -1.0], held_out=False)))
    assert [
        findings.repetition_finding(found),
        findings.corpus_finding(found),
        findings.repetition_finding(alone),
        findings.corpus_finding(alone),
        findings.statistics_caption(alone, GenerationState()),
        *(findings.statistics_caption(each, GenerationState()) for each in ([ours], [theirs], [ours, theirs])),
        findings.describe_sampling(GenerationState()),
        findings.describe_sampling(GenerationState(greedy=True, top_k=3)),
        findings.describe_sampling(GenerationState(top_k=5, top_p=0.9, min_p=0.05)),
    ] == snapshot
