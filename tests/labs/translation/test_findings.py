from __future__ import annotations

from dataclasses import replace

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.translation import VARIANTS
from explorer.labs.translation import findings
from explorer.labs.translation.findings import TranslationResult
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.tasks.seq2seq.digits import ReverseConfig, evaluation_lengths

TASK = ReverseConfig(longest=20)


def solved_up_to(name: str, length: int, task: ReverseConfig = TASK, seeds: int = 2) -> TranslationResult:
    """Return a result that is right up to a length in every seed, and wrong beyond it."""
    parts = np.tile(np.array([float(n <= length) for n in evaluation_lengths(task)]), (seeds, 1))
    return TranslationResult(VARIANTS[name], task, np.full(seeds, 0.5), parts)


def test_a_length_is_solved_only_if_every_seed_solves_it_and_all_before() -> None:
    found = solved_up_to("vector", 8)
    assert findings.longest_solved(found) == 8
    found.parts[1, 4] = 0.9  # one seed slips at 5
    assert findings.longest_solved(found) == 4
    found.parts[0, 0] = 0.5
    assert findings.longest_solved(found) == 0


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = {name: solved_up_to(name, n) for name, n in (("vector", 6), ("wide", 8), ("additive", 25))}
    wide = solved_up_to("wide", 11)
    wide = TranslationResult(wide.variant, wide.task, np.array([0.55, 0.65]), wide.parts)
    eight = {name: solved_up_to(name, 8, seeds=8) for name in ("vector", "additive")}
    spread = np.linspace(0, 0.02, 8)
    each = eight["additive"]
    eight["additive"] = TranslationResult(each.variant, each.task, each.exact + 0.1 + spread, each.parts)
    held = solved_up_to("additive", 30)
    finding = findings.other_findings({"vector": solved_up_to("vector", 8), "wide": solved_up_to("wide", 8)})
    parts = np.ones((2, len(DATE_FORMATS)))
    read = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    weak = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.3, 1.0]), parts)
    parts = np.ones((2, len(DATE_FORMATS)))
    dates = TranslationResult(VARIANTS["vector"], DatesConfig(), np.array([0.98, 1.0]), parts)
    medians = {"one vector": {"none": 0.4, "uniform": np.nan}, "Transformer": {"none": 1.0, "uniform": 0.08}}
    without_attention = {"one vector": medians["one vector"]}
    ones, low = (np.ones(3), np.array([0.05, 0.04, 0.06]))
    assert [
        findings.exact_match_finding(found, "reverse"),
        findings.exact_match_finding({"vector": solved_up_to("vector", 0)}, "copy"),
        findings.other_findings({"additive": solved_up_to("additive", 22)}),
        findings.other_findings({"vector": solved_up_to("vector", 8), "wide": wide}),
        findings.exact_match_comparison(eight),
        findings.exact_match_comparison({"vector": eight["vector"]}),
        findings.other_findings({"additive": held})[0],
        finding[-1],
        findings.capacity_finding(TASK, None, 0),
        findings.capacity_finding(TASK, solved_up_to("vector", 6), 64),
        findings.capacity_finding(TASK, solved_up_to("vector", 20), 128),
        findings.capacity_finding(DatesConfig(), read, 64),
        findings.capacity_finding(DatesConfig(), weak, 64),
        findings.exact_match_finding({"vector": dates}, "dates"),
        *(findings.ablation_finding(each) for each in (medians, without_attention, {})),
        findings.copy_finding({True: ones, False: ones}, {True: 0.96 * ones, False: low}, 150).replace("\xa0", " "),
    ] == snapshot


def test_the_finding_has_at_most_twenty_words(snapshot: SnapshotAssertion) -> None:
    found = {name: solved_up_to(name, 20) for name in VARIANTS}
    run = replace(VARIANTS["vector"], label="this run with a long label")
    found |= {str(i): TranslationResult(run, TASK, np.ones(2), found["vector"].parts) for i in range(3)}
    dates = {
        name: TranslationResult(each.variant, DatesConfig(), np.ones(2), np.ones((2, len(DATE_FORMATS))))
        for name, each in found.items()
    }
    assert findings.exact_match_finding(found, "reverse") == snapshot
    assert len(findings.exact_match_finding(dates, "dates").split()) <= 20


def test_a_stopped_run_has_no_finding_about_lengths() -> None:
    stopped = solved_up_to("vector", 6)
    stopped.parts[:] = np.nan
    assert (
        findings.exact_match_finding({"vector": stopped}, "reverse") == ""
        and findings.other_findings({"vector": stopped}) == []
    )
