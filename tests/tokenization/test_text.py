from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import DamagedRun, InvalidSetting, TextError
from explorer.tokenization import text as text_module
from explorer.tokenization.text import (
    KINDS,
    DecodeStream,
    RoundTrip,
    Tokenizer,
    characters_per_token,
    from_json,
    pieces,
    round_trip,
    train,
    unknown_rate,
)

ROOT = Path(__file__).parents[2]
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
def test_every_tokenizer_implements_the_interface(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.kind == kind
    expected = {"char": (None, None), "word": (0, None), "bpe": (0, 1), "bytes": (None, None)}
    assert (tokenizer.unknown, tokenizer.padding) == expected[kind]
    for name, id in (("<unk>", tokenizer.unknown), ("<pad>", tokenizer.padding)):
        assert id is None or tokenizer.tokens[id] == name


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
        assert "\\x" in token or token == "<unk>" or token == text[start:end]


@every_kind
@given(st.lists(texts))
def test_a_batch_is_encoded_like_each_text_alone(kind: str, batch: list[str]) -> None:
    result = TOKENIZERS[kind].encode_batch(batch)
    assert [ids.tolist() for ids in result] == [TOKENIZERS[kind].encode(text).tolist() for text in batch]


@every_kind
@given(texts)
def test_the_round_trip_reports_every_difference(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    report = round_trip(tokenizer, text)
    assert report.text == tokenizer.decode(tokenizer.encode(text))
    assert report.exact == (report.text == text) == (not report.differences)
    if kind == "bytes":
        assert report.exact
    if not report.exact and "unknown" not in report.differences:
        assert "".join(report.text.split()) == "".join(text.split())


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


@pytest.mark.parametrize(
    ("kind", "unknown"),
    [("char", ["z", "é"]), ("bpe", ["z", "é"]), ("word", ["zoo", "é"]), ("bytes", [])],
)
def test_unknown_tokens_are_listed_once_and_in_order(kind: str, unknown: list[str]) -> None:
    assert TOKENIZERS[kind].find_unknown("the zoo, the é zoo, é") == unknown


def test_rates_of_a_text() -> None:
    text = "the shore é"
    rates = {kind: (characters_per_token(t, text), unknown_rate(t, text)) for kind, t in TOKENIZERS.items()}
    assert rates["char"] == (11 / 10, pytest.approx(1 / 11))
    assert rates["word"] == rates["bpe"] == (11 / 3, 1 / 3)
    assert rates["bytes"] == (11 / len(TOKENIZERS["bytes"].encode(text)), 0)


@every_kind
def test_an_empty_text_has_no_rate(kind: str) -> None:
    assert math.isnan(characters_per_token(TOKENIZERS[kind], ""))
    assert math.isnan(unknown_rate(TOKENIZERS[kind], ""))
    assert round_trip(TOKENIZERS[kind], "") == RoundTrip("", True, "")


@every_kind
@given(texts)
def test_saving_and_loading_gives_the_same_tokenizer(kind: str, text: str) -> None:
    before = TOKENIZERS[kind]
    after = from_json(before.to_json())
    assert (after.kind, after.tokens, after.merges) == (kind, before.tokens, before.merges)
    assert after.encode(text).tolist() == before.encode(text).tolist()
    assert after.to_json() == before.to_json()


# Many tokens of this text are equally frequent, so the rules for ties decide.
SIZES = {"char": [0], "word": [30, 60, 300], "bpe": [30, 60, 300], "bytes": [300]}
TIES = " ".join(f"{a}{b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx") + " éèêëàâäùûüîïôö"
CHILD_SCRIPT = """
import json, sys
from explorer.tokenization.text import train
text, sizes = json.loads(sys.argv[1])
print("".join(train(kind, text, size).to_json() for kind in sizes for size in sizes[kind]))
"""


def test_the_same_text_gives_the_same_tokenizer_in_every_process() -> None:
    expected = "".join(train(kind, TIES, size).to_json() for kind in SIZES for size in SIZES[kind])
    for threads in ("1", "3"):
        environment = {**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        command = [sys.executable, "-c", CHILD_SCRIPT, json.dumps([TIES, SIZES])]
        report = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
        assert report.strip() == expected


@every_kind
def test_tokenizers_can_be_used_by_many_threads(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    parts = [VERSE[start : start + 50] for start in range(100)] * 5
    alone = [tokenizer.encode(part).tolist() for part in parts]
    with ThreadPoolExecutor(8) as threads:
        assert [ids.tolist() for ids in threads.map(tokenizer.encode, parts)] == alone
        assert len(set(threads.map(lambda _: train(kind, VERSE, 300).to_json(), range(8)))) == 1


# A wish for more tokens than a text can give, and for too few


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        ("char", (" ", "a", "b")),
        ("word", ("<unk>", "ab", "a")),
        ("bpe", ("<unk>", "<pad>", "a", "b", "ab")),
    ],
)
@pytest.mark.parametrize("size", [1_000, 10**15])
def test_a_short_text_gives_fewer_tokens_than_requested(kind: str, tokens: tuple[str, ...], size: int) -> None:
    assert train(kind, "ab ab a", size).tokens == tokens


def test_a_byte_level_vocabulary_contains_all_bytes() -> None:
    tokens = train("bytes", "a", 10**15).tokens
    assert len(tokens) == 256
    assert set(tokens) == {chr(i) if i < 128 else f"\\x{i:x}" for i in range(256)}


@pytest.mark.parametrize(("kind", "smallest"), [("word", 2), ("bpe", 3), ("bytes", 256)])
def test_a_too_small_vocabulary_raises_invalid_setting(kind: str, smallest: int) -> None:
    assert len(train(kind, VERSE, smallest).tokens) == smallest
    with pytest.raises(InvalidSetting, match=f"at least {smallest}"):
        train(kind, VERSE, smallest - 1)


def test_an_unknown_kind_raises_invalid_setting() -> None:
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
@pytest.mark.parametrize("text", ["x", "😀", "\0", "שלום"])
def test_a_tokenizer_can_be_trained_on_one_character(kind: str, text: str) -> None:
    tokenizer = train(kind, text, 300)
    assert tokenizer.decode(tokenizer.encode(text)).replace(" ", "") == text


@every_kind
@pytest.mark.parametrize("letter", ["a", "😀", "."])
def test_a_letter_repeated_a_million_times(kind: str, letter: str) -> None:
    tokenizer = train(kind, letter * 1_000_000, 300)
    assert max(map(len, tokenizer.tokens)) <= 64
    assert tokenizer.decode(tokenizer.encode(letter * 10_000)).replace(" ", "") == letter * 10_000


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


def test_some_emoji_tokens_are_several_bytes_of_one_character() -> None:
    assert any(token.count("\\x") > 1 for token in EMOJI.tokens)


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


@every_kind
def test_no_ids_give_no_pieces_and_unknown_ids_raise_value_error(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    assert pieces(tokenizer, []) == pieces(tokenizer, [], after=[0, 1]) == []
    for id in (-1, len(tokenizer.tokens)):
        with pytest.raises(ValueError, match="ids reach from"):
            pieces(tokenizer, [0, id])


# Untrusted files


def changed_file(kind: str, change: Callable[[dict[str, Any]], object]) -> str:
    content = json.loads(TOKENIZERS[kind].to_json())
    change(content if kind == "char" else content["tokenizer"]["model"])
    return json.dumps(content)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
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
        changed_file("bpe", lambda model: model["vocab"].update(x="7")),
        changed_file("bpe", lambda model: model.update(vocab=list(model["vocab"]))),
        changed_file("bpe", lambda model: model["vocab"].update({"<unk>": 1, "<pad>": 0})),
        changed_file("bpe", lambda model: model["merges"].append(["e", "q"])),
        changed_file("bpe", lambda model: model["merges"].append(["e"])),
        changed_file("bpe", lambda model: model["merges"].append("e q")),
        changed_file("bpe", lambda model: model.update(vocab={"<unk>": 0, "<pad>": 1, "a": 2}, merges=[["a", "a"]])),
        changed_file("bytes", lambda model: model.update(vocab={"a": 0}, merges=[])),
        changed_file("bytes", lambda model: model["vocab"].update({"\u4e00": len(model["vocab"])})),
    ],
    ids=range(25),
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


def test_every_kind_is_in_the_table() -> None:
    assert KINDS == ("char", "word", "bpe", "bytes")
    assert all(text_module._CLASSES[kind].kind == kind for kind in KINDS)
