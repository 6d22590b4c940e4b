from __future__ import annotations

import numpy as np

from explorer.generation.text_statistics import StatisticsByTemperature
from explorer.labs.generation.findings import (
    MeasuredTexts,
    corpus_finding,
    describe_sampling,
    repetition_finding,
    statistics_caption,
)
from explorer.labs.generation.state import GenerationState
from tests.words import assert_mentions, assert_states


def make_texts(corpus: list[float] | None = None, repeats: float = 0.5, held_out: bool = True) -> MeasuredTexts:
    varied = np.array([[0.2, 0.2], [0.8, 0.9], [1.0, 1.0]])
    repeated = np.array([[repeats, repeats], [0.1, 0.0], [0.0, 0.0]])
    likely = np.array([[-0.2, -0.2], [-1.0, -1.2], [-3.0, -3.2]])
    return MeasuredTexts(
        StatisticsByTemperature((0.0, 1.0, 2.0), varied, repeated, likely), corpus and np.array(corpus), held_out
    )


def test_the_findings_compare_generated_texts_with_the_corpus() -> None:
    found = [("n-gram", make_texts([0.86, 0.0, -2.1], 0.88)), ("RNN", make_texts([0.25, 0.0, -0.1]))]
    assert_states(repetition_finding(found), "temperature 0, 88 % … n-gram … 50 % … RNN")
    assert_states(corpus_finding(found), "varied … n-gram … 1.1 … RNN … 0.1 … n-gram … 1.5 … RNN at no temperature")


def test_without_a_corpus_there_is_no_comparison() -> None:
    alone = [("RNN", make_texts())]
    assert_states(repetition_finding(alone), "temperature 0, 50 % … RNN")
    assert corpus_finding(alone) == ""
    assert "Dashed" not in statistics_caption(alone, GenerationState())


def test_the_caption_says_which_text_the_dashed_line_is_for_each_model() -> None:
    ours, theirs = ("RNN", make_texts([1.0, 0.0, -1.0])), ("GRU", make_texts([1.0, 0.0, -1.0], held_out=False))
    assert "human text, held-out text, in eight pieces" in statistics_caption([ours], GenerationState())
    assert "human text, training text, in" in statistics_caption([theirs], GenerationState())
    both = statistics_caption([ours, theirs], GenerationState())
    assert_mentions(both, "held-out text (RNN) … training text (GRU)")


def test_sampling_settings_are_named() -> None:
    assert describe_sampling(GenerationState()) == ""
    assert describe_sampling(GenerationState(greedy=True, top_k=3)) == "greedy"
    assert describe_sampling(GenerationState(top_k=5, top_p=0.9, min_p=0.05)) == "top-k 5, top-p 0.9 and min-p 0.05"
