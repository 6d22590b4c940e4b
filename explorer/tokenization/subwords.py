"""Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909) on characters and on bytes.

Training starts with single characters (or bytes) and repeatedly merges the most frequent pair of tokens into a new
token until the vocabulary is full. The `tokenizers` library trains and applies both. Equally frequent pairs are merged
in the order of their ids, so training is deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import tokenizers
from numpy import ndarray
from tokenizers import decoders, models, pre_tokenizers, trainers

from explorer.array_types import Int
from explorer.tokenization.characters import count_characters
from explorer.tokenization.pipeline import MAX_TOKEN_LENGTH, Pipeline, check_characters, split_at_word_ends

# Byte-level BPE (Radford et al. 2019) writes each byte as one character: itself if visible, else one from 256 on.
_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
_BYTE_OF = {chr(byte): byte for byte in _VISIBLE} | {chr(256 + i): byte for i, byte in enumerate(_HIDDEN)}


def readable_bytes(token: str) -> str:
    """Return a byte-level token as text, with incomplete characters escaped; added tokens are kept."""
    if not _BYTE_OF.keys() >= set(token):
        return token
    return bytes(_BYTE_OF[char] for char in token).decode("utf-8", "backslashreplace")


class Subwords(Pipeline):
    """The base class of both BPE tokenizers."""

    def symbols(self, text: str) -> list[list[tuple[int, int, int]]]:
        """Return the words of a text before any merge, each as the (id, start, end) of its characters (or bytes).

        With these and `merge_ids` one can tokenize the text with any smaller vocabulary: in every word, apply the
        merges (left, right, merged) in order, up to the one whose `merged` is the last id of that vocabulary.
        Raises TextError.
        """
        check_characters([text])
        words: list[list[tuple[int, int, int]]] = []
        position = 0
        for piece in split_at_word_ends(text):
            for symbols, (start, end) in self._library.pre_tokenizer.pre_tokenize_str(piece):
                positions = [position + at for at in range(start, end) for _ in range(self._width(piece[at]))]
                ids = [self._ids.get(symbol, self.unknown or 0) for symbol in symbols]
                words.append([(id, at, at + 1) for id, at in zip(ids, positions, strict=True)])
            position += len(piece)
        return words

    @staticmethod
    def _width(char: str) -> int:
        """Return the number of symbols of one character."""
        return 1


class BPE(Subwords):
    """BPE as in the assignment: on words (runs of letters, or of punctuation), with "<unk>" and "<pad>".

    Spaces are lost; `decode` puts one between all tokens, also inside words. Each unknown character becomes "<unk>".
    A vocabulary smaller than the number of distinct characters keeps the most frequent ones.
    """

    kind = "bpe"
    special_tokens = ("<unk>", "<pad>")
    min_vocabulary = 3
    unknown = 0
    padding = 1

    @classmethod
    def _build_library(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        library = tokenizers.Tokenizer(models.BPE(dict(ids), list(merges), unk_token="<unk>"))
        library.pre_tokenizer = pre_tokenizers.Whitespace()
        return library

    @classmethod
    def _trainer(cls, texts: Sequence[str], vocabulary: int) -> trainers.Trainer:
        # Select the characters here, because the library drops equally rare ones at random.
        counts = count_characters(texts)
        characters = sorted((char for char in counts if not char.isspace()), key=lambda char: -counts[char])
        kept = characters[: vocabulary - len(cls.special_tokens)]
        return trainers.BpeTrainer(
            vocab_size=vocabulary,
            min_frequency=2,
            special_tokens=list(cls.special_tokens),
            initial_alphabet=kept,
            limit_alphabet=len(kept),
            max_token_length=MAX_TOKEN_LENGTH,
            show_progress=False,
        )


class ByteLevelBPE(Subwords):
    """BPE on the UTF-8 bytes of the text, as in GPT-2: lossless, with no unknown token; spaces begin words."""

    kind = "bytes"
    min_vocabulary = 256

    @classmethod
    def _build_library(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        library = tokenizers.Tokenizer(models.BPE(dict(ids), list(merges)))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        return library

    @classmethod
    def _trainer(cls, texts: Sequence[str], vocabulary: int) -> trainers.Trainer:
        return trainers.BpeTrainer(
            vocab_size=vocabulary,
            min_frequency=2,
            initial_alphabet=list(_BYTE_OF),
            max_token_length=MAX_TOKEN_LENGTH,
            show_progress=False,
        )

    @classmethod
    def _check(cls, ids: Mapping[str, int]) -> None:
        if not _BYTE_OF.keys() <= ids.keys():
            raise ValueError("it does not have all bytes")
        if not _BYTE_OF.keys() >= set().union(*ids):
            raise ValueError("it has tokens that are no bytes")

    @property
    def byte_lengths(self) -> Int[ndarray, " vocabulary"]:
        """The number of bytes of each token."""
        return np.array([len(token) for token in sorted(self._ids, key=self._ids.__getitem__)])

    @staticmethod
    def _readable_token(token: str) -> str:
        return readable_bytes(token)

    @staticmethod
    def _width(char: str) -> int:
        return len(char.encode())
