from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from explorer.inspection.load_model import load_model
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import negation_data, own_task
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.objective import objective_class
from explorer.training.recorder import record_run

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


@pytest.mark.parametrize("model", ["bag_of_bigrams", "lstm", "transformer"])
def test_replicas_train_as_each_alone_and_metrics_are_those_of_the_sentences(model: str) -> None:
    several, alone = (record_run(config(model, replicas=n, seed=s, epochs=2)) for n, s in ((2, 4), (1, 5)))
    np.testing.assert_allclose(several.curves.losses[:, 1], alone.curves.losses[:, 0], atol=1e-5)
    for name, values in several.curves.metrics.items():
        np.testing.assert_allclose(values[:, 1], alone.curves.metrics[name][:, 0], atol=1e-5)
    task, reader = negation_data(alone.config.task_as(NegationConfig)), load_model(alone).stack
    chosen: dict[str, list[tuple[float, bool]]] = {}
    for sentence, label in zip(task.sentences, task.labels, strict=True):
        row = next(row for row in task.rows if task.sentences[row.sentence] == sentence)
        p = reader(torch.tensor([row.ids]))[0].softmax(dim=-1)
        part = "test" if sentence.probability > 0 else "train"
        for kind in (part, f"{part} negated" if sentence.nots else f"{part} plain"):
            chosen.setdefault(kind, []).append((-float(p[label].log()), int(p.argmax()) == label))
    means = {kind: np.mean(values, axis=0) for kind, values in chosen.items()}
    for part in ("train", "test"):
        assert alone.curves.last(f"{part}_loss")[0] == pytest.approx(means[part][0], rel=1e-4)
        assert alone.curves.last(f"{part}_accuracy")[0] == pytest.approx(means[part][1])
    for kind in ("negated", "plain"):
        assert alone.curves.last(f"test_accuracy_{kind}")[0] == pytest.approx(means[f"test {kind}"][1])


def test_a_stored_run_needs_no_file_to_be_loaded() -> None:
    record = record_run(config("transformer", epochs=1))
    data = negation_data(record.config.task_as(NegationConfig))
    ids = torch.tensor([data.rows[3].ids])
    before = load_model(record).stack(ids)
    corpora.drop_text(record.config.own_text)
    torch.testing.assert_close(load_model(record).stack(ids), before)
    layout = objective_class(record.config.task).layout(record.config)
    assert set(layout.metrics) == set(record.curves.metrics)


def test_an_accuracy_stands_beside_the_share_of_the_most_frequent_class() -> None:
    labels = ["yes" if i % 20 else "no" for i in range(400)]  # 95 % of one class, whatever the sentence says
    table = "text,label\n" + "".join(f"noun{i} is {GOOD[i % 4]},{label}\n" for i, label in enumerate(labels))
    chosen = with_settings(default_config("negation", "bag_of_words"), {"batch_size": 16, "epochs": 1})
    record = record_run(replace(chosen, task=own_task(corpora.store_text(table))))
    assert record.baselines["test_accuracy"] == pytest.approx(0.95)
    assert record.baselines["train_accuracy"] == pytest.approx(0.95)
    assert "test_accuracy_negated" not in record.baselines, "no sentence is negated"
