from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.cost import PARTS, Measured
from explorer.ui import cost_findings as findings
from explorer.ui.cost import SWEEPS, Cost, Sweep, swept
from explorer.ui.cost_findings import Swept
from explorer.ui.cost_parameters import configured


def every(sweep: Sweep, seconds: dict[str, float], power: float = 1.0) -> dict[str, Swept]:
    """Each part takes so many seconds at size 1, and a power of the size."""
    state, x = Cost(), np.array(SWEEPS[sweep], dtype=float)
    found = {}
    for part in PARTS:
        line = seconds.get(part, 1e-6) * x**power
        found[part] = swept(part, sweep, state.sizes(sweep, part), Measured(line, 2 * line, x))
    return found


def test_where_attention_costs_more_is_read_off_the_lines() -> None:
    found = every("length", {"feedforward": 1e-4})
    x = np.array(SWEEPS["length"], dtype=float)
    for part, at in (("attention", 256.0), ("fused", 1024.0)):
        line = 1e-4 * x**2 / at
        found[part] = swept(part, "length", Cost().sizes("length", part), Measured(line, line, x))
    said = findings.length_finding(found, Cost(way="forward"))
    assert "from about 256 tokens on, fused from about 1,024 tokens on; the formula says from 128 on." in said
    assert "At 2,048 tokens it takes 8.0 times as long, fused 2.0." in said


def test_equal_answers_are_said_once_and_cheap_attention_too() -> None:
    cheap = findings.length_finding(every("length", {"feedforward": 1e-3}), Cost(width=32))
    assert "Attention, fused or not, costs more than the feedforward part at no length measured; " in cheap
    assert "the formula says from 64 on" in cheap
    dear = findings.length_finding(every("length", {"feedforward": 1e-9}), Cost())
    assert "fused or not, costs more than the feedforward part at every length measured" in dear
    assert "takes 1,000 times as long" in dear


def test_powers_of_the_width() -> None:
    flat, steep = (findings.width_finding(every("width", {}, power), Cost()) for power in (1.0, 2.0))
    assert "to the 1.0" in flat and "for all of them less than the formula says" in flat
    assert "nowhere less than the formulas say" in steep


def test_layers() -> None:
    assert findings.layers_finding(every("layers", {}, 1.0), Cost()) == (
        "Eight times the layers take 8.0 to 8.0 times as long, and keep 8.0 times the memory."
    )


def test_where_formulas_fail() -> None:
    assert findings.note(every("layers", {}, 1.0), Cost(), "layers").startswith("No line lies above its formula")
    said = findings.note(every("width", {}, 0.5), Cost(), "width")
    assert said.startswith("At width 16 the formula is furthest off for")


def test_the_step_of_a_recurrent_net() -> None:
    said = findings.note(every("length", {"gru": 3e-5, "feedforward": 1e-6}, 1.0), Cost(way="forward"), "length")
    assert "takes 30.0 microseconds in a sequence of 128 and 30.0 in one of 2,048: the same step again" in said
    assert "By the formula it takes 0.8 times" in said and "measured are 30 times, for its products are small" in said
    other = findings.note(every("length", {"gru": 1e-7, "feedforward": 1e-6}, 1.5), Cost(), "length")
    assert "a step of the longer one costs more" in other and "products are small" not in other


def test_a_quick_lstm_is_said_to_be_one_of_kernels() -> None:
    found = every("length", {"gru": 20e-6, "lstm": 1e-6})
    said = findings.kernel_note(found, Cost())
    assert "The LSTM multiplies 1.3 times as much as the GRU; at 2,048 the GRU takes 20 times as long" in said
    assert said in findings.note(found, Cost(), "length")
    slow = every("length", {"gru": 6e-6, "lstm": 8e-6})
    assert findings.kernel_note(slow, Cost()) == "" and "\n\n\n" not in findings.note(slow, Cost(), "length")


def test_layers_are_told_in_words() -> None:
    assert findings.spoken("blocks[0–3].attention.project") == "queries, keys and values"
    assert findings.spoken("decoder[0–1].cross.key") == "decoder: cross-attention, keys"
    assert findings.spoken("encoder.recurrent") == "encoder: from the state"
    assert findings.spoken("embedding") == "a vector for each token"
    assert findings.spoken("summary.squeeze") == "summary.squeeze"


def test_the_largest_parts() -> None:
    assert findings.parts_finding("RNN", [("a", 60), ("b", 40)], 100) == (
        "RNN: 100 parameters. The largest part, “a”, has 60 of them, 60%."
    )
    assert "The largest parts, “a” and “b”, each have 40 of them, 40%." in findings.parts_finding(
        "RNN", [("a", 40), ("b", 40), ("c", 20)], 100
    )


def test_memory_is_compared_with_the_formula() -> None:
    found = every("length", {})
    for part, each in list(found.items()):
        wrong = 2.5 if part == "lstm" else 1.0
        kept = Measured(each.forward, each.both, wrong * each.bytes)
        found[part] = swept(part, "length", Cost().sizes("length", part), kept)
    said = findings.memory_note(found)
    assert said.startswith("The bytes kept are those of the formula for attention, fused, feedforward, RNN and GRU.")
    assert "LSTM keeps up to 2.5 times as many." in said
    exact = findings.memory_note({"gru": found["gru"]})
    assert exact == "The bytes kept are those of the formula for GRU."


def test_what_is_missing_is_named() -> None:
    assert findings.missing([p for p in PARTS if p != "lstm"]) == "LSTM is"
    assert findings.missing(["attention", "fused", "feedforward", "rnn"]) == "GRU and LSTM are"


def test_sizes_by_hand_are_those_of_the_model() -> None:
    assert configured(Cost(d=128, layers=2)).model.width == 128  # type: ignore[union-attr]
    assert configured(Cost(who="negation-bag_of_words", d=12)).model_name == "bag_of_words"
    with pytest.raises(InvalidSetting):
        configured(Cost(d=63))  # four heads do not share it
    assert Cost(d=128, layers=2).of("text-gru") == Cost(who="text-gru")
