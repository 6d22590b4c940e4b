from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import Ablation, attend
from explorer.inspection.attention.attention_model import AttentionModel, Ids, attention_model
from explorer.models.configs import TransformerEncoderConfig, TransformerTaggerConfig, TransformerTextConfig
from explorer.models.structure import AttentionLayout
from explorer.models.taps import Intervention, Trace, record, tap_names
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_tagger import TransformerTagger

LAYERS, HEADS, WORDS = 3, 2, 13
SIZES = {"width": 12, "heads": HEADS, "layers": LAYERS, "hidden": 11}
IDS = (3, 1, 4, 1, 5, 9, 2, 6, 5)
PADDED = (3, 1, 4, 1, 5, 9, 2, WORDS - 1, WORDS - 1)


def decoder(positions: str) -> nn.Module:
    config = TransformerTextConfig(**SIZES, positions=positions, start="usual")  # type: ignore[arg-type]
    return TransformerDecoder(config, WORDS, 21, Generator().manual_seed(1)).eval().requires_grad_(False)


def encoder() -> nn.Module:
    config = TransformerEncoderConfig(**SIZES, window=9, start=1.0)  # type: ignore[arg-type]
    return TransformerEncoder(config, WORDS, 2, WORDS - 1, Generator().manual_seed(1)).eval().requires_grad_(False)


def tagger(positions: str, **settings: object) -> nn.Module:
    config = TransformerTaggerConfig(**SIZES, positions=positions, **settings)  # type: ignore[arg-type]
    return TransformerTagger(config, WORDS, 5, 21, Generator().manual_seed(1)).eval().requires_grad_(False)


@cache
def models() -> dict[str, nn.Module]:
    kinds = ("learned", "sinusoidal", "rotary", "none")
    decoders = {f"decoder, {kind}": decoder(kind) for kind in kinds}
    taggers = {f"tagger, {kind}": tagger(kind) for kind in kinds}
    return {**decoders, **taggers, "causal tagger": tagger("learned", causal=True), "encoder": encoder()}


NAMES = tuple(models())


@pytest.mark.parametrize("name", NAMES)
def test_the_blocks_one_after_another_give_the_logits_of_the_model(name: str) -> None:
    model = attention_model(models()[name])
    ids = PADDED if name in ("encoder", "tagger, learned") else IDS
    x, blocks = model.embed_and_blocks(torch.tensor([ids]))
    for block in blocks:
        x = block(x)
    torch.testing.assert_close(model.readout(x)[0], model.logits(ids), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        model.logits(ids), models()[name](torch.tensor([ids])).view(-1, model.logits(ids).shape[-1])
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_tap_that_is_named_exists(name: str) -> None:
    model = attention_model(models()[name])
    taps = set(tap_names(model.module).values())
    layers, parts = range(model.layout.layers), ("queries", "keys", "values", "scores", "weights", "mixed")
    assert {model.tap(layer, part) for layer in layers for part in parts} <= taps
    assert (model.tap(0, "mask") in taps) == model.layout.causal
    assert set(model.depth_taps) <= taps
    assert len(model.depth_taps) == LAYERS + 1


@pytest.mark.parametrize("name", NAMES)
def test_visible_pairs_are_those_with_attention(name: str) -> None:
    model = attention_model(models()[name])
    ids = IDS if name.startswith("decoder") else PADDED
    with record(model.module) as trace:
        model.logits(ids)
    real = slice(None, 7 if ids == PADDED else None)  # padding is no query of a classifier
    weights = trace[model.tap(1, "weights")][0, :, real]
    assert torch.equal(model.visible_pairs(trace, ids)[real].expand_as(weights), weights > 0)


def test_layout() -> None:
    assert attention_model(decoder("rotary")).layout == AttentionLayout(LAYERS, HEADS, True, True)
    assert attention_model(tagger("none")).layout == AttentionLayout(LAYERS, HEADS, False, False)
    assert attention_model(encoder()).layout == AttentionLayout(LAYERS, HEADS, False, True, answers_every_token=False)


class FromElsewhere(nn.Module):
    """A model that implements the protocol itself; its taps have names of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = decoder("learned")
        self._view = attention_model(self.inner)
        self.layout = self._view.layout
        self.depth_taps = tuple(f"inner.{name}" for name in self._view.depth_taps)

    @property
    def module(self) -> nn.Module:
        return self

    def tap(self, layer: int, name: str) -> str:
        return f"inner.{self._view.tap(layer, name)}"

    def logits(self, ids: Ids) -> Tensor:
        return self._view.logits(ids)

    def readout(self, vectors: Tensor) -> Tensor:
        return self._view.readout(vectors)

    def visible_pairs(self, trace: Trace, ids: Ids) -> Tensor:
        return torch.ones(len(ids), len(ids), dtype=torch.bool).tril()

    def position_interventions(self) -> dict[str, Intervention]:
        return {f"inner.{name}": change for name, change in self._view.position_interventions().items()}

    def embed_and_blocks(self, ids: Tensor) -> tuple[Tensor, list]:
        return self._view.embed_and_blocks(ids)

    @property
    def adds_up(self) -> bool:
        return self._view.adds_up

    def head_outputs(self, layer: int, mixed: Tensor) -> Tensor:
        return self._view.head_outputs(layer, mixed)

    def attention_bias(self, layer: int) -> Tensor:
        return self._view.attention_bias(layer)

    def direct_logits(self, parts: Tensor, final: Tensor, outcomes: Sequence[int]) -> Tensor:
        return self._view.direct_logits(parts, final, outcomes)

    def logit_offset(self, outcomes: Sequence[int]) -> Tensor:
        return self._view.logit_offset(outcomes)


def test_a_model_that_implements_the_protocol_is_inspected_as_it_is() -> None:
    model = FromElsewhere()
    assert attention_model(model) is model
    assert isinstance(model, AttentionModel)
    for ablation in (Ablation(), Ablation(frozenset({(1, 0)}), frozenset({(0, 1)}), True, True)):
        found, expected = attend(model, IDS, ablation), attend(model.inner, IDS, ablation)
        np.testing.assert_allclose(found.log_probabilities, expected.log_probabilities, atol=1e-6)
        # The causal mask of this model's `visible_pairs` is fixed.
        lower = np.tril_indices(len(IDS))
        np.testing.assert_allclose(found.weights[:, :, *lower], expected.weights[:, :, *lower], atol=1e-6)


@pytest.mark.parametrize("model", [nn.Linear(2, 2), tagger("none", attention=False)], ids=["linear", "tagger"])
def test_a_model_without_attention_is_refused(model: nn.Module) -> None:
    with pytest.raises(InvalidSetting, match=f"{type(model).__name__} has no attention"):
        attention_model(model)
