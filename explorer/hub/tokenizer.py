"""The tokenizer of a pretrained model, with the interface of our own ones (`tokenization/text.py`).

It is read from the tokenizer.json of the model by the `tokenizers` library; Marian models have two SentencePiece files
instead, one for each language.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers
from numpy import ndarray
from tokenizers import decoders

from explorer.array_types import Int32, Integer
from explorer.errors import InvalidSetting, shorten
from explorer.lazy_libraries import np
from explorer.tokenization.characters import check_ids
from explorer.tokenization.pipeline import check_characters
from explorer.tokenization.subwords import readable_bytes

_MAX_FILE = 50_000_000  # bytes of a tokenizer file
_WORD_START = "▁"  # in SentencePiece, stands for a space


class PretrainedTokenizer:
    """The tokenizer of a pretrained model. It is immutable and thread-safe.

    library: what splits the text
    vocabulary: the number of outcomes of the model, which can be larger than that of the tokenizer; the rest has names
        such as "<unused 50300>"
    """

    padding: int | None = None  # texts are never padded here

    def __init__(self, library: tokenizers.Tokenizer, vocabulary: int) -> None:
        library.no_truncation()
        library.no_padding()
        self._library = library
        self._json = json.loads(library.to_str())
        self.kind = _kind(self._json)
        if self.kind == "wordpiece":  # otherwise decoding changes spaces before punctuation
            library.decoder = decoders.WordPiece(cleanup=False)
        names = {id: name for name, id in library.get_vocab(with_added_tokens=True).items()}
        special = {id for id, token in library.get_added_tokens_decoder().items() if token.special}
        self.special = frozenset(special)  # ids of tokens such as [CLS]
        self.tokens = tuple(
            self._readable(names[id], id in special) if id in names else f"<unused {id}>"
            for id in range(max(vocabulary, max(names, default=0) + 1))
        )
        unknown = self._json["model"].get("unk_token")
        self.unknown: int | None = library.token_to_id(unknown) if isinstance(unknown, str) else None
        if self.kind == "unigram":
            self.unknown = self._json["model"].get("unk_id")
        marked, plain = (self._library.encode("a", add_special_tokens=add).ids for add in (True, False))
        start = next((i for i in range(len(marked)) if marked[i : i + len(plain)] == plain), 0)
        self.before, self.after = tuple(marked[:start]), tuple(marked[start + len(plain) :])  # around every text

    def _readable(self, token: str, special: bool) -> str:
        if special:
            return token
        if self.kind == "bytes":
            return readable_bytes(token)
        return token.replace(_WORD_START, " ")

    @cached_property
    def merges(self) -> tuple[tuple[str, str], ...]:
        """The merged pairs of tokens in the order in which they were learned; empty for other methods than BPE."""
        pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in self._json["model"].get("merges") or ()]
        return tuple((self._readable(left, False), self._readable(right, False)) for left, right in pairs)

    def encode(self, text: str) -> Int32[ndarray, " tokens"]:
        """Return the ids of a text, without the tokens that the model expects around it. Raises TextError."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Int32[ndarray, " _"]]:
        """Encode many texts in parallel. Raises TextError."""
        check_characters(texts)
        return [np.array(each.ids, np.int32) for each in self._library.encode_batch(texts, add_special_tokens=False)]

    def add_special_tokens(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return ids with the tokens that the model expects around every text, such as [CLS] and [SEP]."""
        return (*self.before, *ids, *self.after)

    def decode(self, ids: Sequence[int] | Integer[ndarray, " tokens"]) -> str:
        """Return the text of ids. Raises ValueError if an id is not in the vocabulary."""
        given = [int(id) for id in ids]
        check_ids(given, len(self.tokens))
        return self._library.decode_batch([given], skip_special_tokens=False)[0]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Return (id, start, end) of each token of `encode`, in characters of the text. Raises TextError."""
        check_characters([text])
        found = self._library.encode_batch([text], add_special_tokens=False)[0]
        return [(id, start, end) for id, (start, end) in zip(found.ids, found.offsets, strict=True)]

    def find_unknown(self, text: str) -> list[str]:
        """Return the parts of a text that become the unknown token, each once, in order. Raises TextError."""
        if self.unknown is None:
            return []
        return list(dict.fromkeys(text[start:end] for id, start, end in self.spans(text) if id == self.unknown))

    def to_json(self) -> str:
        return self._library.to_str()


def _kind(content: dict[str, Any]) -> str:
    model = content["model"].get("type", "")
    if model == "WordPiece":
        return "wordpiece"
    if model == "Unigram":
        return "unigram"
    return "bytes" if '"ByteLevel"' in json.dumps(content.get("decoder")) else "sentencepiece"


def load_tokenizer(folder: Path, vocabulary: int) -> PretrainedTokenizer:
    """Return the tokenizer in the folder of a model with this many outcomes. Raises InvalidSetting."""
    file = folder / "tokenizer.json"
    if not file.is_file() and (folder / "source.spm").is_file():
        return PretrainedTokenizer(_convert_marian(folder), vocabulary)
    try:
        if file.stat().st_size > _MAX_FILE:
            raise ValueError("it is too large")
        found = PretrainedTokenizer(tokenizers.Tokenizer.from_file(str(file)), vocabulary)
        if len(found.tokens) > vocabulary:
            raise ValueError(f"it belongs to a larger model: it has {len(found.tokens):,} tokens, not {vocabulary:,}")
        return found
    except FileNotFoundError:
        raise InvalidSetting(
            f"The folder {shorten(folder.name)} has no tokenizer.json. Save the tokenizer of the model there with the "
            "transformers library: AutoTokenizer.from_pretrained(…).save_pretrained(…)."
        ) from None
    except Exception as error:  # the library raises plain exceptions for every kind of damage
        raise InvalidSetting(
            f"The tokenizer.json of {shorten(folder.name)} cannot be read: {shorten(error, 120)}."
        ) from None


def _convert_marian(folder: Path) -> tokenizers.Tokenizer:
    """Return the tokenizer of a Marian model: SentencePiece of the source language, ids of vocab.json.

    Both languages share the vocabulary; pieces that it does not have become <unk>. Raises InvalidSetting.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise InvalidSetting(
            "Marian models need the package sentencepiece. Install it with “pip install -r requirements-models.txt”."
        ) from None
    try:
        ids = json.loads((folder / "vocab.json").read_text("utf-8"))
        library = SentencePieceProcessor(model_file=str(folder / "source.spm"))
        scores = {library.id_to_piece(i): library.get_score(i) for i in range(library.get_piece_size())}
        lowest = min(scores.values(), default=0.0) - 10
        pieces = sorted(ids, key=ids.__getitem__)
        model = tokenizers.models.Unigram([(piece, scores.get(piece, lowest)) for piece in pieces], ids["<unk>"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise InvalidSetting(
            f"The tokenizer of {shorten(folder.name)} cannot be read: {shorten(error, 120)}."
        ) from None
    converted = tokenizers.Tokenizer(model)
    converted.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Nmt(), tokenizers.normalizers.NFKC()]
    )
    converted.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    converted.decoder = decoders.Metaspace()
    converted.add_special_tokens([name for name in ("</s>", "<unk>", "<pad>") if name in ids])
    converted.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", ids["</s>"])]
    )
    return converted
