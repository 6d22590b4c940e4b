"""Where heads look when they have to agree, and what each is worth."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.inspection import agreeing
from explorer.inspection.opening import OpenedModel, open_model
from explorer.training import store


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return open_model(store.find("agreement-heads"))


@pytest.mark.parametrize("what", ["verb", "pronoun"])
def test_every_head_of_every_seed_is_looked_at_and_switched_off(opened: OpenedModel, what: str) -> None:
    found = agreeing.heads(opened, what)
    assert found.subject.shape == found.nearest.shape == found.without.shape == (5, 2, 4)
    assert (found.subject + found.nearest <= 1 + 1e-6).all() and (found.subject >= 0).all()
    assert (found.whole > 0.9).all(), "the runs that ship have learned it"
    assert (found.subject.max(axis=(1, 2)) > found.nearest.max(axis=(1, 2))).all(), "they look at whom they agree with"


def test_without_any_head_nothing_of_the_subject_arrives(opened: OpenedModel) -> None:
    from explorer.models.taps import intervene
    from explorer.tasks.agreement import AgreementConfig
    from explorer.tasks.agreement_rows import fresh, right_at, rows_of
    from explorer.tasks.labelled import asked

    said = fresh("misleading", 64)
    task = opened.config.on(AgreementConfig)
    silent = {f"blocks.{i}.attention.mixed": lambda mixed, _: torch.zeros_like(mixed) for i in range(2)}
    with torch.inference_mode(), intervene(opened.stack, silent):
        right = right_at(task, asked(opened.stack, rows_of(task, said).ids, 5), said, "verb").float().mean(dim=-1)
    assert (right < 0.5).all(), "what is left is the noun before the verb, which misleads"


def test_one_head_is_silent_and_no_other() -> None:
    mixed = torch.ones(2, 3, 4, 5, 6)  # replicas, rows, heads, time, width
    found = agreeing.silent(1)(mixed, 0)
    np.testing.assert_array_equal(found.sum(dim=(0, 1, 3, 4)).numpy(), [180, 0, 180, 180])
