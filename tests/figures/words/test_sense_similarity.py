from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.words.sense_similarity import (
    OTHER,
    SAME,
    SimilarityLine,
    layer_names,
    similarity_by_layer,
    similarity_to_one,
)
from explorer.labs.sentence_encoder.state import MAX_REAL_SENTENCES
from explorer.lessons.measures import MOST_SENTENCES

SAME_SENSE, OTHER_SENSE = np.array([[0.9, 0.9, 0.95], [0.9, 0.8, 0.85]]), np.array([[0.9, 0.7, 0.2], [0.9, 0.5, 0.4]])


def test_lines_are_means_and_bands_ranges_over_seeds() -> None:
    figure = similarity_by_layer(SAME_SENSE, OTHER_SENSE, -0.1)
    low, high, mean, *other = figure.data
    assert mean.y == pytest.approx([0.9, 0.85, 0.9]) and low.y == pytest.approx([0.9, 0.8, 0.85])
    assert high.y == pytest.approx([0.9, 0.9, 0.95]) and other[2].y == pytest.approx([0.9, 0.6, 0.3])
    assert mean.line.dash != other[2].line.dash, "colour is not the only sign"
    assert list(figure.layout.xaxis.ticktext) == layer_names(3) == ["0", "1", "2"]
    assert figure.layout.yaxis.range[0] == -0.1


def test_labels_are_apart_and_merge_where_the_lines_meet() -> None:
    labels = similarity_by_layer(SAME_SENSE, OTHER_SENSE, 0.0).layout.annotations
    assert [a.text for a in labels] == [f"<b>{SAME}</b>", f"<b>{OTHER}</b>"]
    assert [a.y for a in labels] == pytest.approx([0.9, 0.3])
    near = similarity_by_layer(SAME_SENSE, SAME_SENSE - 0.04, 0.0).layout.annotations
    assert near[0].y - near[1].y == pytest.approx(0.11 * 1.04)
    crossed = similarity_by_layer(SAME_SENSE - 0.04, SAME_SENSE, 0.0).layout.annotations
    assert crossed[0].y < crossed[1].y
    high = similarity_by_layer(SAME_SENSE * 0 + 1, SAME_SENSE * 0 + 0.97, 0.0).layout.annotations
    assert max(a.y for a in high) <= 1.0 and high[0].y - high[1].y > 0.1
    (label,) = similarity_by_layer(SAME_SENSE, SAME_SENSE, 0.0).layout.annotations
    assert label.text == "<b>both</b>" and label.y == pytest.approx(0.9)


def test_all_sentences_that_a_page_reads_have_a_dash_of_their_own() -> None:
    lines = [SimilarityLine(f"sentence {i}", np.zeros(3)) for i in range(1, MAX_REAL_SENTENCES)]
    dashes = [trace.line.dash for trace in similarity_to_one(lines, "--soft").data]
    assert len(set(dashes)) == len(lines)
    assert MAX_REAL_SENTENCES == MOST_SENTENCES, "a lesson measures as many sentences as the page reads"
