from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.translation import VARIANTS
from explorer.run_store import store
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from tests.pages.screen import (
    component_data,
    headings,
    page,
    plot_frame_figures,
    table,
    url_params,
    wait_until_ready,
    warnings_of,
)

SMALL = {"who": "vector", "steps": "12", "seeds": "2", "longest": "3"}


def translation(address: Mapping[str, str] | None = None, unfold: str = "") -> AppTest:
    """Open the page; `unfold` names its unfolded sections."""
    return wait_until_ready(page("translation.py", {**(address or {}), **({"unfold": unfold} if unfold else {})}))


@pytest.mark.parametrize("task", ["dates", "reverse", "copy"])
def test_every_task_shows_results_by_default(task: str) -> None:
    at = translation({} if task == "reverse" else {"task": task}, "results")
    assert warnings_of(at) == [] and not any("No finished run" in part.value for part in at.markdown)
    rows = table(at, "translation-results")
    assert [row["name"]["text"] for row in rows] == [each.title for each in VARIANTS.values()]
    for row, name in zip(rows, VARIANTS, strict=True):
        card = store.find(f"{task}-{name}").card
        assert row["exact"]["values"] == pytest.approx(card.metrics["exact"].values, abs=1e-4)
        assert row["name"]["colour"] == VARIANTS[name].colour
    assert all(len(heading.value.split()) <= 20 for heading in at.subheader)


def test_the_page_opens_with_the_answers_and_computes_nothing_that_is_folded() -> None:
    at = translation()
    (data,) = component_data(at, "translation_answers")
    assert len(data["rows"]) == len(VARIANTS) and len(at.expander) <= 5
    assert component_data(at, "alignment") == component_data(at, "beam_search") == []
    names = [name for name, _ in ((d["file"], d) for d in component_data(at, "plot_frame"))]
    assert names == ["translation-exact", "translation-race"]
    assert len(headings(at)[-1].split()) <= 20


def test_the_figure_has_the_results_of_the_runs() -> None:
    lines = plot_frame_figures(translation(), "translation-exact")[0]["plot"]["data"]
    medians = {trace["name"]: trace["y"] for trace in lines if trace["name"].endswith("median")}
    assert len(medians) == len(VARIANTS)
    run = store.find("reverse-additive")
    expected = np.median(run.curves.answers["by_length"][-1], axis=0)
    assert next(y for name, y in medians.items() if name.startswith("attention")) == pytest.approx(expected, abs=1e-3)
    tiles = plot_frame_figures(translation({"task": "dates"}), "translation-exact")[0]["plot"]["data"][0]
    assert len(tiles["z"]) == len(DATE_FORMATS)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"task": "dreams"}, "one of reverse, copy, dates"),
        ({"who": "oracle"}, "There is no “oracle”"),
        ({"longest": "41"}, "from 1 to 40"),
        ({"steps": "100000"}, "optimiser steps"),
        ({"width": "9"}, "from 1 to 8"),
        ({"<b>": "1"}, "This page has no “<b>”"),
    ],
)
def test_an_invalid_url_parameter_is_reported_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = translation(bad)
    assert any(words in sentence for sentence in warnings_of(at)), warnings_of(at)
    assert component_data(at, "translation_answers")


def test_a_run_is_shown_on_its_task() -> None:
    at = translation({"run": store.find("dates-additive").key})
    assert warnings_of(at) == [] and url_params(at) == {"task": "dates"}
