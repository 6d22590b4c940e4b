from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.labs.gates import findings
from explorer.labs.gates.state import PRESETS, STEPS, GatesState, apply_event, parse_trace
from explorer.ui.state import url_codec
from tests.words import assert_mentions


def test_a_trace_is_parsed_from_runs_and_its_last_value_is_repeated() -> None:
    assert parse_trace("0x2,1,0.5")[:5] == (0, 0, 1, 0.5, 0.5)
    assert len(parse_trace("0.9")) == len(parse_trace("1x50")) == STEPS
    for text in ("", "a", "1,,0", "1x", "0.5x999", "1x51", "x3", "nan", "1e5", "0x30,1x30"):
        with pytest.raises(InvalidSetting):
            parse_trace(text)


def test_every_preset_survives_the_url() -> None:
    for preset in PRESETS:
        state = replace(GatesState(), **preset.traces, at=preset.at)
        assert url_codec.read(GatesState, url_codec.write(state)) == (state, ())


def test_component_messages_are_validated_like_the_url() -> None:
    message = {"lanes": GatesState().traces | {"f": "0.5"}, "u": 0.25, "w": 1, "at": 7, "show": "gru"}
    assert apply_event(GatesState(), json.dumps(message)) == GatesState(f="0.5", u=0.25, w=1.0, at=7, show="gru")
    for bad in ("", "7", "[]", "{}", None, json.dumps(message | {"u": 9}), json.dumps(message | {"lanes": {"f": "2"}})):
        assert apply_event(GatesState(at=3), bad) == GatesState(at=3)


def test_gate_values_count_from_the_first_write() -> None:
    assert GatesState().gates_after_write("f") == (0.9,) * 49 and GatesState().gates_after_write("z") == (0.9,) * 49
    late = GatesState(i="0x4,1,0", z="1x4,0,0.5", n="0x4,1,0")
    assert (late.first_write_step("f"), late.first_write_step("z")) == (5, 5) and late.gates_after_write("z") == (
        0.5,
    ) * 45
    assert GatesState(i="0").first_write_step("f") == 1
    assert GatesState(i="0x49,1").gates_after_write("f") == ()


def test_products_are_formatted_with_powers() -> None:
    assert findings.product_latex((0.9,) * 49) == "0.9^{49}"
    assert findings.product_latex((0.5, 1.0, 1.0)) == r"1^{2} \cdot 0.5"
    assert findings.product_latex(()) == "1"
    assert findings.product_latex(tuple(i / 10 for i in range(6))).endswith(r"\cdots")
    values = {0.0: "0", 1.0: "1", 0.0057: r"5.7 \cdot 10^{-3}", 0.123: "0.12", 3.2e-9: r"3.2 \cdot 10^{-9}"}
    assert [findings.number_latex(value) for value in values] == list(values.values())


def test_the_gate_initialization_finding_states_solved_seeds() -> None:
    found = {3.0: np.arange(8) < 7, 0.0: np.zeros(8, bool)}
    finding = findings.gate_init_finding({"LSTM": found, "GRU": found}, 50)
    assert finding == "7 of 8 LSTMs (bias 3) and 7 of 8 GRUs (bias 3) recall the first of 50 symbols."
    assert len(finding.split()) <= 20
    assert findings.gate_init_finding({"LSTM": {}, "GRU": {}}, 50) == findings.gate_init_finding({}, 50) == ""
    assert (findings.initial_gate(0.0), findings.initial_gate(3.0)) == ("about 0.50 (standard)", "0.95 (bias 3)")


def test_the_numbers_of_seeds_by_initial_bias_are_compared() -> None:
    outcomes = {bias: np.arange(8) < solved for bias, solved in ((0.0, 0), (1.0, 2), (3.0, 8))}
    sentence = findings.gate_init_comparison(outcomes, "GRU")
    assert_mentions(sentence, "Worse than bias 3: bias 0 (0 of 8 against 8 of 8 seeds)")
    none = {bias: np.zeros(8, bool) for bias in (0.0, 1.0)}
    assert findings.gate_init_comparison(none, "GRU") == findings.gate_init_comparison({}, "GRU") == ""
