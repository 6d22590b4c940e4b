from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import LineageError
from explorer.experiments.labelling import INDUCTION_VARIANTS
from explorer.labs.induction import findings
from explorer.labs.induction.state import DRAWN_SYMBOLS, ROLE_TITLES, InductionState
from explorer.run_store import store
from explorer.tasks.sequence_labelling.induction import ROLES, InductionConfig
from explorer.training.config import with_settings


def test_the_default_settings_are_those_of_included_runs() -> None:
    for name, config in InductionState().configs.items():
        stored = store.find_by_config(config)
        assert stored is not None and stored.folder.name == f"induction-{name}"
    assert tuple(f"induction-{name}" for name in InductionState().configs) == INDUCTION_VARIANTS
    assert tuple(ROLE_TITLES) == ROLES


def test_a_row_is_drawn_until_one_is_typed() -> None:
    state = InductionState()
    first, second = state.text[:DRAWN_SYMBOLS], state.text[DRAWN_SYMBOLS:]
    assert first == second and len(set(first)) == DRAWN_SYMBOLS and set(first) <= set(InductionConfig().vocabulary)
    other = state.with_next_draw()
    assert other.text != state.text and other.draw == 1
    typed = other.with_text("abab")
    assert typed.text == "abab" and typed.with_next_draw().row is None
    assert InductionState(draw=999).with_next_draw().draw == 0


def test_another_model_or_seed_begins_with_unchanged_heads() -> None:
    state = InductionState(off=("0.0",), flat=("1.0",), unplaced=True, step=46, layer=1, head=0, view="lines")
    assert state.is_ablated and state.with_model("two") == state
    one = state.with_model("one")
    assert (one.look, one.step, one.layer, one.view) == ("one", None, None, "lines") and not one.is_ablated
    seed = state.with_replica(3)
    assert (seed.replica, seed.step) == (3, 46) and not seed.is_ablated
    assert InductionState(look="nothing").shown_model == "two" == InductionState(who=("two",), look="one").shown_model


def test_a_run_with_other_settings_is_shown_and_too_many_seeds_are_refused() -> None:
    config = with_settings(store.find("induction-two").config, {"replicas": 2, "seed": 5})
    changed = InductionState().with_settings_of(config)
    assert changed.config("two") == config
    with pytest.raises(LineageError):
        InductionState().with_field("steps", 1_000_000)


LOW, HIGH = np.array([0.1, 0.2, 0.3]), np.array([2.0, 2.2, 2.4])
NAN = float("nan")


def test_sentences(snapshot: SnapshotAssertion) -> None:
    values = np.array([[0.9, 0.0, 0.7], [0.1, 1.0, 0.9]])
    noise = np.linspace(0, 0.1, 8)
    previous, induction = (np.array([190.0, 210, NAN, 150]), np.array([200.0, 200, 250, 250]))
    previous_of_two, induction_of_two = (np.array([[0.8, 0.1], [0.3, 0.2]]), np.array([[0.1, 0.1], [0.05, 0.9]]))
    assert [
        findings.row_finding([True, False, True], {"A": values, "B": values[:1]}),
        findings.row_finding([False, False, True], {"A": values}),
        findings.row_finding([False] * 3, {"A": values}),
        findings.accuracy_finding({"one": 1 - LOW, "two": np.array([0.1, 0.7, 0.1]), "three": 0 * LOW}),
        findings.accuracy_finding({"one": 1 - LOW[:1]}),
        findings.accuracy_finding({}),
        *(
            findings.comparison_text(each)
            for each in ({"A": LOW, "B": HIGH}, {"A": noise, "B": 2 + noise[::-1]}, {"A": LOW})
        ),
        findings.moment_finding("A", previous, induction, np.array([300, 320, 300, NAN])),
        findings.moment_finding("A", previous, induction, np.array([100, 320, 300, NAN])),
        findings.moment_finding("A", previous, induction, np.full(4, NAN)),
        findings.heads_finding(7, previous_of_two, induction_of_two),
        *(findings.ablation_finding("the head", LOW, change) for change in [HIGH, LOW - 0.1]),
        findings.control_text("A", HIGH, "B", LOW),
        findings.control_text("A", LOW, "B", HIGH),
        findings.control_text("A", np.array([1.0, 2.0]), "B", np.array([2.0, 1.0])),
        findings.changed_row_text(0.1, 0.9, 3),
        findings.changed_row_text(0.0, 0.0, 0),
    ] == snapshot
