from __future__ import annotations

from explorer.training import limits
from explorer.training.config import differing
from explorer.training.exploding_runs import GAINS, GROUNDS, recipes


def test_two_runs_on_one_ground_differ_in_nothing_but_clipping() -> None:
    for ground in GROUNDS:
        none, clip = (differing(limits.check(config)) for config in ground.runs().values())
        # To be clipped is the released recipe.
        assert none.pop("clip") == 0.0
        assert none == clip
        assert none["method"] == "sgd"
        assert none["gain"] == ground.settings["gain"]
    assert len(set(recipes().values())) == len(recipes()) == 2 * len(GROUNDS)


def test_the_gains_go_from_vanishing_to_exploding() -> None:
    assert (GAINS[0], GAINS[-1], len(GAINS)) == (0.5, 3.0, 26)
    assert 1.0 in GAINS
