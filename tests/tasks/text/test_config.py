from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.catalogue import TASKS, models_of
from explorer.errors import InvalidSetting
from explorer.tasks.text.config import MIN_VOCABULARY, TextConfig
from explorer.tokenization.text import train
from explorer.training.config import default_config

SHA = "0123456789abcdef" * 4


def test_released_defaults_do_not_change(snapshot: SnapshotAssertion) -> None:
    """The keys of stored runs depend on them."""
    assert {task: dataclasses.asdict(default_config(task, models_of(task)[-1]).task) for task in TASKS} == snapshot


def test_the_smallest_vocabularies_are_accepted() -> None:
    for kind, fewest in MIN_VOCABULARY.items():
        TextConfig(tokenizer=kind, vocabulary=max(fewest, 2))  # type: ignore[arg-type]
        if kind != "char":
            train(kind, "one two", fewest)
            with pytest.raises(InvalidSetting):
                train(kind, "one two", fewest - 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"corpus": "own"}, "corpus = own needs text"),
        ({"corpus": "own", "text": SHA[:-1]}, "corpus = own needs text"),
        ({"corpus": "own", "text": SHA.upper()}, "corpus = own needs text"),
        ({"corpus": "own", "text": SHA + "\n"}, "corpus = own needs text"),
        ({"corpus": "toy", "text": SHA}, "not with corpus = toy"),
        ({"split": "pairs"}, "split = pairs does not go with rows = blocks, which have split = end or windows"),
        ({"rows": "sentences"}, "split = end does not go with rows = sentences"),
        ({"rows": "prefixes", "split": "windows"}, "which have split = sentences or pairs"),
        ({"tokenizer": "bytes", "vocabulary": 255}, "vocabulary = 255 is too small for tokenizer = bytes, .* 256"),
        ({"tokenizer": "bpe", "vocabulary": 2}, "at least 3"),
        ({"batches": "contiguous", "split": "windows"}, "not with rows = blocks and split = windows"),
        ({"batches": "contiguous", "rows": "sentences", "split": "pairs"}, "not with rows = sentences"),
    ],
    ids=str,
)
def test_incompatible_settings_are_named_in_the_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        TextConfig(**settings)
    assert not str(raised.value).endswith(".")  # the page appends "Change one of the two."
