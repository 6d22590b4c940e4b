from __future__ import annotations

import math
from contextlib import nullcontext
from itertools import product

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerTextConfig
from explorer.models.layers import learning, stack
from explorer.models.taps import record, tap_names
from explorer.models.transformer_decoder import (
    SHORT,
    Attention,
    Block,
    SquaredReLU,
    TransformerDecoder,
    rotate,
    rotations,
    sinusoids,
)
from tests.models.stacks import assert_stack_equals_single_models

VOCABULARY, CONTEXT, BATCH, TIME, HEADS, WIDTH, HIDDEN = 13, 21, 3, SHORT + 3, 3, 12, 11
POSITIONS, NORMS, NORM_PLACES = ("learned", "sinusoidal", "rotary", "none"), ("layer", "rms", "none"), ("pre", "post")
PATHS = {"fused": lambda network: nullcontext(), "watched": record}
IDS = torch.randint(VOCABULARY, (BATCH, TIME), generator=Generator().manual_seed(3))
X = torch.randn(BATCH, TIME, WIDTH, generator=Generator().manual_seed(3))
OUTPUT_WEIGHTS = torch.randn(BATCH, TIME, WIDTH, generator=Generator().manual_seed(5))


def seeded(seed: int = 1) -> Generator:
    return Generator().manual_seed(seed)


def config(**settings: object) -> TransformerTextConfig:
    small = {"width": WIDTH, "heads": HEADS, "layers": 2, "hidden": HIDDEN, "start": "usual"}
    return TransformerTextConfig(**{**small, **settings})


def build_model(seed: int = 1, **settings: object) -> TransformerDecoder:
    decoder = TransformerDecoder(config(**settings), VOCABULARY, CONTEXT, seeded(seed))
    vary_norms(decoder, seed)
    return decoder


def vary_norms(module: nn.Module, seed: int = 1) -> None:
    """Replace the initial ones and zeros of the norms, which would hide a mistake."""
    generator = seeded(seed)
    for name, parameter in module.named_parameters():
        if "norm" in name:
            parameter.data.uniform_(0.5, 2, generator=generator)


def assert_close(actual: Tensor | None, expected: Tensor | None) -> None:
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_replica_of_a_stack_equals_the_single_model(positions: str) -> None:
    for norm, biases in product(NORMS, (False, True)):
        models = [build_model(seed, positions=positions, norm=norm, biases=biases) for seed in range(3)]
        assert_stack_equals_single_models(models, torch.stack([IDS, IDS.flip(0), IDS.flip(1)]))


def copy_block(block: Block, norm_place: str, activation: str, biases: bool) -> tuple[nn.TransformerEncoderLayer, list]:
    design = {"activation": activation, "norm_first": norm_place == "pre", "bias": biases}
    torch_block = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0, batch_first=True, **design)
    attention = torch_block.self_attn
    attention.in_proj_weight.data = block.attention.project.weight.detach().clone()
    pairs = [
        (block.expand, torch_block.linear1),
        (block.contract, torch_block.linear2),
        (block.attention_norm, torch_block.norm1),
        (block.feedforward_norm, torch_block.norm2),
    ]
    for own_part, torch_part in pairs:
        torch_part.load_state_dict(own_part.state_dict())
    attention.out_proj.weight.data = block.attention.output.weight.detach().clone()
    if biases:  # our attention has no biases
        attention.in_proj_bias.data.zero_()
        attention.out_proj.bias.data.zero_()
    return torch_block, [*pairs, (block.attention.output, attention.out_proj)]


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_place", NORM_PLACES)
@pytest.mark.parametrize("path", PATHS)
def test_block_equals_torch_forward_and_backward(path: str, norm_place: str, activation: str, biases: bool) -> None:
    own_model = Block(config(norm_place=norm_place, activation=activation, biases=biases, positions="none"), seeded())
    vary_norms(own_model)
    torch_model, pairs = copy_block(own_model, norm_place, activation, biases)
    own_input, torch_input = X.clone().requires_grad_(), X.clone().requires_grad_()
    with PATHS[path](own_model):
        out = own_model(own_input, None)
    causal = nn.Transformer.generate_square_subsequent_mask(TIME)
    expected = torch_model(torch_input, src_mask=causal, is_causal=True)
    assert_close(out, expected)
    (out * OUTPUT_WEIGHTS).sum().backward()
    (expected * OUTPUT_WEIGHTS).sum().backward()
    assert_close(own_input.grad, torch_input.grad)
    assert_close(own_model.attention.project.weight.grad, torch_model.self_attn.in_proj_weight.grad)
    for own_part, torch_part in pairs:
        for name, parameter in own_part.named_parameters():
            assert_close(parameter.grad, torch_part.get_parameter(name).grad)


@pytest.mark.parametrize("norm_place", NORM_PLACES)
def test_pre_norm_adds_a_final_norm_before_the_readout(norm_place: str) -> None:
    decoder = build_model(norm_place=norm_place)
    with record(decoder) as trace:
        features, _ = decoder.features(IDS)
    out = trace["blocks.1.output"]
    if norm_place == "pre":
        out = nn.functional.layer_norm(out, (WIDTH,)) * decoder.get_parameter("final_norm.weight")
    assert_close(features, out)


def test_the_assignments_model_equals_its_formulas() -> None:
    """One head, no norm, learned positions, ReLU; biases in feedforward and readout, none in the attention."""
    decoder = build_model(heads=1, norm="none", positions="learned", activation="relu", biases=True)
    p = dict(decoder.named_parameters())
    x = p["embedding.weight"][IDS] + p["position.weight"][:TIME]
    for i in range(2):
        q, k, v = (x @ part.mT for part in p[f"blocks.{i}.attention.project.weight"].split(WIDTH))
        scores = (q @ k.mT / WIDTH**0.5).masked_fill(torch.ones(TIME, TIME).tril() == 0, -math.inf)
        x = x + scores.softmax(-1) @ v @ p[f"blocks.{i}.attention.output.weight"].mT
        hidden = torch.relu(x @ p[f"blocks.{i}.expand.weight"].mT + p[f"blocks.{i}.expand.bias"])
        x = x + hidden @ p[f"blocks.{i}.contract.weight"].mT + p[f"blocks.{i}.contract.bias"]
    assert_close(decoder(IDS), x @ p["readout.weight"].mT + p["readout.bias"])
    biased = {name for name in p if name.endswith("bias")}
    assert not [name for name, _ in build_model(biases=False).named_parameters() if name.endswith("bias")]
    assert biased == {"readout.bias"} | {f"blocks.{i}.{part}.bias" for i in range(2) for part in ("expand", "contract")}
    assert p["position.weight"].std().item() == pytest.approx(1, rel=0.2)


def test_squared_relu_and_its_gradient() -> None:
    x = torch.tensor([-2.0, 0.0, 0.5, 3.0], requires_grad=True)
    y = SquaredReLU.apply(x)
    assert y.tolist() == [0, 0, 0.25, 9]
    (y * torch.tensor([1.0, 1.0, 2.0, -1.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0, 2, -6]
    wide = torch.randn(3, 5, dtype=torch.float64, generator=seeded()).requires_grad_()
    assert torch.autograd.gradcheck(SquaredReLU.apply, wide)


def test_sinusoids_as_in_the_paper() -> None:
    for width in (8, 7):
        table = sinusoids(6, width)
        assert table.shape == (6, width)
        for position, column in product(range(6), range(width)):
            angle = position / 10_000 ** (column // 2 * 2 / width)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[position, column].item() == pytest.approx(expected, abs=1e-6)


def test_added_positions_are_added_to_the_embedding() -> None:
    decoder = build_model(positions="sinusoidal")
    with record(decoder) as trace:
        decoder(IDS)
    assert_close(trace["embedded"], decoder.embedding.weight[IDS] + sinusoids(TIME, WIDTH))


def test_rotary_rotates_each_pair_by_its_own_angle() -> None:
    x = torch.tensor([1.0, 0.0, 0.0, 2.0]).expand(1, 4, 1, 4)
    for position, (a, b, c, d) in enumerate(rotate(x, rotations(4, 4))[0, :, 0].tolist()):
        fast, slow = position, position / 1_000**0.5
        expected = [math.cos(fast), math.sin(fast), -2 * math.sin(slow), 2 * math.cos(slow)]
        assert [a, b, c, d] == pytest.approx(expected, abs=1e-5)


def test_rotary_positions_rotate_queries_and_keys_but_not_values() -> None:
    decoder, equal_ids = build_model(positions="rotary"), torch.full((1, TIME), 4)
    with record(decoder) as trace:
        decoder(equal_ids)
    queries, keys, values = (trace[f"blocks.0.attention.{part}"] for part in ("queries", "keys", "values"))
    rotation = rotations(TIME, WIDTH // HEADS)
    for rotated in (queries, keys):
        unrotated = rotated[..., :1, :].expand_as(rotated)
        assert_close(rotated, rotate(unrotated.transpose(1, 2), rotation).transpose(1, 2))
        assert not torch.allclose(rotated, unrotated, atol=1e-3)
    assert_close(values, values[..., :1, :].expand_as(values))


def test_learned_positions_are_limited_to_the_context() -> None:
    decoder = build_model(positions="learned")
    ids = torch.zeros(2, CONTEXT + 1, dtype=torch.long)
    assert decoder(ids[:, :CONTEXT]).isfinite().all()
    with pytest.raises(ValueError, match="22 tokens, but only 21 learned positions"):
        decoder(ids)
    with pytest.raises(ValueError, match="22 tokens, but only 21 learned positions"):
        stack([decoder, decoder])(ids.expand(2, -1, -1))


def test_attention_weights_worked_by_hand() -> None:
    attention = Attention(config(width=1, heads=1, positions="none"), seeded())
    attention.project.weight.data = torch.tensor([[2.0], [1.0], [5.0]])  # query, key, value
    attention.output.weight.data.fill_(1.0)
    with record(attention) as trace:
        mixed = attention(torch.tensor([[[0.0], [1.0], [9.0]]]), None)
    # The first attends to itself only. The second has the query 2: scores 0 and 2, weights 1 / (e^2 + 1) and the rest.
    expected = torch.tensor([[1.0, 0.0, 0.0], [0.1192029, 0.8807971, 0.0]])
    torch.testing.assert_close(trace["weights"][0, 0, :2], expected)
    torch.testing.assert_close(mixed[0, :2, 0], torch.tensor([0.0, 4.4039854]))


@pytest.mark.parametrize("biases", [False, True])
def test_zero_initialization_gives_uniform_logits_and_identity_blocks(biases: bool) -> None:
    decoder = build_model(start="zero", biases=biases)
    assert torch.equal(decoder(IDS), torch.zeros(BATCH, TIME, VOCABULARY))
    with record(decoder) as trace:
        decoder(IDS)
    assert torch.equal(trace["blocks.1.output"], trace["embedded"])


@pytest.mark.parametrize("zeroed", ["attention.output", "contract"])
@pytest.mark.parametrize("norm_place", NORM_PLACES)
def test_dropout_is_applied_after_each_part(zeroed: str, norm_place: str) -> None:
    """In training, each unit that a part adds is zeroed or doubled, and equally so for all tokens of a row."""
    decoder = build_model(dropout=0.5, layers=1, norm="none", norm_place=norm_place)
    decoder.get_parameter(f"blocks.0.{zeroed}.weight").data.zero_()
    with record(decoder) as undropped:
        decoder(IDS)
    with learning([seeded(1)]), record(decoder) as dropped:
        decoder(IDS)
    ratio = (dropped["blocks.0.output"] - undropped["embedded"]) / (
        undropped["blocks.0.output"] - undropped["embedded"]
    )
    factors = ratio.round()
    torch.testing.assert_close(ratio, factors[:, :1].expand_as(ratio), atol=1e-2, rtol=0)
    assert set(factors.flatten().tolist()) == {0.0, 2.0}


def test_tap_names_are_part_of_the_file_format(snapshot: SnapshotAssertion) -> None:
    decoder = build_model(positions="rotary")
    with record(decoder) as trace:
        decoder(IDS)
    assert snapshot == sorted(trace)
    assert sorted(tap_names(decoder).values()) == sorted(trace)
    assert trace["blocks.0.hidden"].shape == (BATCH, TIME, HIDDEN)
