"""URL parameters of the language model page, and the state changes of its controls."""

from __future__ import annotations

import pytest

from explorer.catalogue import models_of
from explorer.experiments.presets import PRESETS
from explorer.experiments.text_setups import SETUPS
from explorer.labs.text.state import DEFAULT_SETUP, TextLab
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.ui.state.url_codec import read, write

TRAINED = [model for model in models_of("text") if model != "ngram"]
SHA = "a" * 64


def test_the_default_state_has_no_url_parameters_and_selects_included_runs() -> None:
    lab = TextLab()
    assert write(lab) == {}
    for model in TRAINED:
        assert lab.config(model) == store.find(f"text-{model}").config


def test_every_included_run_can_be_opened_by_url() -> None:
    for name in ("text-best", "text-assignment", "text-through-training", "text-gru", "text-lines"):
        run = store.find(name)
        lab, problems = read(TextLab, {"run": run.key})
        assert not problems and run.config in lab.configs.values()
        assert read(TextLab, write(lab)) == (lab, ())
    assert lab.config("gru") == run.config and lab.task.test == 0.5 and lab.task.tokenizer_from_training


def test_a_run_of_another_task_is_reported_with_its_page() -> None:
    key = store.find("negation-single-rnn").key
    lab, problems = read(TextLab, {"run": key})
    assert lab == TextLab()
    assert problems == (f"Run {key} stands on another page: Negation, /negation?run={key}.",)


def test_the_ngram_has_no_training_settings() -> None:
    lab = (
        TextLab()
        .with_shared(seed=7, replicas=2, stop_at=1.5, patience=4)
        .with_every_trained(iterations=50, batch_size=8)
    )
    assert lab.config("ngram") == TextLab().config("ngram")
    assert "iterations" not in TextLab.own_settings("ngram")
    for model in TRAINED:
        config = lab.config(model)
        assert (config.seed, config.replicas, config.stop_at, config.patience) == (7, 2, 1.5, 4)
        assert (config.iterations, config.batch_size) == (50, 8)


def test_state_is_not_carried_between_unrelated_rows() -> None:
    lab = TextLab()
    assert lab.config("gru").task_as(TextConfig).batches == "contiguous"
    lines = lab.with_shared(rows="sentences", split="sentences")
    assert lines.config("gru").task_as(TextConfig).batches == "random"
    assert lines.with_shared(rows="blocks", split="end").config("gru") == lab.config("gru")


@pytest.mark.parametrize("name", SETUPS)
def test_every_choice_of_the_first_screen_shows_included_runs(name: str) -> None:
    lab, problems = read(TextLab, {"setup": name})
    assert not problems and write(lab) == {"setup": name}
    for config in lab.configs.values():
        assert store.find_by_config(config), f"python -m explorer pretrain has no {config.model_name} of {name}"
    assert set(lab.tokenizers) == {"char", "bpe"} if lab.corpus == "tinyshakespeare" else {"char"}
    for tokenizer in lab.tokenizers:
        assert lab.with_tokenizer(tokenizer).setup in SETUPS
    changed = lab.with_shared(replicas=2).with_own("gru", hidden=20)
    assert write(changed) == {"setup": name, "replicas": "2", "gru.hidden": "20"}
    assert read(TextLab, write(changed)) == (changed, ())
    assert not changed.has_included_settings and lab.has_included_settings


def test_another_corpus_shows_its_included_runs() -> None:
    lab = TextLab.of_setup(DEFAULT_SETUP)
    assert lab.with_corpus("brackets") == TextLab.of_setup("brackets")
    assert lab.with_corpus("brackets").with_corpus("tinyshakespeare") == lab == lab.with_shared(replicas=2).reset()
    assert write(lab.with_tokenizer("word")) == {"setup": DEFAULT_SETUP, "tokenizer": "word", "test": "0.5"}
    assert read(TextLab, {"setup": "nothing"})[1][0].startswith("setup = nothing is not possible")


def test_a_private_text_is_awaited_and_then_identified_by_its_hash() -> None:
    waiting = TextLab().with_corpus("own")
    assert (waiting.corpus, waiting.text, waiting.awaiting_text) == ("own", "", True)
    assert write(waiting) == {}
    there = waiting.with_corpus("own", SHA)
    assert (there.corpus, there.text, there.awaiting_text) == ("own", SHA, False)
    assert write(there)["text"] == SHA
    assert read(TextLab, write(there)) == (there, ())


def test_a_preset_selects_its_model_and_corpus() -> None:
    for name, preset in PRESETS.items():
        if preset.task == "text":
            lab = TextLab().with_preset(name)
            assert preset.model in lab.models
            config, expected = lab.config(preset.model), preset.config()
            assert (config.model, config.optimiser) == (expected.model, expected.optimiser)
            assert config.batch_size == expected.batch_size
            # The same run where it chooses its text: an included one is found by its preset.
            assert config == expected or not preset.chooses_text
            assert read(TextLab, write(lab)) == (lab, ())


def test_what_the_page_trains_anew_has_a_test_split_and_a_tokenizer_of_training_lines() -> None:
    lab = TextLab()
    assert (lab.task.test, lab.task.tokenizer_from_training) == (0.0, False), "the included runs have neither"
    words = lab.with_tokenizer("word")
    assert (words.task.test, words.task.tokenizer_from_training) == (0.5, False)
    lines = words.with_text_settings(rows="sentences", split="sentences")
    assert (lines.task.test, lines.task.tokenizer_from_training) == (0.5, True)
    pairs = lines.with_text_settings(split="pairs")
    assert not pairs.task.tokenizer_from_training, "it is impossible for single targets"
    assert pairs.with_text_settings(rows="blocks", split="end").with_tokenizer("char").configs == lab.configs
    assert lab.with_corpus("repeats").task.test == lab.with_corpus("own", SHA).task.test == 0.5
    assert lines.with_corpus("own", SHA).task.tokenizer_from_training
    assert lines.with_corpus("tinyshakespeare").setup == DEFAULT_SETUP


def test_an_address_without_a_test_split_has_none() -> None:
    lines = {"corpus": "repeats", "tokenizer": "word", "rows": "sentences", "split": "sentences"}
    opened, problems = read(TextLab, lines)
    assert problems == () and (opened.task.test, opened.task.tokenizer_from_training) == (0.0, False)
    chosen = TextLab().with_corpus("repeats")
    assert read(TextLab, write(chosen))[0].configs == chosen.configs
