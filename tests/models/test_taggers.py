"""Models that answer at every place: equal to PyTorch's own layers, blind where they should be."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.models.configs import GRUTaggerConfig, RNNTaggerConfig, TransformerTaggerConfig
from explorer.models.layers import replica, stack
from explorer.models.recurrent_tagger import GRUTagger, RNNTagger
from explorer.models.taps import record, tap_names
from explorer.models.transformer_tagger import TransformerTagger

VOCABULARY, LABELS, PLACES, TIME = 11, 5, 9, 7
PADDING = VOCABULARY - 1
POSITIONS = ("learned", "sinusoidal", "rotary", "none")
SMALL = {"width": 12, "heads": 3, "layers": 2, "hidden": 10}


def transformer(seed: int = 1, **settings: Any) -> TransformerTagger:
    config = TransformerTaggerConfig(**{**SMALL, **settings})
    return TransformerTagger(config, VOCABULARY, LABELS, PLACES, Generator().manual_seed(seed))


def recurrent(kind: str, seed: int = 1) -> nn.Module:
    drawn = Generator().manual_seed(seed)
    if kind == "rnn":
        return RNNTagger(RNNTaggerConfig(3, 6), VOCABULARY, LABELS, PLACES, drawn)
    return GRUTagger(GRUTaggerConfig(3, 6), VOCABULARY, LABELS, PLACES, drawn)


MADE = {
    "rnn": lambda seed=1: recurrent("rnn", seed),
    "gru": lambda seed=1: recurrent("gru", seed),
    **{name: lambda seed=1, name=name: transformer(seed, positions=name) for name in POSITIONS},
    "pre": lambda seed=1: transformer(seed, norm="rms", norm_place="pre", causal=True),
    "alone": lambda seed=1: transformer(seed, attention=False, norm="none"),
    "bare": lambda seed=1: transformer(seed, residual=False),
}


def ids(*shape: int) -> Tensor:
    return torch.randint(PADDING, (*shape, TIME), generator=Generator().manual_seed(7))


@pytest.mark.parametrize("name", MADE)
def test_a_stack_answers_as_each_of_its_models(name: str) -> None:
    models = [MADE[name](seed=seed) for seed in range(3)]
    together, given = stack(models), ids(3, 4)
    answers = together(given)
    assert answers.shape == (3, 4, TIME, LABELS)
    for r, model in enumerate(models):
        torch.testing.assert_close(answers[r], model(given[r]), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(replica(together, r)(given[r]), model(given[r]))


@pytest.mark.parametrize("name", MADE)
def test_padding_changes_nothing(name: str) -> None:
    model, given = MADE[name](), ids(4)
    padded = nn.functional.pad(given, (0, 2), value=PADDING)
    torch.testing.assert_close(model(padded)[:, :TIME], model(given), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MADE)
def test_readout_reads_the_features_and_watching_changes_nothing(name: str) -> None:
    model, given = MADE[name](), ids(4)
    with record(model) as trace:
        watched = model(given)
    torch.testing.assert_close(watched, model(given), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(model.readout(model.features(given)), watched, atol=1e-6, rtol=1e-6)
    assert set(trace) == set(tap_names(model).values())


ATTENTION = ("keys", "mixed", "queries", "scores", "values", "weights")


def test_tap_names_are_part_of_the_file_format() -> None:
    blocks = [f"blocks.{i}.{tap}" for i in range(2) for tap in (*(f"attention.{p}" for p in ATTENTION), "output")]
    assert sorted(tap_names(transformer()).values()) == [*blocks, "embedded"]
    assert sorted(tap_names(transformer(attention=False)).values()) == [
        "blocks.0.output",
        "blocks.1.output",
        "embedded",
    ]
    assert "cell.state" in tap_names(recurrent("gru")).values()


@pytest.mark.parametrize("place", ["post", "pre"])
@pytest.mark.parametrize("causal", [False, True])
def test_a_block_is_pytorchs_own_layer(place: str, causal: bool) -> None:
    model = transformer(layers=1, positions="none", norm_place=place, causal=causal)
    block, own = (
        model.blocks[0],
        nn.TransformerEncoderLayer(12, 3, 10, 0.0, batch_first=True, norm_first=place == "pre"),
    )
    given = {
        "self_attn.in_proj_weight": block.attention.project.weight,
        "self_attn.in_proj_bias": torch.zeros(36),
        "self_attn.out_proj.weight": block.attention.output.weight,
        "self_attn.out_proj.bias": torch.zeros(12),
        "linear1.weight": block.expand.weight,
        "linear1.bias": block.expand.bias,
        "linear2.weight": block.contract.weight,
        "linear2.bias": block.contract.bias,
        **{
            f"norm{i}.{what}": torch.full((12,), float(what == "weight")) for i in (1, 2) for what in ("weight", "bias")
        },
    }
    own.load_state_dict(given)
    row = ids(4)
    hidden = nn.Transformer.generate_square_subsequent_mask(TIME) if causal else None
    expected = own(model.embedding(row), src_mask=hidden)
    if place == "pre":
        expected = nn.functional.layer_norm(expected, (12,))
    torch.testing.assert_close(model.features(row), expected, atol=1e-5, rtol=1e-5)


def test_without_residual_a_part_hands_on_only_what_it_makes() -> None:
    x = torch.randn(2, TIME, 12, generator=Generator().manual_seed(3))
    mask = torch.ones(2, 1, TIME, TIME, dtype=torch.bool)
    for place in ("pre", "post"):
        with_, without = (
            transformer(norm="none", norm_place=place, residual=there).blocks[0] for there in (True, False)
        )
        between = without.attention(x, mask, None)
        assert torch.equal(without(x, mask, None), without.feedforward(between))
        torch.testing.assert_close(with_(x, mask, None), x + between + with_.feedforward(x + between))


@pytest.mark.parametrize("positions", POSITIONS)
def test_with_the_mask_nobody_sees_what_comes_later_and_without_it_everybody_does(positions: str) -> None:
    given = ids(1)
    other = given.clone()
    other[0, -1] = (other[0, -1] + 1) % PADDING
    masked, open_ = (transformer(positions=positions, causal=causal) for causal in (True, False))
    torch.testing.assert_close(masked(given)[:, :-1], masked(other)[:, :-1])
    assert ((open_(given) - open_(other)).abs().amax(dim=-1) > 1e-6).all()


def test_without_attention_no_word_knows_of_another() -> None:
    given = ids(1)
    model = transformer(attention=False)
    other = given.clone()
    other[0, 0] = (other[0, 0] + 1) % PADDING
    torch.testing.assert_close(model(given)[:, 1:], model(other)[:, 1:])
    assert not torch.equal(model(given)[:, 0], model(other)[:, 0])


def test_without_positions_an_encoder_is_blind_to_order_and_a_decoder_is_not() -> None:
    given, turned = ids(1), ids(1).flip(-1)
    blind = transformer(positions="none")
    torch.testing.assert_close(blind(given).flip(1), blind(turned), atol=1e-5, rtol=1e-5)
    masked = transformer(positions="none", causal=True)
    assert not torch.allclose(masked(given).flip(1), masked(turned), atol=1e-3)
    for positions in ("learned", "sinusoidal", "rotary"):
        model = transformer(positions=positions)
        assert not torch.allclose(model(given).flip(1), model(turned), atol=1e-4)


def test_scores_are_divided_by_the_root_of_a_heads_width_and_queries_start_as_wide_as_said() -> None:
    given, found = ids(2), {}
    for name, settings in {"usual": {}, "raw": {"scaled": False}, "wide": {"spread": 3.0}}.items():
        model = transformer(layers=1, **settings)
        with record(model) as trace:
            model(given)
        found[name] = trace["blocks.0.attention.scores"]
    torch.testing.assert_close(found["raw"], found["usual"] * 2)  # heads of width 4
    torch.testing.assert_close(found["wide"], found["usual"] * 9)


@pytest.mark.parametrize("change", [{"positions": "learned"}, {"attention": False}, {"layers": 1}, {"causal": True}])
def test_what_is_left_starts_the_same_whatever_is_taken_out(change: dict[str, Any]) -> None:
    usual, other = transformer().state_dict(), transformer(**change).state_dict()
    for name in usual.keys() & other.keys():
        assert torch.equal(usual[name], other[name]), name
    assert "blocks.0.expand.weight" in other and "readout.weight" in other


def test_more_tokens_than_learned_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="12 tokens, but only 9 learned positions"):
        transformer(positions="learned")(torch.zeros(1, 12, dtype=torch.long))
    transformer(positions="sinusoidal")(torch.zeros(1, 12, dtype=torch.long))


def test_heads_have_to_share_the_width() -> None:
    with pytest.raises(ValueError, match="heads = 5 does not divide width = 12"):
        TransformerTaggerConfig(width=12, heads=5)
    with pytest.raises(ValueError, match="even width for each head, not 3"):
        TransformerTaggerConfig(width=12, heads=4, positions="rotary")
