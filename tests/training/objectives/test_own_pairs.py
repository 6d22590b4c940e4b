from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.errors import NeedsText
from explorer.inspection.load_model import load_model
from explorer.inspection.seq2seq.decoding import greedy_outputs
from explorer.tasks.seq2seq.pairs import PairsConfig, own_pairs_task, pair_table, plural
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run

NOUNS = [a + b for a in ("b", "d", "gr", "kl", "m", "st") for b in ("at", "ix", "ody", "elf")]
TABLE = "source,target\n" + "".join(f"{noun},{plural(noun)}\n" for noun in NOUNS)
ATTENTION = [("encoder_decoder", {"attention": "additive", "learning_rate": 0.01}), ("transformer_encoder_decoder", {})]


def config(model: str, table: str = TABLE, **settings: object) -> RunConfig:
    small = {"width": 16, "hidden": 32, "evaluate_every": 0, "warmup": 5}
    chosen = with_settings(default_config("pairs", model), {**small, **settings})
    return replace(chosen, task=own_pairs_task(corpora.store_text(table)))


@pytest.mark.parametrize(("model", "settings"), ATTENTION)
def test_the_loss_falls_and_exact_match_is_that_of_the_held_out_pairs(model: str, settings: dict[str, object]) -> None:
    record = record_run(config(model, iterations=20, batch_size=16, **settings))
    losses = record.curves.losses
    assert (losses[-5:].mean(axis=0) < 0.95 * losses[:5].mean(axis=0)).all()
    assert set(record.curves.metrics) == {"exact", "loss"} and not record.curves.answers
    task = record.config.task_as(PairsConfig)
    table = pair_table(task)
    outputs = greedy_outputs(load_model(record).stack, task, table.held_out)  # type: ignore[arg-type]
    right = [[text == target for text in texts] for texts, (_, target) in zip(outputs, table.held_out, strict=True)]
    np.testing.assert_allclose(record.curves.metrics["exact"][-1], np.mean(right, axis=0), atol=1e-6)


@pytest.mark.parametrize("model", models_of("pairs"))
def test_replicas_train_as_each_alone(model: str) -> None:
    several, alone = (record_run(config(model, replicas=n, seed=s, iterations=3)) for n, s in ((2, 4), (1, 5)))
    np.testing.assert_allclose(several.curves.losses[:, 1], alone.curves.losses[:, 0], atol=1e-5)
    for name, values in several.curves.metrics.items():
        np.testing.assert_allclose(values[:, 1], alone.curves.metrics[name][:, 0], atol=1e-5)


def test_held_out_pairs_are_never_trained() -> None:
    from explorer.tasks.seq2seq.batches import batch_of_table
    from explorer.tasks.seq2seq.config import source_text

    task = config("encoder_decoder").task_as(PairsConfig)
    table = pair_table(task)
    seen = {
        source_text(task, row)
        for step in range(30)
        for row in batch_of_table(task, table, 0, 0, step, 32).source.tolist()
    }
    assert seen == {source for source, _ in table.training}


def test_a_model_needs_no_file_but_a_training_does() -> None:
    record = record_run(config("encoder_decoder", iterations=1))
    with corpora.read_as("somebody else"):
        assert load_model(record).config == record.config
        with pytest.raises(NeedsText):
            record_run(record.config)
