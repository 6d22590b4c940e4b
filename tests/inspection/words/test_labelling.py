from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import LineageError
from explorer.inspection.load_model import load_model
from explorer.inspection.words.labelling import parse_row, predict_positions, row_activations
from explorer.run_store.store import find
from explorer.seeds import generator
from explorer.tasks.sequence_labelling import agreement, delayed_copy, position_rule, word_sense
from explorer.tasks.sequence_labelling.agreement import AgreementConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.tasks.sequence_labelling.grammar_text import GrammarTextConfig
from explorer.tasks.sequence_labelling.homographs import evaluation_sentences
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.tasks.sequence_labelling.masked_word import MaskedWordConfig
from explorer.tasks.sequence_labelling.position_rule import PositionRuleConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.word_sense import WordSenseConfig


@pytest.mark.parametrize("again", ["copy", "reverse"])
def test_typed_digits_become_a_training_row(again: str) -> None:
    task = DelayedCopyConfig(again=again)  # type: ignore[arg-type]
    batch = delayed_copy.evaluation_rows(task, [5], 1)
    row = parse_row(task, " ".join(task.vocabulary[id] for id in batch.ids[0, :5]))
    assert list(row.ids) == batch.ids[0].tolist() and list(row.loss_mask) == batch.mask[0].tolist()
    assert list(row.targets[5:]) == batch.targets[0, 5:].tolist() and row.targets[:5] == (None,) * 5


def test_typed_rows_of_the_other_tasks_equal_training_rows() -> None:
    place = PositionRuleConfig(period=3)
    batch = position_rule.evaluation_rows(place, 7)
    row = parse_row(place, "".join(map(str, batch.ids[0].tolist())))
    assert list(row.ids) == batch.ids[0].tolist() and list(row.targets) == batch.targets[0].tolist()
    for sentence in evaluation_sentences(5, ambiguous=True):
        rows, row = word_sense.build_rows([sentence]), parse_row(WordSenseConfig(), " ".join(sentence.words))
        assert list(row.ids) == rows.ids[0].tolist() and list(row.targets) == rows.targets[0].tolist()
    config = AgreementConfig()
    for clause in agreement.draw_clauses(generator(3, "asked"), 5):
        rows, row = agreement.build_rows(config, [clause]), parse_row(config, " ".join(clause.words))
        ids, wanted, mask = (part[0, : len(clause.words)] for part in (rows.ids, rows.targets, rows.mask))
        assert (list(row.ids), list(row.loss_mask)) == (ids.tolist(), mask.tolist())
        assert [target for target in row.targets if target is not None] == wanted[mask].tolist()


def test_undetermined_targets_are_none() -> None:
    task = WordSenseConfig()
    for text in ("the bank is here", "the bank is near the loan and the water"):
        assert parse_row(task, text).targets[1] is None
    row = parse_row(task, "by the water a bank")
    assert row.targets[4] == task.labels.index("bank (river)") and row.loss_mask == (True,) * 5
    assert set(parse_row(MaskedWordConfig(), "the ___ is near the loan").targets) == {None}
    assert parse_row(MaskedWordConfig(), "the _").ids[1] == len(MaskedWordConfig().vocabulary) - 2
    copied = parse_row(DelayedCopyConfig(), "407|5")
    assert copied.ids == (4, 0, 7, 10, 5) and copied.targets == (None, None, None, 4, 0)
    assert parse_row(InductionConfig(), "ab Cab").targets == (None, None, None, 1, 2)
    row = parse_row(GrammarTextConfig(), "The owl")
    assert row.targets == (*row.ids[1:], None) and all(row.loss_mask)
    agreement = AgreementConfig()
    assert parse_row(agreement, "the queens near the king").targets[-1] == agreement.labels.index("are")


def test_invalid_rows_are_rejected_with_a_message(snapshot: SnapshotAssertion) -> None:
    tasks: dict[LabellingConfig, tuple[str, ...]] = {
        RandomSymbolsConfig(): ("ab3", " ", "ab" * 7),
        GrammarTextConfig(): ("no!",),
        DelayedCopyConfig(): ("1" * 21, "|", "12|12"),
        PositionRuleConfig(): ("1x",),
        WordSenseConfig(): ("the bank sleeps", "...", "bank " * 41),
        MaskedWordConfig(): ("the _ _",),
        AgreementConfig(): ("near is the king", "the king " + "near the queen " * 4),
    }
    messages = []
    for task, texts in tasks.items():
        for text in texts:
            with pytest.raises(LineageError) as error:
                parse_row(task, text)
            messages.append(f"{type(error.value).__name__}: {error.value}")
    assert messages == snapshot


def test_a_model_without_a_mask_reads_its_targets() -> None:
    correct_count = {}
    for name in ("noise-open", "noise-causal"):
        run = find(name)
        task = run.config.task_as(RandomSymbolsConfig)
        predictions = predict_positions(load_model(run), task, parse_row(task, "qbdgacpelfhm"))
        assert predictions[-1].is_correct is None and all(0 < each.probability <= 1 for each in predictions)
        correct_count[name] = sum(each.is_correct is True for each in predictions)
    assert correct_count["noise-open"] >= 10 and correct_count["noise-causal"] <= 3


def test_row_activations_follow_the_mask_and_exist_without_attention() -> None:
    for name, hidden in (("noise-causal", True), ("noise-open", False)):
        trace = row_activations(load_model(find(name)).single_replica(0), (0, 1, 2, 3))
        assert trace.weights is not None
        assert np.isnan(trace.weights[:, :, 0, 1:]).all() == hidden and not np.isnan(trace.weights[..., 3, :]).any()
        assert np.allclose(np.nansum(trace.weights, axis=-1), 1, atol=1e-5)
    trace = row_activations(load_model(find("place-turns-gru")).single_replica(0), (0, 1, 2, 3))
    assert trace.weights is None and trace.states.shape[0] == 4 and "embedded" in trace.taps
    assert row_activations(load_model(find("gloss-alone")).single_replica(0), (0, 1)).weights is None
