"""Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909): the most frequent pair of tokens becomes a new token.

It begins with single characters (or bytes) and is repeated until the vocabulary is full. Both kinds here are trained
and applied by the `tokenizers` library. Equally frequent pairs are merged in the order of their ids, so that the same
text always gives the same merges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from explorer.tokenization.characters import frequencies
from explorer.tokenization.pipeline import LONGEST, Pipeline, check_characters, pieces

# Byte-level BPE (Radford et al. 2019) writes each byte as one character: itself if it is visible, else one from 256 on.
_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
_BYTE_OF = {chr(byte): byte for byte in _VISIBLE} | {chr(256 + i): byte for i, byte in enumerate(_HIDDEN)}


class Subwords(Pipeline):
    """What both kinds have in common: one can watch how their vocabulary grew."""

    def symbols(self, text: str) -> list[list[tuple[int, int, int]]]:
        """The words of a text before any merge, each as the (id, start, end) of its characters (or bytes).

        Who has these and `merge_ids` can say how a smaller vocabulary splits the text: merge in every word all pairs
        of the first (left, right, merged), then of the second, and so on up to the first one whose `merged` is the
        last id of that vocabulary. Raises TextError.
        """
        check_characters([text])
        words: list[list[tuple[int, int, int]]] = []
        place = 0
        for piece in pieces(text):
            for written, (start, end) in self._library.pre_tokenizer.pre_tokenize_str(piece):
                places = [place + at for at in range(start, end) for _ in range(self._width(piece[at]))]
                ids = [self._ids.get(symbol, self.unknown or 0) for symbol in written]
                words.append([(id, at, at + 1) for id, at in zip(ids, places, strict=True)])
            place += len(piece)
        return words

    @staticmethod
    def _width(char: str) -> int:
        """Symbols of one character."""
        return 1


class BPE(Subwords):
    """BPE as the assignment has it: on words (runs of letters, or of punctuation), with "<unk>" and "<pad>".

    Every space is lost; `decode` puts one between all tokens, also inside words. Characters that training never
    saw become "<unk>", one each. A vocabulary with less room than the text has characters keeps the most frequent ones.
    """

    kind = "bpe"
    special = ("<unk>", "<pad>")
    fewest = 3
    unknown = 0
    padding = 1

    @classmethod
    def _assembled(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        library = tokenizers.Tokenizer(models.BPE(dict(ids), list(merges), unk_token="<unk>"))
        library.pre_tokenizer = pre_tokenizers.Whitespace()
        return library

    @classmethod
    def _trainer(cls, texts: Sequence[str], vocabulary: int) -> trainers.Trainer:
        # Which of several equally rare characters the library would leave out is chance; so they are chosen here.
        counts = frequencies(texts)
        characters = sorted((char for char in counts if not char.isspace()), key=lambda char: -counts[char])
        kept = characters[: vocabulary - len(cls.special)]
        return trainers.BpeTrainer(
            vocab_size=vocabulary,
            min_frequency=2,
            special_tokens=list(cls.special),
            initial_alphabet=kept,
            limit_alphabet=len(kept),
            max_token_length=LONGEST,
            show_progress=False,
        )


class ByteLevelBPE(Subwords):
    """BPE on the bytes of the text in UTF-8, as GPT-2 has it: nothing is lost, and nothing is ever unknown.

    A space belongs to the word after it. A token may be a part of a character; `decode` shows one without the rest
    as "�".
    """

    kind = "bytes"
    fewest = 256

    @classmethod
    def _assembled(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
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
            max_token_length=LONGEST,
            show_progress=False,
        )

    @classmethod
    def _check(cls, ids: Mapping[str, int]) -> None:
        if not _BYTE_OF.keys() <= ids.keys():
            raise ValueError("it does not have all bytes")
        if not _BYTE_OF.keys() >= set().union(*ids):
            raise ValueError("it has tokens that are no bytes")

    @staticmethod
    def _readable(token: str) -> str:
        r"""The text of a token; bytes that are no whole character as \xf0."""
        return bytes(_BYTE_OF[char] for char in token).decode("utf-8", "backslashreplace")

    @staticmethod
    def _width(char: str) -> int:
        return len(char.encode())
