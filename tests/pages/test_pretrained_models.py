"""Real models on the pages; tiny random ones, and short texts, stand for them here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from safetensors.numpy import load

from explorer.hub import memory, opened
from explorer.inspection.attention.attend import attend, pack_weights
from explorer.inspection.pretrained import opened_model
from explorer.inspection.pretrained.answer_depth import AnswersByDepth
from explorer.inspection.pretrained.texts import PROMPTS
from explorer.inspection.pretrained.word_similarity import word_similarity
from explorer.inspection.transformer.structure import model_structure
from explorer.labs.depth.answer_depth import answers_view
from explorer.ui.document import Document
from explorer.ui.training.stored_models import find_real_model
from explorer.web import results
from tests import needs
from tests.inspection.attention.small import unpack_weights
from tests.pages import screen
from tests.words import assert_mentions

OpenTiny = Callable[[str], str]
FOLDS = "layers,importance"


@pytest.fixture
def open_tiny(home: Path, tmp_path: Path) -> Iterator[OpenTiny]:
    """Open a tiny random model of an architecture; answers with its name in an address."""
    from tests.hub import tiny_tokenizers

    yield lambda name: tiny_tokenizers.open_tiny(name, tmp_path)
    memory.reset()


def sent_weights(address: str) -> np.ndarray:
    packed = results.find(address.rpartition("/")[2])
    assert isinstance(packed, results.Arrays)
    return load(packed.content)["weights"]


@needs.transformers
def test_the_attention_of_a_real_decoder_is_shown_with_its_card_and_without_heads(open_tiny: OpenTiny) -> None:
    address = {"model": open_tiny("gpt2"), "say": "the cat sat", "unfold": FOLDS}
    at = screen.open_page("attention.py", address)
    assert screen.warnings_of(at) == []
    assert "a real decoder, not trained here" in screen.page_text(at) and "licence not stated" in screen.page_text(at)
    (data,) = screen.component_data(at, "attention_heads")
    assert (data["layers"], data["heads"], data["causal"]) == (3, 4, True)
    assert data["can"] == {"mask": True, "positions": False} and data["snapshots"] is None
    model = find_real_model(address["model"])
    ids = model.tokenize("the cat sat").ids
    shown = unpack_weights(sent_weights(data["address"]), len(ids), causal=True)
    np.testing.assert_allclose(shown, attend(model.module(), ids).weights, atol=1e-4)
    assert data["answers"]["where"] == "after “ the cat sat”" and len(data["answers"]["rows"]) == 5
    assert any("the loss" in heading for heading in screen.headings(at)), "the importance of heads on this text"
    links = [dict(parse_qsl(one.proto.query_string)) for one in at.get("page_link")]
    (address,) = [one for one in links if one.get("source") == "model"]
    assert screen.component_data(screen.open_page("scaled_attention.py", address), "dot_product")[0]["model"]

    at = screen.open_page("attention.py", {**address, "off": "0.0,1.1", "unmasked": "true", "unfold": ""})
    assert_mentions(" ".join(screen.headings(at)), "With two heads switched off and the causal mask removed the model")
    rows = screen.component_data(at, "attention_heads")[0]["answers"]["rows"]
    assert any(row["now"] != row["before"] for row in rows)


@needs.transformers
def test_a_masked_language_model_predicts_in_place_of_a_token(open_tiny: OpenTiny) -> None:
    at = screen.open_page("attention.py", {"model": open_tiny("bert"), "say": "a [MASK] cat"})
    (data,) = screen.component_data(at, "attention_heads")
    assert data["causal"] is False and data["tokens"][data["asked"]].strip() == "[MASK]"
    assert data["answers"]["where"] == "in place of “[MASK]”"
    assert_mentions(" ".join(screen.headings(at)), "The model predicts … in place of “[MASK]”")


@needs.transformers
def test_the_three_kinds_of_attention_of_an_encoder_decoder(open_tiny: OpenTiny) -> None:
    name = open_tiny("t5")
    source = list(find_real_model(name).tokenize("a cat").tokens)
    for part in ("", "encoder", "decoder"):
        at = screen.open_page("attention.py", {"model": name, "say": "a cat", "kind": part, "unfold": FOLDS})
        assert screen.warnings_of(at) == []
        (data,) = screen.component_data(at, "attention_heads")
        assert (data["tokens"] == source) == (part == "encoder")
        assert data.get("keys") == (None if part else source)
        assert (data["answers"] is None) == (part == "encoder")
        assert data["causal"] == (part == "decoder") and data["kind"] == (part or "cross")
        assert list(data["kinds"]) == ["encoder", "decoder", "cross"]


@needs.transformers
def test_an_own_and_a_real_model_read_the_same_sentence(open_tiny: OpenTiny) -> None:
    real = open_tiny("gpt2")
    params = {"model": "text-toy-transformer", "beside": real, "say": "abca", "sort": "first", "view": "matrix"}
    at = screen.open_page(
        "attention.py", {**params, "beside_layer": "2", "beside_head": "3", "beside_at": "1", "off": "0.0"}
    )
    first, second = screen.component_data(at, "attention_heads")
    assert screen.warnings_of(at) == []
    assert first["title"] != second["title"] == "tiny-gpt2" and first["colour"] != second["colour"]
    assert "".join(first["tokens"]) == "".join(second["tokens"]).strip() == "abca"
    assert (first["sort"], first["view"]) == (second["sort"], second["view"]) == ("first", "matrix")
    assert second["fixed"] and "fixed" not in first and second["answers"]["rows"]
    assert first["open"] != second["open"] and second["open"] == [2, 3] and second["asked"] == 1
    assert first["touch"]["off"] == [[0, 0]] and second["touch"]["off"] == []
    model = find_real_model(real)
    weights = attend(model.module(), model.tokenize("abca").ids).weights
    np.testing.assert_array_equal(sent_weights(second["address"]), pack_weights(weights, causal=True))
    sentences = [each.partition(":")[0] for each in screen.headings(at) if "the model predicts" in each.lower()]
    assert sentences[-1] == "tiny-gpt2" and "not trained here" in screen.page_text(at)


@needs.transformers
def test_the_slider_has_the_published_checkpoints_on_this_machine(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.hub.fake_cache import write_pythia_cache

    write_pythia_cache(tmp_path / "hf", monkeypatch)
    opened.open_model("pythia-70m")
    address = {"model": "hub:pythia-70m", "say": "a cat"}
    (last,) = screen.component_data(screen.open_page("attention.py", address), "attention_heads")
    assert last["snapshots"]["steps"] == [0, 1, 512, 1000, 143_000] and last["step"] == 143_000
    assert last["snapshots"]["curve"] == {"steps": [], "losses": []}
    section = results.find(last["snapshots"]["address"].rpartition("/")[2])
    assert isinstance(section, results.Section)
    futures = section.submit()
    for future in futures.values():
        future.result()
    model = find_real_model("hub:pythia-70m")
    text = model.tokenize("a cat")
    weights = sent_weights(str(section.draw(futures)["address"]))
    for row, step in zip(weights, model.steps, strict=True):
        part = model.attention(text, step=step).model
        np.testing.assert_array_equal(row, pack_weights(attend(part, text.ids).weights, causal=True))
    (data,) = screen.component_data(screen.open_page("attention.py", address | {"step": "512"}), "attention_heads")
    assert data["step"] == 512 and data["answers"] != last["answers"]
    at = screen.open_page("attention.py", address | {"step": "7"})
    assert any("no weights of step 7" in warning for warning in screen.warnings_of(at))
    memory.reset()


@needs.transformers
def test_a_real_model_generates_beside_one_that_was_trained_here(open_tiny: OpenTiny) -> None:
    name = open_tiny("gpt2")
    address = {"models": f"text-ngram,{name}", "prompt": "the", "tokens": "20", "unfold": "studio-tree,studio-writing"}
    at = screen.open_page("generation.py", address)
    assert screen.warnings_of(at) == []
    (data,) = screen.component_data(at, "temperature")
    assert [model["name"] for model in data["models"]] == ["text-ngram", name]
    real = data["models"][1]
    assert (real["prompt"].strip(), real["unit"], real["colour"]) == ("the", "token", "--m-pretrained")
    assert real["tokens"] == list(find_real_model(name).tokenizer.tokens)
    tree = screen.component_data(at, "token_tree")[0]
    assert tree["colour"] == "--m-pretrained" and len(tree["steps"]) == 8
    assert screen.component_data(at, "text_stream")[0]["models"][1]["title"] == "tiny-gpt2"


@needs.transformers
def test_a_real_model_that_is_not_open_is_explained() -> None:
    for file, parameter in (("attention", "model"), ("generation", "models"), ("block", "real"), ("tokens", "real")):
        at = screen.page(f"{file}.py", {parameter: "hub:gpt2"})
        assert_mentions(" ".join(screen.warnings_of(at)), "“gpt2” is not open on this machine")


@needs.transformers
@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_the_blocks_of_a_real_model_are_drawn_with_their_sizes(name: str, open_tiny: OpenTiny) -> None:
    open_tiny(name)
    at = screen.open_page("block.py")
    assert screen.warnings_of(at) == []
    figures = screen.plot_frame_figures(at, "block-real-figure")
    texts = " ".join(label["text"] for label in figures[0]["plot"]["layout"]["annotations"])
    assert_mentions(texts, "4 heads of 8"), assert_mentions(texts, "3 such blocks")
    parts = ["tiny-t5: encoder", "tiny-t5: decoder"] if name == "t5" else [f"tiny-{name}", "Trained here"]
    assert [figure["title"] for figure in figures] == parts
    size = "3 + 2" if name == "t5" else "3"
    assert_mentions(" ".join(screen.headings(at)), f"tiny-{name} has {size} blocks of width 32")
    assert_mentions(screen.page_text(at), "differs in its design")


@needs.transformers
def test_the_costs_of_a_real_model_are_those_of_its_structure(open_tiny: OpenTiny) -> None:
    name = open_tiny("llama")
    at = screen.open_page("cost.py", {"real": name})
    structure = model_structure(find_real_model(name).module())
    assert_mentions(" ".join(screen.headings(at)), f"tiny-llama has {structure.total:,} parameters")
    rows = screen.table(at, "cost-real-table")
    assert [row["tokens"]["text"] for row in rows] == ["40 tokens"], "the model reads no more"
    assert rows[0]["real"]["text"] == f"{structure.multiplications(40) / 1e3:,.0f} thousand"
    assert rows[0]["real_kept"]["text"] == f"{3 * 2 * 2 * 8 * 40 * 4 / 1e3:,.0f} kB"
    assert_mentions(screen.page_text(at), "4 heads of queries share 2 heads of keys and values")


@needs.transformers
def test_a_typed_text_is_shown_in_the_tokens_of_a_real_model_and_of_ours(open_tiny: OpenTiny) -> None:
    name = open_tiny("bert")
    at = screen.open_page("tokens.py", {"corpus": "repeats", "say": "cab 7", "tokenizer": "char", "real": name})
    assert screen.warnings_of(at) == []
    (data,) = screen.component_data(at, "token_ids")
    real, own = data["rows"]
    assert [token["id"] for token in real["tokens"]] == find_real_model(name).tokenizer.encode("cab 7").tolist()
    assert [token["text"] for token in real["tokens"]] == ["c", "##a", "##b", "[UNK]"]
    assert [token["unknown"] for token in real["tokens"]] == [False, False, False, True]
    assert_mentions(real["note"], "4 tokens · 67 in the vocabulary · unknown: “7” · round trip: changed")
    assert own["title"] == "Characters, trained here" and [token["text"] for token in own["tokens"]] == ["a", "b", " "]
    assert_mentions(own["note"], "unknown: “c”, “7” · round trip: changed")
    assert_mentions(" ".join(screen.headings(at)), "tiny-bert reads this text as 4 tokens of 1.25 characters")


@needs.transformers
def test_a_word_is_compared_in_the_sentences_of_a_visitor(open_tiny: OpenTiny) -> None:
    name, sentences = open_tiny("bert"), ("a cat sat", "the cat is", "no cat")
    address = {"unfold": "real-senses", "real": name, "read": "/".join(sentences), "about": "cat", "against": "2"}
    at = screen.open_page("sentence_encoder.py", address)
    real, random = screen.plot_frame_figures(at, "real-word")
    assert (real["title"], random["title"]) == ("tiny-bert", "Random weights, same sizes")
    assert [trace["name"] for trace in real["plot"]["data"]] == ["sentence 1", "sentence 3"]
    model = find_real_model(name)
    cosines = word_similarity(model.module(), model.tokenizer, sentences, "cat")
    assert real["plot"]["data"][1]["y"] == pytest.approx(cosines[:, 1, 2].tolist(), abs=1e-4)
    assert any(heading.startswith("“cat” in sentence 2 is most similar to") for heading in screen.headings(at))


@needs.transformers
def test_a_real_model_translates_with_its_alignment(open_tiny: OpenTiny) -> None:
    model, _ = open_tiny("marian"), open_tiny("gpt2")
    at = screen.open_page("translation.py", {"real": model, "read": "a cat sat", "depth": "2"})
    mean, best = screen.plot_frame_figures(at, "translation-real-figure")
    found = find_real_model(model).align_translation("a cat sat")
    assert mean["title"] == "Mean of all heads, layer 2" and best["title"].startswith("Best head: layer 2, head ")
    drawn = np.array(mean["plot"]["data"][0]["z"])
    np.testing.assert_allclose(drawn, found.mean_weights(1)[: len(drawn)], atol=1e-4)
    assert any(heading.startswith("tiny-marian ") and "“a cat sat”" in heading for heading in screen.headings(at))


@needs.transformers
def test_heads_of_a_real_model_are_scored_and_removed(open_tiny: OpenTiny) -> None:
    open_tiny("llama")
    at = screen.open_page("induction.py", {"unfold": "real-model", "real": "hub:gone"})
    assert_mentions(
        " ".join(screen.warnings_of(at)), "“hub:gone” is no real language model that is open on this machine"
    )
    assert any("attends to the token after the earlier occurrence with" in heading for heading in screen.headings(at))
    rows = screen.table(at, "real-induction-table")
    assert rows[0]["head"]["text"] == "no head" and rows[1]["head"]["text"] == "the best induction head"
    assert len(rows[0]["loss"]["values"]) == 16 and 1 <= len(rows[1]["control"]["values"]) <= 3
    assert "Without the previous-token head (layer " in screen.page_text(at)


@needs.transformers
def test_attention_to_the_first_token_is_shown(open_tiny: OpenTiny, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("abcdef", "ghijkl", "mnopqr", "stuvwx", "yzabcd", "efghij", "klmnop", "qrstuv")
    monkeypatch.setattr(opened_model, "SENTENCES", texts)
    open_tiny("gpt2")
    at = screen.open_page("scaled_attention.py", {"unfold": "first-token"})
    assert screen.warnings_of(at) == []
    assert any("12 heads give" in each or "of the 12 heads gives" in each for each in screen.headings(at))
    rows = screen.table(at, "first-token-table")
    assert len(rows) == 5 and rows[-1]["what"]["text"] == "a network with random weights"
    assert rows[-1]["heads"]["text"].startswith("0"), "its attention is nearly uniform"
    (heads,) = screen.plot_frame_figures(at, "first-token-heads")
    assert_mentions(heads["alt"], "4 heads in 3 layers: layer 1 0.")


def test_the_depth_of_answers_is_drawn_from_the_measurements() -> None:
    ranks = np.array([[900, 800, 700], [90, 200, 40], [1, 1, 1]])
    probabilities = np.array([[0.0, 0.0, 0.0], [0.01, 0.0, 0.02], [0.5, 0.7, 0.9]])
    document = Document()
    answers_view(document, AnswersByDepth(PROMPTS[:3], 40, 52, ranks, probabilities, ranks + 50.0))
    texts = [str(block.get("text", "")) for block in document.blocks]
    assert_mentions(texts[0], "most probable token from layer 2 of 2 on (median over 3 prompts). … in a single layer")
    assert_mentions(
        texts[1], "“The capital of France is” … “Paris” … 900 in the embedding and 1 after … its probability is 0.50"
    )
    (figures,) = [block["data"]["figures"] for block in document.blocks if block["kind"] == "component"]
    alternatives = [figure["alt"] for figure in figures]
    assert alternatives[0] == "Probability of the answer, by depth: answer from 0 to 0.7."
    assert alternatives[1].endswith("by depth: answer from 800 to 1; other answers from 850 to 51.")
