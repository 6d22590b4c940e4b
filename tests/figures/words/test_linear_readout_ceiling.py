from __future__ import annotations

import itertools

import pytest

from explorer.figures.words.linear_readout_ceiling import FinalAccuracy, ceiling_by_probability, final_accuracy_figure

CHANCES = [i / 20 for i in range(1, 20)]
CEILINGS = [1 - min(p, 1 - p) / 3 for p in CHANCES]
LEADS = [2 / 3 if 0.4 < p < 0.6 else c for p, c in zip(CHANCES, CEILINGS, strict=True)]


def final_accuracies(*accuracies: list[float]) -> list[FinalAccuracy]:
    return [FinalAccuracy(f"model {i}", "--m-rnn", values) for i, values in enumerate(accuracies)]


def test_final_accuracy_figure_has_a_row_per_model_and_a_dot_per_seed() -> None:
    figure = final_accuracy_figure(final_accuracies([0.8833] * 3, [1.0, 0.75, 1.0]), 0.8833, 0.8833)
    assert list(figure.layout.yaxis.ticktext) == ["model 0", "model 1"]
    assert [list(dots.x) for dots in figure.data] == [[0.8833] * 3, [1.0, 0.75, 1.0]]
    low, high = figure.layout.xaxis.range
    assert low < 0.75 and high > 1


@pytest.mark.parametrize("seeds", [1, 2, 8, 32])
def test_dots_of_equal_seeds_do_not_overlap_or_leave_their_row(seeds: int) -> None:
    figure = final_accuracy_figure(final_accuracies([1.0] * seeds, [0.9] * seeds), 0.8833, 0.8833)
    for row, dots in enumerate(figure.data):
        assert len(set(dots.y)) == seeds
        assert all(abs(y - row) < 0.45 for y in dots.y)


def test_the_ceiling_is_drawn_and_labelled() -> None:
    figure = final_accuracy_figure(final_accuracies([0.8]), 0.8833, 0.8833)
    assert [(line.x0, line.x1) for line in figure.layout.shapes] == [(0.8833, 0.8833)]
    assert [(mark.x, mark.text) for mark in figure.layout.annotations] == [(0.8833, "ceiling 0.8833")]


def test_a_lower_cross_entropy_optimum_has_its_own_line() -> None:
    figure = final_accuracy_figure(final_accuracies([0.8]), 0.8333, 0.6667)
    assert [line.x0 for line in figure.layout.shapes] == [0.8333, 0.6667]
    assert [mark.text for mark in figure.layout.annotations] == ["ceiling 0.8333", "training leads to 0.6667"]


@pytest.mark.parametrize(("worst", "mark"), [(0.9, 0.9), (0.2, 0.9), (0.0, 0.9), (0.9, 0.3)])
def test_dots_and_lines_are_inside_the_axis(worst: float, mark: float) -> None:
    low, high = final_accuracy_figure(final_accuracies([worst, 1.0]), 0.95, mark).layout.xaxis.range
    assert low <= min(worst, mark) and high > 1


def test_ceiling_by_probability_has_both_lines_and_the_seeds_of_the_page() -> None:
    figure = ceiling_by_probability(CHANCES, CEILINGS, LEADS, 0.5, [0.66, 0.68])
    best, led, seeds = figure.data
    assert list(best.x) == list(led.x) == CHANCES
    assert list(best.y) == pytest.approx(CEILINGS, abs=5e-5)
    assert list(led.y) == pytest.approx(LEADS, abs=5e-5)
    assert list(zip(seeds.x, seeds.y, strict=True)) == [(0.5, 0.66), (0.5, 0.68)]
    assert figure.layout.xaxis.range == (0, 1)
    low, high = figure.layout.yaxis.range
    assert low < 0.66 and high > 1


def test_ceiling_by_probability_without_seeds_has_no_dots() -> None:
    assert [len(trace.x) for trace in ceiling_by_probability(CHANCES, CEILINGS, LEADS, 0.5, []).data] == [19, 19, 0]


@pytest.mark.parametrize("lines", [(CEILINGS, LEADS), (CEILINGS, CEILINGS), ([1.0] * 19, [1.0] * 19)])
def test_labels_keep_clear_of_both_lines(lines: tuple[list[float], list[float]]) -> None:
    above, below = ceiling_by_probability(CHANCES, *lines, 0.5, []).layout.annotations
    near = [y for line in lines for x, y in zip(CHANCES, line, strict=True) if 0.3 < x < 0.7]
    assert all(below.y < y < above.y for y in near)
    assert (above.text, below.text) == ("ceiling of any sum of word weights", "where its training leads")
    assert {above.yanchor, below.yanchor} == {"bottom", "top"}


def test_a_stroke_connects_a_distant_label_with_its_line() -> None:
    figure = ceiling_by_probability(CHANCES, CEILINGS, LEADS, 0.5, [])
    ends = [(stroke.x0, stroke.y1) for stroke in figure.layout.shapes]
    middle = CHANCES.index(0.5)
    assert set(ends) <= set(itertools.product([0.5], [CEILINGS[middle], LEADS[middle]]))
    assert ends
