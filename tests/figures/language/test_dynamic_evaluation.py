from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from explorer.figures.language.dynamic_evaluation import (
    ADAPTING,
    CACHE,
    NGRAM,
    STATIC,
    RunningMean,
    dynamic_evaluation_figure,
    shared_y_range,
)

TOKENS = np.arange(64, 20_033, 64)
LEARNED = RunningMean(TOKENS, 2.3 - 0.05 * TOKENS / TOKENS[-1])
STOOD = RunningMean(TOKENS, np.full(len(TOKENS), 2.31))


def test_adapting_is_solid_and_static_dashed_in_the_colour_of_the_model() -> None:
    figure = dynamic_evaluation_figure(LEARNED, STOOD, "--m-gru", (2.2, 2.4), "characters read", "bits")
    learning, still = figure.data
    assert (learning.name, still.name) == ("dynamic evaluation", "fixed weights")
    assert (learning.line.dash, still.line.dash) == (None, "5px,4px")
    assert learning.line.color == still.line.color == "var(--m-gru)"
    assert learning.x[0] == 64 and learning.x[-1] == TOKENS[-1] and len(learning.x) <= 200
    assert learning.y[-1] == pytest.approx(2.25) and set(still.y) == {2.31}
    assert figure.layout.xaxis.range == (0, TOKENS[-1]) and figure.layout.yaxis.range == (2.2, 2.4)
    assert figure.data[ADAPTING] is learning and figure.data[STATIC] is still


def test_the_ngram_line_ends_where_the_model_ends() -> None:
    longer = RunningMean(np.arange(16, 40_001, 16), np.full(2_500, 2.28))
    figure = dynamic_evaluation_figure(
        LEARNED, STOOD, "--m-gru", (2.2, 2.4), "x", "y", (longer, longer, "--m-ngram", "8px,3px,2px,3px")
    )
    without, cached = figure.data[NGRAM], figure.data[CACHE]
    assert (without.name, cached.name) == ("n-gram", "n-gram with a cache")
    assert (without.line.dash, cached.line.dash) == ("8px,3px,2px,3px", None)
    for line in (without, cached):
        assert line.line.color == "var(--m-ngram)" and line.x[-1] == TOKENS[-1]
    assert [label.text for label in figure.layout.annotations] == ["dynamic", "fixed", "n-gram", "cache"]


def test_labels_neither_overlap_nor_leave_the_figure() -> None:
    near = [RunningMean(TOKENS, np.full(len(TOKENS), value)) for value in (2.398, 2.399, 2.397, 2.3975)]
    figure = dynamic_evaluation_figure(
        near[0], near[1], "--m-gru", (2.2, 2.4), "x", "y", (near[2], near[3], "--m-ngram", "solid")
    )
    heights = sorted(label.y for label in figure.layout.annotations)
    assert heights[-1] <= 1 and all(b - a > 0.08 for a, b in pairwise(heights))


def test_the_axis_contains_all_settled_values() -> None:
    leaping = RunningMean(TOKENS, np.where(TOKENS < 1_000, 9.0, 2.5))
    low, high = shared_y_range([leaping, STOOD])
    assert low < 2.31 and 2.5 < high < 3
    low, high = shared_y_range([STOOD])
    assert low < 2.31 < high


def test_a_distant_ngram_does_not_extend_the_axis_and_its_label_has_an_arrow() -> None:
    near, far = (RunningMean(TOKENS, np.full(len(TOKENS), value)) for value in (2.28, 1.2))
    assert shared_y_range([LEARNED, STOOD], [near])[0] < 2.28 == near.values[-1]
    alone = shared_y_range([LEARNED, STOOD])
    assert shared_y_range([LEARNED, STOOD], [far]) == alone
    figure = dynamic_evaluation_figure(LEARNED, STOOD, "--m-gru", alone, "x", "y", (near, far, "--m-ngram", "solid"))
    assert figure.layout.annotations[-1].text == "↓ cache" and figure.layout.annotations[-1].y == 0


def test_an_interrupted_evaluation_ends_early() -> None:
    short = RunningMean(TOKENS[:1], np.array([3.0]))
    figure = dynamic_evaluation_figure(short, STOOD, "--m-rnn", (2.2, 3.1), "x", "y")
    assert list(figure.data[ADAPTING].x) == [64] and figure.layout.xaxis.range == (0, TOKENS[-1])
    assert shared_y_range([short, STOOD])[1] > 3
