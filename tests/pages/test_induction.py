from __future__ import annotations

from streamlit.testing.v1 import AppTest

from explorer.labs.induction.state import InductionState
from explorer.run_store import store
from tests.pages import screen
from tests.words import assert_mentions


def open_page(**address: str) -> AppTest:
    return screen.wait_until_ready(screen.page("induction.py", address))


def test_the_page_answers_without_interaction() -> None:
    at = open_page(unfold="induction-ablation,moments")
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {"unfold": "induction-ablation,moments"}
    assert_mentions(
        screen.page_text(at),
        "the model with two layers 99.7 %, the model with one layer 48.7 % and",
    )
    assert_mentions(screen.page_text(at), "Seven pairs … 0.94 (0.84 to 0.98) by the model with two layers")
    titles = [panel["title"] for panel in screen.plot_frame_figures(at, "induction-training")]
    assert titles == ["Loss, second copy (nats)", "Previous-token score", "Induction score"]
    assert_mentions(screen.page_text(at), "0.5 before the loss falls below 0.5 nats in all eight seeds")
    moments = screen.table(at, "induction-moments")
    events = ["previous-token 0.4", "induction 0.5", "loss 0.5 nats"]
    assert [row["event"]["text"] for row in moments][:3] == [f"two layers: {event}" for event in events]
    assert all(len(row["step"]["values"]) == 8 for row in moments[:3])
    (tiles,) = screen.plot_frame_figures(at, "induction-row-figure")
    assert "two layers: " in tiles["alt"] and "; one layer: " in tiles["alt"]
    (heads,) = screen.component_data(at, "attention_heads")
    assert heads["tokens"] == list(InductionState().text) and heads["open"] == [1, 1]
    assert heads["snapshots"]["steps"][0] == 0 and heads["step"] == 800 and heads["causal"]
    assert len(heads["worth"]) == 2 and heads["worth"][1][1] > 3
    found = "\n".join(screen.headings(at))
    assert "previous-token score is 0.77 (layer 1, head 1), the highest induction score 0.92" in found
    assert "\nWithout the previous-token head the loss on the second copy is" in found
    assert_mentions(screen.page_text(at), "Removing the previous-token head costs more in all eight seeds")
    assert len(screen.table(at, "induction-ablation-table")) == 5
    assert "No finished run" not in screen.page_text(at)


def test_a_typed_row_is_continued_and_one_that_cannot_be_read_is_reported() -> None:
    at = open_page()
    at = screen.wait_until_ready(
        screen.assert_no_errors(screen.widget(at.text_input, "induction.row").set_value("abcd").run())
    )
    assert screen.url_params(at) == {"row": "abcd"} and "nothing to continue" in screen.page_text(at)
    at = screen.wait_until_ready(screen.assert_no_errors(at.button(key="induction.draw").click().run()))
    assert screen.url_params(at) == {"draw": "1"} and "Seven pairs of symbols occur" in screen.page_text(at)
    for bad, words in (("ab7", "never saw “7”"), ("", "nothing to read"), ("a" * 25, "first 24 of 25"), ("a", "two")):
        at = open_page(row=bad, unfold="induction-ablation")
        assert words in " ".join(screen.warnings_of(at))
        assert any(heading.startswith("Without the previous-token head") for heading in screen.headings(at))
        assert len(screen.component_data(at, "attention_heads")[0]["tokens"]) == {"ab7": 2, "a" * 25: 24}.get(bad, 16)


def test_changed_heads_of_a_seed_change_its_predictions() -> None:
    at = open_page(off="1.1", replica="0", step="800", layer="0", head="1", at="99")
    (heads,) = screen.component_data(at, "attention_heads")
    assert heads["touch"]["off"] == [[1, 1]] and heads["open"] == [0, 1] and heads["asked"] == len(heads["tokens"]) - 1
    assert "With these changes the mean probability" in screen.page_text(at)
    at = open_page(look="one", off="7.7", replica="15")
    (heads,) = screen.component_data(at, "attention_heads")
    assert heads["touch"]["off"] == [] and heads["layers"] == 1 and heads["open"] == [0, 0]
    assert not any("is the induction head" in heading for heading in screen.headings(at))
    at = open_page(run=store.find("induction-one").key)
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {}
