"""The search space: which trials a definition means, and what is refused before anything starts."""

from __future__ import annotations

import json

import pytest

from explorer.errors import InvalidSetting
from explorer.sweeps.space import Range, default_metric, make_sweep, parse_sweep, sweep_to_json, trials
from explorer.training.config import default_config, setting_value, with_settings

BASE = default_config("negation", "rnn")
RATES = [1e-3, 3e-3, 1e-2]


def test_a_grid_has_every_combination_once_and_values_may_be_text() -> None:
    sweep = make_sweep(BASE, {"learning_rate": [*RATES, "0.001"], "model.hidden": [8, 16]}, seeds=4)
    found = [(setting_value(t.config, "learning_rate"), setting_value(t.config, "hidden")) for t in trials(sweep)]
    assert found == [(rate, hidden) for rate in RATES for hidden in (8, 16)]
    assert {trial.config.replicas for trial in trials(sweep)} == {4}
    assert [trial.number for trial in trials(sweep)] == [1, 2, 3, 4, 5, 6]
    assert trials(sweep)[0].label == "learning rate 0.001, model.hidden 8"
    assert make_sweep(BASE, {"learning_rate": "1e-3, 3e-3,1e-2"}) == make_sweep(BASE, {"learning_rate": RATES})
    random = make_sweep(BASE, {"learning_rate": "1e-4:1e-1:log"}, search="random", number=5)
    assert random.space == (("learning_rate", Range(1e-4, 1e-1, log=True)),)


def test_random_trials_follow_from_the_seed_and_stay_in_their_range() -> None:
    space = {"learning_rate": Range(1e-4, 1e-1, log=True), "hidden": Range(4, 40), "schedule": ["linear", "cosine"]}
    sweep = make_sweep(BASE, space, search="random", number=40)
    again = make_sweep(BASE, space, search="random", number=40)
    other = make_sweep(BASE, space, search="random", number=40, search_seed=1)
    assert trials(sweep) == trials(again) and trials(sweep) != trials(other)
    rates = [setting_value(trial.config, "learning_rate") for trial in trials(sweep)]
    assert all(1e-4 <= rate <= 1e-1 and float(f"{rate:.3g}") == rate for rate in rates)
    assert 10 < sum(rate < 10**-2.5 for rate in rates) < 30  # half of a logarithmic range
    hidden = [setting_value(trial.config, "hidden") for trial in trials(sweep)]
    assert all(type(value) is int and 4 <= value <= 40 for value in hidden)
    assert {setting_value(trial.config, "schedule") for trial in trials(sweep)} == {"linear", "cosine"}
    space = {"width": Range(2, 33), "heads": [1, 2, 4]}  # not every combination is possible
    for trial in trials(make_sweep(default_config("negation", "transformer"), space, search="random", number=20)):
        assert setting_value(trial.config, "width") % setting_value(trial.config, "heads") == 0


def test_a_definition_can_be_stored() -> None:
    for sweep in (
        make_sweep(BASE, {"learning_rate": RATES}, halving=False, finalists=0),
        make_sweep(BASE, {"learning_rate": Range(1e-4, 1e-1, log=True)}, search="random", number=12, search_seed=3),
    ):
        stored = parse_sweep(json.loads(json.dumps(sweep_to_json(sweep))))
        assert stored == sweep and stored.key == sweep.key
        assert trials(stored) == trials(sweep)
    with pytest.raises(InvalidSetting, match="not the definition of a sweep"):
        parse_sweep({"base": sweep_to_json(sweep)["base"]})


def test_rungs_are_snapshots_near_their_share_of_the_steps() -> None:
    sweep = make_sweep(BASE, {"learning_rate": Range(1e-4, 1, log=True)}, search="random", number=27)
    assert len(sweep.rungs) == 2 and set(sweep.rungs) <= set(BASE.snapshot_steps)
    for step, share in zip(sweep.rungs, (1 / 9, 1 / 3), strict=True):
        assert share / 2 < step / BASE.steps < share * 2
    for factor, count in ((2, 4), (3, 3), (10, 1)):  # not after a few steps, which tell little
        many = make_sweep(
            BASE, {"learning_rate": "1e-4:0.1:log"}, search="random", number=300, finalists=0, halving=factor
        )
        assert len(many.rungs) == count and many.rungs[0] > BASE.steps / 35
    assert make_sweep(BASE, {"learning_rate": RATES}).rungs == ()  # three trials: nothing to halve


def test_the_default_metric_is_a_loss_on_new_data() -> None:
    expected = {("negation", "rnn"): "test_loss", ("text", "gru"): "bits_per_byte", ("recall", "lstm"): "loss"}
    assert {pair: default_metric(default_config(*pair)) for pair in expected} == expected


@pytest.mark.parametrize(
    ("space", "options", "words"),
    [
        ({}, {}, "needs at least one setting"),
        ({"lerning_rate": RATES}, {}, "no setting “lerning_rate”. Nearest: learning_rate"),
        ({"learning_rate": [1e-3, "high"]}, {}, "learning_rate = high is not possible"),
        ({"learning_rate": [1e-3]}, {}, "at least two trials"),
        ({"learning_rate": []}, {}, "Give a list of values"),
        ({"learning_rate": 1e-3}, {}, "Give a list of values"),
        ({"seed": [1, 2]}, {}, "`seed` cannot be searched"),
        ({"replicas": [1, 2]}, {}, "give `seeds`"),
        ({"hidden": [8, 16], "model.hidden": [4, 8]}, {}, "given twice"),
        ({"schedule": Range(1, 2)}, {"search": "random", "number": 3}, "is no number"),
        ({"learning_rate": Range(1e-3, 1e-2)}, {}, "A grid needs a list of values"),
        ({"learning_rate": Range(1e-3, 5)}, {"search": "random", "number": 3}, "learning_rate = 5.* is not possible"),
        ({"learning_rate": "1:2:cubic"}, {}, "is no range"),
        ({"learning_rate": RATES}, {"number": 3}, "takes no number of trials"),
        ({"learning_rate": RATES}, {"search": "random"}, "give `trials`"),
        ({"learning_rate": RATES}, {"search": "random", "number": 4}, "Only 3 different combinations"),
        ({"learning_rate": RATES}, {"search": "evolution"}, "Give grid or random"),
        ({"learning_rate": RATES}, {"seeds": 0}, "seeds = 0 is not possible"),
        ({"learning_rate": RATES}, {"seeds": 10**6}, "seeds = 1000000 is not possible"),
        ({"learning_rate": []}, {}, "`learning_rate` has no values"),
        ({"learning_rate": RATES}, {"finalists": 1}, "Give 0 or 2"),
        ({"learning_rate": RATES}, {"metric": "beauty"}, "do not record “beauty”. There is train_loss"),
        ({"learning_rate": RATES}, {"halving": 3}, "nothing to halve"),
        ({"learning_rate": RATES}, {"halving": 1}, "factor from 2 to 10"),
        ({"epochs": [5, 10, 20, 40]}, {}, "after the same number of steps"),
        ({"patience": [0, 1, 2, 3]}, {}, "cannot end early"),
    ],
)
def test_what_is_not_possible_is_named(space: dict[str, object], options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidSetting, match=words):
        make_sweep(BASE, space, **options)  # type: ignore[arg-type]


NOT_RANKED = "These trials cannot be ranked by "


@pytest.mark.parametrize(
    ("task", "model", "space", "metric", "words"),
    [
        ("text", "gru", {"tokenizer": ["char", "word"]}, "val_loss", r"a token is not the same \(characters; words"),
        ("text", "gru", {"tokenizer": ["bpe"], "vocabulary": [60, 300]}, "val_loss", r"\(BPE tokens \(60\); BPE"),
        ("text", "gru", {"context": [8, 16]}, "val_loss", "contexts differ"),
        ("text", "gru", {"lower": [True, False]}, "", "the texts differ"),
        ("text", "gru", {"held_out": [0.1, 0.2]}, "", "the held-out parts differ .*Keep `held_out` the same"),
        ("text", "gru", {"corpus": ["toy", "repeats"]}, "", "a sweep for each value of `corpus`"),
        (
            "text",
            "gru",
            {"corpus": ["toy"], "split": ["end", "windows"]},
            "",
            "split = windows, training reads 100% of it",
        ),
        ("negation", "rnn", {"p_not": [0.2, 0.5]}, "", r"measured on differ \(p_not 0.2; 0.5\)"),
        ("negation", "rnn", {"train_size": [200, 800]}, "train_loss", "Give metric = test_loss or "),
        ("recall", "lstm", {"length": [10, 50]}, "", r"\(length 10; 50\)"),
        ("induction", "transformer", {"shortest": [5, 6]}, "", r"\(shortest 5; 6\)"),
        ("word_vectors", "skip_gram", {"window": [2, 5]}, "", "Give metric = analogy_accuracy or "),
    ],
)
def test_trials_that_cannot_be_compared_are_refused_with_the_nearest_possible_question(
    task: str, model: str, space: dict[str, list[object]], metric: str, words: str
) -> None:
    with pytest.raises(InvalidSetting, match=NOT_RANKED + ".*" + words):
        make_sweep(default_config(task, model), space, halving=False, metric=metric)


def test_settings_that_change_the_training_data_only_can_be_searched() -> None:
    for task, model, space, metric in (
        ("negation", "rnn", {"train_size": [200, 800]}, "test_loss"),
        ("text", "gru", {"training_share": [0.1, 1.0]}, "val_loss"),
        ("recall", "lstm", {"sequences": [0, 50]}, "loss"),
        ("word_vectors", "skip_gram", {"window": [2, 5]}, "analogy_accuracy"),
    ):
        assert make_sweep(default_config(task, model), space, halving=False, metric=metric).metric == metric


def test_an_n_gram_is_searched_with_one_seed() -> None:
    base, space = default_config("text", "ngram"), {"n": [2, 3]}
    with pytest.raises(InvalidSetting, match=r"every seed gives the same one\. Give seeds = 1 and finalists = 0"):
        make_sweep(base, space)
    assert len(trials(make_sweep(base, space, seeds=1, finalists=0, halving=False))) == 2


def test_impossible_combinations_too_many_trials_and_own_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    base = default_config("negation", "transformer")
    with pytest.raises(InvalidSetting, match=r"width = 9, heads = 2 \(.*\); width = 9, heads = 4 \(.*\)\. Leave out"):
        make_sweep(base, {"width": [8, 9], "heads": [1, 2, 4]})
    own = with_settings(default_config("text", "gru"), {"corpus": "own", "text": "0" * 64})
    with pytest.raises(InvalidSetting, match="private"):
        make_sweep(own, {"learning_rate": RATES})
    monkeypatch.setenv("LINEAGE_MOST_TRIALS", "2")
    with pytest.raises(InvalidSetting, match="has 3 trials; 2 are possible"):
        make_sweep(BASE, {"learning_rate": RATES})
