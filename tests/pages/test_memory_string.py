"""The section about the string model, alone on a page."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.labs.memory.string_model import SEEDS, train_string
from explorer.tasks.string import find_errors, loss_floor
from tests.pages.screen import (
    assert_no_errors,
    component_data,
    page_text,
    plot_frame_figures,
    table,
    texts,
    url_params,
    warnings_of,
)
from tests.words import assert_mentions


def screen() -> None:
    from explorer.labs.memory.state import MemoryState
    from explorer.labs.memory.string_model import section
    from explorer.ui.state.session import page_session, record_page, write_url

    record_page("memory")
    session = page_session("memory", MemoryState)
    section(session)
    write_url(session)


def open_section(**params: str) -> AppTest:
    at = AppTest.from_function(screen, default_timeout=600)
    for name, value in params.items():
        at.query_params[name] = value
    return assert_no_errors(at.run())


def test_all_numbers_follow_from_the_string_and_its_two_runs() -> None:
    text = "abca abca abca "
    at = open_section()
    assert warnings_of(at) == []
    assert_mentions("\n".join(texts(at)), "Memory saves 0.297 nats … “a”")
    found = train_string(text, "rnn")
    (panel,) = plot_frame_figures(at, "memory-string")
    medians = [trace for trace in panel["plot"]["data"] if trace["name"].endswith("median")]
    for trace, curves in zip(medians, (found.with_state, found.without_state), strict=True):
        assert trace["y"] == pytest.approx(np.median(curves.metrics["loss"][1:], axis=1).tolist(), rel=1e-4)
    (mark,) = panel["plot"]["layout"]["shapes"]
    assert mark["y0"] == loss_floor(text)
    with_state, without_state = component_data(at, "generated_errors")[0]["texts"]
    for shown_text, curves in ((with_state, found.with_state), (without_state, found.without_state)):
        written = curves.samples[-1][0]
        assert "".join(run["text"] for run in shown_text["runs"]) == written
        assert sum(run["why"] is not None for run in shown_text["runs"]) == len(find_errors(text, written))
    (row,) = table(at, "memory-string-contexts")
    assert (row["name"]["text"], row["share"]["text"], row["part"]["text"]) == ("“a”", "6 / 14", "0.297")
    assert r"\tfrac{6}{14} \cdot 0.693" in page_text(at)


def test_string_model_and_seed_are_in_the_url() -> None:
    at = open_section(text="aab", text_seed="7")
    assert component_data(at, "generated_errors")[0]["texts"][0]["label"].startswith("Text of seed 7")
    at.text_input[0].set_value("a\u0308b<b>")  # a composed letter is one character
    assert_no_errors(at.run())
    assert url_params(at) == {"text": "äb<b>", "text_seed": "7"}
    at.selectbox[0].set_value(SEEDS - 2)
    assert_no_errors(at.run())
    assert url_params(at)["text_seed"] == "6"
    first = component_data(at, "generated_errors")[0]["texts"][0]
    assert first["first"] == "ä"
    assert "<b>" not in page_text(at).replace(r"\<b\>", "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "The string is empty"), ("a", "is a single character"), ("x" * 201, "201 characters; 2 to 200")],
)
def test_an_invalid_string_is_reported_and_nothing_else_is_lost(text: str, sentence: str) -> None:
    at = open_section(text=text)
    (warning,) = warnings_of(at)
    assert sentence in warning
    assert component_data(at, "plot_frame") == []
    at.text_input[0].set_value("ab")
    assert warnings_of(assert_no_errors(at.run())) == []
