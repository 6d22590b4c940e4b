"""Sentences state the answers and numbers that they were computed from."""

from __future__ import annotations

import datetime
from dataclasses import replace
from functools import partial

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.translation import VARIANTS
from explorer.labs.translation import alignment_findings, answer_findings, findings
from explorer.labs.translation.answer_findings import SeedAnswer
from explorer.labs.translation.findings import TranslationResult
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig, format_date
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig, evaluation_lengths

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
    every = {name: solved_up_to(name, 20) for name in VARIANTS}
    run = replace(VARIANTS["vector"], label="this run with a long label")
    every |= {str(i): TranslationResult(run, TASK, np.ones(2), every["vector"].parts) for i in range(3)}
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
        findings.exact_match_finding(every, "reverse"),
    ] == snapshot


def test_a_stopped_run_has_no_finding_about_lengths() -> None:
    stopped = solved_up_to("vector", 6)
    stopped.parts[:] = np.nan
    assert findings.exact_match_finding({"vector": stopped}, "reverse") == ""
    assert findings.other_findings({"vector": stopped}) == []


VECTOR, WIDE = "the model with one vector", "the wide one"
ATTENDS, TRANSFORMER = "the one that looks", "the Transformer"


LONG = "12345678901234567890"


def make_answers(**texts: str) -> list[SeedAnswer]:
    words = {"v": VECTOR, "w": WIDE, "a": ATTENDS, "t": TRANSFORMER}
    return [SeedAnswer(words[name], text, True) for name, text in texts.items()]


def test_sentences_on_answers(snapshot: SnapshotAssertion) -> None:
    correct, wrong = "951413", "951415"
    of_models = [
        {"v": correct, "a": correct},
        {"v": correct, "w": correct, "a": correct},
        {"a": correct},
        {"v": wrong},
        {},
    ]
    of_models += [
        {"v": wrong, "w": correct, "a": correct, "t": correct},
        {"v": wrong, "w": wrong, "a": correct, "t": ""},
    ]
    of_models += [{"w": "9", "a": correct}, {"w": "9", "a": "5"}, {"v": "9", "w": "9", "a": "9"}]
    long = [SeedAnswer(f"the model with a very long name {i} in words", "1" if i % 2 else "2", True) for i in range(4)]
    endless = [SeedAnswer(ATTENDS, "951413", False)]
    right = np.tile(np.linspace(0.8, 0.9, 8)[:, None], 2)
    losses = (right, right)
    close = right - 0.001 * np.arange(8)[:, None]
    one = np.ones((1, 2))
    without = partial(answer_findings.answers_finding, "dates", "x", expected=None)
    forced, free = (np.array([[1.0, 0.8, 0.6], [1.0, 0.8, 0.6]]), np.array([[1.0, 0.4, 0.1], [1.0, 0.4, 0.0]]))
    assert [
        *(answer_findings.answers_finding("reverse", "314159", make_answers(**each), correct) for each in of_models),
        answer_findings.answers_finding("copy", "1", long, "1"),
        answer_findings.answers_finding("reverse", "314159", endless, "951413"),
        *(
            answer_findings.answers_finding("copy", LONG, make_answers(v=written), LONG)
            for written in [LONG[:3] + "9" * 17, LONG[:5], LONG + "1"]
        ),
        *(
            answer_findings.seed_agreement(*each)
            for each in ((["1", "2", "1"], "1", "2"), (["1", "2", "1"], None, "1"), (["1"], "2", "1"))
        ),
        answer_findings.length_caption(20, 20, "digits"),
        answer_findings.length_caption(21, 20, "digits"),
        *(answer_findings.exposure_caption(right, each, losses) for each in (right, right * 0.8, close)),
        answer_findings.exposure_caption(one, one, (0.002 * one, one)),
        answer_findings.answers_finding(
            "dates", "5-nov-55", make_answers(v="1955-11-05", a="1955-11-05"), "1955-11-05"
        ),
        without(make_answers(v="1999-03-03", a="1999-03-03")),
        without(make_answers(a="")),
        without(make_answers(v="1", w="2", a="2")),
        answer_findings.exposure_finding(forced, free),
        answer_findings.exposure_caption(forced, free, (forced, forced + 1)),
        answer_findings.exposure_caption(forced[:1], forced[:1], (forced[:1], forced[:1])),
    ] == snapshot


DATE = "3rd of march 1997"


def attention_on(*strongest: int, columns: int = 3, weight: float = 0.8) -> np.ndarray:
    """Return the weights of one head whose rows attend most to these positions."""
    weights = np.full((1, 1, len(strongest), columns), (1 - weight) / (columns - 1), np.float32)
    for row, column in enumerate(strongest):
        weights[0, 0, row, column] = weight
    return weights


def test_target_positions_follow_from_the_task_while_tokens_are_generated() -> None:
    assert alignment_findings.target_positions(ReverseConfig(), 3, ("4", "1", "3", "<EOS>")) == [2, 1, 0]
    assert alignment_findings.target_positions(CopyConfig(), 3, ("3", "1", "4", "<EOS>")) == [0, 1, 2]
    assert alignment_findings.target_positions(ReverseConfig(), 3, ("4", "<EOS>")) == [2]
    assert alignment_findings.target_positions(ReverseConfig(), 2, ("1", "1", "1", "1")) == [1, 0]


def test_sentences_on_alignment(snapshot: SnapshotAssertion) -> None:
    digits = ("4", "1", "3", "<EOS>")
    two_heads = np.concatenate([attention_on(0, 0, 0, 0), attention_on(2, 1, 0, 0)], axis=1)
    compare_digits = partial(alignment_findings.head_comparison, ReverseConfig(), "314", digits, two_heads)
    date = (*"1997-03-03", "<EOS>")
    weights = attention_on(13, 14, 15, 16, *[0] * 7, columns=17)
    two_layers = np.concatenate([attention_on(*[0] * 11, columns=17), weights], axis=0)
    compare_dates = partial(alignment_findings.head_comparison, DatesConfig(), DATE, date, two_layers)
    first_only = attention_on(*[0] * 11, columns=16)
    energies = np.array([1.0, 900.0, 899.0], np.float32)
    shifted = np.exp(energies.astype(float) - 900)
    shares = (shifted / shifted.sum()).astype(np.float32)
    assert [
        alignment_findings.attention_finding(
            ReverseConfig(), "the model with it", "314", digits, attention_on(2, 1, 1, 0), (0, 0)
        ),
        alignment_findings.attention_finding(
            CopyConfig(), "the model with it", "314", digits, attention_on(0, 1, 1, 0), (0, 0)
        ),
        alignment_findings.attention_finding(ReverseConfig(), "it", "3", ("<EOS>",), attention_on(0), (0, 0)),
        alignment_findings.attention_finding(ReverseConfig(), "the Transformer", "314", digits, two_heads, (0, 0)),
        compare_digits((0, 0)),
        compare_digits((0, 1)),
        alignment_findings.head_comparison(ReverseConfig(), "314", digits, two_heads[:, :1], (0, 0)),
        alignment_findings.head_comparison(ReverseConfig(), "3", ("<EOS>",), two_heads, (0, 0)),
        alignment_findings.attention_finding(DatesConfig(), "the model", DATE, date, weights, (0, 0)),
        alignment_findings.attention_finding(DatesConfig(), "the Transformer", DATE, date, two_layers, (0, 0)),
        compare_dates((0, 0)),
        compare_dates((1, 0)),
        alignment_findings.head_comparison(DatesConfig(), "31 february 1999", date, two_layers, (0, 0)),
        alignment_findings.attention_finding(
            DatesConfig(), "the model", "31 february 1999", (*"1999-02-28", "<EOS>"), first_only, (0, 0)
        ),
        alignment_findings.attention_finding(
            DatesConfig(), "the model", DATE, ("1", "9", "<EOS>"), attention_on(0, 0, 0, columns=17), (0, 0)
        ),
        alignment_findings.sensitivity_finding(tuple("314"), np.array([0.5, 2.0, 1.0], np.float32)),
        alignment_findings.sensitivity_finding(("a b"[1],), np.array([0.5], np.float32)),
        alignment_findings.vector_finding("it", 4, 64),
        *(
            alignment_findings.output_finding(target, right)
            for target, right in [
                (("4", "1", "<EOS>"), ("4", "1", "<EOS>")),
                (("4", "<EOS>"), ("4", "1", "<EOS>")),
                (("4", "1", "7"), ("4", "1", "<EOS>")),
                (("<EOS>",), ("4", "<EOS>")),
                (("4", "<EOS>"), None),
            ]
        ),
        alignment_findings.additive_example(4, energies, shares),
        alignment_findings.scaled_example(0, 16, np.array([2.5], np.float32), np.array([1.0], np.float32)),
    ] == snapshot


def test_the_year_is_found_in_every_date_format() -> None:
    for way in DATE_FORMATS:
        text = format_date(datetime.date(1985, 11, 12), way)
        year = alignment_findings.find_year(text)
        assert year is not None
        assert text[year.start : year.stop] in ("1985", "85"), text
    assert alignment_findings.find_year("31 february 1999") is None
    assert alignment_findings.find_year("no date") is None
