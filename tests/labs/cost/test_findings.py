from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.transformer.cost_formulas import PARTS, MeasuredCosts
from explorer.labs.cost import findings
from explorer.labs.cost.findings import SweepResult
from explorer.labs.cost.measurements import read_reference
from explorer.labs.cost.parameter_count import sized_config
from explorer.labs.cost.state import HEADS, LENGTHS, SWEEPS, WIDTHS, CostState, Sweep
from explorer.labs.cost.sweeps import sweep_result
from tests.words import assert_mentions, assert_states


def results_of_all_parts(sweep: Sweep, seconds: dict[str, float], power: float = 1.0) -> dict[str, SweepResult]:
    """Return results in which each part takes its seconds at size 1 and grows with a power of the size."""
    state, x = CostState(), np.array(SWEEPS[sweep], dtype=float)
    found = {}
    for part in PARTS:
        line = seconds.get(part, 1e-6) * x**power
        found[part] = sweep_result(part, sweep, state.sizes(sweep, part), MeasuredCosts(line, 2 * line, x))
    return found


def test_the_length_from_which_attention_costs_more_is_reported() -> None:
    found = results_of_all_parts("length", {"feedforward": 1e-4})
    x = np.array(SWEEPS["length"], dtype=float)
    for part, at in (("attention", 256.0), ("fused", 1024.0)):
        line = 1e-4 * x**2 / at
        found[part] = sweep_result(part, "length", CostState().sizes("length", part), MeasuredCosts(line, line, x))
    sentence = findings.length_finding(found, CostState(way="forward"))
    assert_states(sentence, "Attention … longer … from about 256 tokens on; at 2,048 tokens 8.0 times as long")
    assert len(sentence.split()) <= 22
    note = findings.fused_note(found, CostState(way="forward"))
    assert_states(
        note, "multiplications … from 128 tokens … Fused … from about 1,024 tokens on, at 2,048 tokens 2.0 times"
    )


def test_parts_that_never_cross_are_reported() -> None:
    cheap = findings.length_finding(results_of_all_parts("length", {"feedforward": 1e-3}), CostState(width=32))
    assert_mentions(cheap, "Attention … longer … feedforward … no length")
    found = results_of_all_parts("length", {"feedforward": 1e-9})
    dear = findings.length_finding(found, CostState())
    assert_mentions(dear, "longer … feedforward … every length … 2,048 tokens 1,000 times as long")
    assert "from 64 tokens on" in findings.fused_note(found, CostState(width=32))


def test_exponents_of_width_are_reported() -> None:
    flat, steep = (
        findings.width_finding(results_of_all_parts("width", {}, power), CostState()) for power in (1.0, 2.0)
    )
    assert "power of 1.0" in flat and "for all of them less than predicted" in flat
    assert "nowhere less than predicted" in steep


def test_the_cost_of_layers_is_reported() -> None:
    assert_states(
        findings.layers_finding(results_of_all_parts("layers", {}, 1.0), CostState()),
        "Eight times … layers … 8.0 to 8.0 times … long … 8.0 times … memory",
    )


def test_sizes_where_formulas_fail_are_named() -> None:
    assert findings.sweep_note(results_of_all_parts("layers", {}, 1.0), CostState(), "layers").startswith(
        "At the smallest size no part takes longer"
    )
    sentence = findings.sweep_note(results_of_all_parts("width", {}, 0.5), CostState(), "width")
    assert sentence.startswith("At width 16 the formula is least accurate for")


def test_the_cost_of_a_recurrent_step_is_reported() -> None:
    sentence = findings.sweep_note(
        results_of_all_parts("length", {"gru": 3e-5, "feedforward": 1e-6}, 1.0), CostState(way="forward"), "length"
    )
    assert_mentions(sentence, "30.0 microseconds … 128 … 30.0 … 2,048")
    assert "The formula predicts 0.8 times" in sentence and "measured is 30 times, because it makes many" in sentence
    other = findings.sweep_note(
        results_of_all_parts("length", {"gru": 1e-7, "feedforward": 1e-6}, 1.5), CostState(), "length"
    )
    assert "a step of the longer sequence costs more" in other and "because" not in other


def test_a_fast_lstm_is_explained_by_kernels() -> None:
    found = results_of_all_parts("length", {"gru": 20e-6, "lstm": 1e-6})
    sentence = findings.kernel_note(found, CostState())
    assert_states(sentence, "GRU … 20 times … LSTM … 2,048 tokens … less … library … not the cell … one call … many")
    slow = results_of_all_parts("length", {"gru": 6e-6, "lstm": 8e-6})
    assert findings.kernel_note(slow, CostState()) == "" and "\n\n\n" not in findings.sweep_note(
        slow, CostState(), "length"
    )


def test_layer_names_are_described() -> None:
    assert findings.layer_name("blocks[0–3].attention.project") == "queries, keys and values"
    assert findings.layer_name("decoder[0–1].cross.key") == "decoder: cross-attention, keys"
    assert findings.layer_name("encoder.recurrent") == "encoder: recurrent weights"
    assert findings.layer_name("embedding") == "token embeddings"
    assert findings.layer_name("summary.squeeze") == "summary.squeeze"


def test_the_largest_parts_are_named() -> None:
    assert_states(
        findings.parameters_finding("RNN", [("a", 60), ("b", 40)], 100),
        "RNN: 100 parameters … largest … “a” … 60 … 60\u00a0%",
    )
    assert_mentions(
        findings.parameters_finding("RNN", [("a", 40), ("b", 40), ("c", 20)], 100),
        "largest … “a” … “b”, each … 40 … 40\u00a0%",
    )


def test_memory_is_compared_with_the_formula() -> None:
    found = results_of_all_parts("length", {})
    for part, each in list(found.items()):
        wrong = 2.5 if part == "lstm" else 1.0
        costs = MeasuredCosts(each.forward, each.forward_backward, wrong * each.bytes_by_formula)
        found[part] = sweep_result(part, "length", CostState().sizes("length", part), costs)
    sentence = findings.memory_note(found)
    assert_mentions(sentence, "bytes … formula … attention, fused attention, feedforward, RNN and GRU")
    assert "LSTM stores up to 2.5 times as many." in sentence
    exact = findings.memory_note({"gru": found["gru"]})
    assert exact == "The stored bytes are exactly those of the formula for GRU."


def test_the_source_of_each_measurement_is_named() -> None:
    assert findings.source_caption({"rnn": "this server", "gru": "this server"}) == "Measured on this server."
    assert findings.source_caption({"rnn": "this server", "gru": "that one", "lstm": "that one"}) == (
        "Measured: RNN on this server; GRU and LSTM on that one."
    )


def test_the_reference_has_every_size_that_the_page_offers() -> None:
    costs = read_reference().costs
    for width, length, heads, sweep, part in product(WIDTHS, LENGTHS, HEADS, SWEEPS, PARTS):
        sizes = CostState(width=width, length=length, heads=heads).sizes(sweep, part)
        assert all((part, size) in costs for size in sizes), "run python -m explorer.labs.cost.measurements"


def test_selected_sizes_are_those_of_the_model() -> None:
    assert sized_config(CostState(d=128, layers=2)).model.width == 128  # type: ignore[union-attr]
    assert sized_config(CostState(who="negation-bag_of_words", d=12)).model_name == "bag_of_words"
    with pytest.raises(InvalidSetting):
        sized_config(CostState(d=63))  # four heads do not share it
    assert CostState(d=128, layers=2).with_model("text-gru") == CostState(who="text-gru")
