from __future__ import annotations

import math

import pytest

from explorer.inspection.cost_parameters import Part, counted
from explorer.training.building import build
from explorer.training.config import changed, default
from explorer.ui.cost_parameters import offered


def value(part: Part, sizes: dict[str, int]) -> int:
    return part.copies * sum(times * math.prod(sizes[letter] for letter in of) for of, times in part.terms.items())


@pytest.mark.parametrize("who", offered())
def test_every_formula_gives_the_count_of_its_part(who: str) -> None:
    task, _, model = who.partition("-")
    config = default(task, model)
    found = counted(config, 71)
    built = build(changed(config, {"replicas": 1}), 71 if task == "text" else None)
    assert found.total == sum(p.numel() for p in built.parameters())
    for part in found.parts:
        assert value(part, dict(found.sizes)) == part.count, part


def test_formulas_are_those_of_the_papers() -> None:
    config = changed(
        default("text", "transformer"), {"layers": 3, "width": 24, "heads": 2, "hidden": 40, "biases": "true"}
    )
    parts = {part.name: part.formula for part in counted(config, 65).parts}
    assert parts["embedding"] == "V d"
    assert parts["readout"] == "V d + V"
    assert parts["blocks[0–2].attention.project"] == "3 × 3 d²"
    assert parts["blocks[0–2].contract"] == "3 × (d m + d)"
    lstm = {p.name: p.formula for p in counted(changed(default("text", "lstm"), {"layers": 3})).parts}
    assert lstm["cells[0].input"] == "4 d m + 4 m"
    assert lstm["cells[1–2].input"] == "2 × (4 m² + 4 m)"
    reverse = {p.name: p.formula for p in counted(default("reverse", "encoder_decoder")).parts}
    assert reverse["readout"] == "12 d + 24 m + 12"
