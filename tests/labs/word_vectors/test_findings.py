from __future__ import annotations

import numpy as np

from explorer.inspection.words.word_vectors import Analogy, AnalogyAccuracy, FrequencyEffects, PairSimilarity
from explorer.labs.word_vectors import findings
from tests.words import assert_states

QUESTION = ("king", "queen", "father")


def test_the_answer_of_most_seeds_is_named_or_that_they_disagree() -> None:
    most = Analogy([], ("mother", "mother", "nun"), ("mother", "queen", "father"))
    assert_states(findings.analogy_finding(QUESTION, most), "king … queen … father … mother … 2 … 3 seeds")
    assert_states(findings.exclusion_sentence(QUESTION, most), "2 of 3 seeds")
    none = Analogy([], ("mother", "nun"), ("mother", "nun"))
    assert_states(findings.analogy_finding(QUESTION, none), "disagree: mother and nun")
    assert_states(findings.exclusion_sentence(QUESTION, none), "no seed of 2")


def test_accuracy_stands_beside_chance() -> None:
    accuracy = AnalogyAccuracy(12, np.array([0.5, 1.0]), np.array([0.25, 0.25]))
    sentence = findings.accuracy_sentence("CBOW", accuracy, planted=True, words=200)
    assert_states(sentence, "75.0 % … two seeds, 50.0 % to 100.0 % … 12 planted … 25.0 % without … 200 words … 0.50 %")


def test_what_frequency_changes_is_stated_with_its_spread_and_is_not_tested() -> None:
    agreement = np.array([[0.1, 0.2], [0.5, 0.6]]).T
    effects = FrequencyEffects(np.array([1, 9]), np.ones((2, 2)), ("1", "9"), (5, 5), agreement)
    sentence = findings.frequency_finding(effects)
    rare, frequent = "15\xa0% (10\xa0% to 20\xa0%)", "55\xa0% (50\xa0% to 60\xa0%)"
    assert_states(sentence, f"share {rare} … occur 1 times … {frequent} … occur 9 … two pairs")
    one_seed = FrequencyEffects(np.array([1, 9]), np.ones((1, 2)), ("1", "9"), (5, 5), None)
    assert "cannot show" in findings.frequency_finding(one_seed)


def test_failures_are_counted() -> None:
    near = PairSimilarity("hot", "cold", np.array([0.9, 0.8]), np.array([1, 1]))
    far = PairSimilarity("big", "small", np.array([0.2, 0.1]), np.array([4, 9]))
    assert "hot and cold" in (found := findings.antonyms_finding([near])) and "in 2 of 2 cases" in found
    assert findings.antonyms_finding([near, far]).endswith("in 2 of 4 cases (pairs and seeds).")
    sentence = findings.senses_finding("bank", [near, far], near)
    assert_states(sentence, "bank … 0.85 (0.80 to 0.90) … cold … 0.15 (0.10 to 0.20) … small … 0.85 (0.80 to 0.90)")
    leans = np.array([[0.2], [0.1]]), np.array([[-0.1], [0.3]])
    mixed = findings.associations_finding((["pilot"], ["nurse"]), leans, 0.8)
    assert mixed.startswith("In 1 of 2 seeds") and "+0.15 for pilot" in mixed and "80\xa0%" in mixed
    every = findings.associations_finding((["pilot"], ["nurse"]), (leans[0], -leans[0]), 0.8)
    assert "in every seed" in every
