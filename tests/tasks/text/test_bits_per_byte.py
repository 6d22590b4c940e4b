from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.tasks.text import bits_per_byte, corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Sentences, text_data
from explorer.tokenization.text import train

TEXT = "Été: the cat sat, and the dog — a big dog! — ran.\nThe  cat saw a dog\tand ran; the dog sat.\n" * 12


def own(text: str = TEXT, **settings: Any) -> TextConfig:
    return TextConfig(corpus="own", text=corpora.store_text(text), **{"context": 8, "held_out": 0.2} | settings)


@pytest.mark.parametrize("test", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["char", "bytes"])
def test_lossless_tokens_count_every_byte_of_the_held_out_text_once(kind: str, test: float) -> None:
    config = own(tokenizer=kind, vocabulary=300, test=test)
    held_out = TEXT[int(0.8 * len(TEXT)) :]
    middle = int((1 - test) * len(held_out))
    counted = bits_per_byte.held_out_text(config)
    assert counted.bytes == len(held_out[:middle].encode()) > middle
    assert (counted.spelling, counted.spacing, counted.omitted_bits) == (0, 0, 0)
    assert counted.targets == text_data(config).held_out_targets
    bits = float(counted.bits_per_byte(np.array(math.log(2))))  # one bit per token
    assert bits == pytest.approx(counted.targets / counted.bytes)
    if test:
        assert bits_per_byte.held_out_text(config, "test").bytes == len(held_out[middle:].encode())


@pytest.mark.parametrize("split", ["sentences", "pairs"])
@pytest.mark.parametrize("kind", ["char", "word", "bytes"])
def test_targets_of_lines_are_counted_with_their_bytes(kind: str, split: str) -> None:
    config = own(tokenizer=kind, vocabulary=300, rows="sentences", split=split, context=1_000, lower=True)
    counted, data = bits_per_byte.held_out_text(config), text_data(config)
    assert isinstance(data, Sentences)
    assert counted.targets == data.held_out_targets
    assert 0 < counted.bytes < len(TEXT.encode())
    if split == "sentences":  # all of each line, with its first token and its end, which no target scores
        lines = [line.strip().lower() for line in TEXT.strip().split("\n")]
        assert counted.bytes == sum(len(lines[row].encode()) + 1 for row in data._held_out_rows)
        sizes = [len(line[: data.tokenizer.spans(line)[0][2]].encode()) + 1 for line in lines]
        if kind == "char":
            assert counted.unscored == sum(sizes[row] for row in data._held_out_rows)
        assert counted.lines > 0
        short = bits_per_byte.held_out_text(replace(config, context=3))
        assert short.bytes == counted.bytes and short.unscored > counted.unscored and short.lines > counted.lines
        assert bits_per_byte.held_out_text(replace(config, training_share=0.5)) == counted
    parts = own("ÄÖÜ äöü ßßß èéê ñññ øøø ååå\n" * 9, tokenizer="bytes", vocabulary=256, rows="sentences", split="pairs")
    in_bytes = bits_per_byte.held_out_text(parts)
    assert in_bytes.bytes == in_bytes.targets, "each token is one byte"


def test_unknown_words_cost_their_spelling() -> None:
    words = ["".join(letters) for letters in itertools.product("abcdef", repeat=4)]
    random.Random(0).shuffle(words)  # each occurs once: the held-out ones are not in the training part
    # Six letters are equally likely; after two letters, one of three symbols is the end.
    nats = 4 * math.log(6) + 2 * math.log(3 / 2) + math.log(3)
    for size in (3, 2_000):
        counted = bits_per_byte.held_out_text(own(" ".join(words), tokenizer="word", vocabulary=size, held_out=0.1))
        assert counted.targets > 100
        assert 0 <= 4 * counted.targets - counted.unknown < 4  # four letters each, but the first may be cut
        assert counted.unscored == counted.bytes - counted.unknown
        assert counted.spelling / counted.targets == pytest.approx(nats, rel=0.05)
        loss = 0.01  # of a model that always predicts “<unk>”
        assert float(counted.bits_per_byte(np.array(loss))) == pytest.approx(nats / 5 / math.log(2), rel=0.05)


def test_only_the_training_part_teaches_spelling_and_bpe_pays_for_the_spaces_that_it_drops() -> None:
    beginning = "one two three four five six " * 40
    settings: dict[str, Any] = {"tokenizer": "word", "vocabulary": 4, "held_out": 0.01}
    end = bits_per_byte.held_out_text(own(beginning + "zzzzzzzzzzz", **settings))
    assert (end.targets, end.unknown) == (1, 11)
    assert end.spelling > 10 * math.log(0x110000) / 2  # the letter is new each time
    counted = bits_per_byte.held_out_text(own("a bc\nde fg\nh" * 300, tokenizer="bpe", vocabulary=40))
    assert counted.unknown == 0 and counted.spelling == 0 < counted.spacing


def test_a_code_of_spaces_restores_the_text_at_a_finite_cost() -> None:
    tokenizer = train("bpe", TEXT, 60)
    tokens = list(bits_per_byte.tokens_in_text(tokenizer, TEXT))
    assert "".join(token.space + token.text for token in tokens) == TEXT
    assert [token.previous for token in tokens[1:4]] == [token.text[-1] for token in tokens[:3]]
    omitted, tokenizer = bits_per_byte.OmittedText(), train("word", "a b c", 10)
    omitted.fit(bits_per_byte.tokens_in_text(tokenizer, "a b c"))
    assert 500 * 10 < omitted.nats(list(bits_per_byte.tokens_in_text(tokenizer, "a" + " " * 500 + "b")))[1] < 600 * 20


def test_a_distribution_over_symbols_sums_to_one() -> None:
    model, symbols = bits_per_byte.WittenBell(), "abcd"
    for first, second in itertools.pairwise("abacabadab"):
        model.add((first, None), second)
    for context in "abcdx":
        total = sum(math.exp(-model.nats((context, None), symbol, -math.log(4))) for symbol in symbols)
        assert total == pytest.approx(1)
    # Worked by hand: 9 pairs, of 4 symbols after anything; after "a" 5 pairs, of 3 symbols, of which 2 are "b".
    p_b = (3 + 4 / 4) / (9 + 4)
    assert model.nats(("a", None), "b", -math.log(4)) == pytest.approx(-math.log((3 + 3 * p_b) / (5 + 3)))


def test_omitted_bits_are_added_to_the_loss() -> None:
    counted = bits_per_byte.HeldOutText(
        vocabulary=5, targets=10, bytes=40, unknown=2, spelling=8.0, spacing=3.0, lines=1.0
    )
    assert float(counted.bits_per_byte(np.array(2.0))) == pytest.approx((20 + 12) / 40 / math.log(2))
    assert counted.bits_per_byte(np.array([1.0, 2.0])).shape == (2,)


def witten_bell(seen: int, total: int, distinct: int, base: float) -> float:
    return (seen + distinct * base) / (total + distinct)


def test_bits_per_byte_of_two_lines_worked_by_hand() -> None:
    # One line is for training, the other, which is equal to it, is held out: 21 characters in 5 words.
    line = "aaaa bbb ccc dddd eee"
    config = own(f"{line}\n{line}\n", tokenizer="word", vocabulary=3, rows="sentences", split="sentences", held_out=0.5)
    counted, data = bits_per_byte.held_out_text(config), text_data(config)
    tokens = data.tokenizer.tokens
    assert len(tokens) == 3  # <unk> and two words, whichever
    unknown = [word for word in line.split() if word not in tokens]
    assert (counted.targets, counted.bytes) == (4, 22)
    assert counted.unknown == sum(map(len, unknown))
    assert counted.unscored == len("aaaa" + 4 * " " + "\n")
    ids = [tokens.index(word) if word in tokens else data.tokenizer.unknown for word in line.split()]
    # The first token after the start of a line: seen once of one; of five tokens after anything, three are distinct.
    first = witten_bell(1, 1, 1, witten_bell(ids.count(ids[0]), 5, 3, 1 / 3))
    ends = []
    for position, token in enumerate(ids):
        at_end = [index == 4 for index, other in enumerate(ids) if other == token]
        is_end = position == 4
        anywhere = witten_bell(1 if is_end else 4, 5, 2, 1 / 2)
        ends.append(witten_bell(at_end.count(is_end), len(at_end), len(set(at_end)), anywhere))
    assert counted.lines == pytest.approx(-math.log(first) - sum(map(math.log, ends)))
    loss = 0.5
    nats = 4 * loss + counted.spelling + counted.spacing + counted.lines
    assert counted.bits_per_byte(loss) == pytest.approx(nats / 22 / math.log(2))
