from __future__ import annotations

from typing import Any

import pytest

from explorer.training.comparability import (
    can_compare_bits,
    comparability,
    comparability_sentence,
    describe_tokens,
    loss_context,
)
from explorer.training.config import RunConfig, default_config, with_settings

LINES, PREFIXES = {"rows": "sentences", "split": "sentences"}, {"rows": "prefixes", "split": "pairs"}


def text_run(model: str = "gru", **settings: Any) -> RunConfig:
    return with_settings(default_config("text", model), settings)


@pytest.mark.parametrize(
    ("model", "settings", "long", "brief"),
    [
        ("gru", {}, "blocks of 64 tokens without earlier context", "blocks of 64"),
        ("transformer", {"context": 128}, "blocks of 128 tokens without earlier context", "blocks of 128"),
        ("gru", {"batches": "contiguous"}, "reading on, with the state carried from block to block", "reading on"),
        # An attention has no state to carry.
        ("transformer", {"batches": "contiguous"}, "blocks of 64 tokens without earlier context", "blocks of 64"),
        ("lstm", LINES, "single lines from their start, at most 64 tokens", "single lines"),
        ("lstm", PREFIXES, "one prefix of a line for each token, at most 64 tokens", "prefixes of lines"),
    ],
)
def test_a_loss_states_its_context(model: str, settings: dict[str, Any], long: str, brief: str) -> None:
    config = text_run(model, **settings)
    assert loss_context(config) == long
    assert loss_context(config, brief=True) == brief


def test_the_training_loss_is_never_measured_with_carried_state() -> None:
    config = text_run(batches="contiguous")
    assert loss_context(config, "train_loss") == "blocks of 64 tokens without earlier context"
    assert not comparability([config, text_run()], "train_loss")


@pytest.mark.parametrize(
    ("settings", "reason", "bits"),
    [
        ({"corpus": "brackets"}, "text", False),
        ({"tokenizer": "bpe"}, "token", True),
        ({"lower": True}, "text", False),
        ({"held_out": 0.2}, "held out", False),
        ({"context": 128}, "context", True),
        ({"batches": "contiguous"}, "context", True),
    ],
)
def test_each_difference_is_a_reason(settings: dict[str, Any], reason: str, bits: bool) -> None:
    found = comparability([text_run(), text_run(**settings)])
    assert [each.reason for each in found] == [reason]
    assert can_compare_bits(found) == bits
    assert comparability_sentence(found).startswith("These values cannot be compared directly: ")


def test_settings_without_effect_on_the_loss_are_no_reason() -> None:
    same = {
        "vocabulary": 900,
        "size": 2_000,
        "corpus_seed": 3,
        "split_seed": 2,
        "learning_rate": 0.1,
        "training_share": 0.5,
    }
    assert comparability([text_run(), text_run("transformer"), text_run("ngram"), text_run(**same)]) == []
    assert loss_context(default_config("negation", "rnn")) == ""
    assert describe_tokens(text_run()) == "characters"
    assert describe_tokens(text_run(tokenizer="bpe", vocabulary=1_000, lower=True)) == "BPE tokens (1,000), lower case"


def test_a_loss_of_a_part_depends_on_its_size() -> None:
    runs = [text_run(evaluation_size=1_000), text_run(evaluation_size=0)]
    assert comparability(runs) == []
    assert [each.reason for each in comparability(runs, "val_loss_part")] == ["evaluated"]


def test_losses_of_different_tasks_cannot_be_compared() -> None:
    found = comparability([text_run(), default_config("recall", "gru")])
    assert [each.reason for each in found] == ["task"]
    assert not can_compare_bits(found)


def test_bits_per_byte_depend_on_the_held_out_text_only() -> None:
    words = text_run(tokenizer="word", context=32)
    assert comparability([text_run(), words], "bits_per_byte") == []
    assert [each.reason for each in comparability([words, text_run(held_out=0.2)], "bits_per_byte")] == ["held out"]


@pytest.mark.parametrize(
    ("task", "model", "settings", "measure", "sentence"),
    [
        ("negation", "rnn", {"max_nots": 2}, "test_accuracy", "max_nots 1; 2"),
        ("negation", "rnn", {"train_size": 80, "learning_rate": 0.1}, "test_accuracy", ""),
        ("negation", "rnn", {"train_size": 80}, "train_accuracy", "train_size 800; 80"),
        ("word_vectors", "cbow", {"negatives": 7}, "loss", "negatives 5; 7"),
        ("word_vectors", "cbow", {"negatives": 7}, "analogy_accuracy", ""),
    ],
)
def test_test_data_of_other_tasks_follow_from_their_settings(
    task: str, model: str, settings: dict[str, Any], measure: str, sentence: str
) -> None:
    base = default_config(task, model)
    found = comparability([base, with_settings(base, settings)], measure)
    expected = [f"the data that they are measured on differ ({sentence})"] if sentence else []
    assert [each.sentence for each in found] == expected
    assert can_compare_bits(found) == (not sentence)


def test_the_sentence_names_what_differs() -> None:
    found = comparability([text_run(), text_run(tokenizer="word", vocabulary=2_000, batches="contiguous")])
    assert comparability_sentence(found) == (
        "These values cannot be compared directly: a token is not the same (characters; words (2,000)); contexts "
        "differ (blocks of 64 tokens without earlier context; reading on, with the state carried from block to block)."
    )
