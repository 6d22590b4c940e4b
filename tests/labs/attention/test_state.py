from __future__ import annotations

from dataclasses import replace

from explorer.labs.attention.state import AttentionState
from explorer.ui.state import url_codec
from explorer.ui.training.model_input import MAX_TEXT_LENGTH, format_heads, parse_heads

OLD_DEFAULT = AttentionState.url_base()


def test_addresses_from_before_another_default_open_the_same_model() -> None:
    found, problems = url_codec.read(AttentionState, {"say": "O Romeo", "layer": "3"})
    assert (found, problems) == (replace(OLD_DEFAULT, say="O Romeo", layer=3), ())
    for state in (OLD_DEFAULT, AttentionState(at=2), replace(OLD_DEFAULT, layer=0, head=0)):
        assert url_codec.write(state) and url_codec.read(AttentionState, url_codec.write(state)) == (state, ())
    assert url_codec.write(OLD_DEFAULT)["model"] == "text-through-training"
    assert OLD_DEFAULT.with_model(AttentionState().model) == AttentionState()


def test_the_longest_text_is_in_the_url() -> None:
    state = AttentionState(say="x" * MAX_TEXT_LENGTH, at=3, off=("0.1", "2.3"), flat=("1.0",), patch="stream.2.8")
    assert url_codec.read(AttentionState, url_codec.write(state)) == (state, ())


def test_another_model_keeps_text_and_view_but_no_ablated_head() -> None:
    state = AttentionState(say="x", layer=3, off=("0.1",), step=5, view="matrix", unmasked=True)
    assert state.with_model("text-best") == replace(OLD_DEFAULT, model="text-best", say="x", view="matrix")
    assert state.with_model(state.model) is state
    assert state.with_model("text-best", examples=("x", "y")) == replace(OLD_DEFAULT, model="text-best", view="matrix")


def test_heads_and_positions_outside_of_the_model_are_left_out() -> None:
    state = AttentionState(layer=7, head=7, at=30, off=("0.1", "9.9", "1.1"), flat=("5.0",))
    assert state.clamp(2, 4, 30) == AttentionState(layer=1, head=3, at=None, off=("0.1", "1.1"), flat=())
    assert state.clamp(8, 8, 31).at == 30


def test_another_text_resets_the_query_and_has_a_maximum_length() -> None:
    assert AttentionState(at=3).with_text("a b") == AttentionState(say="a b")


def test_heads_have_one_name_in_a_url() -> None:
    assert format_heads(parse_heads(("1.0", "0.1", "0.10"))) == ("0.1", "0.10", "1.0")
    assert AttentionState(off=("0.0",)).is_ablated and not AttentionState().is_ablated


def test_a_changed_text_stays_until_an_example_with_a_counterpart_is_chosen() -> None:
    state = AttentionState(say="O thou ar", changed="O they ar", patch="head.0.1", at=3)
    assert state.with_text("O thou do") == replace(state, say="O thou do", patch="", at=None)
    assert state.with_text("O thou ha") == AttentionState(say="O thou ha")
    assert state.with_texts(("a b", "a c")) == AttentionState(say="a b", changed="a c")
    assert state.with_model("text-best").changed == "O they ar"
    assert AttentionState(changed="x").with_model("text-best").changed is None, "the text was that of the old model"
    chosen = replace(state, answer="s", contrast="v")
    assert chosen.with_text("O thou do").answer == "s"
    assert chosen.with_text("O thou ha") == AttentionState(say="O thou ha")
    assert chosen.with_texts(("a b", "a c")) == AttentionState(say="a b", changed="a c")
    other = chosen.with_model("text-best")
    assert (other.answer, other.contrast) == ("s", "v"), "the page resets them if the model does not have them"
