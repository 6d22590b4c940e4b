from __future__ import annotations

from collections import Counter

import pytest

from explorer.experiments.labelling import VARIANTS
from explorer.experiments.pretraining import shipped_configs
from explorer.experiments.run_names import (
    describe_setting,
    flat_settings,
    names_side_by_side,
    run_name,
    setting_label,
)
from explorer.training.config import branch_from, default_config, with_settings

SHIPPED = shipped_configs()


def test_all_included_runs_have_different_names_that_are_short_enough() -> None:
    names = {key: run_name(config) for key, config in SHIPPED.items()}
    assert [name for name, count in Counter(names.values()).items() if count > 1] == []
    assert max(map(len, names.values())) <= 140
    assert not any("_" in name or " = " in name for name in names.values())


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("echo-deep-bare", "Delayed copy: Transformer, 24 blocks, no residual, learning rate 0.0005, 3 seeds"),
        ("echo-learned", "Delayed copy: Transformer, learned positions, 8 seeds"),
        ("negation-single-gru", "Negation: GRU, 8 seeds"),
        ("recall-200-lstm-chrono", "Recall: LSTM, length 200, open gates, 400 steps, 8 seeds"),
        ("text-best", "Text: Transformer, best settings, one seed"),
        ("text-warmup-post-warm-0.1", "Text: Transformer, experiment “Warm-up”, learning rate 0.1, norm after each "
         "part, warm-up over 100 steps, 3 seeds"),
    ],
)  # fmt: skip
def test_a_name_says_what_differs_from_the_settings_of_the_page(run: str, name: str) -> None:
    assert run_name(SHIPPED[run]) == name


def test_the_name_of_a_changed_run_says_the_change() -> None:
    deep = VARIANTS["echo-deep"].config()
    assert run_name(with_settings(deep, {"layers": 6, "seed": 5})).endswith("Transformer, 6 blocks, seeds 5 to 7")
    own = with_settings(default_config("negation", "rnn"), {"seed": 3, "hidden": 12, "fresh_data": False})
    assert run_name(own) == "Negation: RNN, the same data for all seeds, 12 hidden units, seed 3"
    assert run_name(own, with_task=False).startswith("RNN, ")
    part = with_settings(default_config("text", "gru"), {"training_share": 1 / 64})
    assert run_name(part) == "Text: GRU, 1.56 % of the training text, one seed"
    branch = branch_from(default_config("negation", "rnn"), 30, {"learning_rate": 0.5})
    assert run_name(branch) == "Negation: RNN, learning rate 0.5, branch at step 30, one seed"


def test_many_differences_are_counted() -> None:
    changes = {"hidden": 7, "width": 5, "p_not": 0.1, "max_nots": 3, "train_size": 9, "test_size": 9, "epochs": 3}
    name = run_name(with_settings(default_config("negation", "rnn"), {**changes, "batch_size": 8}))
    assert name.endswith(", 2 more settings, one seed")


def test_runs_side_by_side_are_named_by_what_differs_between_them() -> None:
    names = names_side_by_side([SHIPPED[f"negation-{run}"] for run in ("single-rnn", "half-rnn", "single-gru")])
    assert names == ["RNN, “not” with probability 0.35", "RNN, “not” with probability 0.5", "GRU"]
    names = names_side_by_side([SHIPPED["negation-single-gru"], SHIPPED["recall-50-gru-usual"]])
    assert names[0].startswith("Negation: GRU") and names[1].startswith("Recall: GRU")
    parent = default_config("negation", "rnn")
    assert names_side_by_side([parent, branch_from(parent, 30, {"order": 1})]) == [
        "RNN, batch order 0",
        "RNN, branch at step 30, batch order 1",
    ]
    assert names_side_by_side([parent, with_settings(parent, {"seed": 4})]) == ["RNN, one seed", "RNN, seed 4"]
    assert names_side_by_side([]) == []


def test_every_setting_can_be_put_into_words() -> None:
    for config in SHIPPED.values():
        for name, value in flat_settings(config).items():
            words, label = describe_setting(name, value, config), setting_label(name, config)
            assert label and "_" not in label
            assert words and "{" not in words
    deep, negation = SHIPPED["echo-deep"], SHIPPED["negation-single-rnn"]
    assert describe_setting("layers", 24, deep) == "24 blocks"
    assert describe_setting("residual", False, deep) == "no residual"
    assert describe_setting("task.held_out", 0.25, SHIPPED["dates-vector"]) == "25 % held out"
    assert describe_setting("text", "a" * 64, SHIPPED["text-rnn"]) == "text aaaaaaaa…"
    assert describe_setting("start", 0.3, SHIPPED["negation-single-transformer"]) == "initialization 0.3"
    assert describe_setting("learning_rate", 0.01, negation) == "learning rate 0.01"
    assert setting_label("task.p_not", negation) == "probability of “not”"
    assert setting_label("model", negation) == "model"
