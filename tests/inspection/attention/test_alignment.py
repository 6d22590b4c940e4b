from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.generation.seq2seq_decoding import greedy_decode
from explorer.inspection.attention import alignment as module
from explorer.inspection.attention.alignment import INTERVENTIONS, align, exact_match_under, summary_sensitivity
from explorer.models.configs import EncoderDecoderConfig, TransformerEncoderDecoderConfig
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.layers import stack
from explorer.models.taps import intervene, record, tap_names
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder
from explorer.models.translation import Translator
from explorer.tasks.seq2seq.batches import evaluation_digits
from explorer.tasks.seq2seq.config import max_answer_length, source_vocabulary, target_vocabulary
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.tasks.seq2seq.digits import ReverseConfig, evaluation_lengths

CONFIG = ReverseConfig(longest=3, symbols=4)
KINDS = ("vector", "additive", "transformer")
SOURCE = (2, 0, 3)


def model(kind: str, seed: int = 1, config: ReverseConfig | DatesConfig = CONFIG) -> Translator:
    generator = torch.Generator().manual_seed(seed)
    sizes = len(source_vocabulary(config)), len(target_vocabulary(config)), len(source_vocabulary(config)) - 1
    if kind == "transformer":
        return TransformerEncoderDecoder(TransformerEncoderDecoderConfig(width=8, heads=2, hidden=9), *sizes, generator)
    attention = "additive" if kind == "additive" else "none"
    return EncoderDecoder(EncoderDecoderConfig(width=4, hidden=5, attention=attention), *sizes, generator)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_and_taps_equal_those_of_the_forward_pass(kind: str) -> None:
    one = model(kind)
    alignment = align(one, CONFIG, SOURCE)
    ids = greedy_decode(one, torch.tensor([SOURCE]), max_answer_length(CONFIG, 3)).ids[0].tolist()
    assert (alignment.source, list(alignment.target)) == (SOURCE, ids)
    probabilities = one(torch.tensor([SOURCE]), torch.tensor([[one.bos, *ids[:-1]]]))[0].softmax(dim=-1)
    np.testing.assert_allclose(alignment.probabilities, probabilities.detach().numpy(), atol=1e-6)
    assert set(alignment.taps) == set(tap_names(one).values())
    assert align(one, CONFIG, SOURCE, (3, 0, 2)).target == (3, 0, 2, one.eos)


def test_attention_of_each_kind_of_model() -> None:
    trace = align(model("additive"), CONFIG, SOURCE, (3, 0, 2))
    energies = trace.stack_layers("decoder", "cross.scores", "attention.energies")
    assert trace.weights is not None and energies is not None
    assert trace.weights.shape == energies.shape == (1, 1, 4, 3)
    e = np.exp(energies)
    np.testing.assert_allclose(trace.weights, e / e.sum(axis=-1, keepdims=True), atol=1e-6)
    contexts = trace.taps["attention.context"]
    np.testing.assert_allclose(contexts, trace.weights[0, 0] @ trace.taps["attention.annotations"], atol=1e-6)
    assert trace.stack_layers("encoder", "attention.weights") is None
    found = align(model("transformer"), CONFIG, SOURCE, (3, 0))
    encoder, decoder = (found.stack_layers(half, "attention.weights") for half in ("encoder", "decoder"))
    assert found.weights is not None and encoder is not None and decoder is not None
    assert found.weights.shape == encoder.shape == (2, 2, 3, 3) and not np.triu(decoder, 1).any()
    np.testing.assert_array_equal(found.weights[1], found.taps["decoder.1.cross.weights"])
    alone = align(model("vector"), CONFIG, SOURCE)
    assert alone.taps["summary.vector"].shape == (5,) and alone.weights is None


def test_summary_sensitivity_by_hand() -> None:
    one = model("vector")
    sensitivity = summary_sensitivity(one, SOURCE)
    own = one.encode(torch.tensor([SOURCE]))[0][0]
    for place in range(3):
        others = [(*SOURCE[:place], token, *SOURCE[place + 1 :]) for token in range(4) if token != SOURCE[place]]
        far = [(one.encode(torch.tensor([other]))[0][0] - own).norm().item() for other in others]
        assert sensitivity[place] == pytest.approx(sum(far) / 3, abs=1e-5)
    with pytest.raises(InvalidSetting, match="one vector"):
        summary_sensitivity(model("additive"), SOURCE)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_match_is_that_of_greedy_decoding_also_in_a_stack(kind: str) -> None:
    models, lengths = [model(kind, seed) for seed in (1, 2)], evaluation_lengths(CONFIG)
    possible = [name for name in INTERVENTIONS if kind != "vector" or name not in ("uniform", "frozen")]
    whole = {name: exact_match_under(stack(models), CONFIG, name, 3) for name in possible}
    for name, found in whole.items():
        alone = [exact_match_under(one, CONFIG, name, count=3) for one in models]
        np.testing.assert_allclose(found, alone, atol=1e-6)
    for i, length in enumerate(lengths):
        pairs = evaluation_digits(CONFIG, [length], 3)
        ids = greedy_decode(models[0], pairs.source, length + 1).ids
        ids = torch.nn.functional.pad(ids, (0, length + 1 - ids.shape[1]), value=models[0].eos)
        assert whole["none"][0, i] == pytest.approx(float((ids == pairs.targets).all(dim=-1).float().mean()))
    by_intervention = module.exact_match_by_intervention(stack(models), CONFIG, INTERVENTIONS, 3)
    for name, row in zip(INTERVENTIONS, by_intervention, strict=True):  # the mean over the trained lengths
        expected = whole[name][:, : CONFIG.longest].mean(axis=-1) if name in whole else [np.nan] * 2
        np.testing.assert_allclose(row, expected, atol=1e-6)


def test_only_tokens_are_shuffled_and_padding_stays_at_the_end() -> None:
    source = torch.tensor([[0, 1, 2, 3], [3, 2, 4, 4]]).repeat(20, 1)  # 4 is padding
    found = module._shuffle_tokens(source, 4, 0)
    assert torch.equal(found.sort(dim=-1).values, source.sort(dim=-1).values)
    assert torch.equal(found == 4, source == 4) and len({tuple(row) for row in found.tolist()}) > 15
    again, other = (module._shuffle_tokens(source, 4, seed) for seed in (0, 1))
    assert torch.equal(found, again) and not torch.equal(found, other)


@pytest.mark.parametrize("kind", KINDS)
def test_cut_removes_all_information_about_the_source(kind: str) -> None:
    one, decoder_input = model(kind), torch.tensor([[4, 1, 1], [4, 1, 1]])
    source = torch.tensor([[0, 1, 2], [3, 3, 0]])
    assert not torch.allclose(*one(source, decoder_input), atol=1e-4)
    with intervene(one, module._tap_interventions(one, "cut", source)):
        probabilities = one(source, decoder_input)
    torch.testing.assert_close(probabilities[0], probabilities[1])


@pytest.mark.parametrize("kind", ["additive", "transformer"])
@pytest.mark.parametrize("intervention", ["uniform", "frozen"])
def test_attention_weights_under_interventions(kind: str, intervention: str) -> None:
    one = model(kind)
    source = torch.tensor([[0, 1, 2], [3, 4, 4]])  # 4 is padding
    decoder_input = torch.tensor([[4, 1, 2], [4, 0, 3]])
    with record(one) as unchanged:
        one(source, decoder_input)
    with intervene(one, module._tap_interventions(one, intervention, source)), record(one) as trace:
        one(source, decoder_input)
    names = ["attention.weights"] if kind == "additive" else ["decoder.0.cross.weights", "decoder.1.cross.weights"]
    even = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]]).view((2, 1, 3) if kind == "additive" else (2, 1, 1, 3))
    for name in names:
        expected = even if intervention == "uniform" else trace[name][..., :1, :]
        torch.testing.assert_close(trace[name], expected.expand_as(trace[name]))
    if intervention == "frozen":
        torch.testing.assert_close(trace[names[0]][..., 0, :], unchanged[names[0]][..., 0, :])


def test_impossible_interventions_and_other_parts() -> None:
    for intervention in ("uniform", "frozen"):
        with pytest.raises(InvalidSetting, match=f"intervention = {intervention} needs a model with attention"):
            exact_match_under(model("vector"), CONFIG, intervention, count=2)
    with pytest.raises(InvalidSetting, match=r"intervention = other is unknown\. Give one of none, uniform"):
        exact_match_under(model("vector"), CONFIG, "other", count=2)
    dates = DatesConfig()
    assert exact_match_under(model("vector", config=dates), dates, "cut", count=1).shape == (len(DATE_FORMATS),)
