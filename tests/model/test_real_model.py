"""How real models are found, and how they read and translate texts; tiny random ones stand for them here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.errors import InvalidSetting
from explorer.hub import memory
from explorer.inspection.attention.attend import attend
from explorer.model.real_model import RealModel
from explorer.ui.training import stored_models
from explorer.ui.training.stored_models import find_real_model
from tests import needs

pytestmark = needs.transformers
LONG = "abcdefgh" * 10


@pytest.fixture(autouse=True)
def tiny(home: Path, tmp_path: Path) -> Iterator[None]:
    """Open a decoder, an encoder and an encoder-decoder."""
    from tests.hub.tiny_tokenizers import open_tiny

    for name in ("gpt2", "bert", "t5"):
        open_tiny(name, tmp_path)
    yield
    memory.reset()


def test_a_model_is_found_with_what_its_card_says() -> None:
    model = stored_models.find_model("hub:tiny-gpt2")
    assert isinstance(model, RealModel)
    assert model.summary.startswith("tiny-gpt2: a real decoder, not trained here · 0.0 million parameters · 32-bit")
    assert "licence not stated · from a local folder" in model.summary
    assert (model.unit, model.colour, model.steps, model.seeds) == ("token", "--m-pretrained", (), (0,))
    assert model.layout == model.module().part().layout
    assert model.vocabulary_size == len(model.tokenizer.tokens)


def test_a_model_that_is_not_open_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidSetting, match=r"“gpt2” is not open .* opens it with “lineage open gpt2”"):
        stored_models.find_model("hub:gpt2")
    with pytest.raises(InvalidSetting, match="is not open on this machine"):
        stored_models.find_model("hub:../../etc/passwd")
    monkeypatch.setattr(stored_models, "is_installed", lambda: False)
    with pytest.raises(InvalidSetting, match=r"pip install -r requirements-models\.txt"):
        stored_models.find_model("hub:gpt2")


def test_a_decoder_keeps_the_end_of_a_long_text() -> None:
    model = find_real_model("hub:tiny-gpt2")
    whole = model.tokenize("the cat")
    assert "".join(whole.tokens).strip() == "the cat" and whole.truncated_at == ""
    read = model.tokenize(LONG)
    assert len(read.ids) == model.context_length == 40
    assert (read.truncated_at, "".join(read.tokens)) == ("start", LONG[-40:])
    assert (read.truncated + "".join(read.tokens)).strip() == LONG
    assert "".join(model.tokenize(LONG, 5).tokens) == LONG[-5:]
    assert model.tokenize("").empty and len(model.tokenize("").ids)


def test_an_encoder_keeps_the_beginning_and_the_tokens_around_it() -> None:
    model = find_real_model("hub:tiny-bert")
    read = model.tokenize(LONG, 8)
    assert (read.tokens[0], read.tokens[-1], len(read.ids)) == ("[CLS]", "[SEP]", 8)
    assert read.truncated_at == "end" and "".join(read.tokens[1:-1]) == LONG[:6]
    assert model.tokenize("ab ☃").unknown == ("☃",)
    assert model.default_query(model.tokenize("a [MASK] b").tokens) == 2
    assert model.default_query(model.tokenize("a b").tokens) == 1


def test_every_kind_has_the_attention_that_it_says() -> None:
    decoder, model = find_real_model("hub:tiny-gpt2"), find_real_model("hub:tiny-t5")
    text = decoder.tokenize("a cat")
    found = decoder.attention(text)
    assert (found.ids, found.queries, found.keys) == (text.ids, text.tokens, text.tokens)
    assert found.model.layout == decoder.layout
    text = model.tokenize("a cat")
    target = model.translate(text.ids)[:-1]
    assert model.attention(text).ids == target != text.ids
    names = tuple(model.token_texts(target))
    expected = {
        "encoder": (text.ids, text.tokens, text.tokens),
        "decoder": (target, names, names),
        "cross": (target, names, text.tokens),
    }
    assert set(expected) == set(model.parts)
    for part, about in expected.items():
        found = model.attention(text, part)  # type: ignore[arg-type]
        assert (found.ids, found.queries, found.keys) == about
        assert attend(found.model, text.ids).weights.shape[-2:] == (len(found.queries), len(found.keys))


def test_a_language_model_reads_the_end_of_a_text_and_generates() -> None:
    model = find_real_model("hub:tiny-gpt2")
    texts = (("A cat", None), ("a cat", 3), ("x" * 60, 99), ("", None))
    whole, end, long, empty = (model.tokenize(text, most) for text, most in texts)
    assert (whole.ids, whole.unknown, whole.lowercased) == ((3, 2, 3, 6, 4, 23), ("A",), True)
    assert (end.tokens, end.truncated, end.truncated_at, end.lowercased) == (("c", "a", "t"), "a ", "start", False)
    assert (long.tokens, long.truncated) == (("x",) * 40, "x" * 20)
    assert (empty.ids, empty.tokens, empty.empty, whole.empty) == ((3, 2), (" ", "<unk>"), True, False)
    assert model.token_texts([4, 2, 1], [3]) == ["a", "<unk>", "</s>"]
    assert (model.parts, model.steps, model.prompt_start, model.default_query(["a", "b"])) == ((), (), (), 1)
    assert [model.count_truncated(tokens) for tokens in (39, 40, 41)] == [0, 0, 20]
    assert model.attention(whole, "cross").ids == whole.ids and model.check_step(None) is None
    with pytest.raises(InvalidSetting, match=r"No weights of step 5 of tiny-gpt2 are on this machine\. Leave the step"):
        model.check_step(5)
    generator = model.text_generator()
    assert (generator.context, generator.start, generator.model) == (40, (), model.module())


def test_an_encoder_reads_the_beginning_and_an_encoder_decoder_translates_first() -> None:
    model = find_real_model("hub:tiny-bert")
    whole, begin = (model.tokenize("a cat", most) for most in (None, 4))
    assert (whole.ids, whole.tokens) == ((2, 5, 7, 31, 50, 3), ("[CLS]", "a", " c", "a", "t", "[SEP]"))
    assert (begin.ids, begin.truncated, begin.truncated_at) == ((2, 5, 7, 3), "##at", "end")
    assert model.tokenize("", 1).ids == (2, 3) and model.tokenize("a cat", 1).ids == (2, 5, 3)
    queries = (["a", "b", "[MASK]"], ["<mask>", "b"], ["a", "b", "c"], ["a"])
    assert [model.default_query(tokens) for tokens in queries] == [2, 0, 1, 0]
    both = find_real_model("hub:tiny-t5")
    ids = both.tokenize("a cat").ids
    target = both.translate(ids)
    assert ids == (3, 4, 3, 6, 4, 23, 1) and target[0] == 0 and len(target) <= 65
    assert both.parts == ("encoder", "decoder", "cross")
    for each, what in ((model, "an encoder"), (both, "an encoder-decoder")):
        with pytest.raises(InvalidSetting, match=f"is {what}, it does not continue texts"):
            each.text_generator()
