from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.verdicts import MeanDifference, SolvedDifference
from explorer.labs.compare import chart, comparison, results
from explorer.labs.compare.comparison import ComparedRun, load_runs, runs_bits_per_byte
from explorer.labs.compare.state import AXES, MOST, TASK_MEASURES, Comparison, default_runs
from explorer.run_store import store
from explorer.run_store.store import Card, Metric, StoredRun
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.record import Curves
from explorer.ui.document import Document
from explorer.ui.training.run_view import RunView
from tests.charts.figures import figure_of

STATE = Comparison()


def make_card(config: RunConfig, name: str, step: int) -> Card:
    return Card(
        key=key(config), parameters=7, seconds=1, state="finished", step=step,
        metrics={"a": Metric(mean=1, values=[])},
        created="2026-01-01T00:00:00+00:00", torch="2.0", name=name,
    )  # fmt: skip


def make_run(
    name: str, steps: int = 10, tokens: float = 100, seconds: float = 1, end: float = 1.0, **changes: object
) -> ComparedRun:
    """Return a run whose accuracy rises linearly from 0.5; tokens and seconds are per step."""
    config = with_settings(default_config("negation", "rnn"), {"replicas": 8, **changes})
    moments = np.arange(steps + 1.0)
    accuracy = np.repeat([[0.5], [end]], config.replicas, axis=1)
    metrics = {"test_accuracy": accuracy, "test_loss": 1.5 - accuracy, "train_loss": 1.5 - accuracy}
    losses = np.linspace(1, 1.5 - end, steps)[:, None].repeat(config.replicas, 1)
    curves = Curves(0, losses, moments * tokens, moments * seconds, np.array([0, steps]), metrics)
    stored = StoredRun(Path(name), config, make_card(config, name, steps), curves)
    return ComparedRun(name, key(config), name, RunView(config, stored, None))


A, B, C = make_run("A", 10, 100, 1), make_run("B", 20, 10, 1, seed=10), make_run("C", 30, 100, 0.1, seed=20)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    fast = make_run("D", 8, 10, 0.1, seed=30)
    same = make_run("D", 10, 100, 0.1, seed=30)
    sooner = make_run("E", 10, 99.99, 1, seed=40)
    below = make_run("low", end=0.9)
    runs = [on_machines(A, "M1"), on_machines(C, "M1")]
    stopped = unfinished_run(B, 5)
    first, second = results.results_table(STATE, [A, stopped], 0.95).rows
    low = list(np.linspace(0.7, 0.72, 8))
    worst = run_of_seeds("first", low)
    better = run_of_seeds("better", [x + 0.1 + 0.001 * (x > 0.71) for x in low], hidden=9)
    mixed = run_of_seeds("mixed", low[::-1], hidden=10)
    few = [run_of_seeds(str(i), [low[0] + 0.1 * i, low[1]], hidden=9 + i) for i in range(2)]
    alone = [run_of_seeds(str(i), [0.7], hidden=9 + i) for i in range(2)]
    right, never = (run_of_seeds("right", [1.0] * 8), run_of_seeds("never", [0.883] * 8, hidden=9))
    some = run_of_seeds("some", [1.0] * 5 + [0.9] * 3, hidden=10)
    losses = Comparison(y="test_loss")
    named = load_named("negation-single-rnn", "negation-half-rnn", "negation-single-gru")
    parent = store.find("negation-single-rnn").config
    views = {"a": RunView(parent, None, None), "b": RunView(branch_from(parent, 30, {"order": 1}), None, None)}
    state = Comparison(y="val_loss_part")
    texts = load_named("text-gru", "text-transformer")
    others = [[on_machines(A, "M1"), on_machines(B, "M1"), on_machines(C, *m)] for m in (("M2",), ("M1", "M2"), ())]
    assert [
        results.target_finding(STATE, [A, B, C], 0.95),
        results.target_finding(STATE, [A, fast], 0.95),
        results.target_finding(STATE, [fast], 0.95),
        results.target_finding(STATE, [A, same], 0.95),
        results.target_finding(STATE, [A, sooner], 0.95),
        results.target_finding(STATE, [below], 0.95),
        results.target_finding(STATE, [], 0.95),
        results.machines_note([A, C]),
        results.target_finding(STATE, runs, 0.95),
        results.machines_note(runs),
        results.target_finding(STATE, [A, stopped], 0.95),
        results.target_finding(STATE, [stopped], 0.99999999),
        results.target_finding(STATE, [unfinished_run(make_run("low", end=0.9), 5)], 0.95),
        *((row["end"].text, row["against"]) for row in (first, second)),
        *(results.format_amount(value, "step") for value in (1234.4, 1.2, np.inf)),
        *(results.format_amount(value, "seconds") for value in (0.0994, 2.71, float("nan"))),
        results.format_amount(999.0, "tokens"),
        *(results.step_cost_finding(each) for each in ([A, B, C], [A, C], [A])),
        *results.describe_differences([worst, better, mixed, worst], STATE),
        results.describe_differences(few, STATE)[1],
        results.describe_differences(alone, STATE),
        results.describe_differences([right, never], STATE)[1],
        results.describe_differences([right, some], STATE)[1],
        results.describe_differences([right, never], losses)[1],
        [(each.name, each.label) for each in named],
        list(comparison._display_names(views).values()),
        results.target_finding(state, texts, 1.8),
        results.target_finding(state, load_named("text-transformer", "text-feedforward"), 1.8),
        results.comparability_note(state, texts),
        results.describe_differences(load_named("text-transformer", "text-gru", "text-feedforward"), state),
        results.comparability_note(state, load_named("text-ngram", "text-transformer")),
        results.comparability_note(state, load_named("text-assignment", "text-transformer")),
        results.comparability_note(
            Comparison(y="test_accuracy"), load_named("negation-half-rnn", "negation-half-lstm")
        ),
        *((results.target_finding(STATE, runs, 0.95), results.machines_note(runs)) for runs in others),
    ] == snapshot


def with_card(run: ComparedRun, **changes: object) -> StoredRun:
    assert run.view.stored
    return replace(run.view.stored, card=run.view.stored.card.model_copy(update=changes))


def on_machines(run: ComparedRun, *machines: str) -> ComparedRun:
    """Return the same run, trained on these kinds of machine."""
    return replace(run, view=replace(run.view, stored=with_card(run, machines=machines)))


def unfinished_run(run: ComparedRun, step: int) -> ComparedRun:
    """Return the same run, stopped at a step."""
    stored = with_card(run, state="stopped", step=step)
    stopped = replace(stored, curves=replace(stored.curves, losses=stored.curves.losses[:step]))
    return replace(run, view=RunView(run.config, None, None, stopped=stopped))


def test_a_run_reaches_the_target_at_the_median_of_its_seeds_and_they_are_counted() -> None:
    one = make_run("one", replicas=3)
    assert one.curves is not None
    one.curves.metrics["test_accuracy"][1] = [1.0, 0.9, 0.6]
    for target, at, seeds in ((0.6, 2.5, 3), (0.7, 5.0, 2), (0.95, np.inf, 1)):
        (found,) = results.find_target_reached(STATE, [one], target, "step")
        assert (found.median, found.seeds, found.end) == (pytest.approx(at), seeds, 10)
    (found,) = results.find_target_reached(Comparison(y="test_loss"), [A], 0.75, "step")
    assert found.median == pytest.approx(5), "from above"


def test_a_run_is_first_only_if_its_seeds_are_earlier_and_never_if_the_other_was_not_observed_as_long() -> None:
    def at_steps(name: str, steps: list[float], end: int = 100) -> ComparedRun:
        """Return a run whose seeds reach 0.75 at these steps (0: never), observed up to `end`."""
        made = make_run(name, end, replicas=len(steps), hidden=len(name) + 5)
        assert made.curves is not None
        made.curves.metrics["test_accuracy"][1] = [0.5 + 0.25 * end / step if step else 0.5 for step in steps]
        return made

    early = at_steps("A", [10, 11, 12, 13, 14, 15, 16, 17])
    late, never = at_steps("BB", [20, 21, 22, 23, 24, 25, 26, 17]), at_steps("CCC", [0] * 8)
    some, short = at_steps("DDDD", [0, 0, 0, 9, 9, 9, 9, 9]), at_steps("EEEEE", [0] * 8, end=9)

    def first(*runs: ComparedRun) -> tuple[int, ...]:
        return results._first_runs({"step": results.find_target_reached(STATE, runs, 0.75, "step")})["step"]

    assert first(late, early) == (1,) and first(early, never) == (0,)
    assert first(early, some) == (0, 1)  # the median of `some` is earlier, but three of its seeds never reach it
    assert first(early, short) == (0, 1)  # after nine steps no seed of either had reached it
    assert first(*(at_steps(name, [10, 11, 12]) for name in ("A", "BB"))) == (0, 1)  # too few seeds


def test_most_runs_reach_the_default_target() -> None:
    ends = [make_run(str(end), end=end) for end in (0.9, 1.2, 1.3)]  # losses end at 0.6, 0.3, 0.2
    assert comparison.default_target(STATE, ends) == 0.95
    losses = Comparison(y="test_loss")
    assert comparison.default_target(losses, ends) == pytest.approx(0.36)
    assert comparison.default_target(losses, []) == 0.1
    for measure in TASK_MEASURES["negation"]:
        if not measure.endswith("accuracy"):
            assert results.target_finding(
                Comparison(y=measure), ends, comparison.default_target(Comparison(y=measure), ends)
            )


def test_final_values_are_compared_in_pairs_where_seeds_and_data_are_the_same() -> None:
    first = make_run("first", end=0.9)
    same, other = make_run("same", end=0.75, learning_rate=0.01), make_run("other", end=0.75, seed=5)
    for run, paired in ((same, True), (other, False)):
        mean, solved = results.compare_final_values(first, run, "test_accuracy")
        assert isinstance(mean, MeanDifference) and isinstance(solved, SolvedDifference)
        assert (mean.mean, mean.paired) == (pytest.approx(-0.15), paired)
    assert len(results.compare_final_values(first, same, "test_loss")) == 1


def test_the_test_of_accuracies_does_not_depend_on_whether_a_seed_is_perfect() -> None:
    near = run_of_seeds("near", [0.985 + 0.001 * i for i in range(8)])
    for top in (1.0, 0.9999):
        other = run_of_seeds("other", [top] * 6 + [0.5] * 2, hidden=9)
        text = results.describe_differences([near, other], STATE)[1]
        assert text.count("cannot tell") == 2 and "8 of 8 against 6 of 8 seeds" in text


def run_of_seeds(name: str, ends: list[float], **changes: object) -> ComparedRun:
    """Return a run whose seeds end at these accuracies, and at losses of 1.5 minus these."""
    made = make_run(name, replicas=len(ends), **changes)
    stored = with_card(made)
    metrics = {"test_accuracy": np.array([ends]), "test_loss": 1.5 - np.array([ends])}
    curves = replace(stored.curves, losses=np.ones((10, len(ends))), evaluated=np.array([10]), metrics=metrics)
    return replace(made, view=replace(made.view, stored=replace(stored, curves=curves)))


def test_a_small_loss_keeps_two_significant_digits() -> None:
    values = [0.5, 0.0123, 4.2e-5, 0.0, 1e-12]
    assert [results.format_value(value, rising=False) for value in values] == [
        "0.500",
        "0.012",
        "0.000042",
        "0.000",
        "0",
    ]


def test_only_differing_settings_are_listed() -> None:
    other = make_run("E", seed=3, hidden=9)
    assert comparison.differing_settings([A, other]) == {"hidden": ["24", "9"], "seed": ["0", "3"]}
    assert comparison.differing_settings([A, A]) == {}
    gru = replace(A, view=RunView(with_settings(default_config("negation", "gru"), {"replicas": 2}), None, None))
    assert comparison.differing_settings([A, gru])["model"] == ["rnn", "gru"]


def load_named(*names: str) -> list[ComparedRun]:
    found, problems = load_runs([store.find(name).key for name in names], "")
    assert problems == []
    return found


def test_an_unknown_run_is_reported_and_the_others_stay() -> None:
    keys = [store.find("negation-single-rnn").key, "abcdefghijkl", "../../etc/passwd"]
    found, problems = load_runs(keys, "")
    assert [e.key for e in found] == keys[:1]
    assert len(problems) == 2 and all("is not on this machine" in problem for problem in problems)


def test_models_of_the_same_seeds_start_from_the_same_embedding_and_readout() -> None:
    rnn, lstm, gru = load_named("negation-single-rnn", "negation-single-lstm", "negation-single-gru")
    sentences = results.shared_initialization([rnn, lstm, gru])
    assert len(sentences) == 3
    for sentence in sentences:
        assert "`embedding.weight`" in sentence and "readout" in sentence
        assert "recurren" not in sentence.split("values of")[1]
    other_seed = replace(with_card(gru), config=with_settings(gru.config, {"seed": 8}))
    other = ComparedRun("2", "o", "o", RunView(other_seed.config, other_seed, None))
    assert results.shared_initialization([rnn, gru]) and results.shared_initialization([rnn, other]) == []
    assert results.shared_initialization(load_named("negation-half-rnn", "negation-half-gru")) == [], (
        "without a snapshot"
    )


def test_the_default_runs_are_left_out_of_the_url_and_the_newest_eight_stay() -> None:
    assert len(default_runs()) == 4 and STATE.with_runs(default_runs()) == STATE
    assert STATE.displayed_runs == default_runs()
    many = [str(i) for i in range(10)]
    assert STATE.with_runs(many + many).runs == tuple(many[-MOST:])
    dashes = chart._line_styles([make_run(str(i), seed=i) for i in range(4)])
    assert len(set(dashes.values())) == 4, "runs of one colour have different dashes"


def test_every_measure_of_shipped_runs_has_a_curve_on_every_axis() -> None:
    runs = load_named("negation-single-rnn", "negation-held-out-transformer")
    for measure, axis in product(TASK_MEASURES["negation"], AXES):
        for found in comparison.displayed_curves(Comparison(y=measure, smooth=0.5), runs, axis):
            assert found is not None and len(found.x) > 10 and np.isfinite(found.values).all()


def made_text_run(**settings: object) -> ComparedRun:
    """Return a run of a made text with a loss of two nats per token in both seeds."""
    usual: dict[str, object] = {"corpus": "repeats", "size": 2_000, "replicas": 2}
    config = with_settings(default_config("text", "gru"), usual | settings)
    last = np.array([[1.5, 2.5]])
    moments = np.arange(2.0)
    metrics = {"bits_per_byte": last - 0.25, "val_loss": last, "val_loss_part": last}
    curves = Curves(0, np.ones((1, 2)), moments, moments, np.array([1]), metrics)
    stored = StoredRun(Path("A"), config, make_card(config, "", 1), curves)
    return ComparedRun("1", key(config), "A", RunView(config, stored, None))


def test_bits_per_byte_are_compared_between_tokenizers(snapshot: SnapshotAssertion) -> None:
    characters, words = (made_text_run(), made_text_run(tokenizer="word", vocabulary=10))
    longer = made_text_run(tokenizer="word", vocabulary=10, context=8)
    found = [runs_bits_per_byte([characters, other]) for other in (words, longer, made_text_run(width=8))]
    assert [each.note for each in found if each] == snapshot
    assert found[0] and found[0].texts == ("1.750", "1.750")
    assert words.curves
    words.curves.metrics["bits_per_byte"] += 0.1
    differences = results.describe_differences([characters, words], Comparison(y="val_loss_part"))
    assert differences[1].startswith("bits per byte +0.100 (")
    earlier = made_text_run()
    assert earlier.curves
    del earlier.curves.metrics["bits_per_byte"]  # which earlier versions did not record
    assert (bits := runs_bits_per_byte([characters, earlier])) and bits.texts == ("1.750", "–")


def test_bits_per_byte_of_different_texts_are_refused() -> None:
    for change in ({"size": 3_000}, {"lower": True}, {"held_out": 0.2}):
        assert runs_bits_per_byte([made_text_run(), made_text_run(**change)]) is None
    assert runs_bits_per_byte([A, B]) is None and runs_bits_per_byte([]) is None


def test_bits_per_byte_stand_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [made_text_run(), made_text_run(tokenizer="word", vocabulary=10)]
    monkeypatch.setattr(chart, "load_runs", lambda keys, visitor: (runs, []))
    state = Comparison(y="val_loss_part")
    document = Document()
    assert chart._draw_comparison(state, "", document) is None
    table = next(block["data"] for block in document.blocks if block.get("name") == "table")
    assert [row["cells"]["bytes"]["text"] for row in table["rows"]] == ["1.750", "1.750"]  # type: ignore[index]
    assert any("Bits per byte, in the table" in str(block.get("text")) for block in document.blocks)


def test_seeds_of_the_negation_task_have_test_sets_of_their_own() -> None:
    recall = replace(A, view=RunView(default_config("recall", "gru"), None, None))
    assert results.has_shared_test_set([recall], "accuracy")
    assert not results.has_shared_test_set([A], "test_accuracy")
    assert not results.has_shared_test_set([recall], "train_accuracy") and not results.has_shared_test_set(
        [recall], "batch_loss"
    )


def test_a_name_stands_where_its_line_ends() -> None:
    whole, half = make_run("long name, with a second part that is long as well"), make_run("short", steps=5)
    for state in (STATE, replace(STATE, log_x=True)):
        figure = figure_of(chart.comparison_chart(state, [whole, half]))
        first, second = figure.layout.annotations
        assert second.x < first.x <= 1.0 and "<br>" in first.text and first.text.count("…") == 1
        assert 44 < figure.layout.margin.r <= 170
