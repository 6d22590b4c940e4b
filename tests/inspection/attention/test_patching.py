from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.errors import InvalidSetting
from explorer.inspection.attention import patching
from explorer.inspection.attention.attention_model import Ids, attention_model
from explorer.inspection.attention.logit_attribution import attribute_logit
from explorer.inspection.attention.outcomes import answer_logits, choose_outcomes, matching_outcomes
from explorer.inspection.attention.patching import MAX_TOKENS, Patching, patch_states, patched_positions
from explorer.models.configs import TransformerTextConfig
from explorer.models.taps import Intervention, intervene, record
from explorer.models.transformer_decoder import TransformerDecoder
from tests.inspection.attention import small
from tests.inspection.attention.small import HEADS, LAYERS, WORDS, shuffled

CLEAN, CHANGED = (3, 1, 4, 1, 5, 9, 2, 6), (3, 1, 7, 1, 5, 0, 2, 6)
FIRST = 2  # position at which they differ


def decoder(**settings: Any) -> nn.Module:
    return shuffled(small.decoder(**settings), 1.0 if settings["norm"] == "none" else 2.0)


def tagger(**settings: Any) -> nn.Module:
    return shuffled(small.tagger(**settings))


SUMS = {  # models whose last state is the sum of what their parts add
    "layer norm": decoder(norm="layer", biases=True),
    "RMS norm": decoder(norm="rms", positions="rotary"),
    "no norm": decoder(norm="none", norm_place="post", biases=True, positions="sinusoidal", activation="relu"),
    "tagger": tagger(norm="layer", norm_place="pre"),
    "causal tagger": tagger(norm="rms", norm_place="pre", causal=True),
    "without feedforward": tagger(norm="layer", norm_place="pre", feedforward=False),
}
OTHERS = {
    "norm after": decoder(norm="layer", norm_place="post", biases=True),
    "tagger, norm after": tagger(),
    "without residual": tagger(norm_place="pre", residual=False),
    "encoder": shuffled(small.encoder()),
}
MODELS = {**SUMS, **OTHERS}
CAUSAL = {"layer norm", "RMS norm", "no norm", "norm after", "causal tagger"}


def answer_with(model: nn.Module, ids: Ids, changes: dict[str, Intervention]) -> Tensor:
    """Return the logits at the answer of a whole forward pass with interventions."""
    transformer = attention_model(model)
    with intervene(model, changes):
        logits = transformer.logits(ids)
    return logits[-1 if transformer.layout.answers_every_token else 0]


def trace_of(model: nn.Module, ids: Ids) -> dict[str, Tensor]:
    with record(model) as trace:
        attention_model(model).logits(ids)
    return dict(trace)


def assert_predicts(log_probabilities: np.ndarray, found: Patching, logits: Tensor) -> None:
    np.testing.assert_allclose(log_probabilities, logits.log_softmax(dim=-1)[list(found.outcomes)], atol=2e-5)


def value_at(value: Tensor, clean: Tensor, where: int) -> Tensor:
    return value.index_copy(1, torch.tensor([where]), clean[:, [where]])


@pytest.mark.parametrize("name", MODELS)
def test_every_state_gives_what_a_whole_forward_pass_with_this_intervention_gives(name: str) -> None:
    model = MODELS[name]
    found, clean, transformer = patch_states(model, CLEAN, CHANGED), trace_of(model, CLEAN), attention_model(model)
    assert found.positions == tuple(range(FIRST if name in CAUSAL else 0, len(CLEAN)))
    for depth, tap in enumerate(transformer.depth_taps):
        for column, at in list(enumerate(found.positions))[depth % 2 :: 2]:
            state = {tap: lambda value, step, tap=tap, at=at: value_at(value, clean[tap], at)}
            assert_predicts(found.residual[depth, column], found, answer_with(model, CHANGED, state))
    for layer in range(LAYERS):
        tap = transformer.tap(layer, "mixed")
        for head in range(HEADS):
            state = {tap: lambda value, step, tap=tap, head=head: value_at(value, clean[tap], head)}
            assert_predicts(found.heads[layer, head], found, answer_with(model, CHANGED, state))
        assert_predicts(found.layers[layer, 0], found, answer_with(model, CHANGED, {tap: clean[tap]}))
    assert_predicts(found.clean, found, answer_with(model, CLEAN, {}))
    assert_predicts(found.changed, found, answer_with(model, CHANGED, {}))
    assert found.share(found.clean) == 1 and found.share(found.changed) == 0
    if name in OTHERS:
        assert not np.isnan(found.layers[:, 0]).any() and np.isnan(found.layers[:, 1:]).all()
        with pytest.raises(InvalidSetting, match="cannot be divided among the parts"):
            attribute_logit(model, CLEAN)


@pytest.mark.parametrize("name", SUMS)
def test_what_a_layer_adds_is_patched_alone_and_with_its_attention(name: str) -> None:
    model = MODELS[name]
    found, transformer = patch_states(model, CLEAN, CHANGED), attention_model(model)
    clean, changed = trace_of(model, CLEAN), trace_of(model, CHANGED)
    depths = transformer.depth_taps
    for layer, block in enumerate(model.blocks):  # type: ignore[arg-type]
        before, after = (changed[depths[i]] for i in (layer, layer + 1))
        clean_before, clean_after = (clean[depths[i]] for i in (layer, layer + 1))
        whole = before + clean_after - clean_before
        assert_predicts(found.layers[layer, 2], found, answer_with(model, CHANGED, {depths[layer + 1]: whole}))
        added = []
        for trace in (clean, changed):
            mixed = trace[transformer.tap(layer, "mixed")].transpose(-2, -3).flatten(-2)
            middle = trace[depths[layer]] + block.attention.output(mixed)
            has_feedforward = getattr(block, "has_feedforward", True)
            added.append(block.feedforward(block.feedforward_norm(middle)) if has_feedforward else 0 * middle)
        logits = answer_with(model, CHANGED, {depths[layer + 1]: after + added[0] - added[1]})
        assert_predicts(found.layers[layer, 1], found, logits)


def by_hand() -> nn.Module:
    """Return a model of one layer: both heads attend equally to all tokens and copy one number each.

    Token 0 is the vector (1, 0), token 1 is (0, 1), and the logits are the state after the layer.
    """
    config = TransformerTextConfig(width=2, heads=2, layers=1, hidden=2, norm="none", positions="none", biases=False)
    model = TransformerDecoder(config, 2, 4, Generator().manual_seed(0)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.zero_()
    block: Any = model.blocks[0]
    block.attention.project.weight[4:] = torch.eye(2)
    for weight in (model.embedding.weight, model.readout.weight, block.attention.output.weight):
        weight += torch.eye(2)
    return model


def test_shares_of_a_model_worked_by_hand() -> None:
    # At the last token: clean (1, 0) + mean of (1, 0), (1, 0) = (2, 0); changed (1, 0) + mean of (0, 1), (1, 0)
    # = (1.5, 0.5). Either head alone moves one of the two numbers by a half.
    found = patch_states(by_hand(), (0, 0), (1, 0))
    assert found.outcomes == (0, 1), "the second most probable one, as both texts lead to the same"
    assert [found.metric(each) for each in (found.clean, found.changed)] == pytest.approx([2, 1], abs=1e-6)
    np.testing.assert_allclose(found.share(found.residual), [[1, 0], [0, 1]], atol=1e-6)
    np.testing.assert_allclose(found.share(found.heads), [[0.5, 0.5]], atol=1e-6)
    np.testing.assert_allclose(found.share(found.layers), [[1, 0, 1]], atol=1e-6)
    np.testing.assert_allclose(np.exp(found.heads[0, 0]), torch.tensor([2, 0.5]).softmax(0), atol=1e-6)


def test_parts_of_a_logit_worked_by_hand() -> None:
    of_one = attribute_logit(by_hand(), (1, 0), outcome=0)
    assert (of_one.logit, of_one.embedding, of_one.offset) == pytest.approx((1.5, 1, 0))
    np.testing.assert_allclose(of_one.heads, [[0.5, 0]], atol=1e-6)
    difference = attribute_logit(by_hand(), (1, 0), outcome=0, contrast=1)
    assert (difference.logit, difference.embedding) == pytest.approx((1, 1))
    np.testing.assert_allclose(difference.heads, [[0.5, -0.5]], atol=1e-6)
    found = attribute_logit(by_hand(), (1, 0))  # the most probable outcome, at the last token
    assert (found.position, found.outcome, found.contrast) == (1, 0, None)


@pytest.mark.parametrize("name", SUMS)
def test_the_parts_of_a_logit_add_up(name: str) -> None:
    model = SUMS[name]
    logits = attention_model(model).logits(CLEAN)
    for position, outcome, contrast in ((0, 0, None), (3, 4, 2), (7, 1, None)):
        found = attribute_logit(model, CLEAN, position, outcome, contrast)
        expected = float(logits[position, outcome] - (0 if contrast is None else logits[position, contrast]))
        parts = [value for _, value in found.parts()]
        assert found.logit == pytest.approx(expected, abs=1e-5)
        assert sum(parts) == pytest.approx(found.logit, abs=1e-4 * max(map(abs, parts)))
        of_parts = np.array([value for part, value in found.parts() if part.endswith("feedforward")])
        np.testing.assert_allclose(of_parts, found.feedforward)


def test_what_cannot_be_compared_is_refused() -> None:
    later = (*CLEAN[:-1], 8)
    for changed, position, message in (
        (CHANGED[:-1], None, "The first text has 8 tokens, the changed text 7. .* exchange words"),
        (CLEAN, None, "The two texts are the same. Change a word"),
        (later, 3, "the same number for both texts.*comes before it"),
    ):
        with pytest.raises(InvalidSetting, match=message):
            patch_states(MODELS["layer norm"], CLEAN, changed, position)
    assert patch_states(MODELS["tagger"], CLEAN, later, position=3).position == 3
    silent = attention_model(small.decoder())
    silent.layout = replace(silent.layout, answers=False)  # type: ignore[misc]
    for refused in (lambda: patch_states(silent, CLEAN, CHANGED), lambda: attribute_logit(silent, CLEAN)):
        with pytest.raises(InvalidSetting, match="This model predicts nothing"):
            refused()
    model: Any = decoder(norm="layer")
    model.readout.weight[:] = torch.nan
    with pytest.raises(InvalidSetting, match="no finite probabilities"):
        patch_states(model, CLEAN, CHANGED)


def test_long_texts_are_refused_and_many_positions_are_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = tuple(i % WORDS for i in range(MAX_TOKENS + 1))
    with pytest.raises(InvalidSetting, match=r"65 tokens\. Patching takes at most 64"):
        patch_states(MODELS["RMS norm"], ids, (1, *ids[1:]))
    whole = patch_states(MODELS["RMS norm"], CLEAN, CHANGED)
    monkeypatch.setattr(patching, "MAX_POSITIONS", 4)
    monkeypatch.setattr(patching, "_MAX_ROW_TOKENS", 1)  # one row at a time
    found = patch_states(MODELS["RMS norm"], CLEAN, CHANGED)
    assert found.positions == (2, 5, 6, 7), "the tokens that differ, and those nearest to the answer"
    assert patched_positions(CLEAN, (*CLEAN[:3], 0, 0, 0, 0, 0), 7, True) == (3, 4, 6, 7), "at most half differ"
    assert patched_positions(CLEAN, CHANGED, 4, True) == (2, 3, 4)
    columns = [whole.positions.index(position) for position in found.positions]
    np.testing.assert_allclose(found.residual, whole.residual[:, columns], atol=1e-5)
    np.testing.assert_allclose(found.heads, whole.heads, atol=1e-5)


def test_the_two_answers_can_be_chosen() -> None:
    model = MODELS["layer norm"]
    found = patch_states(model, CLEAN, CHANGED, position=6, answer=5, contrast=8)
    logits = [attention_model(model).logits(ids)[6] for ids in (CLEAN, CHANGED)]
    assert found.outcomes[:2] == (5, 8) and len(set(found.outcomes)) == len(found.outcomes)
    assert found.metric(found.clean) == pytest.approx(float(logits[0][5] - logits[0][8]), abs=1e-5)
    assert found.metric(found.changed) == pytest.approx(float(logits[1][5] - logits[1][8]), abs=1e-5)
    np.testing.assert_allclose(found.clean, logits[0].log_softmax(-1)[list(found.outcomes)], atol=1e-5)
    assert {int(each.argmax()) for each in logits} <= set(found.outcomes)
    for wrong in ({"position": 8}, {"position": -1}, {"answer": WORDS}, {"answer": 2, "contrast": 2}):
        with pytest.raises(InvalidSetting, match=r"There is no (token|outcome) .* from 0 to 7\.|to 12\.|are the same"):
            patch_states(model, CLEAN, CHANGED, **wrong)


def test_outcomes_are_the_two_answers_and_the_most_probable_others() -> None:
    names = ("Mary", " Mary", "mary", " ", "\n", "Mary ")
    assert matching_outcomes(names, "Mary") == [0, 1, 5] and matching_outcomes(names, " Mary") == [1]
    assert [matching_outcomes(names, each) for each in (" ", "\n", "John")] == [[3], [4], []]
    clean, changed = torch.tensor([9.0, 8, 7, 6, 5, 4, 3, 2]), torch.tensor([2.0, 8.5, 3, 4, 5, 6, 7, 10])
    assert choose_outcomes(clean, changed, None, None) == (0, 7, 1, 2, 6, 3, 5, 4)
    assert choose_outcomes(clean, changed, 7, None) == (7, 1, 0, 2, 6, 3, 5, 4)
    assert choose_outcomes(clean, changed, None, 0)[:2] == (1, 0)
    assert choose_outcomes(clean[:2], clean[:2], None, None) == (0, 1)
    model = attention_model(MODELS["layer norm"])
    for position, row in ((None, 7), (3, 3)):
        torch.testing.assert_close(answer_logits(model, CLEAN, position), model.logits(CLEAN)[row])
    encoder = MODELS["encoder"]
    torch.testing.assert_close(answer_logits(attention_model(encoder), CLEAN, 5), encoder(torch.tensor([CLEAN]))[0])
