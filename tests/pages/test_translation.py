from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.translation import VARIANTS
from explorer.labs.translation.state import TranslationState
from explorer.run_store import store
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.tasks.text import corpora
from explorer.training.config import key
from tests.pages import screen


def translation(address: Mapping[str, str] | None = None, unfold: str = "") -> AppTest:
    """Open the page; `unfold` names its unfolded sections."""
    return screen.open_page("translation.py", {**(address or {}), **({"unfold": unfold} if unfold else {})})


@pytest.mark.parametrize("task", ["dates", "copy"])
def test_every_task_shows_results_by_default(task: str) -> None:
    at = translation({"task": task}, "results")
    assert screen.warnings_of(at) == [] and not any("No finished run" in part.value for part in at.markdown)
    rows = screen.table(at, "translation-results")
    assert [row["name"]["text"] for row in rows] == [each.title for each in VARIANTS.values()]
    for row, name in zip(rows, VARIANTS, strict=True):
        card = store.find(f"{task}-{name}").card
        assert row["exact"]["values"] == pytest.approx(card.metrics["exact"].values, abs=1e-4)
        assert row["name"]["colour"] == VARIANTS[name].colour
    assert all(len(heading.value.split()) <= 20 for heading in at.subheader)
    tiles = screen.plot_frame_figures(at, "translation-exact")[0]["plot"]["data"][0]
    assert task != "dates" or len(tiles["z"]) == len(DATE_FORMATS)


def test_the_page_opens_with_the_answers_and_results_and_computes_nothing_that_is_folded() -> None:
    at = translation()
    (data,) = screen.component_data(at, "translation_answers")
    assert len(data["rows"]) == len(VARIANTS) and len(at.expander) <= 5
    assert len(screen.component_data(at, "alignment")) == 1 and screen.component_data(at, "beam_search") == []
    assert [data["file"] for data in screen.component_data(at, "plot_frame")] == [
        "translation-exact",
        "translation-race",
    ]
    assert len(screen.headings(at)[-1].split()) <= 20
    lines = screen.plot_frame_figures(at, "translation-exact")[0]["plot"]["data"]
    medians = {trace["name"]: trace["y"] for trace in lines if trace["name"].endswith("median")}
    assert len(medians) == len(VARIANTS)
    expected = np.median(store.find("reverse-additive").curves.answers["by_length"][-1], axis=0)
    assert next(y for name, y in medians.items() if name.startswith("attention")) == pytest.approx(expected, abs=1e-3)
    at = translation({"run": store.find("dates-additive").key})
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {"task": "dates"}


ME = "the visitor of these pairs"
PAIRS = "source,target\n" + "".join(
    f"Q{a}{b},{b}{a}<b>\n" for a in ("ku", "li", "mo", "na", "pe", "ru") for b in ("sta", "tri", "vo", "wem")
)
WHO = ("vector", "additive", "transformer")
SHORT = {"steps": "4", "seeds": "2", "who": ",".join(WHO)}


def upload(content: str) -> AppTest:
    at = screen.page("translation.py", visitor=ME)
    screen.widget(at.segmented_control, "translation.task").set_value("pairs")
    at = screen.assert_no_errors(at.run())
    uploader = next(each for each in at.file_uploader if (each.key or "").endswith(".file"))
    return screen.assert_no_errors(uploader.upload("mine.csv", content.encode(), "text/csv").run())


def test_a_file_becomes_a_task_with_answers_curves_and_alignment() -> None:
    at = upload(PAIRS)
    params = screen.url_params(at)
    assert params["task"] == "pairs" and len(params["text"]) == 64 and set(params) == {"task", "text"}
    assert "Your file has 24 pairs with different sources. The models learn from 19 of them" in screen.page_text(at)
    at = screen.visit_url(at, "translation", {**params, **SHORT, "unfold": "weights,decoding,results"})
    screen.widget(at.button, "missing.run").click()
    at = at.run()
    with corpora.read_as(ME):
        configs = TranslationState(task="pairs", text=params["text"], who=WHO, steps=4, seeds=2).configs.values()
        screen.wait_for_keys(map(key, configs), ME)
    at = screen.wait_until_ready(screen.assert_no_errors(at.run()))
    (answers,) = screen.component_data(at, "translation_answers")
    source, right = ("".join(each["tokens"]) for each in answers["head"])
    assert f"{source},{right}\n" in PAIRS and len(answers["rows"]) == 3
    assert {"exact", "parameters"} < set(screen.table(at, "translation-results")[0])
    missed = screen.table(at, "translation-pairs")
    assert 1 <= len(missed) <= 5 and all(row["vector"]["text"][:6] in ("0 of 2", "1 of 2", "2 of 2") for row in missed)
    (alignment,) = screen.component_data(at, "alignment")
    assert "".join(alignment["source"]) == source and "".join(alignment["right"]) == right + "<EOS>"
    text = screen.page_text(at)
    assert "held-out pairs" in text and "your pairs" in text
    for word in ("digit", "format", "bits"):
        assert word not in text
    say = next(line.split(",")[0] for line in PAIRS.splitlines()[1:] if not line.startswith(source + ","))
    at = screen.assert_no_errors(screen.widget(at.text_input, "translation.say").set_value(say).run())
    assert screen.url_params(at)["say"] == say


def test_a_file_that_cannot_be_learned_from_leaves_the_page_as_it_was() -> None:
    at = upload("source,target\nbaby,babies\nbox,boxes\nbaby,babys\n")
    assert "Rows 2 and 4 have the same source" in screen.page_text(at)
    assert screen.url_params(at) == {"task": "pairs"}


def test_an_address_with_a_file_that_is_not_here_asks_for_it_and_shows_the_example() -> None:
    sha = corpora.store_text(PAIRS + "Qzu,zu\n", "somebody else")
    at = screen.page("translation.py", {"task": "pairs", "text": sha}, "me")
    text = screen.page_text(at)
    assert f"begins with {sha[:12]}" in text and "the example is used" in text
    assert "Qku" not in text and screen.url_params(at) == {"task": "pairs"}
