from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting, NeedsText
from explorer.tasks.seq2seq import config as seq2seq
from explorer.tasks.seq2seq.config import source_ids, source_text, target_ids, target_text
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig, evaluation_lengths
from explorer.tasks.seq2seq.pairs import (
    PairsConfig,
    PairTable,
    example_pairs,
    known_target,
    normalize_text,
    own_pairs_task,
    pair_table,
    split_pairs,
)
from explorer.tasks.text import corpora
from explorer.tasks.text.rows import drop_text_data


def test_vocabularies_and_texts_of_ids() -> None:
    assert "".join(seq2seq.source_vocabulary(ReverseConfig())) == "0123456789<PAD>"
    assert "".join(seq2seq.target_vocabulary(CopyConfig(symbols=3))) == "012<BOS><EOS>"
    assert "".join(seq2seq.source_vocabulary(DatesConfig())) == " ',-./0123456789abcdefghijlmnoprstuvwy<PAD>"
    assert "".join(seq2seq.target_vocabulary(DatesConfig())) == "0123456789-<BOS><EOS>"
    assert target_ids(DatesConfig(), source_ids(DatesConfig(), "31 february 1997")) is None
    for other, answer in ((ReverseConfig(), "413"), (CopyConfig(), "314")):
        right = target_ids(other, source_ids(other, "3 1 4"))
        assert right is not None and target_text(other, right) == answer
        assert seq2seq.max_answer_length(other, 3) == 9
    assert evaluation_lengths(ReverseConfig(longest=3)) == (1, 2, 3, 4, 5, 8, 13)
    config = ReverseConfig()
    assert target_text(config, [1, 2, 11, 11]) == "12"
    assert target_text(config, [1, 10, 2]) == "1<BOS>2"
    assert source_text(config, [1, 2, 10, 10]) == "12"
    assert len(source_ids(ReverseConfig(longest=3), "3141592")) == 7  # longer than in training


def test_unreadable_sources_raise_one_sentence(snapshot: SnapshotAssertion) -> None:
    unreadable = [(ReverseConfig(), text) for text in ("", "  ", "12a4", "٣", "1" * 51)]
    unreadable += [(CopyConfig(symbols=2), "0120"), (DatesConfig(), "kwanza 1997"), (DatesConfig(), "")]
    messages = {}
    for config, text in unreadable:
        with pytest.raises(InvalidSetting) as raised:
            source_ids(config, text)
        messages[f"{type(config).__name__} {text}"] = str(raised.value)
    assert messages == snapshot


def test_the_example_does_not_change() -> None:
    pairs = example_pairs()
    assert len({source for source, _ in pairs}) == len(pairs) == 300
    assert hashlib.sha256(repr(pairs).encode()).hexdigest()[:12] == "1fbdbd0bf91c"


@pytest.mark.parametrize(("count", "share"), [(3, 0.05), (3, 0.5), (4, 0.2), (10, 0.05), (301, 0.2)])
def test_no_source_is_in_both_parts_and_neither_is_too_small(count: int, share: float) -> None:
    pairs = [(f"source {i}", f"target {i % 2}") for i in range(count)]
    splits = [split_pairs(pairs, PairsConfig(held_out_share=share, split_seed=seed)) for seed in range(5)]
    for table in splits:
        training, held_out = ({source for source, _ in part} for part in (table.training, table.held_out))
        assert not training & held_out and len(training) >= 2 and len(held_out) >= 1
        assert sorted(table.all_pairs) == sorted(pairs)
    assert count < 10 or len({table.held_out for table in splits}) > 1, "the seed decides"


def test_texts_are_normalized_and_characters_that_training_never_shows_are_found() -> None:
    assert normalize_text("  Cafe\u0301 \u00a0 au\tLait\n") == "Caf\u00e9 au Lait"
    table = PairTable((("ab", "x"), ("b", "xy")), (("ba", "y"), ("ac", "x"), ("a", "z")))
    assert table.new_characters == (("ac", "x"), ("a", "z"))
    assert (table.target_of("ab"), table.target_of("ac"), table.target_of("none")) == ("x", "x", None)


def test_impossible_settings_are_refused() -> None:
    own: dict[str, Any] = {"corpus": "own", "text": "0" * 64}
    problems: list[tuple[dict[str, Any], str]] = [
        ({"corpus": "own"}, "needs text"),
        ({"text": "0" * 64}, "goes with corpus = own only"),
        (own | {"sources": "ba"}, "sources needs each character once"),
        (own | {"targets": "aab"}, "targets needs each character once"),
        ({"longest_source": 7}, "corpus = own only"),
    ]
    for settings, problem in problems:
        with pytest.raises(ValueError, match=problem):
            PairsConfig(**settings)


# Pairs of a visitor

TABLE = "target;source\n" + "".join(f"{word[::-1]}!;{word}\n" for word in ("Abc", "ab c", "Émile", "bb", "c", "b"))


@pytest.fixture
def own_config() -> PairsConfig:
    return own_pairs_task(corpora.store_text(TABLE))


def test_the_settings_of_a_file_follow_from_it_and_others_are_refused(own_config: PairsConfig) -> None:
    assert (own_config.corpus, own_config.sources, own_config.targets) == ("own", " AabceilmÉ", " !AabceilmÉ")
    assert (own_config.longest_source, own_config.longest_target) == (5, 6)
    table = pair_table(own_config)
    assert (len(table.training), len(table.held_out)) == (5, 1)
    with pytest.raises(InvalidSetting, match="longest_source = 9 does not belong to this file, whose value is 5"):
        pair_table(replace(own_config, longest_source=9))
    with pytest.raises(InvalidSetting, match="sources = bc does not belong to this file"):
        pair_table(replace(own_config, sources="bc"))


def test_texts_of_a_file_become_ids_and_back_for_who_entered_it(own_config: PairsConfig) -> None:
    assert seq2seq.source_vocabulary(own_config)[-1] == "<PAD>" and seq2seq.target_vocabulary(own_config)[-2:] == (
        "<BOS>",
        "<EOS>",
    )
    ids = source_ids(own_config, "  Émile ")
    assert source_text(own_config, ids) == "Émile"
    right = target_ids(own_config, ids)
    assert right is not None and target_text(own_config, right) == "elimÉ!"
    assert target_ids(own_config, source_ids(own_config, "bbb")) is None, "the file has no such source"
    assert seq2seq.max_answer_length(own_config, 50) == 6 + 1 + 5
    with pytest.raises(InvalidSetting, match=r"“x”, which the model never saw\. Give a source of these characters: "):
        source_ids(own_config, "bxb")
    assert known_target(own_config, "bb") == "bb!"
    with corpora.read_as("somebody else"):
        with pytest.raises(NeedsText):
            pair_table(own_config)
        with pytest.raises(NeedsText):
            own_pairs_task(own_config.text)
        assert known_target(own_config, "bb") is None
    drop_text_data(own_config.text)
    with pytest.raises(NeedsText):
        pair_table(own_config)
