"""Models with logits at every position: equal to PyTorch's own layers, and without access to masked tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Generator, Tensor, nn

from explorer.models.configs import GRUTaggerConfig, RNNTaggerConfig, TransformerTaggerConfig
from explorer.models.recurrent_tagger import GRUTagger, RNNTagger
from explorer.models.taps import record, tap_names
from explorer.models.transformer_tagger import TransformerTagger
from tests.models.stacks import assert_stack_equals_single_models

VOCABULARY, LABELS, MAX_LENGTH, TIME = 11, 5, 9, 7
PADDING = VOCABULARY - 1
POSITIONS = ("learned", "sinusoidal", "rotary", "none")
SMALL = {"width": 12, "heads": 3, "layers": 2, "hidden": 10}


def transformer(seed: int = 1, **settings: Any) -> TransformerTagger:
    config = TransformerTaggerConfig(**{**SMALL, **settings})
    return TransformerTagger(config, VOCABULARY, LABELS, MAX_LENGTH, Generator().manual_seed(seed))


def recurrent(kind: str, seed: int = 1) -> nn.Module:
    generator = Generator().manual_seed(seed)
    if kind == "rnn":
        return RNNTagger(RNNTaggerConfig(3, 6), VOCABULARY, LABELS, MAX_LENGTH, generator)
    return GRUTagger(GRUTaggerConfig(3, 6), VOCABULARY, LABELS, MAX_LENGTH, generator)


BUILDERS = {
    "rnn": lambda seed=1: recurrent("rnn", seed),
    "gru": lambda seed=1: recurrent("gru", seed),
    **{name: lambda seed=1, name=name: transformer(seed, positions=name) for name in POSITIONS},
    "pre": lambda seed=1: transformer(seed, norm="rms", norm_place="pre", causal=True),
    "alone": lambda seed=1: transformer(seed, attention=False, norm="none"),
    "bare": lambda seed=1: transformer(seed, residual=False),
}


def random_ids(*shape: int) -> Tensor:
    return torch.randint(PADDING, (*shape, TIME), generator=Generator().manual_seed(7))


@pytest.mark.parametrize("name", BUILDERS)
def test_a_stack_equals_its_single_models(name: str) -> None:
    assert_stack_equals_single_models([BUILDERS[name](seed=seed) for seed in range(3)], random_ids(3, 4))


@pytest.mark.parametrize("name", BUILDERS)
def test_padding_does_not_change_the_logits(name: str) -> None:
    model, inputs = BUILDERS[name](), random_ids(4)
    padded = nn.functional.pad(inputs, (0, 2), value=PADDING)
    torch.testing.assert_close(model(padded)[:, :TIME], model(inputs), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", BUILDERS)
def test_recording_changes_nothing_and_the_readout_of_the_features_gives_the_logits(name: str) -> None:
    model, inputs = BUILDERS[name](), random_ids(4)
    with record(model) as trace:
        recorded_logits = model(inputs)
    torch.testing.assert_close(recorded_logits, model(inputs), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(model.readout(model.features(inputs)), recorded_logits, atol=1e-6, rtol=1e-6)
    assert recorded_logits.shape == (4, TIME, LABELS)
    assert set(trace) == set(tap_names(model).values())


def test_tap_names_are_part_of_the_file_format(snapshot: SnapshotAssertion) -> None:
    models = {"transformer": transformer(), "without attention": transformer(attention=False), "gru": recurrent("gru")}
    assert snapshot == {name: sorted(tap_names(model).values()) for name, model in models.items()}


@pytest.mark.parametrize("norm_place", ["post", "pre"])
@pytest.mark.parametrize("causal", [False, True])
def test_a_block_equals_pytorchs_encoder_layer(norm_place: str, causal: bool) -> None:
    model = transformer(layers=1, positions="none", norm_place=norm_place, causal=causal)
    block, torch_block = (
        model.blocks[0],
        nn.TransformerEncoderLayer(12, 3, 10, 0.0, batch_first=True, norm_first=norm_place == "pre"),
    )
    inputs = {
        "self_attn.in_proj_weight": block.attention.project.weight,
        "self_attn.in_proj_bias": torch.zeros(36),
        "self_attn.out_proj.weight": block.attention.output.weight,
        "self_attn.out_proj.bias": torch.zeros(12),
        "linear1.weight": block.expand.weight,
        "linear1.bias": block.expand.bias,
        "linear2.weight": block.contract.weight,
        "linear2.bias": block.contract.bias,
        **{
            f"norm{i}.{kind}": torch.full((12,), float(kind == "weight")) for i in (1, 2) for kind in ("weight", "bias")
        },
    }
    torch_block.load_state_dict(inputs)
    row = random_ids(4)
    causal_mask = nn.Transformer.generate_square_subsequent_mask(TIME) if causal else None
    expected = torch_block(model.embedding(row), src_mask=causal_mask)
    if norm_place == "pre":
        expected = nn.functional.layer_norm(expected, (12,))
    torch.testing.assert_close(model.features(row), expected, atol=1e-5, rtol=1e-5)


def test_without_residual_connections_a_block_returns_only_its_own_output() -> None:
    x = torch.randn(2, TIME, 12, generator=Generator().manual_seed(3))
    mask = torch.ones(2, 1, TIME, TIME, dtype=torch.bool)
    for norm_place in ("pre", "post"):
        with_residual, without_residual = (
            transformer(norm="none", norm_place=norm_place, residual=residual).blocks[0] for residual in (True, False)
        )
        attention_output = without_residual.attention(x, mask, None)
        assert torch.equal(without_residual(x, mask, None), without_residual.feedforward(attention_output))
        torch.testing.assert_close(
            with_residual(x, mask, None), x + attention_output + with_residual.feedforward(x + attention_output)
        )


@pytest.mark.parametrize("norm_place", ["post", "pre"])
def test_without_feedforward_layers_a_block_is_attention_with_its_residual_connection(norm_place: str) -> None:
    block = transformer(feedforward=False, norm_place=norm_place).blocks[0]
    x = torch.randn(2, TIME, 12, generator=Generator().manual_seed(3))
    mask = torch.ones(2, 1, TIME, TIME, dtype=torch.bool)
    norm = block.attention_norm
    expected = x + block.attention(norm(x), mask, None)
    if norm_place == "post":
        expected = norm(x + block.attention(x, mask, None))
    torch.testing.assert_close(block(x, mask, None), expected)


def test_scores_are_scaled_by_the_root_of_the_head_width_and_the_query_initialization_by_its_setting() -> None:
    inputs, scores_by_name = random_ids(2), {}
    for name, settings in {"usual": {}, "raw": {"scaled": False}, "wide": {"spread": 3.0}}.items():
        model = transformer(layers=1, **settings)
        with record(model) as trace:
            model(inputs)
        scores_by_name[name] = trace["blocks.0.attention.scores"]
    torch.testing.assert_close(scores_by_name["raw"], scores_by_name["usual"] * 2)  # heads of width 4
    torch.testing.assert_close(scores_by_name["wide"], scores_by_name["usual"] * 9)


def test_more_tokens_than_learned_positions_raise_value_error() -> None:
    with pytest.raises(ValueError, match="12 tokens, but only 9 learned positions"):
        transformer(positions="learned")(torch.zeros(1, 12, dtype=torch.long))
    transformer(positions="sinusoidal")(torch.zeros(1, 12, dtype=torch.long))


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="heads = 5 does not divide width = 12"):
        TransformerTaggerConfig(width=12, heads=5)
    with pytest.raises(ValueError, match="even width for each head, not 3"):
        TransformerTaggerConfig(width=12, heads=4, positions="rotary")
