from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from explorer.errors import InvalidSetting
from explorer.tasks.text.config import MIN_VOCABULARY, SHA256_PATTERN, TextConfig
from explorer.tokenization.text import train

SHA = "0123456789abcdef" * 4


def test_released_defaults_do_not_change() -> None:
    assert dataclasses.asdict(TextConfig()) == {
        "corpus": "tinyshakespeare",
        "text": "",
        "size": 100_000,
        "corpus_seed": 0,
        "tokenizer": "char",
        "vocabulary": 500,
        "lower": False,
        "rows": "blocks",
        "context": 64,
        "split": "end",
        "held_out": 0.1,
        "split_seed": 0,
        "test": 0.0,
        "tokenizer_from_training": False,
        "training_share": 1.0,
        "batches": "random",
    }


def test_every_setting_has_help_and_every_number_has_limits() -> None:
    for field in dataclasses.fields(TextConfig):
        assert field.metadata["help"].endswith("."), field.name
        limited = field.type in ("int", "float")
        assert (field.metadata["low"] is not None, field.metadata["high"] is not None) == (limited, limited), field.name
    patterns = {field.name: field.metadata["pattern"] for field in dataclasses.fields(TextConfig)}
    assert {name: pattern for name, pattern in patterns.items() if pattern} == {"text": f"({SHA256_PATTERN})?"}


@pytest.mark.parametrize(
    "settings",
    [
        {"corpus": "own", "text": SHA},
        {"split": "windows"},
        {"vocabulary": 2},
        {"tokenizer": "bpe", "vocabulary": 3},
        {"tokenizer": "bytes", "vocabulary": 256},
        {"batches": "contiguous"},
        {"rows": "sentences", "split": "sentences"},
        {"rows": "sentences", "split": "pairs"},
        {"rows": "prefixes", "split": "sentences"},
        {"rows": "prefixes", "split": "pairs"},
    ],
    ids=str,
)
def test_compatible_settings_are_accepted(settings: dict[str, Any]) -> None:
    assert dataclasses.asdict(TextConfig(**settings)).items() >= settings.items()


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


def test_the_smallest_vocabularies_are_those_of_the_tokenizers() -> None:
    for kind, fewest in MIN_VOCABULARY.items():
        if kind != "char":
            train(kind, "one two", fewest)
            with pytest.raises(InvalidSetting):
                train(kind, "one two", fewest - 1)


def test_settings_import_neither_torch_nor_numpy() -> None:
    code = "import sys, explorer.tasks.text.config; print(sorted({'torch', 'numpy', 'pooch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
