from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from explorer.figures.adapting import COUNTS, LEARNING, STILL, Course, reading_on, span

TOKENS = np.arange(64, 20_033, 64)
LEARNED = Course(TOKENS, 2.3 - 0.05 * TOKENS / TOKENS[-1])
STOOD = Course(TOKENS, np.full(len(TOKENS), 2.31))


def test_learning_is_solid_standing_still_dashed_and_both_are_of_the_model() -> None:
    figure = reading_on(LEARNED, STOOD, "--m-gru", (2.2, 2.4), "characters read", "bits")
    learning, still = figure.data
    assert (learning.name, still.name) == ("learning on", "standing still")
    assert (learning.line.dash, still.line.dash) == (None, "5px,4px")
    assert learning.line.color == still.line.color == "var(--m-gru)"
    assert learning.x[0] == 64 and learning.x[-1] == TOKENS[-1] and len(learning.x) <= 200
    assert learning.y[-1] == pytest.approx(2.25) and set(still.y) == {2.31}
    assert figure.layout.xaxis.range == (0, TOKENS[-1]) and figure.layout.yaxis.range == (2.2, 2.4)
    assert figure.data[LEARNING] is learning and figure.data[STILL] is still


def test_an_ngram_is_a_line_of_its_own_as_far_as_the_model_reads() -> None:
    longer = Course(np.arange(16, 40_001, 16), np.full(2_500, 2.28))
    figure = reading_on(LEARNED, STOOD, "--m-gru", (2.2, 2.4), "x", "y", (longer, "--m-ngram", "8px,3px,2px,3px"))
    counts = figure.data[COUNTS]
    assert counts.name == "n-gram" and counts.line.color == "var(--m-ngram)" and counts.x[-1] == TOKENS[-1]
    assert [label.text for label in figure.layout.annotations] == ["learning", "still", "n-gram"]


def test_labels_never_cover_each_other_nor_leave_the_figure() -> None:
    near = [Course(TOKENS, np.full(len(TOKENS), value)) for value in (2.398, 2.399, 2.397)]
    figure = reading_on(near[0], near[1], "--m-gru", (2.2, 2.4), "x", "y", (near[2], "--m-ngram", "solid"))
    heights = sorted(label.y for label in figure.layout.annotations)
    assert heights[-1] <= 1 and all(b - a > 0.08 for a, b in pairwise(heights))


def test_the_axis_holds_every_course_but_not_its_first_leaps() -> None:
    leaping = Course(TOKENS, np.where(TOKENS < 1_000, 9.0, 2.5))
    low, high = span([leaping, STOOD])
    assert low < 2.31 and 2.5 < high < 3
    low, high = span([STOOD])
    assert low < 2.31 < high


def test_an_ngram_far_below_presses_nothing_flat_and_its_label_says_where_it_is() -> None:
    near, far = (Course(TOKENS, np.full(len(TOKENS), value)) for value in (2.28, 1.2))
    assert span([LEARNED, STOOD], [near])[0] < 2.28 == near.values[-1]
    alone = span([LEARNED, STOOD])
    assert span([LEARNED, STOOD], [far]) == alone
    figure = reading_on(LEARNED, STOOD, "--m-gru", alone, "x", "y", (far, "--m-ngram", "solid"))
    assert figure.layout.annotations[-1].text == "↓ n-gram" and figure.layout.annotations[-1].y == 0


def test_a_reading_that_broke_off_ends_where_it_did() -> None:
    short = Course(TOKENS[:1], np.array([3.0]))
    figure = reading_on(short, STOOD, "--m-rnn", (2.2, 3.1), "x", "y")
    assert list(figure.data[LEARNING].x) == [64] and figure.layout.xaxis.range == (0, TOKENS[-1])
    assert span([short, STOOD])[1] > 3
