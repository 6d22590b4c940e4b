from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from explorer.tokenization.characters import Characters


@given(st.text(min_size=1))
def test_the_training_text_survives_a_round_trip(text: str) -> None:
    characters = Characters.train([text], 0)
    assert characters.tokens == tuple(sorted(set(text)))
    assert characters.decode(characters.encode(text)) == text


@given(st.text(min_size=1), st.text())
def test_unknown_characters_are_dropped(training_text: str, text: str) -> None:
    characters = Characters.train([training_text], 0)
    assert characters.decode(characters.encode(text)) == "".join(char for char in text if char in training_text)
    assert characters.find_unknown(text) == list(dict.fromkeys(char for char in text if char not in training_text))


def test_tokens_and_spans_worked_by_hand() -> None:
    characters = Characters.train(["cab", "b😀"], 0)
    assert characters.tokens == ("a", "b", "c", "😀")
    assert characters.encode("a\U0010ffff😀é cb").tolist() == [0, 3, 2, 1]
    assert characters.spans("a\U0010ffff😀é cb") == [(0, 0, 1), (3, 2, 3), (2, 5, 6), (1, 6, 7)]
    assert characters.decode(np.array([3, 0, 0], np.uint8)) == "😀aa"
