"""The structure of a model: sizes and designs as configured, parameters counted by hand and by formulas, costs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.inspection.load_model import load_model
from explorer.inspection.transformer.parameter_count import count_parameter_groups
from explorer.inspection.transformer.structure import model_structure
from explorer.labs.cost.parameter_count import model_choices
from explorer.models.structure import ModelStructure
from explorer.models.taps import record
from explorer.run_store import store
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

FAMILIES = ("gpt2", "llama", "gpt_neox", "mistral", "gemma3_text", "bert-vectors", "modernbert", "t5", "marian")
Structures: TypeAlias = dict[str, tuple[Any, ModelStructure]]


def test_own_models_have_their_configured_sizes_and_parameters_counted_by_hand() -> None:
    model, translator = (load_model(store.find(f"{each}-transformer")).single_replica(0) for each in ("text", "dates"))
    found, both = model_structure(model), model_structure(translator)
    (stack,) = found.stacks
    assert (stack.layers, stack.heads, stack.key_heads, stack.head_width, stack.hidden) == (4, 4, 4, 16, 256)
    assert (stack.norm, stack.norm_place, stack.activation) == ("LayerNorm", "before", "ReLU squared") and stack.causal
    assert (found.width, found.positions, found.vocabulary, found.outcomes, found.tied) == (64, "rotary", 65, 65, False)
    assert (found.parameters["attention"], found.parameters["feedforward"]) == (4 * 4 * 64 * 64, 4 * 2 * 64 * 256)
    assert found.total == sum(each.numel() for each in model.parameters())
    matrices = 4 * (4 * 64 * 64 + 2 * 64 * 256) + 65 * 64
    assert found.multiplications(10) == matrices + 4 * 2 * 10 * 64
    assert found.cache_bytes(10) == 4 * 2 * 10 * 64 * 4  # layers, keys and values, tokens, width, bytes
    stacks = [(each.name, each.causal, each.cross) for each in both.stacks]
    assert stacks == [("encoder", False, False), ("decoder", True, True)]
    assert (both.vocabulary, both.outcomes) == (39, 13)
    with pytest.raises(InvalidSetting, match="no Transformer"):
        model_structure(torch.nn.Linear(2, 2))


@pytest.fixture(scope="module")
def structures(tmp_path_factory: pytest.TempPathFactory) -> Structures:
    """Random models of every family, whose sizes are those of `tiny_models`."""
    pytest.importorskip("transformers", reason="pip install -r requirements-models.txt")
    from explorer.hub.loading import load
    from tests.hub.tiny_models import save_random_model

    folder: Path = tmp_path_factory.mktemp("families")
    loaded = {name: load(save_random_model(name, folder / name)) for name in FAMILIES}
    return {name: (module, model_structure(module)) for name, module in loaded.items()}


def test_pretrained_models_have_the_sizes_of_their_configuration(structures: Structures) -> None:
    from tests.hub.tiny_models import HEADS, HIDDEN, LAYERS, VOCABULARY, WIDTH

    for name, (module, found) in structures.items():
        assert found.total == sum(each.numel() for each in module.model.parameters()), name
        assert {"embedding", "attention", "feedforward", "norms"} <= {p for p, n in found.parameters.items() if n}
        stack = found.stacks[0]
        assert (found.width, found.vocabulary) == (WIDTH, VOCABULARY), name
        assert (stack.layers, stack.heads, stack.head_width) == (LAYERS, HEADS, WIDTH // HEADS), name
        assert stack.hidden == (4 * WIDTH if name == "gpt2" else HIDDEN), name
        assert len(stack.windows) == LAYERS
        output = module.model.get_output_embeddings()
        tied = output is not None and output.weight is module.model.get_input_embeddings().weight
        assert found.tied == tied, name
        assert found.outcomes == (0 if name == "bert-vectors" else module.vocabulary)


def test_designs_of_pretrained_models(structures: Structures, snapshot: SnapshotAssertion) -> None:
    """What the stack that answers and the positions of each family are."""
    designs = {}
    for name, (_, found) in structures.items():
        stack = found.stacks[-1]
        flags = [each for each in ("causal", "cross", "gated", "parallel") if getattr(stack, each)]
        heads = f"{stack.key_heads} of {stack.heads} heads have keys"
        words = (found.positions, f"{stack.norm} {stack.norm_place}", stack.activation, heads, *flags)
        designs[name] = ", ".join(words)
    assert designs == snapshot


def test_memory_and_multiplications_of_pretrained_models(structures: Structures) -> None:
    found, ids = structures["mistral"][1], torch.tensor([[5, 9, 14, 9]])
    assert found.stacks[0].windows == (6, 6, 6), "a window limits the memory and the pairs"
    assert found.cache_bytes(6) == found.cache_bytes(1_000) and found.multiplications(6) == found.multiplications(1_000)
    for name in ("gpt2", "llama", "gpt_neox"):
        module, found = structures[name]
        with torch.inference_mode():
            cache = module.model(ids, use_cache=True).past_key_values
            with record(module) as trace:
                module(ids)
        kept = sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
        assert found.cache_bytes(4) == 4 * kept, name
        pairs = sum(trace[f"blocks.{layer}.attention.weights"][0, :, -1].numel() for layer in range(3))
        assert found.stacks[0].pair_multiplications(4) == 2 * pairs * found.stacks[0].head_width


@pytest.mark.parametrize("model_name", model_choices())
def test_every_formula_gives_the_count_of_its_group(model_name: str) -> None:
    task, _, model = model_name.partition("-")
    config = default_config(task, model)
    groups = count_parameter_groups(config, 71)
    built = build_model(with_settings(config, {"replicas": 1}), 71 if task == "text" else None)
    assert groups.total == sum(p.numel() for p in built.parameters())
    sizes = dict(groups.sizes)
    for part in groups.groups:
        terms = [times * math.prod(sizes[each] for each in letters) for letters, times in part.polynomial.items()]
        assert part.copies * sum(terms) == part.count, part


def test_formulas_are_those_of_the_papers() -> None:
    biased = with_settings(default_config("text", "transformer"), {"layers": 3, "biases": "true"})
    deep = with_settings(default_config("text", "lstm"), {"layers": 3})
    runs = (biased, deep, default_config("reverse", "encoder_decoder"))
    transformer, lstm, reverse = ({p.name: p.formula for p in count_parameter_groups(run).groups} for run in runs)
    assert (transformer["embedding"], transformer["readout"]) == ("V d", "V d + V")
    assert transformer["blocks[0–2].attention.project"] == "3 × 3 d²"
    assert transformer["blocks[0–2].contract"] == "3 × (d m + d)"
    assert (lstm["cells[0].input"], lstm["cells[1–2].input"]) == ("4 d m + 4 m", "2 × (4 m² + 4 m)")
    assert reverse["readout"] == "12 d + 24 m + 12"
