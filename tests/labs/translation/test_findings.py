from __future__ import annotations

from dataclasses import replace

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
from tests.words import assert_mentions

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
    found = {name: solved_up_to(name, n) for name, n in (("vector", 6), ("wide", 8), ("additive", 25))}
    assert exact_match_finding(found, "reverse") == (
        "Every seed reverses up to 6 digits (one vector), 8 (twice as wide), 20 (attention)."
    )
    assert exact_match_finding({"vector": solved_up_to("vector", 0)}, "copy") == (
        "No model copies even a single digit correctly in every seed."
    )


def test_the_finding_has_at_most_twenty_words() -> None:
    found = {name: solved_up_to(name, 20) for name in VARIANTS}
    run = replace(VARIANTS["vector"], label="this run with a long label")
    found |= {str(i): TranslationResult(run, TASK, np.ones(2), found["vector"].parts) for i in range(3)}
    finding = exact_match_finding(found, "reverse")
    assert finding == "Every seed reverses up to 20 digits with the best model (one vector)."
    dates = {
        name: TranslationResult(each.variant, DatesConfig(), np.ones(2), np.ones((2, len(DATE_FORMATS))))
        for name, each in found.items()
    }
    assert len(exact_match_finding(dates, "dates").split()) <= 20


def test_a_stopped_run_has_no_finding_about_lengths() -> None:
    stopped = solved_up_to("vector", 6)
    stopped.parts[:] = np.nan
    assert exact_match_finding({"vector": stopped}, "reverse") == "" and other_findings({"vector": stopped}) == []


def test_accuracy_beyond_the_trained_lengths_is_reported() -> None:
    (sentence,) = other_findings({"additive": solved_up_to("additive", 22)})
    assert sentence.replace("\u00a0", " ") == (
        "Beyond the 20 digits of training, the model with additive attention fails too: "
        "100 % at 21, 100 % at 22, 0 % at 25 and 0 % at 30 right (median)."
    )


def test_a_wider_vector_solves_longer_sources() -> None:
    wide = solved_up_to("wide", 11)
    wide = TranslationResult(wide.variant, wide.task, np.array([0.55, 0.65]), wide.parts)
    (sentence,) = other_findings({"vector": solved_up_to("vector", 8), "wide": wide})
    assert_mentions(
        sentence,
        "vector twice as wide … 100\u00a0% to 100\u00a0% at 8 digits, from 0\u00a0% to 100\u00a0% at 11",
    )
    assert_mentions(sentence, "wider vector is best on average … by 0.10 (−0.54 to 0.74) … Two seeds are too few")


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
    assert_mentions(other_findings({"additive": held})[0], "20 digits … additive attention still works")
    finding = other_findings({"vector": solved_up_to("vector", 8), "wide": solved_up_to("wide", 8)})
    assert_mentions(finding[-1], "vector twice as wide … from 100\u00a0% to 100\u00a0% at 8")
    assert "have the same value in every seed" in finding[-1]


def test_the_capacity_is_computed_from_task_vector_and_result() -> None:
    assert capacity_finding(TASK, None, 0) == "20 random digits are 66 bits."
    lost = capacity_finding(TASK, solved_up_to("vector", 6), 64)
    assert_mentions(lost, "64 numbers of 32 bits … 31 times … 6")
    assert_mentions(capacity_finding(TASK, solved_up_to("vector", 20), 128), "62 times … holds all digits")
    parts = np.ones((2, len(DATE_FORMATS)))
    read = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    assert_mentions(capacity_finding(DatesConfig(), read, 64), "36,525 … less than 16 bits")
    assert_mentions(capacity_finding(DatesConfig(), read, 64), "98.0\u00a0% … dates do not need attention")
    weak = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.3, 1.0]), parts)
    assert "attention" not in capacity_finding(DatesConfig(), weak, 64)


def test_the_finding_about_dates_has_the_worst_seed() -> None:
    parts = np.ones((2, len(DATE_FORMATS)))
    found = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    assert exact_match_finding({"vector": found}, "dates") == (
        "Of new dates, the worst seed reads 98.0\u00a0% (one vector) correctly."
    )


def test_the_ablation_finding_covers_models_with_attention() -> None:
    medians = {"one vector": {"none": 0.4, "uniform": np.nan}, "Transformer": {"none": 1.0, "uniform": 0.08}}
    assert ablation_finding(medians).replace("\u00a0", " ") == (
        "With uniform attention, exact match changes from 100 % to 8 % (Transformer)."
    )
    del medians["Transformer"]
    assert ablation_finding(medians) == ablation_finding({}) == ""


def test_the_copy_finding_compares_with_and_without_attention() -> None:
    ones, low = np.ones(3), np.array([0.05, 0.04, 0.06])
    finding = copy_finding({True: ones, False: ones}, {True: 0.96 * ones, False: low}, 150).replace("\u00a0", " ")
    assert_mentions(finding, "150 steps … three seeds … 100 % (100 to 100) with attention, 100 % (100 to 100) without")
    assert_mentions(finding, "separator: 96 % (96 to 96) with, 5 % (4 to 6) without")
