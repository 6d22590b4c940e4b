"""The label of each setting: short, unique in its form, and derived from its name where none is declared."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.catalogue import MODELS, TASKS
from explorer.generation.sampling import Sampling
from explorer.models.settings import field_label, setting
from explorer.training.config import Optimiser, RunConfig, default_config, setting_declaration

_MODEL_CONFIGS = {each.config for row in MODELS.values() for each in row.by_task.values()}
KINDS = (*_MODEL_CONFIGS, *(row.config for row in TASKS.values()), Optimiser, RunConfig, Sampling)


@dataclass(frozen=True)
class Example:
    zeal_of_it: float = setting(0.5, "How much.", 0, 1)
    p_not: float = setting(0.5, "How likely.", 0, 1, label="Probability of “not”")


def test_a_label_is_the_declared_one_or_derived_from_the_name() -> None:
    assert [field_label(each) for each in dataclasses.fields(Example)] == ["Zeal of it", "Probability of “not”"]


@pytest.mark.parametrize("kind", sorted(KINDS, key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def test_the_labels_of_a_form_are_short_and_different(kind: type[Any]) -> None:
    labels = [field_label(each) for each in dataclasses.fields(kind) if "help" in each.metadata]
    assert len(set(labels)) == len(labels)
    assert all(0 < len(label) <= 50 and "_" not in label for label in labels)


@pytest.mark.parametrize("kind", [*sorted(_MODEL_CONFIGS, key=lambda kind: kind.__name__), Optimiser, RunConfig])
def test_defaults_and_limits_never_change(kind: type[Any], snapshot: SnapshotAssertion) -> None:
    """The keys of stored runs are computed from the settings that differ from these defaults."""
    declared = {each.name: each for each in dataclasses.fields(kind) if "help" in each.metadata}
    limits = {name: (each.metadata["low"], each.metadata["high"]) for name, each in declared.items()}
    assert snapshot == [f"{name} = {each.default}, limits {limits[name]}" for name, each in declared.items()]
    if kind is not RunConfig:
        assert hash(kind()) == hash(kind())


def test_a_setting_is_found_in_its_section() -> None:
    config = default_config("negation", "transformer")
    assert setting_declaration(config, "p_not") is setting_declaration(config, "task.p_not")
    assert setting_declaration(config, "start").metadata["high"] == 2.0
    assert setting_declaration(config, "seed").metadata["label"] == "First seed"
    for unknown in ("zeal", "model.p_not", "branch", "task"):
        with pytest.raises(KeyError):
            setting_declaration(config, unknown)
