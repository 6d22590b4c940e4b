from __future__ import annotations

import numpy as np

from explorer.experiments.translation import VARIANTS
from explorer.labs.translation.findings import (
    TranslationResult,
    ablation_finding,
    capacity_finding,
    copy_finding,
    exact_match_comparison,
    exact_match_finding,
    longest_solved,
    other_findings,
)
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.tasks.seq2seq.digits import ReverseConfig, evaluation_lengths
from tests.words import assert_mentions, assert_states

TASK = ReverseConfig(longest=20)


def solved_up_to(name: str, length: int, task: ReverseConfig = TASK, seeds: int = 2) -> TranslationResult:
    """Return a result that is right up to a length in every seed, and wrong beyond it."""
    parts = np.tile(np.array([float(n <= length) for n in evaluation_lengths(task)]), (seeds, 1))
    return TranslationResult(VARIANTS[name], task, np.full(seeds, 0.5), parts)


def test_a_length_is_solved_only_if_every_seed_solves_it_and_all_before() -> None:
    found = solved_up_to("vector", 8)
    assert longest_solved(found) == 8
    found.parts[1, 4] = 0.9  # one seed slips at 5
    assert longest_solved(found) == 4
    found.parts[0, 0] = 0.5
    assert longest_solved(found) == 0


def test_the_finding_has_the_longest_solved_length_of_each() -> None:
    found = {name: solved_up_to(name, n) for name, n in (("vector", 6), ("additive", 25), ("transformer", 0))}
    assert_states(
        exact_match_finding(found, "reverse"),
        "digits … without … every seed … one vector up to 6 … additive attention all 20 … Transformer not",
    )


def test_a_stopped_run_has_no_finding_about_lengths() -> None:
    stopped = solved_up_to("vector", 6)
    stopped.parts[:] = np.nan
    assert exact_match_finding({"vector": stopped}, "reverse") == "" and other_findings({"vector": stopped}) == []


def test_accuracy_beyond_the_trained_lengths_is_reported() -> None:
    finding = other_findings({"additive": solved_up_to("additive", 22)})
    (sentence,) = finding
    assert_states(
        sentence, "trained 20 digits … additive attention falls … 1.00 at 21, 1.00 at 22, 0.00 at 25 and 0.00 at 30"
    )


def test_a_wider_vector_solves_longer_sources() -> None:
    wide = solved_up_to("wide", 11)
    wide = TranslationResult(wide.variant, wide.task, np.array([0.55, 0.65]), wide.parts)
    (sentence,) = other_findings({"vector": solved_up_to("vector", 8), "wide": wide})
    assert_mentions(
        sentence,
        "vector twice as wide … 1.00 to 1.00 at 8, 0.00 to 1.00 at 11, 0.00 to 0.00 at 14 and 0.00 to 0.00 at 20",
    )
    assert_mentions(sentence, "twice as wide is best on average … by 0.10 (−0.54 to 0.74) … Two seeds are too few")


def test_the_exact_match_of_all_models_is_compared() -> None:
    found = {name: solved_up_to(name, 8, seeds=8) for name in ("vector", "additive")}
    spread = np.linspace(0, 0.02, 8)
    each = found["additive"]
    found["additive"] = TranslationResult(each.variant, each.task, each.exact + 0.1 + spread, each.parts)
    sentence = exact_match_comparison(found)
    assert_mentions(sentence, "Worse than the model with additive attention: the model with one vector by 0.110")
    assert exact_match_comparison({"vector": found["vector"]}) == ""


def test_without_a_difference_none_is_reported() -> None:
    held = solved_up_to("additive", 30)
    assert_mentions(other_findings({"additive": held})[0], "trained 20 digits … additive attention still")
    finding = other_findings({"vector": solved_up_to("vector", 8), "wide": solved_up_to("wide", 8)})
    assert_mentions(finding[-1], "vector twice as wide … from 1.00 to 1.00 at 8")
    assert "have the same value in every seed" in finding[-1]


def test_the_capacity_is_computed_from_task_vector_and_result() -> None:
    assert capacity_finding(TASK, None, 0) == "20 random digits are 66 bits."
    lost = capacity_finding(TASK, solved_up_to("vector", 6), 64)
    assert_mentions(lost, "64 numbers of 32 bits … 31 times … 6")
    assert capacity_finding(TASK, solved_up_to("vector", 20), 128).endswith(
        "62 times over, and in this race it does hold all."
    )
    parts = np.ones((2, len(DATE_FORMATS)))
    read = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    assert_mentions(capacity_finding(DatesConfig(), read, 64), "date … 36,525, no more than 15 bits")
    assert "reads 0.980 of them" in capacity_finding(DatesConfig(), read, 64) and "what it is for" in capacity_finding(
        DatesConfig(), read, 64
    )
    weak = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.3, 1.0]), parts)
    assert "what it is for" not in capacity_finding(DatesConfig(), weak, 64)


def test_the_finding_about_dates_has_the_worst_seed() -> None:
    parts = np.ones((2, len(DATE_FORMATS)))
    found = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    assert exact_match_finding({"vector": found}, "dates").endswith("worst seed: the model with one vector 0.980.")


def test_the_ablation_finding_covers_models_with_attention() -> None:
    finding = ablation_finding(
        {
            "the model with one vector": {"none": 0.4, "uniform": np.nan},
            "the Transformer": {"none": 1.0, "uniform": 0.08},
        }
    )
    assert_states(finding, "evenly … Transformer … from 1.00 to 0.08")
    assert ablation_finding({"the model with one vector": {"none": 0.4, "uniform": np.nan}}) == ""


def test_the_copy_finding_compares_with_and_without_attention() -> None:
    ones, low = np.ones(3), np.array([0.05, 0.04, 0.06])
    finding = copy_finding({True: ones, False: ones}, {True: 0.96 * ones, False: low}, 150)
    assert_mentions(finding, "learned without attention too: after 150 steps 1.00 … tokens … right … 1.00 without")
    assert_mentions(finding, "0.96 with … 0.05 (0.04 to 0.06) without … three seeds")
    assert "too" not in copy_finding({True: ones, False: low}, {True: ones, False: low}, 150)
