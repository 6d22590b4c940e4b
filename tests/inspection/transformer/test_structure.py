"""The structure of a model: sizes and designs as configured, parameters as counted by hand, costs as defined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.load_model import load_model
from explorer.inspection.transformer.structure import model_structure
from explorer.models.structure import ModelStructure
from explorer.models.taps import record
from explorer.run_store import store


def _own(name: str) -> Any:
    return load_model(store.find(name)).single_replica(0)


def test_an_own_decoder_has_its_configured_sizes_and_parameters_counted_by_hand() -> None:
    model = _own("text-transformer")
    found = model_structure(model)
    (stack,) = found.stacks
    assert (stack.layers, stack.heads, stack.key_heads, stack.head_width, stack.hidden) == (4, 4, 4, 16, 256)
    assert (stack.norm, stack.norm_place, stack.activation, stack.causal) == (
        "LayerNorm",
        "before",
        "ReLU squared",
        True,
    )
    assert (found.width, found.positions, found.vocabulary, found.outcomes, found.tied) == (64, "rotary", 65, 65, False)
    assert found.parameters["attention"] == 4 * 4 * 64 * 64
    assert found.parameters["feedforward"] == 4 * 2 * 64 * 256
    assert found.total == sum(each.numel() for each in model.parameters())


def test_an_own_encoder_decoder_has_two_stacks() -> None:
    found = model_structure(_own("dates-transformer"))
    assert [(each.name, each.causal, each.cross) for each in found.stacks] == [
        ("encoder", False, False),
        ("decoder", True, True),
    ]
    assert (found.vocabulary, found.outcomes) == (39, 13)


def test_multiplications_and_memory_are_those_of_the_definition() -> None:
    found = model_structure(_own("text-transformer"))
    matrices = 4 * (4 * 64 * 64 + 2 * 64 * 256) + 65 * 64
    assert found.multiplications(10) == matrices + 4 * 2 * 10 * 64
    assert found.cache_bytes(10) == 4 * 2 * 10 * 64 * 4  # layers, keys and values, tokens, width, bytes


def test_a_model_without_blocks_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="no Transformer"):
        model_structure(torch.nn.Linear(2, 2))


@pytest.fixture(scope="module")
def structures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, ModelStructure]]:
    """Random models of every family, whose sizes are those of `tiny_models`."""
    pytest.importorskip("transformers", reason="pip install -r requirements-models.txt")
    from explorer.hub.loading import load
    from tests.hub.tiny_models import SHOWN, save_random_model

    folder: Path = tmp_path_factory.mktemp("families")
    loaded = {name: load(save_random_model(name, folder / name)) for name in SHOWN}
    return {name: (module, model_structure(module)) for name, module in loaded.items()}


class TestPretrained:
    """Random models of every family."""

    def test_every_parameter_is_in_one_part(self, structures: dict[str, tuple[Any, ModelStructure]]) -> None:
        for name, (module, found) in structures.items():
            assert found.total == sum(each.numel() for each in module.model.parameters()), name
            assert {"embedding", "attention", "feedforward", "norms"} <= {p for p, n in found.parameters.items() if n}

    def test_sizes_are_those_of_the_configuration(self, structures: dict[str, tuple[Any, ModelStructure]]) -> None:
        from tests.hub.tiny_models import HEADS, HIDDEN, LAYERS, VOCABULARY, WIDTH

        for name, (_, found) in structures.items():
            stack = found.stacks[0]
            assert (found.width, found.vocabulary) == (WIDTH, VOCABULARY), name
            assert (stack.layers, stack.heads, stack.head_width) == (LAYERS, HEADS, WIDTH // HEADS), name
            assert stack.hidden == (4 * WIDTH if name == "gpt2" else HIDDEN), name
            assert len(stack.windows) == LAYERS

    def test_designs_are_those_of_the_papers(self, structures: dict[str, tuple[Any, ModelStructure]]) -> None:
        def having(**wanted: object) -> set[str]:
            return {
                name
                for name, (_, found) in structures.items()
                if all(getattr(found.stacks[-1], each) == value for each, value in wanted.items())
            }

        assert having(parallel=True) == {"gpt_neox"}
        assert having(norm_place="after") == {
            "bert",
            "bert-vectors",
            "distilbert",
            "roberta",
            "electra",
            "marian",
            "bart",
        }
        assert having(norm_place="before and after") == {"gemma3_text"}
        assert having(norm="RMSNorm") == {"llama", "qwen2", "qwen3", "mistral", "phi3", "gemma3_text", "t5"}
        gated = {"llama", "qwen2", "qwen3", "mistral", "phi3", "gemma3_text"}
        assert having(gated=True) == gated | {"modernbert"}
        assert having(key_heads=2) == gated
        assert having(cross=True) == {"t5", "marian", "bart"}
        assert having(activation="ReLU") == {"opt", "t5"}

    def test_positions_and_tied_layers(self, structures: dict[str, tuple[Any, ModelStructure]]) -> None:
        positions = {name: found.positions for name, (_, found) in structures.items()}
        assert {name for name, each in positions.items() if each == "rotary"} == {
            "llama",
            "gpt_neox",
            "qwen2",
            "qwen3",
            "mistral",
            "phi3",
            "gemma3_text",
            "modernbert",
        }
        assert (positions["t5"], positions["marian"], positions["gpt2"]) == ("relative", "sinusoidal", "learned")
        for name, (module, found) in structures.items():
            output = module.model.get_output_embeddings()
            tied = output is not None and output.weight is module.model.get_input_embeddings().weight
            assert found.tied == tied, name
            assert found.outcomes == (0 if name == "bert-vectors" else module.vocabulary)

    def test_a_window_limits_the_memory_and_the_pairs(self, structures: dict[str, tuple[Any, ModelStructure]]) -> None:
        found = structures["mistral"][1]
        assert found.stacks[0].windows == (6, 6, 6)
        assert found.cache_bytes(6) == found.cache_bytes(1_000)
        assert found.multiplications(6) == found.multiplications(1_000)

    def test_memory_is_that_of_the_cache_of_transformers(
        self, structures: dict[str, tuple[Any, ModelStructure]]
    ) -> None:
        for name in ("gpt2", "llama", "qwen3", "phi3", "opt", "gpt_neox"):
            module, found = structures[name]
            with torch.inference_mode():
                cache = module.model(torch.tensor([[5, 9, 14, 9]]), use_cache=True).past_key_values
            kept = sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
            assert found.cache_bytes(4) == 4 * kept, name

    def test_multiplications_with_others_are_the_sizes_of_the_scores(
        self, structures: dict[str, tuple[Any, ModelStructure]]
    ) -> None:
        module, found = structures["llama"]
        with torch.inference_mode(), record(module) as trace:
            module(torch.tensor([[5, 9, 14, 9]]))
        pairs = sum(trace[f"blocks.{layer}.attention.weights"][0, :, -1].numel() for layer in range(3))
        assert found.stacks[0].pair_multiplications(4) == 2 * pairs * found.stacks[0].head_width
