from __future__ import annotations

import itertools

import pytest

from explorer.figures.counting import Finisher, ceiling_by_chance, finish_line

CHANCES = [i / 20 for i in range(1, 20)]
CEILINGS = [1 - min(p, 1 - p) / 3 for p in CHANCES]
LEADS = [2 / 3 if 0.4 < p < 0.6 else c for p, c in zip(CHANCES, CEILINGS, strict=True)]


def finished(*accuracies: list[float]) -> list[Finisher]:
    return [Finisher(f"model {i}", "--m-rnn", values) for i, values in enumerate(accuracies)]


def test_a_finish_line_has_a_row_a_model_and_a_dot_a_seed() -> None:
    figure = finish_line(finished([0.8833] * 3, [1.0, 0.75, 1.0]), 0.8833, 0.8833)
    assert list(figure.layout.yaxis.ticktext) == ["model 0", "model 1"]
    assert [list(dots.x) for dots in figure.data] == [[0.8833] * 3, [1.0, 0.75, 1.0]]
    low, high = figure.layout.xaxis.range
    assert low < 0.75 and high > 1


@pytest.mark.parametrize("seeds", [1, 2, 8, 32])
def test_dots_of_equal_seeds_neither_cover_each_other_nor_leave_their_row(seeds: int) -> None:
    figure = finish_line(finished([1.0] * seeds, [0.9] * seeds), 0.8833, 0.8833)
    for row, dots in enumerate(figure.data):
        assert len(set(dots.y)) == seeds
        assert all(abs(y - row) < 0.45 for y in dots.y)


def test_the_ceiling_is_drawn_and_named_where_it_is() -> None:
    figure = finish_line(finished([0.8]), 0.8833, 0.8833)
    assert [(line.x0, line.x1) for line in figure.layout.shapes] == [(0.8833, 0.8833)]
    assert [(mark.x, mark.text) for mark in figure.layout.annotations] == [(0.8833, "ceiling 0.8833")]


def test_where_training_leads_elsewhere_it_has_a_mark_of_its_own() -> None:
    figure = finish_line(finished([0.8]), 0.8333, 0.6667)
    assert [line.x0 for line in figure.layout.shapes] == [0.8333, 0.6667]
    assert [mark.text for mark in figure.layout.annotations] == ["ceiling 0.8333", "training leads to 0.6667"]


@pytest.mark.parametrize(("worst", "mark"), [(0.9, 0.9), (0.2, 0.9), (0.0, 0.9), (0.9, 0.3)])
def test_no_dot_and_no_mark_falls_off_the_axis(worst: float, mark: float) -> None:
    low, high = finish_line(finished([worst, 1.0]), 0.95, mark).layout.xaxis.range
    assert low <= min(worst, mark) and high > 1


def test_both_marks_are_drawn_over_every_chance_with_this_pages_seeds_at_theirs() -> None:
    figure = ceiling_by_chance(CHANCES, CEILINGS, LEADS, 0.5, [0.66, 0.68])
    best, led, seeds = figure.data
    assert list(best.x) == list(led.x) == CHANCES
    assert list(best.y) == pytest.approx(CEILINGS, abs=5e-5)
    assert list(led.y) == pytest.approx(LEADS, abs=5e-5)
    assert list(zip(seeds.x, seeds.y, strict=True)) == [(0.5, 0.66), (0.5, 0.68)]
    assert figure.layout.xaxis.range == (0, 1)
    low, high = figure.layout.yaxis.range
    assert low < 0.66 and high > 1


def test_a_page_without_a_bag_of_words_has_both_lines_and_no_dot() -> None:
    assert [len(trace.x) for trace in ceiling_by_chance(CHANCES, CEILINGS, LEADS, 0.5, []).data] == [19, 19, 0]


@pytest.mark.parametrize("lines", [(CEILINGS, LEADS), (CEILINGS, CEILINGS), ([1.0] * 19, [1.0] * 19)])
def test_the_names_of_the_lines_stand_clear_of_both(lines: tuple[list[float], list[float]]) -> None:
    above, below = ceiling_by_chance(CHANCES, *lines, 0.5, []).layout.annotations
    near = [y for line in lines for x, y in zip(CHANCES, line, strict=True) if 0.3 < x < 0.7]
    assert all(below.y < y < above.y for y in near)
    assert (above.text, below.text) == ("ceiling of any counting model", "where its training leads")
    assert {above.yanchor, below.yanchor} == {"bottom", "top"}


def test_a_stroke_leads_from_a_name_to_its_line_where_they_are_far_apart() -> None:
    figure = ceiling_by_chance(CHANCES, CEILINGS, LEADS, 0.5, [])
    ends = [(stroke.x0, stroke.y1) for stroke in figure.layout.shapes]
    middle = CHANCES.index(0.5)
    assert set(ends) <= set(itertools.product([0.5], [CEILINGS[middle], LEADS[middle]]))
    assert ends
