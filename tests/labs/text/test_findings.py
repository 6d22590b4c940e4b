"""Findings about the comparison of language models, computed from given curves, and the texts that models generated."""

from __future__ import annotations

import json
from dataclasses import replace
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer import byte_cache
from explorer.catalogue import MODELS
from explorer.inspection.language.final_losses import FinalLosses
from explorer.inspection.language.line_overlap import LineOverlap
from explorer.jobs.job import JobView
from explorer.labs.text import controls, findings, results, training_chart
from explorer.labs.text.findings import Standing, compute_standing, convert_loss
from explorer.labs.text.state import TextLab, Unit
from explorer.labs.text.training_chart import CAPTION, samples_data
from explorer.tasks.text.bits_per_byte import HeldOutText
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.record import Curves
from explorer.training.recorder import record_run
from explorer.ui.document import Document
from explorer.ui.training.run_view import RunView
from explorer.web import background

NAN = float("nan")


def curves(held_out: list[list[float]], rising: bool = False, seconds: float = 10.0) -> Curves:
    """Return curves of ten steps with these losses on a part of the held-out text, by evaluation and seed. The loss on
    training text falls to 1, or rises to it."""
    part = np.array(held_out)
    known = np.linspace(0.5 if rising else 1.5, 1.0, len(part))[:, None] if len(part) > 1 else np.ones((1, 1))
    evaluated = np.linspace(0, 10, len(part)).astype(int)
    whole = np.full_like(part, NAN)
    whole[-1] = part[-1]
    return Curves(
        0,
        np.ones((10, part.shape[1])),
        np.arange(11) * 100.0,
        np.arange(11) * seconds / 10,
        evaluated,
        {"val_loss_part": part, "val_loss": whole, "train_loss": np.broadcast_to(known, part.shape)},
    )


def config(model: str, seeds: int = 1) -> RunConfig:
    return with_settings(default_config("text", model), {} if model == "ngram" else {"replicas": seeds})


def make_standing(model: str, held_out: list[list[float]], rising: bool = False) -> Standing:
    found = compute_standing(curves(held_out, rising), config(model, len(held_out[0])))
    assert found
    return found


def test_a_standing_has_the_best_step_and_the_gap() -> None:
    found = make_standing("gru", [[3.0, 3.2], [1.4, 1.6], [1.6, 1.8]])
    assert (found.best_step, found.best_loss, found.training_tokens, found.overfits) == (5, 1.5, 1_000, True)
    assert (found.final_loss, found.gap) == pytest.approx((1.7, 0.7))
    for none in (None, curves([[1.0]]).up_to(-1), curves([[NAN], [NAN]])):
        assert compute_standing(none, config("gru")) is None


def test_the_loss_is_converted_to_other_units() -> None:
    loss = np.array([1.5])
    assert convert_loss(loss, "loss", None)[0] == 1.5
    assert convert_loss(loss, "perplexity", None)[0] == pytest.approx(np.exp(1.5))
    assert convert_loss(loss, "bits", 3.0)[0] == pytest.approx(1.5 / np.log(2) / 3)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    ngram, rnn = make_standing("ngram", [[1.6]]), make_standing("rnn", [[1.8]])
    three_seeds = make_standing("gru", [[3.0, 3.0, 3.0], [1.5, 1.52, 1.59]])
    wider = make_standing("gru", [[1.5, 1.52, 1.65]])
    worse, near = make_standing("gru", [[1.7]]), make_standing("gru", [[1.6001]])
    same = {name: make_standing(name, [[1.5]]) for name in ("ngram", "gru", "rnn", "transformer")}
    parameters = {"ngram": 5, "gru": 201000, "rnn": 199000, "transformer": 804224}
    few = {"ngram": ngram, "gru": make_standing("gru", [[1.5, 1.56, 1.53]])}
    two = few | {"lstm": make_standing("lstm", [[1.52, 1.57, 1.56]])}
    low = list(np.linspace(1.5, 1.51, 8))
    eight = {"gru": make_standing("gru", [low]), "lstm": make_standing("lstm", [[x + 0.1 for x in low[::-1]]])}
    over = {"gru": make_standing("gru", [[1.5], [1.4], [1.6]]), "rnn": make_standing("rnn", [[1.8], [1.7], [1.65]])}
    falling = {"gru": make_standing("gru", [[1.5], [1.4]]), "rnn": make_standing("rnn", [[1.8], [1.7]])}
    without_numbers = {"ngram": ngram, "gru": make_standing("gru", [[3.0], [NAN]])}
    contexts = {
        "ngram": make_standing("ngram", [[1.57]]),
        "rnn": reading_on(make_standing("rnn", [[1.51]])),
        "gru": reading_on(make_standing("gru", [[1.5]])),
    }
    equal = {name: make_standing(name, [[1.6]]) for name in ("ngram", "gru")}
    lab = TextLab()

    def caption(known: Curves | None) -> str:
        return training_chart.curves_caption(
            lab, {"gru": RunView(config("gru"), None, JobView(config("gru"), "ada", "finished", 10, curves=known))}
        )

    made = curves([[3.0], [2.0]])
    counted = HeldOutText(
        vocabulary=20, targets=50, bytes=400, unknown=80, spelling=400 * np.log(2), spacing=100 * np.log(2)
    )
    counted_text = HeldOutText(20, 50, 400, 80, spelling=400 * np.log(2))
    task = TextConfig(tokenizer="word", vocabulary=30)

    def draw(awaited: tuple[str, ...], found: dict[str, HeldOutText | None]) -> tuple[str, list[Any]]:
        data, others = draw_row(task, awaited, found)
        return data["rows"][0]["cells"]["bytes"]["text"], others

    bits, captions = draw(("text",), {"text": counted_text})
    jobs = [JobView(config("gru"), "ada", state, 1, curves=curves([[3.0], [1.0]])) for state in ("running", "stopped")]
    unfinished = {str(i): RunView(config("gru"), None, job) for i, job in enumerate(jobs)}
    assert results.current_standings(unfinished) == {}
    rows = [{}, {"rows": "sentences", "split": "sentences"}, {"rows": "prefixes", "split": "pairs"}]
    labs = [TextLab().with_shared(**{"context": 64, **each}) for each in rows]
    views = [{"feedforward": RunView(lab.configs["feedforward"], None, None)} for lab in labs]
    unstable = make_standing("gru", [[1.5], [1.4], [1.6]], rising=True)
    stable = make_standing("rnn", [[1.8], [1.7], [1.65]])
    assert not unstable.overfits
    assert [
        findings.best_model_finding({"ngram": ngram, "gru": three_seeds, "rnn": rnn}, "character"),
        *(
            findings.best_model_finding({"ngram": ngram, "gru": gru, "rnn": rnn}, "token")
            for gru in (wider, worse, near)
        ),
        findings.effort_note(same, parameters, "character"),
        findings.effort_note({}, {}, "token"),
        findings.effort_note(same, {}, "token"),
        findings.best_model_finding(two, "token"),
        *(findings.network_comparison_finding(each) for each in (few, {}, two, eight)),
        findings.network_comparison_finding(eight | {"rnn": make_standing("rnn", [[1.9, NAN]])}),
        findings.overfitting_finding(over),
        findings.overfitting_finding({"rnn": over["rnn"]})[0],
        findings.overfitting_finding({}),
        findings.overfitting_finding(falling),
        findings.best_model_finding(without_numbers | {"rnn": falling["rnn"]}, "token"),
        findings.best_model_finding(without_numbers, "token"),
        findings.best_model_finding({"ngram": ngram}, "token"),
        findings.best_model_finding(contexts | {"transformer": make_standing("transformer", [[1.62]])}, "character"),
        findings.best_model_finding(contexts, "character"),
        findings.contexts_note(equal),
        findings.contexts_note(equal | {"gru": reading_on(equal["gru"])}),
        caption(None),
        caption(made),
        results.comparability_note(TextConfig(tokenizer="word"), counted),
        results.comparability_note(TextConfig(), counted),
        draw(("text",), {}),
        draw((), {}),
        draw(("text",), {"text": None}),
        bits,
        captions[0]["text"],
        controls.lines_note(None, False),
        controls.lines_note(LineOverlap(0, 0, 0, 0), False),
        controls.lines_note(LineOverlap(200, 50, 100, 1), False),
        controls.lines_note(LineOverlap(9, 0, 0, 0), False),
        controls.lines_note(LineOverlap(1, 1, 0, 0), True),
        findings.best_model_finding({}, "token"),
        list(map(training_chart.curves_caption, labs, views)),
        findings.overfitting_finding({"gru": unstable, "rnn": stable}),
    ] == snapshot


def reading_on(standing: Standing) -> Standing:
    task = replace(standing.config.task_as(TextConfig), batches="contiguous")
    return replace(standing, config=replace(standing.config, task=task))


def test_networks_are_compared_within_one_context_only(snapshot: SnapshotAssertion) -> None:
    found = {name: make_standing(name, [[1.5, 1.56, 1.53]]) for name in ("gru", "lstm")}
    assert findings.network_comparison_finding(found)
    found["lstm"] = reading_on(found["lstm"])
    sentences = [findings.network_comparison_finding(found)]
    found["rnn"] = reading_on(make_standing("rnn", [[1.6, 1.7, 1.65]]))
    sentences.append(findings.network_comparison_finding(found))
    found["transformer"] = make_standing("transformer", [[1.7, 1.8, 1.75]])
    assert [*sentences, findings.network_comparison_finding(found)] == snapshot


def draw_row(task: TextConfig, awaited: tuple[str, ...], found: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return the table with one row, of a GRU with a loss of eight bits per token, and the blocks after it."""
    document = Document()
    results.results_view(document, found, task, {"gru": {}}, [float(8 * np.log(2))], (0.0, 1.0), awaited)
    data: Any = document.blocks[0]["data"]
    return data, document.blocks[1:]


def test_only_a_task_with_a_test_split_has_its_losses_in_the_table(snapshot: SnapshotAssertion) -> None:
    data, _ = draw_row(TextConfig(), (), {})
    captions = [data["caption"]]
    assert "test" not in [column["key"] for column in data["columns"]]
    losses = FinalLosses(TextConfig(test=0.25), True, np.ones(2), np.array([1.5, 2.5]))
    for awaited, found, text in ((("gru",), {}, "…"), ((), {}, "–"), (("gru",), {"gru": losses}, "2.000")):
        data, _ = draw_row(TextConfig(test=0.25), awaited, found)
        assert data["rows"][0]["cells"]["test"]["text"] == text
    assert [column.get("label") for column in data["columns"]][5:7] == ["bits per byte", "test split"]
    assert [*captions, data["caption"]] == snapshot


def test_the_notes_say_what_bits_per_character_leave_out(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    lines = {"rows": "sentences", "split": "sentences"}
    kinds: list[dict[str, Any]] = [{}, {"tokenizer": "bytes"}, {"tokenizer": "word"}, {"tokenizer": "bpe", **lines}]
    kinds += [{"tokenizer": "bpe", "lower": True}, {"lower": True}]
    monkeypatch.setattr(training_chart, "characters_per_token", lambda views, task: 2.0)
    views = {"gru": RunView(config("gru"), None, None)}
    cases: list[tuple[str, Unit]] = [("word", "bits"), ("char", "bits"), ("bytes", "bits"), ("word", "loss")]
    labs = [replace(TextLab().with_tokenizer(tokenizer), unit=unit) for tokenizer, unit in cases]
    assert [
        *(results.comparability_note(TextConfig(**kind), None) for kind in kinds),
        *(training_chart.curves_caption(lab, views) for lab in labs),
    ] == snapshot


def test_figures_of_a_training_are_cached_for_all_visitors_unless_it_is_private() -> None:
    drawn = [unwrap(getattr(training_chart, name)) for name in ("_draw_loss_panel", "_draw_model_panels")]
    background.reset()
    own = with_settings(default_config("text", "gru"), {"corpus": "own", "text": "0" * 64})
    known = replace(curves([[3.0], [2.0]]), signals={"gradient_norm": np.ones((10, 1))})
    shown = []
    labs = [
        TextLab(models=("gru",)),
        TextLab(models=("gru",)),
        TextLab(models=("gru",)).with_shared(corpus="own", text="0" * 64),
    ]
    for lab, each in zip(labs, (config("gru"), config("gru"), own), strict=True):  # by two visitors, then a private one
        views = {"gru": RunView(each, None, JobView(each, "ada", "running", 10, curves=known))}
        panels = [training_chart.loss_panel(lab, views), *training_chart.model_panels(lab, views)]
        shown.append([panel.data for panel in panels])
        assert shown[-1] == shown[0]
        assert sorted(drawn.index(key[0]) for key, _ in byte_cache.items() if key[0] in drawn) == [0, 1]
    line = training_chart.loss_line(known, config("gru"), "step", "loss", None)
    assert line.middle.tolist() == [3.0, 2.0]


SHORT = {"corpus": "repeats", "size": 2_000, "context": 8, "width": 4, "hidden": 9, "replicas": 2, "sample": 12}
LOOP = {"iterations": 6, "batch_size": 2, "evaluate_every": 3, "evaluation_size": 64}


@pytest.mark.parametrize("model", ["gru", "ngram"])
def test_the_texts_of_a_training_are_those_of_its_first_seed(model: str) -> None:
    loop = {} if model == "ngram" else {**SHORT, **LOOP}
    task = {name: SHORT[name] for name in ("corpus", "size", "context", "sample")}
    curves = record_run(with_settings(default_config("text", model), {**task, **loop})).curves
    data: dict[str, Any] = samples_data([(MODELS[model], curves)], "written", live=False)
    json.dumps(data, allow_nan=False)
    assert (data["live"], data["caption"], data["file"]) == (False, CAPTION, "written")
    (row,) = data["models"]
    assert row["steps"] == curves.evaluated.tolist()
    assert row["texts"] == [texts[0] for texts in curves.samples] and row["texts"][-1]
    assert row["losses"][-1] == pytest.approx(curves.metrics["val_loss"][-1][0], abs=1e-4)
    assert row["losses"][0] == pytest.approx(curves.metrics["val_loss_part"][0][0], abs=1e-4)
    assert (row["title"], row["colour"], row["counted"]) == (
        MODELS[model].title,
        MODELS[model].colour,
        model == "ngram",
    )


def test_there_are_no_samples_without_curves_or_texts() -> None:
    none, one = np.zeros(0), np.zeros((1, 1))
    begun = Curves(0, np.zeros((0, 1)), np.zeros(1), np.zeros(1), none.astype(int), {})
    silent = replace(begun, evaluated=np.array([0]), metrics={"val_loss": one, "val_loss_part": one})
    for curves in (None, begun, silent):
        (row,) = samples_data([(MODELS["rnn"], curves)], "written", live=True)["models"]  # type: ignore[misc, str-bytes-safe]
        assert row["steps"] == row["losses"] == row["texts"] == []
