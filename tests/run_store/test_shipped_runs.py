"""The shipped runs stay what they are: every key is that of its configuration, and training gives the same curves."""

from __future__ import annotations

import json

import pytest

from benchmarks.retrain_shipped import compare, steps_before_explosion
from explorer.experiments import text_setups
from explorer.experiments.pretraining import shipped_configs, tags_of
from explorer.experiments.trimming import allowed_change, kept_steps
from explorer.inspection.evaluate import evaluate
from explorer.run_store import store
from explorer.training.config import key, parse_config, to_json
from tests.run_store.small_runs import bytes_of

CONFIGS = shipped_configs()


def test_all_shipped_runs_are_those_of_the_configurations() -> None:
    folders = store.pretrained_folders()
    stored = {folder.name for folder in store.PRETRAINED.iterdir()} - {store.EARLIER}
    assert sorted(CONFIGS.keys() - stored) == [], "train them: python -m explorer pretrain NAME"
    assert sorted(stored - CONFIGS.keys()) == [], "remove these folders, or add their runs to experiments/"
    assert set(folders.values()) == CONFIGS.keys()
    for name, config in CONFIGS.items():
        run = store.find(name)
        assert (run.config, run.key, run.card.key, folders[run.key]) == (config, key(config), key(config), name)
        assert parse_config(json.loads(json.dumps(to_json(config)))) == config, name
        assert run.curves.step == run.card.step and run.card.finished and run.shipped
        assert run.card.tags == tags_of(name)
        assert run.snapshot_steps() == kept_steps(name, config, run.curves.step)
        assert run.checkpoint_steps() == []
        assert run.weights()
    assert store.find(name) is run, "it stays cached"


def test_the_included_runs_take_little_space() -> None:
    files = [file for file in store.PRETRAINED.rglob("*") if file.is_file()]
    names = {"card.json", "config.json", "events.parquet", "tokenizer.json", "weights.json", "weights.parquet"}
    assert {file.name for file in files} == names
    assert {file.parent.parent for file in files} == {store.PRETRAINED, store.PRETRAINED / store.EARLIER}
    assert sum(file.stat().st_size for file in files) <= 85e6


def test_equal_weights_of_included_runs_are_stored_once() -> None:
    contents = [file.read_bytes() for file in store.PRETRAINED.glob("*/weights.parquet")]
    assert len(set(contents)) == len(contents)
    one, other = store.find("text-ngram"), store.find("text-shakespeare-ngram")
    assert not (other.folder / "weights.parquet").exists()
    assert bytes_of(other.weights()) == bytes_of(one.weights())


REPRESENTATIVES = [
    *("negation-half-bag_of_words", "negation-half-bag_of_words_hidden", "negation-eos-bag_of_bigrams"),
    *("negation-held-out-feedforward", "negation-eos-rnn", "negation-double-lstm", "negation-double-gru"),
    *("negation-half-convolution", "negation-held-out-transformer-attending"),
    *("place-places-gru", "gloss-gru", "noise-open", "gist-alone", "induction-one"),
    *("words-grammar-cbow", "text-repeats-bpe-ngram", "text-toy-feedforward", "text-toy-gru", "dates-additive"),
    *("echo-raw", "recall-10-lstm-forget-1", "copy-transformer"),  # these take long to be evaluated
]


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_a_run_has_the_first_losses_of_a_training_and_the_metrics_of_its_weights(name: str) -> None:
    """Bit for bit on the processor that trained it. Elsewhere rounding grows until the curves part."""
    is_brief = name in ("negation-half-bag_of_words", "text-repeats-bpe-ngram")
    result = compare(name, CONFIGS[name], only_first_steps=not is_brief)
    assert result["problem"] == ""
    assert result["equal_steps"] >= min(20 if is_brief else steps_before_explosion(name), result["steps"])
    assert not is_brief or result["metrics"] < 0.01
    if name in REPRESENTATIVES[-3:]:
        return
    run = store.find(name)
    replaced = evaluate(run)
    # The weights are rounded; the metrics of the card come from full precision.
    error = 5e-4 if name in text_setups.shipped_configs() else allowed_change(run.config) + 1e-6
    assert replaced.keys() == run.card.metrics.keys()
    for metric, value in run.card.metrics.items():
        assert replaced[metric].mean == pytest.approx(value.mean, rel=error, abs=error)
        assert replaced[metric].values == pytest.approx(value.values, rel=error, abs=error)
