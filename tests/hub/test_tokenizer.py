"""Tokenizers of pretrained models have the interface of our own ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from explorer.errors import InvalidSetting, TextError
from explorer.hub.tokenizer import PretrainedTokenizer, load_tokenizer
from explorer.tokenization.subwords import _BYTE_OF
from explorer.tokenization.text import Tokenizer, pieces

TEXTS = ("the cat sat", " naïve 日本 🙂", "", "a\n\nb", "x" * 50)


def byte_level() -> tokenizers.Tokenizer:
    """A byte-level BPE with a few merges and an end token, as GPT-2 has."""
    ids = {char: i for i, char in enumerate(_BYTE_OF)}
    merges = [("t", "h"), ("th", "e"), ("Ġ", "c"), ("Ġc", "a")]
    for left, right in merges:
        ids[left + right] = len(ids)
    library = tokenizers.Tokenizer(models.BPE(ids, merges))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(["<|endoftext|>"])
    return library


def wordpiece() -> tokenizers.Tokenizer:
    """A WordPiece tokenizer with [CLS] and [SEP] around every text, as BERT has."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "a", "b", "x", "##x"]
    library = tokenizers.Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(names[:5])
    library.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    library.enable_truncation(4)
    library.enable_padding()
    return library


def unigram() -> tokenizers.Tokenizer:
    """A SentencePiece tokenizer, as T5 has."""
    names = ["<pad>", "</s>", "<unk>", "▁the", "▁cat", "▁", "s", "a", "t", "b", "x", "c"]
    library = tokenizers.Tokenizer(models.Unigram([(name, -float(i)) for i, name in enumerate(names)], 2))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    return library


@pytest.mark.parametrize("make", [byte_level, wordpiece, unigram])
@pytest.mark.parametrize("text", TEXTS)
def test_pieces_join_to_the_decoded_text(make: object, text: str) -> None:
    tokenizer = PretrainedTokenizer(make(), 300)  # type: ignore[operator]
    assert isinstance(tokenizer, Tokenizer)
    ids = tokenizer.encode(text).tolist()
    assert "".join(pieces(tokenizer, ids)) == tokenizer.decode(ids)
    assert [id for id, _, _ in tokenizer.spans(text)] == ids
    assert len(tokenizer.tokens) == 300


def test_bytes_are_lossless_and_readable() -> None:
    tokenizer = PretrainedTokenizer(byte_level(), 262)
    assert tokenizer.kind == "bytes" and tokenizer.unknown is None
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert [tokenizer.tokens[id] for id in tokenizer.encode("the cat")] == ["the", " ca", "t"]
    assert tokenizer.merges[1] == ("th", "e")
    assert tokenizer.tokens[260] == "<|endoftext|>" and tokenizer.tokens[261] == "<unused 261>"
    assert tokenizer.decode([261]) == ""


def test_tokens_around_a_text() -> None:
    tokenizer = PretrainedTokenizer(wordpiece(), 13)
    assert tokenizer.encode("the cats sat the cat").tolist() == [5, 6, 8, 7, 5, 6]  # not truncated
    assert tokenizer.add_special_tokens([5, 6]) == (2, 5, 6, 3)
    assert tokenizer.special == {0, 1, 2, 3, 4}
    assert tokenizer.find_unknown("the dog and the dog") == ["dog", "and"]
    assert tokenizer.encode("the [MASK]").tolist() == [5, 4]
    assert PretrainedTokenizer(byte_level(), 261).add_special_tokens([5]) == (5,)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(TextError):
        PretrainedTokenizer(byte_level(), 261).encode("\ud83d")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model": {}}', '{"model": null, "version": "9"}'])
def test_a_damaged_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InvalidSetting, match=r"cannot be read"):
        load_tokenizer(tmp_path, 10)


def test_a_folder_without_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"no tokenizer\.json"):
        load_tokenizer(tmp_path, 10)


def test_marian_files(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="pip install -r requirements-models.txt")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"the cat number {i} sat on the mat near the other cat" for i in range(200)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "source"), vocab_size=44, minloglevel=2
    )
    (tmp_path / "source.model").rename(tmp_path / "source.spm")
    library = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "source.spm"))
    names = ["</s>", "<unk>", *sorted(library.id_to_piece(i) for i in range(3, library.get_piece_size())), "<pad>"]
    (tmp_path / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    tokenizer = load_tokenizer(tmp_path, len(names))
    for given in ("the cat sat on the other mat", "number 17"):
        expected = [names.index(piece) for piece in library.encode(given, out_type=str)]
        assert tokenizer.encode(given).tolist() == expected
        assert tokenizer.decode(tokenizer.encode(given)) == given
    assert tokenizer.add_special_tokens([5]) == (5, 0)
