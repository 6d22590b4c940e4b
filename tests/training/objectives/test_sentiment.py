"""The objective on English sentences: its metrics are those of the sentences, and a run has the words that it reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.errors import DamagedRun
from explorer.inspection.load_model import load_model
from explorer.inspection.words.negation_sentences import class_probabilities
from explorer.tasks.own_sentences import Language
from explorer.tasks.sentiment.config import TESTED, SentimentConfig
from explorer.tasks.sentiment.data import batches, sentiment_data
from explorer.training.config import default_config, with_settings
from explorer.training.objectives.sentiment import SentimentObjective
from explorer.training.recorder import record_run
from tests import needs

SMALL = {"reviews": 0, "composed": 300, "words": 0, "iterations": 8, "batch_size": 16, "learning_rate": 1e-2}


@needs.sentences
def test_its_metrics_are_those_of_the_sentences_and_a_run_reads_without_the_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = record_run(with_settings(default_config("sentiment", "feedforward"), SMALL))
    task, curves = sentiment_data(record.config.task_as(SentimentConfig)), record.curves
    monkeypatch.setattr("explorer.tasks.sentiment.data.read_reviews", None)
    loaded, right, losses = load_model(record), dict[str, float](), dict[str, torch.Tensor]()
    for name, examples in (task.test | task.validation).items():
        logits = torch.cat([loaded.stack(torch.tensor([each.ids])) for each in examples])
        labels = torch.tensor([each.label for each in examples])
        right[name], losses[name] = float((logits.argmax(-1) == labels).float().mean()), F.cross_entropy(logits, labels)
        assert name not in TESTED or curves.last(f"test_accuracy_{name}")[0] == pytest.approx(right[name])
    assert curves.last("val_error")[0] == pytest.approx(1 - (right["val_reviews"] + right["val_composed"]) / 2)
    validation = float(losses["val_reviews"] + losses["val_composed"]) / 2
    assert curves.last("val_loss")[0] == pytest.approx(validation, rel=1e-4)
    assert curves.last("test_loss")[0] == pytest.approx(float(losses["reviews"]), rel=1e-4)
    words = Language.from_json(record.tokenizer).vocabulary
    said = [class_probabilities(loaded, words.split(text)) for text in ("It isn’t good!", "it is not good")]
    np.testing.assert_array_equal(*said)


def test_each_seed_reads_every_sentence_once_in_a_round_beside_sentences_of_the_same_length() -> None:
    lengths = torch.arange(1_000) % 40 + 3
    drawn = list(batches(lengths, [4, 5], 0, 10, 100))
    both = torch.cat(drawn, dim=-1)
    assert both.sort().values.tolist() == [list(range(1_000))] * 2 and both[0].tolist() != both[1].tolist()
    assert np.mean([np.ptp(lengths[each].numpy()) for each in drawn]) < 5
    alone = torch.cat(list(batches(lengths, [5], 0, 10, 100)), dim=-1)
    assert alone[0].tolist() == both[1].tolist()


def test_a_tokenizer_of_other_sentences_is_refused() -> None:
    for kind in ("sentences", "english"):
        tokens = ["<BOS>", "<EOS>", "a", "b", *(["<UNK>"] if kind == "sentences" else []), "<PAD>"]
        text = f'{{"kind": "{kind}", "tokens": {tokens}, "classes": ["negative", "neutral"]}}'.replace("'", '"')
        with pytest.raises(DamagedRun):
            SentimentObjective.parse_tokenizer(text)
