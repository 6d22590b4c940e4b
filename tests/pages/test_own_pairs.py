"""The translation page with a visitor's own pairs."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explorer.labs.translation.state import TranslationState
from explorer.tasks.text import corpora
from tests.pages.screen import (
    assert_no_errors,
    component_data,
    page,
    page_text,
    table,
    url_params,
    visit_url,
    wait_for_runs,
    wait_until_ready,
    widget,
)

ME = "the visitor of these pairs"
PAIRS = "source,target\n" + "".join(
    f"Q{a}{b},{b}{a}<b>\n" for a in ("ku", "li", "mo", "na", "pe", "ru") for b in ("sta", "tri", "vo", "wem")
)
WHO = ("vector", "additive", "transformer")
SHORT = {"steps": "4", "seeds": "2", "who": ",".join(WHO)}


def upload(at: AppTest, content: str) -> AppTest:
    widget(at.segmented_control, "translation.task").set_value("pairs")
    at = assert_no_errors(at.run())
    uploader = next(each for each in at.file_uploader if (each.key or "").endswith(".file"))
    return assert_no_errors(uploader.upload("mine.csv", content.encode(), "text/csv").run())


@pytest.fixture
def fresh() -> AppTest:
    return page("translation.py", visitor=ME)


def test_a_file_becomes_a_task_with_answers_curves_and_alignment(fresh: AppTest) -> None:
    at = upload(fresh, PAIRS)
    params = url_params(at)
    assert params["task"] == "pairs" and len(params["text"]) == 64 and set(params) == {"task", "text"}
    assert "Your file has 24 pairs with different sources. The models learn from 19 of them" in page_text(at)
    at = visit_url(at, "translation", {**params, **SHORT, "unfold": "alignment,decoding,results"})
    widget(at.button, "translation.run").click()
    at = at.run()
    with corpora.read_as(ME):
        wait_for_runs(
            TranslationState(task="pairs", text=params["text"], who=WHO, steps=4, seeds=2).configs.values(), ME
        )
    at = wait_until_ready(assert_no_errors(at.run()))
    (answers,) = component_data(at, "translation_answers")
    source, right = ("".join(each["tokens"]) for each in answers["head"])
    assert f"{source},{right}\n" in PAIRS and len(answers["rows"]) == 3
    assert {"exact", "parameters"} < set(table(at, "translation-results")[0])
    missed = table(at, "translation-pairs")
    assert 1 <= len(missed) <= 5 and all(
        row["vector"]["text"].startswith(("0 of 2", "1 of 2", "2 of 2")) for row in missed
    )
    (alignment,) = component_data(at, "alignment")
    assert "".join(alignment["source"]) == source and "".join(alignment["right"]) == right + "<EOS>"
    text = page_text(at)
    assert "held-out pairs" in text and "your pairs" in text
    for word in ("digit", "format", "bits"):
        assert word not in text
    say = next(line.split(",")[0] for line in PAIRS.splitlines()[1:] if not line.startswith(source + ","))
    at = assert_no_errors(widget(at.text_input, "translation.say").set_value(say).run())
    assert url_params(at)["say"] == say


def test_a_file_that_cannot_be_learned_from_leaves_the_page_as_it_was(fresh: AppTest) -> None:
    at = upload(fresh, "source,target\nbaby,babies\nbox,boxes\nbaby,babys\n")
    assert "Rows 2 and 4 have the same source" in page_text(at)
    assert url_params(at) == {"task": "pairs"}


def test_an_address_with_a_file_that_is_not_here_asks_for_it_and_shows_the_example() -> None:
    sha = corpora.store_text(PAIRS + "Qzu,zu\n", "somebody else")
    at = page("translation.py", {"task": "pairs", "text": sha}, "me")
    text = page_text(at)
    assert f"begins with {sha[:12]}" in text and "the example is used" in text
    assert "Qku" not in text and url_params(at) == {"task": "pairs"}
