from __future__ import annotations

from explorer.experiments.gradient_clipping import CLIPPING_CELLS, GAINS, shipped_configs
from explorer.jobs import limits
from explorer.training.config import changed_settings


def test_the_two_runs_of_a_cell_differ_only_in_clipping() -> None:
    for cell in CLIPPING_CELLS:
        none, clip = (changed_settings(limits.check(config)) for config in cell.configs().values())
        # To be clipped is the released recipe.
        assert none.pop("clip") == 0.0
        assert none == clip
        assert none["method"] == "sgd"
        assert none["gain"] == cell.settings["gain"]
    assert len(set(shipped_configs().values())) == len(shipped_configs()) == 2 * len(CLIPPING_CELLS)


def test_the_gains_go_from_vanishing_to_exploding() -> None:
    assert (GAINS[0], GAINS[-1], len(GAINS)) == (0.5, 3.0, 26)
    assert 1.0 in GAINS
