"""The rule of fair comparisons holds for every compared group, and a group that breaks it is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.compared_groups import problems_of
from explorer.experiments.compared_groups import compared_groups, find_search
from explorer.experiments.learning_rates import best_rate, searched_rate
from explorer.experiments.pretraining import shipped_configs
from explorer.training.config import with_settings

GROUPS = compared_groups()


@pytest.mark.parametrize("name", GROUPS)
def test_every_difference_within_a_group_is_said(name: str) -> None:
    assert list(problems_of(GROUPS[name])) == []
    assert set(GROUPS[name].runs.values()) <= set(shipped_configs().values())


def test_a_difference_that_is_not_said_is_a_problem() -> None:
    group = GROUPS["induction"]
    longer = {"induction-two": with_settings(group.runs["induction-two"], {"iterations": 1_600})}
    negation = replace(GROUPS["negation"], unequal={})
    assert [*problems_of(replace(group, unequal={"seeds": "because"}))] == ["seeds do not differ"]
    assert [*problems_of(negation)] == ["parameters differ, and the group does not say why"]
    with pytest.raises(LookupError, match="No included run"):
        list(problems_of(replace(group, runs=group.runs | longer)))


def test_a_run_with_another_rate_than_the_best_is_a_problem() -> None:
    group = GROUPS["place-turns"]
    name, config = next(iter(group.runs.items()))
    search = find_search(config)
    assert search is not None and searched_rate(name) == {"learning_rate": search.best}
    assert best_rate({0.1: 1.0, 0.03: 1.0004, 0.01: 1.1}) == 0.03  # as good as 0.1, and lower
    other = find_search(with_settings(config, {"learning_rate": 0.5, "seed": 7, "replicas": 2}))
    assert other == search and find_search(with_settings(config, {"iterations": 7})) is None
    assert [*problems_of(replace(group, rates=(*group.rates, 0.5)))]
