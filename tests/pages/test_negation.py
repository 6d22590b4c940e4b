from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
from numpy import ndarray
from streamlit.testing.v1 import AppTest

from explorer.catalogue import MODELS, models_of
from explorer.experiments.default_runs import NEGATION_MODELS
from explorer.labs.negation import findings
from explorer.labs.negation.state import NegationLab
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.ceiling import cross_entropy_accuracy, linear_readout_ceiling
from explorer.tasks.negation import Negation
from explorer.training.config import branch_from, key
from explorer.training.recorder import Recorder, as_checkpoint, record_run
from explorer.training.train import train
from explorer.ui.state.url_codec import read, write
from tests.export.alike import interrupt_training, short_config
from tests.pages import screen
from tests.words import assert_mentions, assert_states

WORDS = {"language": "words"}
TASK_VERSIONS: dict[str, tuple[dict[str, str], str]] = {
    "default": ({}, "negation-single-{}"),
    "double": ({"max_nots": "2"}, "negation-double-{}"),
    "held out": ({"held_out": "destroy"}, "negation-held-out-{}"),
    "everybody": ({"models": ",".join(models_of("negation"))}, "negation-single-{}"),
    "standard initialization": ({"transformer.start": "1.0"}, "negation-single-{}"),
}


def included_runs(version: str) -> dict[str, StoredRun]:
    """Return the included runs that the page must show for a task version."""
    settings, name = TASK_VERSIONS[version]
    models = settings.get("models", ",".join(NEGATION_MODELS)).split(",")
    names = {model: name.format(model) for model in models}
    names["transformer"] += {None: "-attending", "1.0": "-usual-start"}[settings.get("transformer.start")]
    return {model: store.find(name) for model, name in names.items()}


def format_median(values: ndarray) -> str:
    """Return the median over seeds with three digits, as on the page."""
    return f"{np.nanmedian(values):.3f}"


def page_with_open_folds(params: Mapping[str, str] | None = None) -> AppTest:
    """Open the page with all its sections unfolded."""
    return screen.negation_page({"unfold": "why,task,padding,weights", **(params or {})})


@pytest.mark.parametrize("version", TASK_VERSIONS)
def test_all_results_of_a_task_version_follow_from_its_runs(version: str) -> None:
    settings, runs = TASK_VERSIONS[version][0], included_runs(version)
    at = page_with_open_folds(settings)
    assert screen.url_params(at) == {**(settings or WORDS), "unfold": "why,task,padding,weights"}
    task = Negation(next(iter(runs.values())).config.task)
    best, led = linear_readout_ceiling(task.sentences), cross_entropy_accuracy(task.sentences)

    # The results: table and heading.
    rows = screen.table(at, "negation-results")
    assert [row["name"]["text"] for row in rows] == [MODELS[model].title for model in runs]
    for row, run in zip(rows, runs.values(), strict=True):
        assert row["parameters"]["text"] == f"{run.card.parameters:,}"
        values = run.curves.last("exact_accuracy")
        assert row["exact_accuracy"]["text"] == format_median(values)
        assert row["exact_accuracy"]["values"] == pytest.approx(values.tolist(), abs=1e-4)
    ends = [(MODELS[model].title, run.curves.last("exact_accuracy")) for model, run in runs.items()]
    if version != "held out":
        assert findings.final_accuracy_finding(ends, best) in screen.headings(at)

    # The ceiling of the bag of words: both marks and the final accuracy of the runs.
    reached = runs["bag_of_words"].curves.last("exact_accuracy")
    assert findings.ceiling_finding(best) in screen.headings(at)
    text = screen.page_text(at)
    assert f"{led:.4f} right" in text
    assert f"{reached.min():.4f}" in text and f"{reached.max():.4f}" in text
    assert f"{best:.4f}" in at.latex[0].value

    # Learning curves: one panel per model, with its last mean in the title.
    for panel, run in zip(screen.plot_frame_figures(at, "negation-race"), runs.values(), strict=True):
        assert panel["title"] == run.config.title
        exact = run.curves.last("exact_accuracy")
        assert panel["value"] == format_median(exact)
        assert panel["plot"]["data"][2]["y"][-1] == pytest.approx(np.median(exact), abs=1e-4)

    # The answers of every model to every sentence.
    for i, row in enumerate(screen.table(at, "negation-sentences")):
        assert f"human {row['text']['text']}".startswith(task.sentences[i].text.removesuffix(" nature"))
        for model, run in runs.items():
            mean = run.curves.answers["sustain"][-1][:, i].mean()
            assert row[model]["text"] == f"{'sustain' if mean > 0.5 else 'collapse'} {max(mean, 1 - mean):.2f}"
            assert row[model].get("wrong", False) == ((mean > 0.5) != bool(task.sentences[i].label))


def test_the_ceiling_of_a_task_version_is_explained() -> None:
    text = screen.page_text(page_with_open_folds())
    assert_mentions(text, "Bag of words ends at 0.883 … ceiling")
    assert_mentions(text, r"1 - \tfrac{1}{3}\min(p, 1 - p) = 1 - \tfrac{1}{3}\cdot 0.35 = 0.8833")
    assert_mentions(text, "Bag of words (0 of 8 against 8 of 8 seeds)")
    text = screen.page_text(page_with_open_folds({"p_not": "0.5"}))
    assert_mentions(text, "No sum of word weights gets more than 0.8333")
    assert_mentions(text, "its minimum gets 0.6667 right.")
    text = screen.page_text(page_with_open_folds({"max_nots": "2"}))
    assert "This tiny language has nine sentences" in text and "A second “not” cancels the first" in text


def test_the_held_out_pair_is_marked_and_its_finding_counts_seeds() -> None:
    at = page_with_open_folds({"held_out": "destroy"})
    texts = [row["text"]["text"] for row in screen.table(at, "negation-sentences")]
    assert [text for text in texts if "held out" in text] == ["not destroy (held out)"]
    runs = included_runs("held out")
    ends = [(MODELS[model].title, run.curves.last("exact_accuracy_held_out")) for model, run in runs.items()]
    assert findings.held_out_finding("destroy", ends) in screen.headings(at)
    for row, (_, values) in zip(screen.table(at, "negation-results"), ends, strict=True):
        assert row["exact_accuracy_held_out"]["values"] == pytest.approx(values.tolist(), abs=1e-4)


def test_padding_changes_answers_only_if_the_eos_token_is_used() -> None:
    off = screen.negation_page({"unfold": "padding"})
    assert any("the answers are the same" in heading for heading in screen.headings(off))
    on = screen.assert_no_errors(screen.widget(off.toggle, "trap").set_value(True).run())
    assert screen.url_params(on) == {"padding": "eos", "unfold": "padding"}
    heading = next(h for h in screen.headings(on) if "padding changes" in h)
    rows = screen.table(on, "negation-trap")
    changed = [row["name"]["text"] for row in rows if row["alone"]["tone"] != row["beside"]["tone"]]
    assert changed
    assert all(f"{title} (" in heading for title in changed)


def test_the_verdicts_of_a_sentence_are_those_of_the_runs() -> None:
    at = screen.negation_page({"say": "human not destroy nature"})
    verdicts = screen.component_data(at, "verdicts")[0]
    assert verdicts["truth"]["name"] == "sustain"
    for row, run in zip(verdicts["rows"], included_runs("default").values(), strict=True):
        i = [s.text for s in Negation(run.config.task).sentences].index("human not destroy nature")
        values = run.curves.answers["sustain"][-1][:, i]
        assert row["values"] == pytest.approx(values.tolist(), abs=1e-4)
        assert row["right"] == (values.mean() > 0.5)


def test_the_attention_map_is_that_of_the_head_that_attends_to_not() -> None:
    panel = screen.plot_frame_figures(screen.negation_page(), "negation-insides")[-1]
    assert panel["title"] == "The Transformer attends to “not”"
    assert "most to “not”, with weight 1.00. Head 2 attends to “preserve”" in panel["caption"]
    at = screen.negation_page({"head": "0"})
    assert "Head 1 of 8" in screen.plot_frame_figures(at, "negation-insides")[-1]["caption"]


def test_the_small_transformer_averages_and_the_page_says_so() -> None:
    at = screen.negation_page()
    at = screen.assert_no_errors(screen.widget(at.selectbox, "start").set_value("small").run())
    assert screen.url_params(at) == {"transformer.start": "0.1"}
    panel = screen.plot_frame_figures(at, "negation-insides")[-1]
    assert panel["title"] == "The Transformer attends to several tokens"
    assert "It attends to all tokens almost evenly" in panel["caption"]
    at = screen.assert_no_errors(screen.widget(at.selectbox, "start").set_value("attending").run())
    assert screen.url_params(at) == WORDS


TYPED = {
    "?!": "nothing to read",
    "not " * 70: "Only the first 40 of 70 words",
    "human 🐳 nature": "never saw “🐳”",
    "<script>alert(1)</script>": "never saw “script>alert(1)</script”",
    "human $\\frac{1}{0}$ [x](javascript:alert(1)) nature": "never saw",
    "Human, NOT “preserve” nature!": "",
    "not " * 40: "",
}


def test_any_typed_text_gets_answers_or_one_warning() -> None:
    at = screen.negation_page()
    for text, sentence in TYPED.items():
        at = screen.assert_no_errors(screen.widget(at.text_input, "say").input(text).run())
        warnings = [re.sub(r"\\(.)", r"\1", warning.value) for warning in at.warning]
        assert len(warnings) == bool(sentence) and all(sentence in warning for warning in warnings), text
        assert screen.component_data(at, "verdicts")[0]["rows"], "what can be read is answered"
        assert screen.widget(at.text_input, "say").value in (text, text.strip())
    assert screen.url_params(at) == {"say": "not " * 40}
    assert [t["text"] for t in screen.component_data(at, "verdicts")[0]["tokens"]] == ["<BOS>", *["not"] * 40, "<EOS>"]


def test_tokens_beyond_a_context_window_are_marked_and_explained() -> None:
    verdicts = screen.component_data(screen.negation_page({"say": "human not not not preserve nature"}), "verdicts")[0]
    kinds = [token["kind"] for token in verdicts["tokens"]]
    assert kinds == ["marker", *["word"] * 5, "beyond", "beyond"]
    assert_states(verdicts["token_note"], "beyond … Feedforward and Transformer … six tokens")
    assert screen.component_data(screen.negation_page(), "verdicts")[0]["token_note"] is None


def test_the_run_stays_in_the_url_while_its_settings_are_unchanged() -> None:
    run = store.find("negation-half-rnn").key
    at = screen.negation_page({"run": run})
    assert not at.warning
    assert screen.url_params(at) == {"run": run}
    at = screen.negation_page({"run": run, "unfold": "task"})
    assert screen.widget(at.slider, "task.shared.p_not").value == 0.5
    at = screen.assert_no_errors(screen.widget(at.selectbox, "look").set_value(3).run())
    assert screen.url_params(at) == {"run": run, "look": "3", "unfold": "task"}
    at = screen.assert_no_errors(screen.widget(at.slider, "task.shared.p_not").set_value(0.35).run())
    assert screen.url_params(at) == {"look": "3", "unfold": "task"}


def test_all_controls_change_the_state_and_the_url() -> None:
    at = page_with_open_folds()
    assert "Back to the defaults" not in [button.label for button in at.button]
    at = screen.assert_no_errors(screen.widget(at.slider, "task.shared.p_not").set_value(0.5).run())
    assert screen.widget(at.slider, "why.shared.p_not").value == 0.5
    at = screen.assert_no_errors(screen.widget(at.segmented_control, "metric").set_value("loss").run())
    at = screen.assert_no_errors(screen.widget(at.pills, "models").set_value(["bag_of_words", "gru"]).run())
    at = screen.assert_no_errors(screen.widget(at.selectbox, "look").set_value(3).run())
    lab = NegationLab(metric="loss", look=3).with_shared(p_not=0.5).with_models(["bag_of_words", "gru"])
    assert screen.url_params(at) == {**write(lab), "unfold": "why,task,padding,weights"}
    assert [panel["title"] for panel in screen.plot_frame_figures(at, "negation-race")] == ["Bag of words", "GRU"]
    at = screen.assert_no_errors(next(b for b in at.button if b.label == "Back to the defaults").click().run())
    assert screen.url_params(at) == {"metric": "loss", "look": "3", "unfold": "why,task,padding,weights"}
    assert screen.widget(at.slider, "task.shared.p_not").value == 0.35
    at = screen.assert_no_errors(screen.widget(at.pills, "models").set_value([]).run())
    assert "A race needs at least one model" in at.warning[0].value.replace("\\", "")
    assert screen.widget(at.pills, "models").value == list(NEGATION_MODELS)


SMALL = {"models": "bag_of_words,rnn", "replicas": "2", "train_size": "40"}
SMALL |= {"bag_of_words.epochs": "2", "rnn.epochs": "3"}


def test_missing_runs_are_offered_then_trained_and_trained_again() -> None:
    at = screen.negation_page(SMALL)
    assert_mentions(screen.page_text(at), "No finished run … Bag of words and RNN")
    assert_mentions(screen.page_text(at), "Results of the earlier settings (8 seeds, 40 epochs)")
    assert [len(row["values"]) for row in screen.component_data(at, "verdicts")[0]["rows"]] == [8, 8]
    again = screen.negation_page(SMALL | {"look": "1"})
    assert screen.widget(again.selectbox, "look").value == 1  # of the earlier results, as before the reload
    at = screen.wait_for_training(at.button(key="train-missing").click().run())
    assert "No finished run of" not in screen.page_text(at)
    assert "Saved; the address of this page holds these runs." in screen.page_text(at)
    assert screen.url_params(at) == SMALL
    assert [len(row["values"]) for row in screen.component_data(at, "verdicts")[0]["rows"]] == [2, 2]
    for row, model in zip(screen.table(at, "negation-results"), ("bag_of_words", "rnn"), strict=True):
        run = store.find_by_config(read(NegationLab, SMALL)[0].config(model))
        assert run is not None
        assert row["exact_accuracy"]["values"] == pytest.approx(run.curves.last("exact_accuracy").tolist(), abs=1e-4)
    assert at.button(key="train").label.startswith("Train again, about ")
    at = screen.wait_for_training(at.button(key="train").click().run())
    assert_mentions(screen.page_text(at), "every curve … bit for bit")


def test_one_seed_and_one_model_are_enough() -> None:
    at = screen.negation_page({"models": "transformer", "replicas": "1", "transformer.epochs": "1", "train_size": "8"})
    at = screen.wait_for_training(at.button(key="train-missing").click().run())
    assert screen.component_data(at, "verdicts")[0]["caption"] == "One seed."
    assert "Line: one seed." in screen.page_text(at)
    assert "seed" not in " ".join(screen.headings(at))


def test_a_branch_is_opened_by_its_key() -> None:
    parent = short_config("rnn", replicas=2)
    store.save_run(record_run(parent), store.run_folder(parent), "ada")
    child = branch_from(parent, 10, {"learning_rate": 0.01, "schedule": "cosine"})
    recorder = Recorder(child)
    for event in train(child, as_checkpoint(10, store.find(key(parent)).checkpoint(10))):
        recorder.add(event)
    store.save_run(recorder.record(), store.run_folder(child), "ada")
    at = screen.negation_page({"run": key(child)})
    assert (screen.url_params(at), screen.warnings_of(at)) == ({"run": key(child)}, [])
    panel = next(panel for panel in screen.plot_frame_figures(at, "negation-race") if panel["title"] == "RNN")
    assert panel["plot"]["data"][2]["x"][0] == 2.5  # epochs: step 10, at 4 an epoch
    assert panel["value"] == format_median(store.find(key(child)).curves.last("exact_accuracy"))


def test_a_stopped_run_can_be_resumed_with_the_same_result() -> None:
    config = short_config("rnn", replicas=2)
    record = interrupt_training(Recorder(config), train(config), 10)
    store.save_run(record, store.run_folder(config), "ada")
    at = screen.negation_page({"run": key(config), "models": "rnn"}, visitor="ada")
    assert_mentions(screen.page_text(at), "Stopped … RNN at step 10 of 32")
    assert_mentions(screen.page_text(at), "Results of the earlier settings (8 seeds, 12 snapshots, 40 epochs)")
    assert at.button(key="train-missing").label.startswith("Go on, about ")
    curve = next(p for p in screen.plot_frame_figures(at, "negation-race") if p["title"] == "RNN")["plot"]["data"][2]
    assert curve["x"][-1] == 2.5
    at = screen.wait_for_training(at.button(key="train-missing").click().run())
    run = store.find(key(config))
    assert run.card.state == "finished"
    np.testing.assert_array_equal(run.curves.losses, record_run(config).curves.losses)
    assert at.button(key="train").label.startswith("Train again, about ")
