from __future__ import annotations

import math

import pytest

from explorer.inspection.transformer.parameter_count import ParameterGroup, count_parameter_groups
from explorer.labs.cost.parameter_count import model_choices
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model


def evaluate_formula(part: ParameterGroup, sizes: dict[str, int]) -> int:
    return part.copies * sum(
        times * math.prod(sizes[letter] for letter in letters) for letters, times in part.polynomial.items()
    )


@pytest.mark.parametrize("model_name", model_choices())
def test_every_formula_gives_the_count_of_its_group(model_name: str) -> None:
    task, _, model = model_name.partition("-")
    config = default_config(task, model)
    groups = count_parameter_groups(config, 71)
    built = build_model(with_settings(config, {"replicas": 1}), 71 if task == "text" else None)
    assert groups.total == sum(p.numel() for p in built.parameters())
    for part in groups.groups:
        assert evaluate_formula(part, dict(groups.sizes)) == part.count, part


def test_formulas_are_those_of_the_papers() -> None:
    config = with_settings(
        default_config("text", "transformer"), {"layers": 3, "width": 24, "heads": 2, "hidden": 40, "biases": "true"}
    )
    parts = {part.name: part.formula for part in count_parameter_groups(config, 65).groups}
    assert parts["embedding"] == "V d"
    assert parts["readout"] == "V d + V"
    assert parts["blocks[0–2].attention.project"] == "3 × 3 d²"
    assert parts["blocks[0–2].contract"] == "3 × (d m + d)"
    lstm = {
        p.name: p.formula
        for p in count_parameter_groups(with_settings(default_config("text", "lstm"), {"layers": 3})).groups
    }
    assert lstm["cells[0].input"] == "4 d m + 4 m"
    assert lstm["cells[1–2].input"] == "2 × (4 m² + 4 m)"
    reverse = {p.name: p.formula for p in count_parameter_groups(default_config("reverse", "encoder_decoder")).groups}
    assert reverse["readout"] == "12 d + 24 m + 12"
