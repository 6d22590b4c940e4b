from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.generation import seq2seq_decoding
from explorer.models.layers import replica, stack
from explorer.models.translation import Translator
from explorer.tasks.seq2seq.batches import Pairs
from explorer.tasks.sequence_labelling.rows import position_losses
from tests.models.translators import KINDS, PADDING, TARGETS, sources, translator

BOS, EOS = TARGETS - 2, TARGETS - 1
LONGEST = 6
KIND = pytest.mark.parametrize("kind", ["additive", "sinusoidal"])
MODELS = {(kind, seed): translator(kind, seed) for kind in KINDS for seed in range(3)}
SOURCE = st.lists(st.integers(0, PADDING - 1), min_size=1, max_size=7)
MODEL = st.sampled_from(sorted(MODELS))


@torch.inference_mode()
def score(model: Translator, source: Tensor, ids: list[int]) -> float:
    """Return the sum of log-softmax of the plain forward pass."""
    log_p = model(source[None], torch.tensor([[BOS, *ids[:-1]]]))[0].log_softmax(dim=-1)
    return float(log_p[torch.arange(len(ids)), ids].sum())


def until_eos(ids: list[int]) -> list[int]:
    """Return the ids up to the first <EOS>."""
    return ids[: ids.index(EOS) + 1] if EOS in ids else ids


@KIND
def test_greedy_takes_the_likeliest_of_the_plain_forward_at_each_step(kind: str) -> None:
    model, source = MODELS[kind, 0], sources(5)
    greedy = seq2seq_decoding.greedy_decode(model, source, LONGEST)
    for row in range(5):
        ids = until_eos(greedy.ids[row].tolist())
        for i, token in enumerate(ids):
            assert token == int(model(source[row : row + 1], torch.tensor([[BOS, *ids[:i]]]))[0, -1].argmax())
        assert bool(greedy.finished[row]) == (ids[-1] == EOS)
        assert greedy.ids[row, len(ids) :].eq(EOS).all()
        assert float(greedy.score[row]) == pytest.approx(score(model, source[row], ids), abs=1e-4)
    assert greedy.ids.shape[1] <= LONGEST


@KIND
def test_side_by_side_is_the_same_as_alone_and_so_is_a_stack(kind: str) -> None:
    together = stack([MODELS[kind, seed] for seed in range(3)])
    source = sources(3, 4)
    greedy = seq2seq_decoding.greedy_decode(together, source, LONGEST)
    for r in range(3):
        for row in range(4):
            alone = source[r, row][source[r, row] != PADDING]
            one = seq2seq_decoding.greedy_decode(replica(together, r), alone[None], LONGEST)
            assert until_eos(one.ids[0].tolist()) == until_eos(greedy.ids[r, row].tolist())
            assert float(one.score[0]) == pytest.approx(float(greedy.score[r, row]), abs=1e-4)


@settings(max_examples=15)
@given(MODEL, SOURCE, st.integers(1, 4))
def test_padding_never_changes_an_answer_and_a_beam_of_width_one_is_greedy(
    which: tuple[str, int], ids: list[int], padding_length: int
) -> None:
    model = MODELS[which]
    greedy = seq2seq_decoding.greedy_decode(model, torch.tensor([ids]), LONGEST)
    padded = seq2seq_decoding.greedy_decode(model, torch.tensor([[*ids, *[PADDING] * padding_length]]), LONGEST)
    assert greedy.ids.tolist() == padded.ids.tolist()
    torch.testing.assert_close(greedy.score, padded.score, atol=1e-4, rtol=1e-4)
    beams = seq2seq_decoding.beam_search(model, torch.tensor(ids), 1, LONGEST)
    assert list(beams.sequence(beams.best[0])) == until_eos(greedy.ids[0].tolist())
    assert beams.candidates[beams.best[0]].score == pytest.approx(float(greedy.score[0]), abs=1e-4)


@settings(max_examples=20)
@given(MODEL, SOURCE, st.integers(1, 8))
def test_scores_are_those_of_the_plain_forward_and_the_search_tree_is_consistent(
    which: tuple[str, int], ids: list[int], width: int
) -> None:
    model, source = MODELS[which], torch.tensor(ids)
    beams = seq2seq_decoding.beam_search(model, source, width, LONGEST)
    scores = [beams.candidates[position].score for position in beams.best]
    assert scores == sorted(scores, reverse=True)
    assert len(set(map(beams.sequence, beams.best))) == len(beams.best) == width
    for position in beams.best:
        sequence = list(beams.sequence(position))
        assert beams.candidates[position].score == pytest.approx(score(model, source, sequence), abs=1e-4)
        assert beams.candidates[position].finished == (sequence[-1] == EOS)
        assert EOS not in sequence[:-1]
    steps = max(each.step for each in beams.candidates)
    for i, each in enumerate(beams.candidates):
        if each.parent < 0:
            assert each.step == 1 and each.score == each.log_probability
            continue
        parent = beams.candidates[each.parent]
        assert each.parent < i and parent.step == each.step - 1
        assert parent.kept and not parent.finished
        assert each.score == pytest.approx(parent.score + each.log_probability)
        assert each.finished == (each.token == EOS)
    finished: list[float] = []
    for step in range(1, steps + 1):
        new = [each for each in beams.candidates if each.step == step]
        ranked = sorted([*finished, *(each.score for each in new)], reverse=True)[:width]
        kept = [each for each in new if each.kept]
        assert all(each.score >= ranked[-1] for each in kept)
        assert all(each.score <= ranked[-1] for each in new if not each.kept)
        finished = [value for value in finished if value >= ranked[-1]]
        assert len(finished) + len(kept) == width
        finished += [each.score for each in kept if each.finished]
    assert all(beams.candidates[position].finished for position in beams.best) or steps == LONGEST


@pytest.mark.parametrize("width", [0, 9])
def test_a_width_that_is_not_possible(width: int) -> None:
    with pytest.raises(InvalidSetting, match=f"width = {width} is not possible. Give a whole number from 1 to 8."):
        seq2seq_decoding.beam_search(MODELS["vector", 0], torch.tensor([1]), width, 3)


def example_pairs(model: Translator, rows: int = 12) -> Pairs:
    """Return pairs of which half have the greedy output of the model as target."""
    source = sources(rows)
    own = seq2seq_decoding.greedy_decode(model, source, 4)
    targets = torch.nn.functional.pad(own.ids, (0, 4 - own.ids.shape[1]), value=EOS)
    targets[::2, 0] = (targets[::2, 0] + 1) % BOS
    mask = torch.cat((torch.ones(rows, 1, dtype=torch.bool), (targets != EOS)[:, :-1].cumprod(dim=-1).bool()), dim=-1)
    mask[1::3, -1] = False
    decoder_input = torch.cat((torch.full((rows, 1), BOS), targets[:, :-1]), dim=-1)
    return Pairs(source, decoder_input, targets, mask)


@KIND
def test_one_forward_grades_what_greedy_decoding_writes(kind: str) -> None:
    model = MODELS[kind, 1]
    pairs = example_pairs(model)
    correct, losses = seq2seq_decoding.grade_targets(model, pairs)
    greedy_ids = seq2seq_decoding.greedy_decode(model, pairs.source, 4).ids
    greedy_ids = torch.nn.functional.pad(greedy_ids, (0, 4 - greedy_ids.shape[1]), value=EOS)
    same = ((greedy_ids == pairs.targets) | ~pairs.mask).all(dim=-1)
    assert correct.bool().tolist() == same.tolist()
    assert 0 < correct.sum() < len(correct)
    other = Pairs(pairs.source, pairs.decoder_input, pairs.targets.masked_fill(~pairs.mask, BOS), pairs.mask)
    for one, again in zip((correct, losses), seq2seq_decoding.grade_targets(model, other), strict=True):
        torch.testing.assert_close(one, again)  # masked targets have no effect
    for row in range(len(correct)):
        ids = pairs.targets[row][pairs.mask[row]].tolist()
        assert float(losses[row]) == pytest.approx(-score(model, pairs.source[row], ids), abs=1e-4)


def test_exposure_bias_by_position() -> None:
    model = MODELS["additive", 1]
    pairs = example_pairs(model)
    teacher_forced, free = seq2seq_decoding.exposure_bias_curves(model, pairs)
    with torch.inference_mode():
        logits = model(pairs.source, pairs.decoder_input)
    for position in range(pairs.targets.shape[1]):
        rows = pairs.mask[:, position]
        targets = pairs.targets[rows, position]
        loss = float(position_losses(logits[rows, position], targets).mean())
        assert float(teacher_forced.loss[position]) == pytest.approx(loss, abs=1e-4, nan_ok=True)
        accuracy = (logits[rows, position].argmax(dim=-1) == targets).float().mean()
        assert float(teacher_forced.accuracy[position]) == pytest.approx(float(accuracy), nan_ok=True)
    own = seq2seq_decoding.greedy_decode(model, pairs.source, 4).ids
    assert free.accuracy[0] == (own[:, 0] == pairs.targets[:, 0]).float().mean()
    # The first question is the same, and so is everything where the model is right.
    torch.testing.assert_close(teacher_forced.loss[0], free.loss[0])
    odd = Pairs(*(part[1::2] for part in (pairs.source, pairs.decoder_input, pairs.targets, pairs.mask)))
    teacher_forced, right = seq2seq_decoding.exposure_bias_curves(model, odd)
    torch.testing.assert_close(teacher_forced.loss, right.loss, equal_nan=True, atol=1e-5, rtol=1e-5)
    assert (right.accuracy.nan_to_num(1) == 1).all()
    both = stack([MODELS["additive", seed] for seed in range(2)])
    twice = Pairs(*(x.expand(2, *x.shape) for x in (pairs.source, pairs.decoder_input, pairs.targets, pairs.mask)))
    torch.testing.assert_close(
        seq2seq_decoding.exposure_bias_curves(both, twice)[1].loss[1], free.loss, equal_nan=True, atol=1e-5, rtol=1e-5
    )
