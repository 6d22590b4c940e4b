from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.catalogue import MODELS, models_of
from explorer.environment import environment
from explorer.experiments.presets import PRESETS
from explorer.inspection.language.final_losses import final_test_loss
from explorer.jobs.service import service
from explorer.labs.text.state import TextLab
from explorer.run_store import store
from explorer.tasks.text.bits_per_byte import held_out_text
from explorer.training.config import key
from explorer.ui.state.url_codec import read
from explorer.ui.wording import percentage
from tests.pages import screen
from tests.words import assert_mentions

ME = "a visitor with a text"
MINE = "she sells sea shells by the sea shore, and sea shells she sells are sea shore shells\n" * 30
SMALL = {
    "corpus": "repeats",
    "models": "ngram,gru",
    "context": "16",
    "sample": "30",
    "gru.hidden": "12",
    "gru.width": "8",
    "gru.iterations": "20",
    "gru.evaluate_every": "5",
    "gru.batch_size": "4",
    "size": "4000",
}


pytestmark = pytest.mark.usefixtures("no_loaded_text")


def text_page(params: Mapping[str, str] | None = None, me: str = "") -> AppTest:
    return screen.page("text.py", params or {}, me)


def trained(params: Mapping[str, str], me: str = "") -> AppTest:
    at = text_page(params, me)
    at.button("train-missing").click().run()
    return screen.wait_until_ready(screen.wait_for_training(at, TextLab, me))


def lab_of(at: AppTest) -> TextLab:
    lab, problems = read(TextLab, screen.url_params(at))
    assert not problems
    return lab


def samples(at: AppTest) -> list[dict[str, Any]]:
    models: list[dict[str, Any]] = screen.component_data(at, "text_samples")[0]["models"]
    return models


def included_name(model: str) -> str:
    return f"text-shakespeare-{model}"


def test_the_page_shows_the_included_runs() -> None:
    at = text_page()
    assert_mentions(screen.page_text(at), "text … not on this machine … trained elsewhere")
    rows = screen.table(at, "text-results")
    assert [row["name"]["text"] for row in rows] == [MODELS[model].title for model in models_of("text")]
    for row, model in zip(rows, models_of("text"), strict=True):
        card = store.find(included_name(model)).card
        assert row["loss"]["text"] == f"{median(card.metrics['val_loss'].values):.3f}"
        assert len(row["loss"]["values"]) == len(card.metrics["val_loss"].values)
        assert row["bytes"]["text"] == "–", "the text, whose bytes count, is not on this machine"
        assert row["parameters"]["text"] == f"{card.parameters:,}"
    losses = [store.find(included_name(model)).card.metrics["val_loss"].values for model in ("gru", "ngram")]
    best, ngram = (median(values) for values in losses)
    larger = median(store.find("text-best-seeds").card.metrics["val_loss"].values)
    assert_mentions(
        screen.page_text(at),
        f"No network beats counting: loss {best:.3f} for the GRU, the best of five, and {ngram:.3f} for the n-gram.",
    )
    assert_mentions(
        screen.page_text(at),
        "A Transformer four times as large as these networks, trained on four times as much text with another "
        f"optimizer, has {larger:.3f}.",
    )
    for row, model in zip(samples(at), models_of("text"), strict=True):
        assert row["texts"] == [texts[0] for texts in store.find(included_name(model)).curves.samples]


def test_curves_are_those_of_the_run_in_every_unit_and_on_every_axis() -> None:
    curves = store.find("text-gru").curves
    for unit, convert in (("perplexity", np.exp), ("bits", lambda v: v / np.log(2))):
        at = screen.page("text.py", {"unit": unit, "models": "ngram,gru", "along": "tokens"})
        (figure,) = screen.plot_frame_figures(at, "text-race")
        mean = next(trace for trace in figure["plot"]["data"] if trace["name"].endswith("median"))
        expected = np.median(convert(curves.metrics["val_loss_part"]), axis=1)
        assert mean["y"][:-1] == pytest.approx(expected[:-1].tolist(), rel=1e-4)
        whole = np.median(convert(curves.last("val_loss")))
        assert mean["y"][-1] == pytest.approx(float(whole), rel=1e-4), "the last point is that of the table"
        assert mean["x"] == pytest.approx(curves.tokens[curves.evaluated].tolist(), rel=1e-4)
        value = float(convert(store.find("text-ngram-modified").curves.last("val_loss")[0]))
        (line,) = figure["plot"]["layout"]["shapes"]
        assert line["y0"] == pytest.approx(value)
        assert any(f"{value:.3f}" in note["text"] for note in figure["plot"]["layout"]["annotations"])


def test_a_comparison_on_another_corpus_is_trained_shown_and_stored() -> None:
    at = trained(SMALL)
    lab = lab_of(at)
    run = store.find_by_config(lab.config("gru"))
    assert run
    rows = {row["name"]["text"]: row for row in screen.table(at, "text-results")}
    assert rows["GRU"]["loss"]["text"] == f"{median(run.card.metrics['val_loss'].values):.3f}"
    written = {row["name"]: row for row in samples(at)}
    assert written["gru"]["steps"] == [0, 1, 4, 5, 10, 15, 20]
    assert all(len(text) == 30 for text in written["gru"]["texts"])
    assert "Saved; the address of this page holds these runs." in screen.page_text(at)
    again = text_page(screen.url_params(at))
    assert screen.table(again, "text-results")[1]["loss"]["text"] == rows["GRU"]["loss"]["text"]


def test_bits_per_byte_include_unknown_words_and_the_test_split_stands_in_the_results() -> None:
    at = trained({**SMALL, "models": "ngram", "tokenizer": "word", "vocabulary": "4", "test": "0.5"})
    task, run = lab_of(at).task, store.find_by_config(lab_of(at).config("ngram"))
    assert run and task.test == 0.5
    counted = held_out_text(task)
    share = counted.unknown / counted.bytes
    assert share > 0.5
    (row,) = screen.table(at, "text-results")
    assert row["bytes"]["text"] == f"{float(counted.bits_per_byte(run.curves.last('val_loss').mean())):.3f}"
    assert counted.omitted_bits > 0.5
    (caption,) = [data["caption"] for data in screen.component_data(at, "table") if data["file"] == "text-results"]
    assert_mentions(caption, f"add {counted.bits(counted.spelling):.3f} … {percentage(share)} … held-out bytes")
    expected = final_test_loss(run)
    assert expected.reserved and row["test"]["text"] == f"{expected.test.mean():.3f}" != row["loss"]["text"]
    assert row["loss"]["text"] == f"{expected.validation.mean():.3f}"


def test_a_private_run_stays_in_memory_until_it_is_saved() -> None:
    at = text_page({name: value for name, value in SMALL.items() if name not in ("corpus", "size")}, ME)
    screen.widget(at.segmented_control, "text.corpus").set_value("own").run()
    screen.widget(at.text_area, "text.pasted").set_value(MINE)
    next(button for button in at.button if button.label == "Use this text").click().run()
    lab = lab_of(screen.assert_no_errors(at))
    assert lab.corpus == "own"
    at = screen.wait_until_ready(at)
    at.button("train-missing").click().run()
    at = screen.wait_until_ready(screen.wait_for_training(at, TextLab, ME))
    assert screen.table(at, "text-results")
    assert samples(at)[-1]["texts"]
    assert not list(environment().runs.glob("*/config.json"))
    assert service.find(key(lab.config("gru")), "somebody else") is None
    at.button("text.save").click().run()
    screen.assert_no_errors(at)
    assert store.find_by_config(lab.config("gru"))
    assert [message.value for message in at.toast] == ["The runs are saved. The page “Runs” lists them."]
    assert not [button for button in at.button if button.key == "text.save"]


def test_parameter_counts_can_be_matched() -> None:
    from explorer.training.model_factory import count_parameters

    at = text_page({**SMALL, "models": "gru,rnn,transformer"})
    screen.widget(at.number_input, "text.match").set_value(20_000)
    next(button for button in at.button if button.label == "Set the sizes").click().run()
    lab = lab_of(screen.wait_until_ready(screen.assert_no_errors(at)))
    for model in lab.models:
        assert count_parameters(lab.config(model)) == pytest.approx(20_000, rel=0.1)


def test_a_preset_sets_its_settings_and_is_described() -> None:
    at = text_page({"models": "lstm"})
    screen.widget(at.selectbox, "text.preset").set_value("paper-lstm").run()
    lab = lab_of(screen.assert_no_errors(at))
    assert lab.config("lstm").optimiser == PRESETS["paper-lstm"].config().optimiser
    assert "Theirs had up to seven layers" in screen.page_text(at)
