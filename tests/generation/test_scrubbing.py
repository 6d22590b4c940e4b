"""The text at each temperature is the one that `write` gives there, and its numbers are those of the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.generation import scrubbing
from explorer.generation.sampling import Sampling, choose, cut
from explorer.generation.scrubbing import TEMPERATURES, onward, position, scrubbed, steps
from explorer.generation.writing import Writer, answered, write
from tests.generation.small import CONTEXT, FEW, VOCABULARY, model, texts

TOKENS = 12
SOME = (0.0, 0.05, 0.7, 1.0, 1.3, 2.0)
CUTS = Sampling(top_k=6, top_p=0.9, min_p=0.02, seed=4)
TRANSFORMER = "transformer rotary layer pre"


def seen(of: nn.Module, prompt: Tensor, text: list[int]) -> Tensor:
    """The log-probabilities, as learned, that each token of a text met, from the decoder that `write` uses."""
    said = answered(Writer(of, CONTEXT), prompt, len(text), Sampling(), path=torch.tensor(text))
    return torch.cat([logits for logits, _, _ in said]).double().log_softmax(-1)


def test_the_slider_has_41_temperatures() -> None:
    assert len(TEMPERATURES) == 41
    assert [f"{t:g}" for t in TEMPERATURES[:4]] == ["0", "0.05", "0.1", "0.15"]
    assert TEMPERATURES[-1] == 2


@pytest.mark.parametrize("padding", [None, 10])
@pytest.mark.parametrize("sampling", [Sampling(4.5, seed=2), CUTS], ids=["free", "cut"])
@pytest.mark.parametrize("name", FEW)
def test_each_row_is_the_text_of_write(name: str, sampling: Sampling, padding: int | None) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    if padding is not None and name.startswith("ngram"):
        return  # it never learns from padded rows
    found = scrubbed(Writer(lm, CONTEXT, padding), prompt, TOKENS, sampling, SOME)
    assert found.ids.shape == (len(SOME), TOKENS)
    for temperature, row in zip(SOME, found.ids.tolist(), strict=True):
        own = Sampling(temperature, sampling.top_k, sampling.top_p, sampling.min_p, sampling.seed)
        assert row == write(Writer(lm, CONTEXT, padding), prompt, TOKENS, own)[0].tolist()
    assert len({tuple(row) for row in found.ids.tolist()}) > 1


def test_the_usual_slider_has_every_temperature() -> None:
    lm, prompt = model("gru"), texts(1, 3)[0]
    found = scrubbed(Writer(lm, CONTEXT), prompt, TOKENS, Sampling(seed=2))
    assert found.temperatures == TEMPERATURES
    assert found.ids.shape == found.spread.shape == (41, TOKENS)
    assert found.top.shape == (41, TOKENS, VOCABULARY)


@pytest.mark.parametrize("sampling", [Sampling(), CUTS], ids=["free", "cut"])
@pytest.mark.parametrize("name", ["gru", "ngram 4", TRANSFORMER])
def test_the_numbers_of_a_choice(name: str, sampling: Sampling) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    found = scrubbed(Writer(lm, CONTEXT), prompt, TOKENS, sampling, SOME)
    for row, t in enumerate(SOME):
        text = found.ids[row].tolist()
        log_p = seen(lm, prompt, text)
        own = Sampling(t, sampling.top_k, sampling.top_p, sampling.min_p)
        for at, id in enumerate(text):
            left = cut(log_p[at].float(), own).double()
            p = (left / t).softmax(-1) if t else torch.nn.functional.one_hot(left.argmax(), VOCABULARY).double()
            assert found.surprise[row, at] == pytest.approx(-log_p[at, id].item(), abs=1e-4)
            assert found.chosen[row, at] == pytest.approx(p[id].item(), abs=1e-4)
            assert found.entropy[row, at] == pytest.approx(torch.special.entr(p).sum().item(), abs=1e-3)
            spread = (log_p[at] / t).logsumexp(-1).item() if t else 0
            assert found.spread[row, at] == pytest.approx(spread, abs=1e-3)
            ranked = log_p[at].sort(descending=True, stable=True)
            assert found.top[row, at].tolist() == ranked.indices.tolist()
            nats = found.top_surprise[row, at] / 2048
            np.testing.assert_allclose(nats, -ranked.values, atol=1e-3)
            if t:  # what a reader of the file computes: the distribution at this temperature, from the top alone
                share = np.exp(-nats / t - found.spread[row, at])
                np.testing.assert_allclose(share.sum(), 1, atol=0.02)
    cold = found.temperatures.index(0)
    assert (found.chosen[cold] == 1).all()
    assert (found.entropy[cold] == 0).all()


def test_of_many_tokens_twenty_travel_and_equal_ones_by_their_ids() -> None:
    logits = torch.zeros(1, 1, 50)
    logits[..., 7], logits[..., 40] = 3, -1e9
    found = scrubbing._measured(logits, logits.clone(), torch.tensor([[40]]), torch.tensor([1.0]))
    top, fixed = found[-2][0, 0].tolist(), found[-1][0, 0].tolist()
    assert len(top) == 20
    assert top[0] == 7
    assert top[1:] == sorted(top[1:])
    assert fixed == sorted(fixed)
    assert found[1].item() > 1e8
    logits = torch.tensor([[[0.0, -50.0]]])
    assert scrubbing._measured(logits, logits.clone(), torch.tensor([[0]]), torch.tensor([1.0]))[-1].tolist() == [
        [[0, 2**16 - 1]]  # 50 nats are more than can be written
    ]


def test_a_token_of_no_probability_makes_no_number_undefined() -> None:
    logits = torch.tensor([[[0.0, -math.inf, 0.0]]]).expand(3, 1, 3)
    temperatures = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    left = cut(logits, Sampling(), temperatures[:, None])
    found = scrubbing._measured(logits, left, torch.zeros(3, 1, dtype=torch.int64), temperatures)
    for part in found[1:5]:
        assert part.isfinite().all()
    assert found[3][:, 0].tolist() == pytest.approx([0, math.log(2), math.log(2)])


def test_measured_in_parts_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, prompt = model("lstm"), texts(1, 3)[0]
    whole = scrubbed(Writer(lm, CONTEXT), prompt, TOKENS, CUTS)
    monkeypatch.setattr(scrubbing, "_AT_ONCE", 5 * 41 * VOCABULARY)
    parts = scrubbed(Writer(lm, CONTEXT), prompt, TOKENS, CUTS)
    for name in ("ids", "surprise", "chosen", "entropy", "spread", "top", "top_surprise"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-6)
    assert parts.top.dtype == parts.top_surprise.dtype == np.uint16


@pytest.mark.parametrize("name", FEW)
def test_a_choice_can_be_made_anew_at_every_temperature(name: str) -> None:
    """With the logits and the noise of a place a browser chooses the token that stands there."""
    lm, prompt = model(name), texts(1, 3)[0]
    found = scrubbed(Writer(lm, CONTEXT), prompt, TOKENS, CUTS, SOME)
    for at in (0, 1, TOKENS - 1):
        for row, t in enumerate(SOME):
            before = torch.tensor(found.ids[row, :at].astype(np.int64))
            place = position(Writer(lm, CONTEXT), prompt, before, CUTS)
            own = Sampling(t, CUTS.top_k, CUTS.top_p, CUTS.min_p)
            chosen = choose(torch.from_numpy(place.logits), torch.from_numpy(place.noise), own)
            assert chosen.item() == found.ids[row, at]


def test_a_place_is_to_the_last_bit_what_the_writer_saw() -> None:
    lm, prompt = model(TRANSFORMER), texts(1, 3)[0]
    with torch.inference_mode():
        said = list(answered(Writer(lm, CONTEXT), prompt, TOKENS, CUTS))
    text = torch.cat([ids for _, _, ids in said])
    for at in (0, 5, TOKENS - 1):
        assert torch.equal(
            torch.from_numpy(position(Writer(lm, CONTEXT), prompt, text[:at], CUTS).logits), said[at][0][0]
        )


@pytest.mark.parametrize("sampling", [Sampling(0.8, seed=6), CUTS, Sampling(0.0)], ids=str)
def test_a_walk_along_what_the_dice_chose(sampling: Sampling) -> None:
    lm, prompt = model(TRANSFORMER), texts(1, 3)[0]
    text = write(Writer(lm, CONTEXT), prompt, TOKENS + 1, sampling)[0]
    walk = steps(Writer(lm, CONTEXT), prompt, text[:-1], sampling, most=4)
    assert [step.id for step in walk.steps] == [step.dice for step in walk.steps] == text[:-1].tolist()
    assert walk.here.dice == text[-1].item()
    log_p = seen(lm, prompt, text.tolist())
    left = cut(log_p.float(), sampling).double()
    p = (left / (sampling.temperature or 1)).softmax(-1)
    for at, place in enumerate([*walk.steps, walk.here]):
        assert len(place.candidates) == 4
        assert place.dice in [each.id for each in place.candidates]
        learned = [each.learned for each in place.candidates]
        assert learned == sorted(learned, reverse=True)
        assert place.candidates[0].id == log_p[at].argmax()
        for each in place.candidates:
            assert each.learned == pytest.approx(log_p[at, each.id].exp().item(), abs=1e-5)
            assert each.probability == pytest.approx(p[at, each.id].item(), abs=1e-5)
    for at, step in enumerate(walk.steps):
        assert step.surprise == pytest.approx(-log_p[at, step.id].item(), abs=1e-4)
        assert step.learned == pytest.approx(math.exp(-step.surprise), rel=1e-4)
        assert step.probability == pytest.approx(p[at, step.id].item(), abs=1e-5)
    surprises = [step.surprise for step in walk.steps]
    assert walk.most_surprising == surprises.index(max(surprises))


def test_whatever_stands_at_a_step_is_among_its_candidates() -> None:
    lm, prompt = model("gru"), texts(1, 3)[0]
    path = texts(1, 9)[0]
    walk = steps(Writer(lm, CONTEXT), prompt, path, Sampling(2.0, seed=3), most=2)
    for step, id in zip(walk.steps, path.tolist(), strict=True):
        assert step.id == id
        assert {step.id, step.dice} <= {each.id for each in step.candidates}
        assert len(step.candidates) == len({each.id for each in step.candidates}) == 2
    everything = steps(Writer(lm, CONTEXT), prompt, path[:0], Sampling(), most=99)
    assert everything.steps == ()
    assert everything.most_surprising is None
    assert sorted(each.id for each in everything.here.candidates) == list(range(VOCABULARY))
    assert sum(each.learned for each in everything.here.candidates) == pytest.approx(1)


@pytest.mark.parametrize("name", ["ngram 4", "lstm", TRANSFORMER])
def test_the_dice_go_on_after_a_path_as_in_the_text(name: str) -> None:
    lm, prompt = model(name), texts(1, 3)[0]
    text = write(Writer(lm, CONTEXT), prompt, TOKENS, CUTS)[0]
    for path in (0, 1, 7):
        assert onward(Writer(lm, CONTEXT), prompt, text[:path], TOKENS - path, CUTS).tolist() == text[path:].tolist()
    assert onward(Writer(lm, CONTEXT), prompt, text, 0, CUTS).tolist() == []
    other = text[:4].clone()
    other[2] = (other[2] + 1) % VOCABULARY
    after = onward(Writer(lm, CONTEXT), prompt, other, 2, CUTS)
    assert after.tolist() == [
        steps(Writer(lm, CONTEXT), prompt, other, CUTS).here.dice,
        steps(Writer(lm, CONTEXT), prompt, torch.cat([other, after[:1]]), CUTS).here.dice,
    ]


@pytest.mark.parametrize("id", [-1, VOCABULARY])
def test_a_path_of_tokens_that_the_model_does_not_know_is_one_sentence(id: int) -> None:
    lm, prompt = model("rnn"), texts(1, 3)[0]
    with pytest.raises(InvalidSetting, match=rf"has a token {id}, but this model knows tokens from 0 to 10\. Begin"):
        steps(Writer(lm, CONTEXT), prompt, torch.tensor([0, id]), Sampling())
