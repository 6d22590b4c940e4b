from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import DamagedRun, InvalidSetting, TextError
from explorer.tokenization.text import (
    KINDS,
    DecodeStream,
    RoundTrip,
    Tokenizer,
    from_json,
    pieces,
    round_trip,
    train,
    unknown_rate,
)
from explorer.tokenization.words import fold_variants

VERSE = """SEA:
I come, I come; 'tis well-known we'll come
again -- and again, said the sea.

SHORE:
Come! Come (if you can): the shore is the shore.
"""
TOKENIZERS = {kind: train(kind, VERSE, 300) for kind in KINDS}
every_kind = pytest.mark.parametrize("kind", KINDS)
texts = st.one_of(st.text(), st.text(alphabet=sorted(set(VERSE)) + list("é😀ש\0\t")))


@every_kind
@given(texts)
def test_spans_contain_the_ids_and_their_positions_in_the_text(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids, spans = tokenizer.encode(text), tokenizer.spans(text)
    assert ids.dtype == np.int32
    assert [id for id, _, _ in spans] == ids.tolist()
    positions = [(start, end) for _, start, end in spans]
    assert positions == sorted(positions)
    for id, start, end in spans:
        token = tokenizer.tokens[id]
        assert 0 <= start < end <= len(text)
        # A variant of several characters, such as ‥, can be several tokens.
        assert "\\x" in token or token == "<unk>" or token == text[start:end] or token in fold_variants(text[start:end])


@pytest.mark.parametrize(
    ("kind", "text", "decoded", "description"),
    [
        ("char", VERSE, VERSE, ""),
        ("char", "zeal is zen, é", "eal is en, ", "2 unknown characters (“z”, “é”)"),
        ("word", VERSE.replace(" -- ", "--"), VERSE.replace(" -- ", "--"), ""),
        ("word", "  the  sea ,\tthe\n\nshore ", "the sea, the\n\nshore", "spaces or line ends: 3 lost and 2 changed"),
        ("word", "the deep é, deep sea", "the <unk> <unk>, <unk> sea", "2 unknown words (“deep”, “é”)"),
        ("bpe", "come again", "come again", ""),
        ("bpe", "come, come\nagain\n", "come , come again", "spaces or line ends: 1 put in and 1 lost and 1 changed"),
        ("bpe", "zest", "<unk> e s t", "1 unknown character (“z”), spaces or line ends: 3 put in"),
        ("bpe", "z q x v", "<unk> <unk> <unk> <unk>", "4 unknown characters (“z”, “q”, “x” and 1 more)"),
        ("bytes", "zyx \0\n  😀 é ש\r\n", "zyx \0\n  😀 é ש\r\n", ""),
    ],
)
def test_the_round_trip_describes_what_is_lost(kind: str, text: str, decoded: str, description: str) -> None:
    assert round_trip(TOKENIZERS[kind], text) == RoundTrip(decoded, decoded == text, description)


def test_rates_of_a_text_and_special_tokens() -> None:
    text = "the shore é"
    rates = {kind: (len(text) / len(t.encode(text)), unknown_rate(t, text)) for kind, t in TOKENIZERS.items()}
    assert rates["char"] == (11 / 10, pytest.approx(1 / 11))
    assert rates["word"] == rates["bpe"] == (11 / 3, 1 / 3)
    assert rates["bytes"] == (11 / len(TOKENIZERS["bytes"].encode(text)), 0)
    special = {kind: (tokenizer.unknown, tokenizer.padding) for kind, tokenizer in TOKENIZERS.items()}
    assert special == {"char": (None, None), "word": (0, None), "bpe": (0, 1), "bytes": (None, None)}
    for tokenizer in TOKENIZERS.values():
        assert not len(tokenizer.encode("")) and math.isnan(unknown_rate(tokenizer, ""))
        assert round_trip(tokenizer, "") == RoundTrip("", True, "")


@every_kind
@given(texts)
def test_saving_and_loading_gives_the_same_tokenizer(kind: str, text: str) -> None:
    before = TOKENIZERS[kind]
    after = from_json(before.to_json())
    assert (after.kind, after.tokens, after.merges) == (kind, before.tokens, before.merges)
    assert after.encode(text).tolist() == before.encode(text).tolist()
    assert after.to_json() == before.to_json()


# Many tokens of this text are equally frequent, so the rules for ties decide.
# A wish for more tokens than a text can give, and for too few


def test_a_short_text_gives_fewer_tokens_than_requested_and_a_long_word_is_split() -> None:
    for size in (1_000, 10**15):
        assert train("char", "ab ab a", size).tokens == (" ", "a", "b")
        assert train("word", "ab ab a", size).tokens == ("<unk>", "ab", "a")
        assert train("bpe", "ab ab a", size).tokens == ("<unk>", "<pad>", "a", "b", "ab")
        assert {*train("bytes", "a", size).tokens} == {chr(i) if i < 128 else f"\\x{i:x}" for i in range(256)}
    for kind in ("word", "bpe", "bytes"):
        tokenizer = train(kind, "a" * 5_000, 300)
        assert max(len(token) for token in tokenizer.tokens) == (64 if kind == "word" else 48)
        if kind != "word":
            assert tokenizer.decode(tokenizer.encode("a" * 2_500)).replace(" ", "") == "a" * 2_500


@pytest.mark.parametrize(("kind", "smallest"), [("word", 2), ("bpe", 3), ("bytes", 256)])
def test_a_too_small_vocabulary_or_an_unknown_kind_raises_invalid_setting(kind: str, smallest: int) -> None:
    assert len(train(kind, VERSE, smallest).tokens) == smallest
    with pytest.raises(InvalidSetting, match=f"at least {smallest}"):
        train(kind, VERSE, smallest - 1)
    with pytest.raises(InvalidSetting, match=r"no tokenizer “wordpiece”\. There is char, word, bpe, bytes\."):
        train("wordpiece", VERSE, 300)


@every_kind
@pytest.mark.parametrize("text", ["", [], ["", ""]])
def test_an_empty_text_raises_text_error(kind: str, text: Any) -> None:
    with pytest.raises(TextError, match="is empty"):
        train(kind, text, 300)


def test_only_character_and_byte_tokenizers_accept_a_text_of_spaces() -> None:
    assert train("char", "  \n ", 300).tokens == ("\n", " ")
    assert train("bytes", "  \n ", 300).decode([220]) == " "
    for kind in ("word", "bpe"):
        with pytest.raises(TextError, match="no word"):
            train(kind, "  \t ", 300)


@every_kind
@pytest.mark.parametrize("use", ["train", "encode", "encode_batch", "spans"])
def test_an_unpaired_surrogate_raises_text_error(kind: str, use: str) -> None:
    uses: dict[str, Callable[[str], object]] = {
        "train": lambda text: train(kind, text, 300),
        "encode_batch": lambda text: TOKENIZERS[kind].encode_batch([text]),
    }
    with pytest.raises(TextError, match=r"half a character .* place 5"):
        uses.get(use, lambda text: getattr(TOKENIZERS[kind], use)(text))("the \ud83d sea")


@every_kind
def test_ids_outside_of_the_vocabulary_raise_value_error(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    assert tokenizer.decode([]) == ""
    for id in (-1, len(tokenizer.tokens)):
        with pytest.raises(ValueError, match="ids reach from"):
            tokenizer.decode([0, id])


# The text that each token adds

ids = st.lists(st.integers(0, 10_000))
EMOJI = train(
    "bytes", "\n\t 😀 é 😀😀 \u2028\ufffd ש " * 9, 275
)  # with tokens of several bytes that are an incomplete character


@pytest.mark.parametrize("tokenizer", [*TOKENIZERS.values(), EMOJI], ids=[*KINDS, "emoji"])
@settings(deadline=None)
@given(ids, ids)
def test_pieces_join_to_the_decoded_text(tokenizer: Tokenizer, first: list[int], rest: list[int]) -> None:
    first, rest = ([id % len(tokenizer.tokens) for id in chosen_ids] for chosen_ids in (first, rest))
    result = pieces(tokenizer, first + rest)
    assert len(result) == len(first + rest)
    assert "".join(result) == tokenizer.decode(first + rest)
    continued = pieces(tokenizer, np.array(rest, np.int64), after=first)
    assert continued == result[len(first) :]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("char", "sea\n", ["s", "e", "a", "\n"]),
        ("word", "the (sea), zoo\nsaid the", ["the", " (", "sea", ")", ",", " <unk>", "\n", "said", " the"]),
        ("bpe", "come, come", ["come", " ,", " come"]),
        ("bytes", "again, é.", ["again", ",", " ", "", "é", "."]),
    ],
)
def test_pieces_worked_by_hand(kind: str, text: str, expected: list[str]) -> None:
    assert pieces(TOKENIZERS[kind], TOKENIZERS[kind].encode(text)) == expected


def test_a_space_belongs_to_the_next_token_and_padding_adds_nothing() -> None:
    tokenizer = TOKENIZERS["bpe"]
    come = int(tokenizer.encode("come")[0])
    assert pieces(tokenizer, [1, come, 1, 1, come, 1]) == ["", "come", "", "", " come", ""]
    assert pieces(tokenizer, [come], after=[1]) == ["come"]
    assert pieces(tokenizer, [come], after=[come]) == [" come"]


def test_an_incomplete_character_adds_nothing_until_it_is_complete() -> None:
    tokenizer = TOKENIZERS["bytes"]
    rest = tokenizer.encode("😀").tolist()
    assert pieces(tokenizer, rest) == ["", "", "", "😀"]
    assert pieces(tokenizer, rest[:2]) == ["", "�"]
    assert pieces(tokenizer, rest[2:], after=rest[:2]) == ["", "😀"]
    assert pieces(tokenizer, [*rest[:2], *tokenizer.encode("s").tolist()]) == ["", "", "�s"]
    assert pieces(tokenizer, rest[1:]) == ["�", "�", "�"]  # these bytes begin no character
    stream = DecodeStream(tokenizer)
    assert [stream.step(id) for id in rest[:3]] == [""] * 3
    assert stream.end() == "�"


def test_an_escaped_byte_typed_as_text_is_text() -> None:
    tokenizer = train("bytes", r"\xf0 \xf0 \x80", 300)
    assert pieces(tokenizer, tokenizer.encode(r"\xf0"))
    assert "".join(pieces(tokenizer, tokenizer.encode(r"\xf0 \x80"))) == r"\xf0 \x80"


# Untrusted files


def changed_file(kind: str, change: Callable[[dict[str, Any]], object]) -> str:
    content = json.loads(TOKENIZERS[kind].to_json())
    change(content if kind == "char" else content["tokenizer"]["model"])
    return json.dumps(content)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "null",
        '{"kind": "wordpiece"}',
        '{"kind": "char"}',
        '{"kind": "bpe", "tokenizer": {}}',
        '{"kind": "char", "characters": "a\\ud83d"}',
        changed_file("char", lambda file: file.update(characters="")),
        changed_file("char", lambda file: file.update(characters="ba")),
        changed_file("char", lambda file: file.update(characters="aa")),
        changed_file("word", lambda model: model.update(vocab={"<unk>": 0})),
        changed_file("word", lambda model: model.update(vocab={"the": 0, "<unk>": 1})),
        changed_file("word", lambda model: model["vocab"].update(the=-1)),
        changed_file("bpe", lambda model: model["vocab"].update(x=1_000_000)),
        changed_file("bpe", lambda model: model["vocab"].update({"<unk>": 1, "<pad>": 0})),
        changed_file("bpe", lambda model: model["merges"].append(["e", "q"])),
        changed_file("bpe", lambda model: model.update(vocab={"<unk>": 0, "<pad>": 1, "a": 2}, merges=[["a", "a"]])),
        changed_file("bytes", lambda model: model.update(vocab={"a": 0}, merges=[])),
        changed_file("bytes", lambda model: model["vocab"].update({"\u4e00": len(model["vocab"])})),
    ],
    ids=range(18),
)
def test_a_damaged_file_raises_one_sentence(text: str) -> None:
    with pytest.raises(DamagedRun, match=r"tokenizer of this run cannot be read: .*\. Train it again\.") as raised:
        from_json(text)
    assert len(str(raised.value)) < 250
    assert "\n" not in str(raised.value)


def test_only_the_vocabulary_is_read_from_a_file() -> None:
    content = json.loads(TOKENIZERS["bpe"].to_json())
    content["tokenizer"]["model"]["dropout"] = 0.9
    content["tokenizer"]["normalizer"] = {"type": "Lowercase"}
    content["tokenizer"]["pre_tokenizer"] = None
    assert from_json(json.dumps(content)).to_json() == TOKENIZERS["bpe"].to_json()
