from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.inspection.load_model import load_model
from explorer.jobs import limits
from explorer.jobs.cost import estimate_cost
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import negation_data, own_task
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, key, parse_config, to_json, with_settings
from explorer.training.objective import objective_class
from explorer.training.record import Record
from explorer.training.recorder import Recorder
from explorer.training.train import train

GOOD, BAD = ("good", "fine", "clever", "warm"), ("bad", "dull", "weak", "slow")
NOUNS = tuple(f"noun{i}" for i in range(20))  # so many words that pairs are looked up
ROWS = [
    (f"the {noun} is {'not ' * nots}{adjective}", "yes" if (adjective in GOOD) != nots else "no")
    for i, noun in enumerate(NOUNS)
    for nots in (False, True)
    for adjective in (GOOD[i % 4], BAD[i % 4])
]
TABLE = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)


def config(model: str, **settings: object) -> RunConfig:
    chosen = with_settings(default_config("negation", model), {"batch_size": 16, "epochs": 20, **settings})
    return replace(chosen, task=own_task(corpora.store_text(TABLE)))


def train_to_end(config: RunConfig) -> Record:
    recorder = Recorder(config)
    for event in train(config):
        recorder.add(event)
    return recorder.record()


def test_keys_depend_on_the_file_and_a_configuration_goes_through_json() -> None:
    one = config("rnn")
    assert parse_config(to_json(one)) == one
    other = replace(one, task=own_task(corpora.store_text(TABLE + "a new row,yes\n")))
    assert len({key(one), key(other), key(default_config("negation", "rnn"))}) == 3


@pytest.mark.parametrize("model", models_of("negation"))
def test_replicas_train_as_each_alone(model: str) -> None:
    several, alone = (train_to_end(config(model, replicas=n, seed=s, epochs=2)) for n, s in ((2, 4), (1, 5)))
    np.testing.assert_allclose(several.curves.losses[:, 1], alone.curves.losses[:, 0], atol=1e-5)
    for name, values in several.curves.metrics.items():
        np.testing.assert_allclose(values[:, 1], alone.curves.metrics[name][:, 0], atol=1e-5)


def test_a_bag_of_bigrams_adds_up_the_weights_of_its_pairs() -> None:
    record = train_to_end(config("bag_of_bigrams", epochs=1))
    model = load_model(record).stack
    data = negation_data(record.config.task_as(NegationConfig))
    size = len(data.vocabulary.tokens)
    assert size > 24
    ids = torch.tensor([data.rows[0].ids])
    counts = torch.zeros(size * size)
    for first, second in zip(ids[0], ids[0, 1:], strict=False):
        if size - 1 not in (int(first), int(second)):
            counts[first * size + second] += 1
    torch.testing.assert_close(model(ids)[0], model.readout.weight @ counts + model.readout.bias)


def test_a_stored_run_needs_no_file_to_be_loaded() -> None:
    record = train_to_end(config("transformer", epochs=1))
    data = negation_data(record.config.task_as(NegationConfig))
    ids = torch.tensor([data.rows[3].ids])
    before = load_model(record).stack(ids)
    corpora.drop_text(record.config.own_text)
    torch.testing.assert_close(load_model(record).stack(ids), before)
    layout = objective_class(record.config.task).layout(record.config)
    assert set(layout.metrics) == set(record.curves.metrics)


def test_the_cost_of_a_file_is_limited() -> None:
    small = config("lstm")
    assert limits.check(small) == small
    assert 0 < estimate_cost(small).seconds < 60
    huge = replace(small, task=replace(small.task, train_size=20_000), epochs=2_000)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="this server allows"):
        limits.check(huge)
    corpora.drop_text(small.own_text)
    assert estimate_cost(small).parameters > estimate_cost(default_config("negation", "lstm")).parameters  # a bound
