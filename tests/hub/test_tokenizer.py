"""Tokenizers of pretrained models have the interface of our own ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from explorer.errors import InvalidSetting, TextError
from explorer.hub.tokenizer import PretrainedTokenizer, load_tokenizer
from explorer.tokenization.subwords import _BYTE_OF
from explorer.tokenization.text import Tokenizer, pieces
from tests.hub.tiny_tokenizers import pieces_of_letters, wordpieces_of_letters

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


def test_pieces_join_to_the_decoded_text() -> None:
    for library in (byte_level(), wordpieces_of_letters(), pieces_of_letters(end=True)):
        tokenizer = PretrainedTokenizer(library, 300)
        assert isinstance(tokenizer, Tokenizer) and len(tokenizer.tokens) == 300
        for text in TEXTS:
            ids = tokenizer.encode(text).tolist()
            assert "".join(pieces(tokenizer, ids)) == tokenizer.decode(ids)
            assert [id for id, _, _ in tokenizer.spans(text)] == ids


def test_bytes_are_lossless_and_readable_and_texts_have_tokens_around_them() -> None:
    tokenizer = PretrainedTokenizer(byte_level(), 262)
    assert tokenizer.kind == "bytes" and tokenizer.unknown is None
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert [tokenizer.tokens[id] for id in tokenizer.encode("the cat")] == ["the", " ca", "t"]
    assert tokenizer.merges[1] == ("th", "e")
    assert tokenizer.tokens[260] == "<|endoftext|>" and tokenizer.tokens[261] == "<unused 261>"
    assert tokenizer.decode([261]) == ""
    library = wordpieces_of_letters()
    library.enable_truncation(4)
    library.enable_padding()
    tokenizer = PretrainedTokenizer(library, 57)
    assert tokenizer.encode("cat sat").tolist() == [7, 31, 50, 23, 31, 50]  # not truncated
    assert tokenizer.add_special_tokens([5, 6]) == (2, 5, 6, 3)
    assert tokenizer.special == {0, 1, 2, 3, 4}
    assert tokenizer.find_unknown("a ☃ and 日 or ☃") == ["☃", "日"]
    assert tokenizer.encode("a [MASK]").tolist() == [5, 4]
    assert PretrainedTokenizer(byte_level(), 261).add_special_tokens([5]) == (5,)


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"no tokenizer\.json"):
        load_tokenizer(tmp_path, 10)
    for content in ("{", '{"model": {}}'):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(InvalidSetting, match=r"cannot be read"):
            load_tokenizer(tmp_path, 10)
    with pytest.raises(TextError):
        PretrainedTokenizer(byte_level(), 261).encode("\ud83d")  # half a character


def test_marian_files(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="pip install -r requirements-models.txt")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"the cat number {i} sat on the mat near the other cat" for i in range(200)))
    source = str(tmp_path / "source")
    sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=source, vocab_size=44, minloglevel=2)
    (tmp_path / "source.model").rename(tmp_path / "source.spm")
    library = sentencepiece.SentencePieceProcessor(model_file=f"{source}.spm")
    names = ["</s>", "<unk>", *sorted(library.id_to_piece(i) for i in range(3, library.get_piece_size())), "<pad>"]
    (tmp_path / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    tokenizer = load_tokenizer(tmp_path, len(names))
    for given in ("the cat sat on the other mat", "number 17"):
        expected = [names.index(piece) for piece in library.encode(given, out_type=str)]
        assert tokenizer.encode(given).tolist() == expected
        assert tokenizer.decode(tokenizer.encode(given)) == given
    assert tokenizer.add_special_tokens([5]) == (5, 0)
