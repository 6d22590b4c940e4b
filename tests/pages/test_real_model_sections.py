"""Sections about real models on the pages; tiny random ones stand for them here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from explorer.hub import memory
from tests import needs
from tests.pages.screen import (
    component_data,
    headings,
    page,
    page_text,
    plot_frame_figures,
    table,
    wait_until_ready,
    warnings_of,
)
from tests.words import assert_mentions

pytestmark = needs.transformers
ALL_KINDS = ("block.py", "cost.py", "tokens.py")  # these pages show every kind of model


@pytest.fixture(autouse=True)
def forget_models(home: Path) -> Iterator[None]:
    yield
    memory.reset()


def open_tiny(name: str, folder: Path) -> str:
    from tests.hub import tiny_tokenizers

    return tiny_tokenizers.open_tiny(name, folder)


@pytest.mark.parametrize("file", [*ALL_KINDS, "translation.py"])
def test_without_an_open_model_a_page_has_no_section_about_one(file: str) -> None:
    assert not any("real" in heading for heading in headings(page(file)))


@pytest.mark.parametrize("file", ALL_KINDS)
def test_a_model_that_is_not_open_is_explained_in_the_section(file: str) -> None:
    assert_mentions(" ".join(warnings_of(page(file, {"real": "hub:gpt2"}))), "“gpt2” is not open on this machine")


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5"])
def test_the_blocks_of_a_real_model_are_drawn_with_their_sizes(name: str, tmp_path: Path) -> None:
    open_tiny(name, tmp_path)
    at = wait_until_ready(page("block.py"))
    assert warnings_of(at) == []
    figures = plot_frame_figures(at, "block-real-figure")
    texts = " ".join(label["text"] for label in figures[0]["plot"]["layout"]["annotations"])
    assert_mentions(texts, "4 heads of 8"), assert_mentions(texts, "3 such blocks")
    assert [figure["title"] for figure in figures] == (
        ["tiny-t5: encoder", "tiny-t5: decoder"] if name == "t5" else [f"tiny-{name}", "Trained here"]
    )
    assert_mentions(
        " ".join(headings(at)),
        f"tiny-{name} has 3 + 2 blocks of width 32" if name == "t5" else f"tiny-{name} has 3 blocks of width 32",
    )
    assert_mentions(page_text(at), "differs in its design")


def test_the_costs_of_a_real_model_are_those_of_its_structure(tmp_path: Path) -> None:
    from explorer.inspection.transformer.structure import model_structure
    from explorer.ui.training.pretrained_models import find_pretrained

    name = open_tiny("llama", tmp_path)
    at = wait_until_ready(page("cost.py", {"real": name}))
    structure = model_structure(find_pretrained(name).model())
    assert_mentions(" ".join(headings(at)), f"tiny-llama has {structure.total:,} parameters")
    rows = table(at, "cost-real-table")
    assert [row["tokens"]["text"] for row in rows] == ["40 tokens"], "the model reads no more"
    assert rows[0]["real"]["text"] == f"{structure.multiplications(40) / 1e3:,.0f} thousand"
    assert rows[0]["real_kept"]["text"] == f"{3 * 2 * 2 * 8 * 40 * 4 / 1e3:,.0f} kB"
    assert_mentions(page_text(at), "4 heads of queries share 2 heads of keys and values")


def test_a_typed_text_is_shown_in_the_tokens_of_a_real_model_and_of_ours(tmp_path: Path) -> None:
    from explorer.ui.training.pretrained_models import find_pretrained

    name = open_tiny("bert", tmp_path)
    at = wait_until_ready(page("tokens.py", {"corpus": "repeats", "say": "cab 7", "tokenizer": "char", "real": name}))
    assert warnings_of(at) == []
    (data,) = component_data(at, "token_ids")
    real, own = data["rows"]
    ids = find_pretrained(name).tokenizer.encode("cab 7").tolist()
    assert [token["id"] for token in real["tokens"]] == ids
    assert [token["text"] for token in real["tokens"]] == ["c", "##a", "##b", "[UNK]"]
    assert [token["unknown"] for token in real["tokens"]] == [False, False, False, True]
    assert_mentions(real["note"], "4 tokens · 67 in the vocabulary · unknown: “7” · round trip: changed")
    assert own["title"] == "Characters, trained here" and [token["text"] for token in own["tokens"]] == ["a", "b", " "]
    assert_mentions(own["note"], "unknown: “c”, “7” · round trip: changed")
    assert_mentions(" ".join(headings(at)), "tiny-bert reads this text as 4 tokens of 1.25 characters")


def test_a_word_is_compared_in_the_sentences_of_a_visitor(tmp_path: Path) -> None:
    from explorer.inspection.pretrained.word_similarity import word_similarity
    from explorer.ui.training.pretrained_models import find_pretrained

    name = open_tiny("bert", tmp_path)
    sentences = ("a cat sat", "the cat is", "no cat")
    address = {"unfold": "real-senses", "real": name, "read": "/".join(sentences), "about": "cat", "against": "2"}
    at = wait_until_ready(page("sentence_encoder.py", address))
    real, random = plot_frame_figures(at, "real-word")
    assert (real["title"], random["title"]) == ("tiny-bert", "Random weights, same sizes")
    assert [trace["name"] for trace in real["plot"]["data"]] == ["sentence 1", "sentence 3"]
    model = find_pretrained(name)
    cosines = word_similarity(model.model(), model.tokenizer, sentences, "cat")
    assert real["plot"]["data"][1]["y"] == pytest.approx(cosines[:, 1, 2].tolist(), abs=1e-4)
    assert any(heading.startswith("“cat” in sentence 2 is most similar to") for heading in headings(at))


@pytest.mark.parametrize("name", ["marian", "t5"])
def test_a_real_model_translates_with_its_alignment(name: str, tmp_path: Path) -> None:
    from explorer.inspection.pretrained.translation import translate_and_align
    from explorer.ui.training.pretrained_models import find_pretrained

    model = open_tiny(name, tmp_path)
    open_tiny("gpt2", tmp_path)
    at = wait_until_ready(page("translation.py", {"real": model, "read": "a cat sat", "depth": "2"}))
    mean, best = plot_frame_figures(at, "translation-real-figure")
    found = translate_and_align(find_pretrained(model), "a cat sat")
    assert mean["title"] == "Mean of all heads, layer 2" and best["title"].startswith("Best head: layer 2, head ")
    drawn = np.array(mean["plot"]["data"][0]["z"])
    np.testing.assert_allclose(drawn, found.mean_weights(1)[: len(drawn)], atol=1e-4)
    assert any(heading.startswith(f"tiny-{name} ") and "“a cat sat”" in heading for heading in headings(at))
