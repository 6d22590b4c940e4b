from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tokenization.subwords import BPE, ByteLevelBPE, Subwords
from explorer.tokenization.word_level import WordLevel

SENTENCES = [
    "she sells sea shells by the sea shore",
    "the shells she sells are sea shells, é 😀 I'm sure!!",
    "so if she sells shells on the shore 😀 é",
    "ne née naïve née ne",
]
KINDS = {"bpe": BPE.train(SENTENCES, 80), "bytes": ByteLevelBPE.train(SENTENCES, 310)}
both_kinds = pytest.mark.parametrize("kind", KINDS)


def test_merges_worked_by_hand() -> None:
    """In aaabdaaabac the pair aa occurs four times, then ab and "aa ab" twice. Ties go to the lower ids."""
    tokenizer = BPE.train(["aaabdaaabac"], 1_000)
    assert tokenizer.merges == (("a", "a"), ("a", "b"), ("aa", "ab"))
    assert tokenizer.tokens == ("<unk>", "<pad>", "a", "b", "c", "d", "aa", "ab", "aaab")
    assert tokenizer.merge_ids == ((2, 2, 6), (2, 3, 7), (6, 7, 8))
    assert tokenizer.encode("aaabdab x").tolist() == [8, 5, 7, 0]
    assert tokenizer.decode([8, 5, 1, 7, 0, 1]) == "aaab d ab <unk>"
    assert tokenizer.spans("ab\n\n aab") == [(7, 0, 2), (6, 5, 7), (3, 7, 8)]


def apply_merges(tokenizer: Subwords, text: str, vocabulary: int) -> list[tuple[int, int, int]]:
    """Apply the first merges word by word, as the page does for a smaller vocabulary."""
    spans: list[tuple[int, int, int]] = []
    for word in tokenizer.symbols(text):
        for left, right, merged in tokenizer.merge_ids:
            if vocabulary <= len(tokenizer.tokens) - len(tokenizer.merge_ids):
                break
            position = 0
            while position < len(word) - 1:
                (first, start, _), (second, _, end) = word[position : position + 2]
                if (first, second) == (left, right):
                    word[position : position + 2] = [(merged, start, end)]
                position += 1
            if merged == vocabulary - 1:
                break
        spans += word
    return spans


@both_kinds
@given(st.one_of(st.text(alphabet=list("seahlt 😀éïn!'\n")), st.text(), st.sampled_from(SENTENCES)))
def test_replaying_merges_equals_the_tokenizers_spans(kind: str, text: str) -> None:
    tokenizer = KINDS[kind]
    assert apply_merges(tokenizer, text, len(tokenizer.tokens)) == tokenizer.spans(text)


@both_kinds
def test_a_smaller_vocabulary_is_a_prefix_of_a_larger_one(kind: str) -> None:
    large = KINDS[kind]
    smallest_vocabulary = len(large.tokens) - len(large.merges)
    assert len(large.merges) > 10
    for vocabulary in range(smallest_vocabulary, len(large.tokens) + 1):
        small = type(large).train(SENTENCES, vocabulary)
        assert small.tokens == large.tokens[:vocabulary]
        assert small.merge_ids == large.merge_ids[: len(small.merge_ids)]
        for text in SENTENCES:
            assert [id for id, _, _ in apply_merges(large, text, vocabulary)] == small.encode(text).tolist()


def test_the_names_of_special_tokens_in_a_text_are_ordinary_text() -> None:
    tokenizer = BPE.train(["<unk> <pad> <unk> <pad>"], 100)
    assert {0, 1}.isdisjoint(tokenizer.encode("<unk><pad> <pad>").tolist())
    assert "".join(tokenizer.decode(tokenizer.encode("<unk><pad>")).split()) == "<unk><pad>"


def test_a_vocabulary_without_room_for_all_characters_keeps_the_most_frequent_ones() -> None:
    tokenizer = BPE.train(["ddd aaa c b e f"], 6)
    assert tokenizer.tokens == ("<unk>", "<pad>", "a", "b", "c", "d")
    assert tokenizer.encode("fade").tolist() == [0, 2, 5, 0]


@given(st.text())
def test_byte_level_bpe_is_lossless(text: str) -> None:
    for tokenizer in (KINDS["bytes"], *([ByteLevelBPE.train([text * 2], 400)] if text else [])):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_byte_tokens_that_are_whole_characters_are_shown_as_text() -> None:
    tokenizer = ByteLevelBPE.train(["é née née née 😀 😀"], 262)
    assert tokenizer.merges[:4] == ((r"\xc3", r"\xa9"), ("n", "é"), (" ", "né"), (" né", "e"))
    assert tokenizer.tokens[256:260] == ("é", "né", " né", " née")
    assert tokenizer.byte_lengths[255:260].tolist() == [1, 2, 3, 4, 5]
    tokens = {tokenizer.tokens[id] for id in tokenizer.encode("\n\0ש😁")}
    assert tokens >= {"\n", "\0", r"\xd7", r"\xa9", r"\x81"}
    assert {(start, end) for _, start, end in tokenizer.spans("ש😁")} == {(0, 1), (1, 2)}


def test_an_incomplete_character_is_decoded_as_the_replacement_character() -> None:
    tokenizer = ByteLevelBPE.train(["a"], 256)
    ids = tokenizer.encode("a😀b")
    assert len(ids) == 6
    assert tokenizer.decode(ids[:4]) == "a�"
    assert tokenizer.decode(ids[1:5]) == "😀"


# Long texts are encoded in pieces


@pytest.mark.parametrize("kind", [WordLevel, BPE, ByteLevelBPE])
@given(st.lists(st.sampled_from(["a", "she", "sea's", "!", "...", " ", "  ", "\n", "\n\n", "é", "😀"]), min_size=30))
def test_encoding_in_pieces_gives_the_same_tokens(kind: type[WordLevel | Subwords], parts: list[str]) -> None:
    text = "".join(parts)
    tokenizer = kind.train(["a she sea's sea's!! ... ...  \n\n  \n\n  é 😀"], 300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("explorer.tokenization.pipeline._PIECE_LENGTH", 10**9)
        whole = tokenizer.spans(text)
        patch.setattr("explorer.tokenization.pipeline._PIECE_LENGTH", 25)
        pieces = tokenizer.spans(text)
    longest_word = max((len(word) for word in text.split()), default=0)
    longest_gap = max((end[1] - start[2] for start, end in pairwise([(0, 0, 0), *whole])), default=0)
    if longest_word < 20 and longest_gap < 20:
        assert pieces == whole
    assert kind is not ByteLevelBPE or tokenizer.decode([id for id, _, _ in pieces]) == text
