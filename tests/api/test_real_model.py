"""Real models in the Python API: tiny random ones of three kinds, and SmolLM2 where its package is installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer.errors import InvalidSetting
from explorer.hub import memory
from explorer.inspection.attention.attend import attend
from explorer.inspection.attention.head_ablation import Ablation
from explorer.models.taps import record
from tests import needs

pytestmark = needs.transformers


@pytest.fixture(autouse=True)
def no_loaded_models() -> Iterator[None]:
    yield
    memory.reset()


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], explorer.RealModel]:
    """A function that opens a random model of a family and loads it."""
    from tests.hub.tiny_tokenizers import open_tiny

    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "home"))
    return lambda family: explorer.load(open_tiny(family, tmp_path))


def test_an_opened_model_and_one_in_a_folder_have_the_facts_of_the_card(
    model: Callable[[str], explorer.RealModel], tmp_path: Path
) -> None:
    found = model("gpt2")
    assert (found.name, found.kind, found.layers, found.heads) == ("tiny-gpt2", "decoder", 3, 4)
    assert found.parameters == sum(weight.numel() for weight in found.model().model.parameters())  # type: ignore[union-attr,operator]
    assert (found.precision, found.licence, found.revision, found.steps) == ("32-bit weights", "", "", [])
    assert "not trained here" in repr(found) and "<th" in found._repr_html_()
    assert found.url("http://x") == "http://x/attention?run=hub:tiny-gpt2"
    same = explorer.load(f"hub:{tmp_path / 'tiny-gpt2'}")
    assert same.card.model_dump(exclude={"opened"}) == found.card.model_dump(exclude={"opened"})
    assert same.model() is found.model()
    assert not hasattr(found, "curves") and not hasattr(found, "resume")


def test_attention_of_a_decoder_is_that_of_its_forward_pass(model: Callable[[str], explorer.RealModel]) -> None:
    found = model("llama")
    attention = found.attention("a cat")
    module: Any = found.model()
    ids = [3, *(4 + ord(letter) - ord("a") for letter in "a"), 3, *(4 + ord(letter) - ord("a") for letter in "cat")]
    with torch.inference_mode(), record(module) as trace:
        logits = module(torch.tensor([ids]))[0]
    expected = np.stack([trace[f"blocks.{layer}.attention.weights"][0] for layer in range(3)])
    expected[..., *np.triu_indices(len(ids), 1)] = np.nan
    np.testing.assert_allclose(attention.weights, expected, atol=1e-6)
    assert "".join(attention.tokens) == " a cat" and attention.tokens == attention.keys
    assert len(attention.table()) == 3 * 4 * 6 * 7 // 2
    assert repr(attention) == "Attention(tiny-llama, 3 layers × 4 heads, 6 queries × 6 keys)"
    np.testing.assert_allclose(np.array(attention.plot(1, 2).data[0].z, float), attention.weights[1, 2], atol=1e-4)
    data: Any = attention.show(2, 1).data
    assert data["causal"] and data["can"] == {"mask": True, "positions": False} and data["snapshots"] is None
    best = logits[-1].softmax(-1).max().item()
    assert data["answers"]["rows"][0]["now"] == pytest.approx(best, abs=1e-6)
    assert data["answers"]["where"] == "after “ a cat”"
    json.dumps(dict(data), allow_nan=False)


def test_an_encoder_predicts_at_its_mask(model: Callable[[str], explorer.RealModel]) -> None:
    found = model("bert")
    attention = found.attention("cat [MASK]")
    assert attention.tokens[0] == "[CLS]" and attention.tokens[-2:] == ("[MASK]", "[SEP]")
    data: Any = attention.show().data
    assert data["asked"] == attention.tokens.index("[MASK]") and data["answers"]["where"] == "in place of “[MASK]”"
    table = found.predict("cat [MASK]")
    assert table.columns.tolist() == ["position", "token", "probability"]
    assert table.probability.sum() == pytest.approx(1, abs=1e-5) and set(table.position) == {data["asked"]}
    assert table.probability[0] == pytest.approx(data["answers"]["rows"][0]["now"], abs=1e-5)
    with pytest.raises(InvalidSetting, match=r"Write \[MASK\]"):
        found.predict("cat")
    for call in (found.generate, found.temperature, found.surprisal):
        with pytest.raises(InvalidSetting, match="does not continue texts"):
            call("a cat")  # type: ignore[operator]
    vectors = model("bert-vectors")
    assert vectors.attention("cat").show().data["answers"] is None
    with pytest.raises(InvalidSetting, match="predicts nothing"):
        vectors.predict("cat [MASK]")


def test_an_encoder_decoder_has_three_kinds_of_attention(model: Callable[[str], explorer.RealModel]) -> None:
    found = model("t5")
    assert found.parts == ("encoder", "decoder", "cross")
    cross, encoder, decoder = (found.attention("a cat", part=part) for part in ("cross", "encoder", "decoder"))
    np.testing.assert_array_equal(found.attention("a cat").weights, cross.weights)
    assert encoder.tokens == encoder.keys == cross.keys and decoder.tokens == decoder.keys == cross.tokens
    assert cross.weights.shape[0] == decoder.weights.shape[0] == 2 and encoder.weights.shape[0] == 3
    for each in (cross, encoder, decoder):
        assert each.weights.shape[2:] == (len(each.tokens), len(each.keys))
        np.testing.assert_allclose(np.nansum(each.weights, axis=-1), 1, atol=1e-5)
        data: Any = each.show().data
        assert data.get("keys") == (list(cross.keys) if each is cross else None)
        assert data["causal"] == (each is decoder) and (data["answers"] is None) == (each is encoder)
    table = found.predict("a cat")
    trace = found.trace("a cat")
    assert trace["decoder.0.cross.weights"].shape == (4, len(cross.tokens), len(cross.keys))
    assert table.columns.tolist() == ["output", "probability"] and 0 < table.probability[0] <= 1
    with pytest.raises(InvalidSetting, match="Give one of encoder, decoder, cross"):
        found.attention("a cat", part="both")  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="It has one kind only"):
        model("gpt2").attention("a cat", part="cross")


def test_a_decoder_predicts_generates_and_has_surprisals(model: Callable[[str], explorer.RealModel]) -> None:
    found = model("gpt_neox")
    table = found.predict("a cat")
    assert table.probability.sum() == pytest.approx(1, abs=1e-5) and len(table) == 67
    text = found.generate("a cat", tokens=5, temperature=0)
    assert text.startswith("a cat") and text == found.generate("a cat", tokens=5, top_k=1)
    several = found.predict(["a", "a cat"])
    assert several.columns.tolist() == ["text", "token", "probability"]
    np.testing.assert_allclose(several[several.text == "a cat"].probability, table.probability, atol=1e-6)
    surprisals = found.surprisal("a cat sat")
    assert surprisals.token.tolist() == ["a", " ", "c", "a", "t", " ", "s", "a", "t"]
    with torch.inference_mode():
        logits = found.model()(torch.tensor([found._model.tokenize("a cat sat").ids]))[0].log_softmax(-1)
    ids = found._model.tokenize("a cat sat").ids
    expected = [-float(logits[i, id]) for i, id in enumerate(ids[1:])]
    np.testing.assert_allclose(surprisals.surprisal, expected, rtol=1e-4)
    shown: Any = found.temperature("a cat", tokens=6)
    (row,) = shown.data["models"]
    assert row["prompt"].strip() == "a cat" and row["title"] == "tiny-gpt_neox"
    assert shown._on_event("position", {"of": 0, "at": 2})["position"]["at"] == 2


def test_values_of_the_forward_pass_are_replaced_and_heads_switched_off(
    model: Callable[[str], explorer.RealModel],
) -> None:
    found = model("gpt2")
    before = found.trace("a cat")
    same = found.trace("a cat", replace={"embedded": before["embedded"]})
    np.testing.assert_allclose(same.logits, before.logits, atol=1e-6)
    off = found.trace("a cat", replace={"blocks.1.attention.mixed": lambda value: 0 * value})
    assert not off["blocks.1.attention.mixed"].any() and not np.allclose(off.logits, before.logits)
    assert before["blocks.0.attention.mask"].shape == (6, 6)
    with pytest.raises(InvalidSetting, match=r"Nearest: blocks\.0"):
        found.trace("a cat", replace={"block.0.attention.mixed": lambda value: value})
    touch = {"off": [[0, 0], [1, 3]], "flat": [], "unmasked": True, "unplaced": False}
    shown = found.attention("a cat").show()
    data: Any = shown._on_event("touch", touch)
    ablation = Ablation(frozenset({(0, 0), (1, 3)}), no_causal_mask=True)
    expected = np.exp(attend(found.model(), data["ids"], ablation).log_probabilities[-1])
    assert max(row["now"] for row in data["answers"]["rows"]) == pytest.approx(expected.max(), abs=1e-6)
    assert data["answers"]["changed"] and not data["causal"]
    with pytest.raises(InvalidSetting, match="There is no head 4"):
        shown._on_event("touch", touch | {"off": [[0, 4]]})


REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda m: m.attention(1), "not a value of the type int"),
    (lambda m: m.attention("a", step=4), "Leave the step out"),
    (lambda m: m.attention("a").plot(3), "There is no layer 3"),
    (lambda m: m.attention("a").show(0, 4), "There is no head 4"),
    (lambda m: m.predict([]), "no text to predict"),
    (lambda m: m.generate("a", tokens=0), "from 1 to"),
    (lambda m: m.generate("a", temperature=-1), "temperature"),
    (lambda m: m.temperature("a", temperature=3), "from 0 to 2"),
    (lambda m: m.surprisal(""), "fewer than two tokens"),
    (lambda m: explorer.load("hub:nothing"), "lineage open"),
    (lambda m: explorer.load("hub:"), "lineage open"),
    (lambda m: explorer.load("hub:/no/such/folder"), "There is no folder"),
    (lambda m: explorer.load("hub:~nobody-has-this-name/x"), "There is no folder"),
]


def test_what_is_not_possible_is_said_in_a_sentence(model: Callable[[str], explorer.RealModel]) -> None:
    found = model("gpt2")
    for call, sentence in REFUSED:
        with pytest.raises(InvalidSetting, match=sentence):
            call(found)


def test_a_step_of_the_training_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer.hub import opened
    from explorer.hub.checkpoints import FINAL_STEP
    from tests.hub.fake_cache import STEPS, write_pythia_cache

    write_pythia_cache(tmp_path / "hf", monkeypatch)
    opened.open_model("pythia-70m")
    found = explorer.load("hub:pythia-70m")
    assert found.steps == [*STEPS, FINAL_STEP]
    early, last = found.attention("a cat", step=1), found.attention("a cat")
    assert (early.step, last.step) == (1, FINAL_STEP) and "step 143,000" in repr(last)
    assert not np.allclose(np.nan_to_num(early.weights), np.nan_to_num(last.weights))
    data: Any = last.show().data
    assert data["snapshots"]["steps"] == found.steps and data["step"] == FINAL_STEP
    changed: Any = last.show()._on_event("step", 512)
    assert changed["step"] == 512 and changed["address"] != data["address"]
    assert found.predict("a", step=0).probability[0] != found.predict("a").probability[0]
    with pytest.raises(InvalidSetting, match="No weights of step 3"):
        found.trace("a", step=3)
