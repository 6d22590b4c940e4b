"""Real models have the same interface as runs; tiny random ones stand for them here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.errors import InvalidSetting
from explorer.hub import memory
from explorer.inspection.attention.attend import attend
from explorer.ui.training import pretrained_models, stored_models
from explorer.ui.training.pretrained_models import PretrainedModel, find_pretrained
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
    assert isinstance(model, PretrainedModel)
    assert model.summary.startswith("tiny-gpt2: a real decoder, not trained here · 0.0 million parameters · 32-bit")
    assert "licence not stated · from a local folder" in model.summary
    assert (model.unit, model.colour, model.snapshot_steps, model.seeds) == ("token", "--m-pretrained", (), (0,))
    assert model.attention == model.model().part().layout
    assert model.vocabulary_size == len(model.tokenizer.tokens)


def test_a_model_that_is_not_open_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidSetting, match=r"“gpt2” is not open .* opens it with “lineage open gpt2”"):
        stored_models.find_model("hub:gpt2")
    with pytest.raises(InvalidSetting, match="is not open on this machine"):
        stored_models.find_model("hub:../../etc/passwd")
    monkeypatch.setattr(pretrained_models, "is_installed", lambda: False)
    with pytest.raises(InvalidSetting, match=r"pip install -r requirements-models\.txt"):
        stored_models.find_model("hub:gpt2")


def test_a_decoder_keeps_the_end_of_a_long_text() -> None:
    model = find_pretrained("hub:tiny-gpt2")
    whole = model.tokenize("the cat")
    assert "".join(whole.tokens).strip() == "the cat" and whole.truncated_at == ""
    read = model.tokenize(LONG)
    assert len(read.ids) == model.context_length == 40
    assert (read.truncated_at, "".join(read.tokens)) == ("start", LONG[-40:])
    assert (read.truncated + "".join(read.tokens)).strip() == LONG
    assert "".join(model.tokenize(LONG, 5).tokens) == LONG[-5:]
    assert model.tokenize("").empty and len(model.tokenize("").ids)


def test_an_encoder_keeps_the_beginning_and_the_tokens_around_it() -> None:
    model = find_pretrained("hub:tiny-bert")
    read = model.tokenize(LONG, 8)
    assert (read.tokens[0], read.tokens[-1], len(read.ids)) == ("[CLS]", "[SEP]", 8)
    assert read.truncated_at == "end" and "".join(read.tokens[1:-1]) == LONG[:6]
    assert model.tokenize("ab ☃").unknown == ("☃",)
    assert model.default_query(model.tokenize("a [MASK] b").tokens) == 2
    assert model.default_query(model.tokenize("a b").tokens) == 1


def test_every_kind_has_the_attention_that_it_says() -> None:
    decoder, model = find_pretrained("hub:tiny-gpt2"), find_pretrained("hub:tiny-t5")
    ids = decoder.tokenize("a cat").ids
    part, queries = decoder.attention_part("", ids)
    assert queries == ids and part.layout == decoder.attention
    ids = model.tokenize("a cat").ids
    target = model.attention_part("cross", ids)[1]
    shapes = {"encoder": (len(ids), len(ids)), "decoder": (len(target), len(target)), "cross": (len(target), len(ids))}
    assert set(shapes) == set(model.parts)
    for name, shape in shapes.items():
        part, queries = model.attention_part(name, ids)  # type: ignore[arg-type]
        assert attend(part, ids).weights.shape[-2:] == shape and len(queries) == shape[0]
    assert len(model.query_tokens(target)) == len(target) > 0
