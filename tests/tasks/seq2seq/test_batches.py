from __future__ import annotations

import hashlib

import pytest
import torch

from explorer.tasks.replicas import stack_replicas
from explorer.tasks.seq2seq.batches import batch, build_pairs, evaluation_dates, evaluation_digits, pair_fills
from explorer.tasks.seq2seq.config import TranslationConfig, source_text, target_text
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig, parse_date, split_days
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig

FINGERPRINTS = {
    ReverseConfig(): ("fd1f186d43c6", "51ee95d6fc35"),
    CopyConfig(longest=7, symbols=3): ("15bf4ae30fd6", "a89db0ee306c"),
    DatesConfig(): ("be105e895e54", "1d33393b103a"),
}


def test_build_pairs_and_stack_replicas_of_worked_examples() -> None:
    pairs = build_pairs(ReverseConfig(), [[3, 1, 4], [5]], [[4, 1, 3], [5]])
    assert pairs.source.tolist() == [[3, 1, 4], [5, 10, 10]]
    assert pairs.decoder_input.tolist() == [[10, 4, 1, 3], [10, 5, 11, 11]]
    assert pairs.targets.tolist() == [[4, 1, 3, 11], [5, 11, 11, 11]]
    assert pairs.mask.tolist() == [[True] * 4, [True, True, False, False]]
    config = ReverseConfig()
    one, other = (evaluation_digits(config, [n], 2) for n in (2, 5))
    both = stack_replicas([one, other], *pair_fills(config))
    assert both.source.shape == (2, 2, 5) and both.decoder_input.shape == (2, 2, 6)
    assert both.source[0, :, 2:].unique().tolist() == [10]
    assert torch.equal(both.targets[0, :, :3], one.targets) and torch.equal(both.targets[1], other.targets)
    assert both.mask[0].sum(dim=-1).tolist() == [3, 3]
    assert stack_replicas([one]) is one
    assert torch.equal(both.slice_rows(1, 2).source, both.source[:, 1:2])
    mixed = evaluation_digits(config, [2, 5], 2)
    assert mixed.slice_rows(0, 2).decoder_input.shape == (2, 3) and mixed.slice_rows(1, 3).decoder_input.shape == (2, 6)
    assert torch.equal(mixed.slice_rows(0, 2).targets, mixed.targets[:2, :3])


@pytest.mark.parametrize(("config", "fingerprints"), FINGERPRINTS.items(), ids=lambda value: type(value).__name__)
def test_batches_are_deterministic(config: TranslationConfig, fingerprints: tuple[str, str]) -> None:
    before = torch.get_rng_state()
    drawn = [batch(config, *which, 16) for which in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]
    drawn += [evaluation_dates(config, 3) if isinstance(config, DatesConfig) else evaluation_digits(config, [2, 5], 3)]
    parts = [(each.source, each.decoder_input, each.targets, each.mask) for each in drawn]
    content = [b"".join(part.long().numpy().tobytes() for part in each) for each in parts]
    found = [hashlib.sha256(each).hexdigest()[:12] for each in content]
    assert (found[0], found[-1]) == fingerprints and len({*found[:4]}) == 4
    assert torch.equal(torch.get_rng_state(), before)


def test_evaluated_days_are_never_trained() -> None:
    config = DatesConfig(held_out=0.5)
    held_out = set(split_days(config)[1])
    for step in range(2):
        trained = {parse_date(source_text(config, row.tolist())).day for row in batch(config, 0, 0, step, 64).source}
        assert not trained & held_out
    evaluation = evaluation_dates(config, 5)
    texts = [source_text(config, row.tolist()) for row in evaluation.source]
    assert {parse_date(text).day for text in texts} <= held_out
    assert len(texts) == 5 * len(DATE_FORMATS)
    assert target_text(config, evaluation.targets[0].tolist()) == str(parse_date(texts[0]).day)
