from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.errors import InvalidSetting, NeedsText
from explorer.tasks.seq2seq.config import (
    max_answer_length,
    source_ids,
    source_text,
    source_vocabulary,
    target_ids,
    target_text,
    target_vocabulary,
)
from explorer.tasks.seq2seq.own_pairs import drop_pairs, known_target, own_pairs_task, pair_table
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.text import corpora

TABLE = "target;source\n" + "".join(f"{word[::-1]}!;{word}\n" for word in ("Abc", "ab c", "Émile", "bb", "c", "b"))


@pytest.fixture
def config() -> PairsConfig:
    return own_pairs_task(corpora.store_text(TABLE))


def test_the_settings_of_a_file_follow_from_it(config: PairsConfig) -> None:
    assert (config.corpus, config.sources, config.targets) == ("own", " AabceilmÉ", " !AabceilmÉ")
    assert (config.longest_source, config.longest_target) == (5, 6)
    table = pair_table(config)
    assert (len(table.training), len(table.held_out)) == (5, 1)


def test_texts_become_ids_and_back(config: PairsConfig) -> None:
    assert source_vocabulary(config)[-1] == "<PAD>" and target_vocabulary(config)[-2:] == ("<BOS>", "<EOS>")
    ids = source_ids(config, "  Émile ")
    assert source_text(config, ids) == "Émile"
    right = target_ids(config, ids)
    assert right is not None and target_text(config, right) == "elimÉ!"
    assert target_ids(config, source_ids(config, "bbb")) is None, "the file has no such source"
    assert max_answer_length(config, 50) == 6 + 1 + 5
    with pytest.raises(InvalidSetting, match=r"“x”, which the model never saw\. Give a source of these characters: "):
        source_ids(config, "bxb")


def test_settings_of_another_file_are_refused(config: PairsConfig) -> None:
    with pytest.raises(InvalidSetting, match="longest_source = 9 does not belong to this file, whose value is 5"):
        pair_table(replace(config, longest_source=9))
    with pytest.raises(InvalidSetting, match="sources = bc does not belong to this file"):
        pair_table(replace(config, sources="bc"))


def test_only_who_entered_a_file_reads_it(config: PairsConfig) -> None:
    assert known_target(config, "bb") == "bb!"
    with corpora.read_as("somebody else"):
        with pytest.raises(NeedsText):
            pair_table(config)
        with pytest.raises(NeedsText):
            own_pairs_task(config.text)
        assert known_target(config, "bb") is None
    drop_pairs(config.text)
    corpora.drop_text(config.text)
    with pytest.raises(NeedsText):
        pair_table(config)
