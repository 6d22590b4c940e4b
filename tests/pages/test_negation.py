from __future__ import annotations

import re
import time
from collections.abc import Mapping

import numpy as np
import pytest
from numpy import ndarray

from explorer.catalogue import MODELS, models_of
from explorer.experiments.default_runs import NEGATION_MODELS
from explorer.jobs.scheduler import service
from explorer.labs.negation import findings
from explorer.labs.negation.state import NegationLab
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.ceiling import cross_entropy_accuracy, linear_readout_ceiling
from explorer.tasks.negation import Negation
from explorer.training.config import RunConfig, branch_from, key
from explorer.training.recorder import Recorder, as_checkpoint, record_run
from explorer.training.train import train
from explorer.ui.state.experiment_state import read, write
from tests.export.alike import interrupt_training, short_config
from tests.pages.screen import (
    assert_no_errors,
    component_data,
    headings,
    negation_page,
    page,
    page_text,
    plot_frame_figures,
    table,
    url_params,
    wait_for_training,
    warnings_of,
)

ALL = ",".join(models_of("negation"))
WORLDS: dict[str, tuple[dict[str, str], str]] = {
    "default": ({}, "negation-single-{}"),
    "half": ({"p_not": "0.5"}, "negation-half-{}"),
    "double": ({"max_nots": "2"}, "negation-double-{}"),
    "held out": ({"held_out": "destroy"}, "negation-held-out-{}"),
    "eos": ({"padding": "eos"}, "negation-eos-{}"),
    "everybody": ({"models": ALL}, "negation-single-{}"),
    "usual start": ({"transformer.start": "1.0"}, "negation-single-{}"),
}


def runs_of(world: str) -> dict[str, StoredRun]:
    """The shipped runs that a world's page must show."""
    settings, name = WORLDS[world]
    models = settings.get("models", ",".join(NEGATION_MODELS)).split(",")
    names = {model: name.format(model) for model in models}
    if "transformer.start" in settings:
        names["transformer"] += "-usual-start"
    return {model: store.find(name) for model, name in names.items()}


def three(values: ndarray) -> str:
    """The mean over the seeds as the page writes it."""
    return f"{np.nanmean(values):.3f}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("world", WORLDS)
def test_every_word_of_a_world_follows_from_its_runs(world: str) -> None:
    settings, runs = WORLDS[world][0], runs_of(world)
    at = negation_page(settings)
    assert url_params(at) == settings
    task = Negation(next(iter(runs.values())).config.task)
    best, led = linear_readout_ceiling(task.sentences), cross_entropy_accuracy(task.sentences)
    assert [title.value for title in at.title] == ["Can a model that only counts words understand “not”?"]

    # What came out: the table and its heading.
    rows = table(at, "negation-results")
    assert [row["name"]["text"] for row in rows] == [MODELS[model].title for model in runs]
    for row, run in zip(rows, runs.values(), strict=True):
        assert row["parameters"]["text"] == f"{run.card.parameters:,}"
        for metric in ("test_accuracy", "test_accuracy_plain", "test_accuracy_negated"):
            values = run.curves.last(metric)
            assert row[metric]["text"] == three(values)
            assert row[metric]["values"] == pytest.approx(values.tolist(), abs=1e-4)
    heading = next(h for h in headings(at) if "every seed" in h or "depends on the seed" in h or "never shown" in h)
    for model, run in runs.items():
        exact = run.curves.last("exact_accuracy")
        assert MODELS[model].title in heading or heading.startswith(("All", "Both"))
        if world != "held out" and np.ptp(exact) < 5e-4:
            assert three(exact) in heading

    # Why counting cannot work: both marks, and where this page's bag of words ended.
    finding = next(h for h in headings(at) if "Cross-entropy" in h or "cross-entropy" in h)
    reached = runs["bag_of_words"].curves.last("exact_accuracy")
    assert f"{best:.4f}" in finding
    assert (f"{led:.4f} right" in finding) == (led < best - 5e-4)
    assert f"{reached.min():.4f}" in finding and f"{reached.max():.4f}" in finding
    assert f"{best:.4f}" in at.latex[0].value
    dots = plot_frame_figures(at, "negation-exact")[0]["plot"]["data"]
    assert [dot["name"] for dot in dots] == [MODELS[model].title for model in runs]
    for dot, run in zip(dots, runs.values(), strict=True):
        assert dot["x"] == pytest.approx(run.curves.last("exact_accuracy").tolist(), abs=1e-4)

    # The race: a panel a model, with its last mean in the title.
    for panel, run in zip(plot_frame_figures(at, "negation-race"), runs.values(), strict=True):
        assert panel["title"] == run.config.title
        assert panel["value"] == three(run.curves.last("test_accuracy"))
        assert panel["plot"]["data"][2]["y"][-1] == pytest.approx(run.curves.last("test_accuracy").mean(), abs=1e-4)

    # Every sentence of the world through every model.
    for i, row in enumerate(table(at, "negation-sentences")):
        assert row["text"]["text"].startswith(task.sentences[i].text)
        for model, run in runs.items():
            mean = run.curves.answers["sustain"][-1][:, i].mean()
            assert row[model]["text"] == f"{'sustain' if mean > 0.5 else 'collapse'} {max(mean, 1 - mean):.2f}"
            assert row[model]["wrong"] == ((mean > 0.5) != bool(task.sentences[i].label))


def test_at_the_defaults_counting_ends_at_its_ceiling() -> None:
    text = page_text(negation_page())
    assert "Bag of words ends at 0.883 in every seed, the ceiling of counting." in text
    assert r"1 - \tfrac{1}{3}\min(p, 1 - p) = 1 - \tfrac{1}{3}\cdot 0.35 = 0.8833" in text
    assert "the best any counting model can do on endless text, 0.8833" in text


def test_at_one_half_training_does_not_even_lead_to_the_ceiling() -> None:
    text = page_text(negation_page({"p_not": "0.5"}))
    assert "No counting model passes 0.8333 here" in text
    assert "its best compromise gets only 0.6667 right." in text


def test_with_two_nots_the_page_tells_what_a_second_not_does() -> None:
    at = negation_page({"max_nots": "2"})
    assert "A second **not** undoes the first" in page_text(at)
    assert len(table(at, "negation-grammar")) == 9


def test_the_held_out_pair_is_marked_and_its_finding_counts_seeds() -> None:
    at = negation_page({"held_out": "destroy"})
    texts = [row["text"]["text"] for row in table(at, "negation-sentences")]
    assert [text for text in texts if "held out" in text] == ["human not destroy nature (held out)"]
    pairs = {model: run.curves.last("exact_accuracy_held_out") for model, run in runs_of("held out").items()}
    understood = {model: int((values > 1 - 1e-6).sum()) for model, values in pairs.items()}
    heading = next(h for h in headings(at) if "never shown" in h)
    for model, count in understood.items():
        if count:
            assert f"{MODELS[model].title} in {count} of 8 seeds" in heading
        else:
            assert MODELS[model].title in heading.split("understood")[-1].split("seeds")[-1]


def test_the_trap_gives_one_sentence_two_answers_only_when_it_is_on() -> None:
    off = negation_page()
    assert "The same sentence gets the same answer, alone or in company." in headings(off)
    on = assert_no_errors(off.toggle(key="trap").set_value(True).run())
    assert url_params(on) == {"padding": "eos"}
    heading = next(h for h in headings(on) if "in company" in h)
    rows = table(on, "negation-trap")
    turned = [row["name"]["text"] for row in rows if row["alone"]["tone"] != row["beside"]["tone"]]
    assert turned
    assert all(f"{title} says" in heading for title in turned)


def test_the_verdicts_of_a_sentence_are_those_of_the_runs() -> None:
    at = negation_page({"say": "human not destroy nature"})
    verdicts = component_data(at, "verdicts")[0]
    assert verdicts["truth"] == "sustain"
    for row, run in zip(verdicts["rows"], runs_of("default").values(), strict=True):
        i = [s.text for s in Negation(run.config.task).sentences].index("human not destroy nature")
        values = run.curves.answers["sustain"][-1][:, i]
        assert row["values"] == pytest.approx(values.tolist(), abs=1e-4)
        assert row["right"] == (values.mean() > 0.5)


def test_a_typed_sentence_changes_the_answers_and_the_address() -> None:
    at = negation_page()
    before = headings(at)[-1:] + headings(at)
    at = assert_no_errors(at.text_input(key="say").input("human not not consume nature").run())
    assert url_params(at) == {"say": "human not not consume nature"}
    assert [t["text"] for t in component_data(at, "verdicts")[0]["tokens"]][1:-1] == [
        "human",
        "not",
        "not",
        "consume",
        "nature",
    ]
    assert before != headings(at)


def test_a_sentence_picked_from_the_list_is_typed() -> None:
    at = negation_page()
    at = assert_no_errors(at.pills(key="pick").set_value("human destroy nature").run())
    assert at.text_input(key="say").value == "human destroy nature"
    assert url_params(at) == {"say": "human destroy nature"}


def test_an_unknown_word_is_named_with_its_nearest_words_and_a_click_mends_the_sentence() -> None:
    at = negation_page({"say": "human knot preserve nature"})
    assert "never saw “knot”" in at.warning[0].value
    assert "the last sentence they could read, “human not preserve nature”" in page_text(at)
    assert at.button(key="near.knot.not").label == "not"
    at = assert_no_errors(at.button(key="near.knot.not").click().run())
    assert not at.warning
    assert at.text_input(key="say").value == "human not preserve nature"
    assert url_params(at) == {}


TYPED = {
    "": "There is no word in this sentence",
    "?!": "There is no word in this sentence",
    "not " * 10_000: "This sentence has 10,000 words",
    "human 🐳 nature": "never saw “🐳”",
    "הטבע human": "never saw “הטבע”",
    "<script>alert(1)</script>": "never saw “script>alert(1)</script”",
    "human $\\frac{1}{0}$ [x](javascript:alert(1)) nature": "never saw",
    "Human, NOT “preserve” nature!": "",
    "sustain collapse": "",
    "not": "",
    "not " * 40: "",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", TYPED, ids=lambda text: text[:30])
def test_whatever_is_typed_gets_an_answer_or_one_clear_sentence(text: str) -> None:
    at = negation_page()
    at = assert_no_errors(at.text_input(key="say").input(text).run())
    warnings = [re.sub(r"\\(.)", r"\1", warning.value) for warning in at.warning]
    assert len(warnings) == bool(TYPED[text])
    assert all(TYPED[text] in warning for warning in warnings)
    assert component_data(at, "verdicts")[0]["rows"], "the answers to the last readable sentence stay"
    assert at.text_input(key="say").value == text.strip() or at.text_input(key="say").value == text


def test_words_of_the_vocabulary_that_no_sentence_holds_are_said_to_be_untrained() -> None:
    assert "“sustain” is in the vocabulary, but no sentence of this world holds it" in page_text(
        negation_page({"say": "sustain nature"})
    )


def test_what_a_window_cannot_see_is_greyed_and_said() -> None:
    verdicts = component_data(negation_page({"say": "human not not not preserve nature"}), "verdicts")[0]
    kinds = [token["kind"] for token in verdicts["tokens"]]
    assert kinds == ["marker", *["word"] * 5, "beyond", "beyond"]
    assert verdicts["token_note"] == "Greyed: beyond a window. Feedforward and Transformer see six tokens."
    assert verdicts["truth"] == "collapse"
    assert component_data(negation_page(), "verdicts")[0]["token_note"] is None


NONSENSE: dict[str, dict[str, str]] = {
    "a foreign part": {"utm_source": "chat"},
    "a bad value": {"p_not": "much"},
    "markup": {"models": "<script>alert(1)</script>"},
    "no run": {"run": "nonsense"},
    "a path": {"run": "../../etc/passwd"},
    "a far seed": {"look": "000000000099"},
    "settings that are not this model's": {"rnn.hidden": "12", "rnn.p_not": "0.9"},
    "two that exclude each other": {"p_not": "1", "held_out": "destroy"},
    "too much work": {"train_size": "20000", "batch_size": "1"},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", NONSENSE)
def test_a_nonsense_address_gives_one_sentence_and_a_page_that_works(case: str) -> None:
    at = negation_page(NONSENSE[case])
    assert len(at.warning) == 1
    assert component_data(at, "verdicts") or "No finished run of" in page_text(at)
    assert set(url_params(at)) < set(NONSENSE[case]) or not url_params(at)


def test_the_key_of_a_run_stays_in_the_address_as_long_as_its_settings_are_on_the_page() -> None:
    run = store.find("negation-half-rnn").key
    at = negation_page({"run": run})
    assert not at.warning
    assert url_params(at) == {"run": run}
    assert at.slider(key="task.shared.p_not").value == 0.5
    at = assert_no_errors(at.selectbox(key="look").set_value(3).run())
    assert url_params(at) == {"run": run, "look": "3"}
    at = assert_no_errors(at.slider(key="task.shared.p_not").set_value(0.35).run())
    assert url_params(at) == {"look": "3"}


def test_what_is_set_on_the_page_is_in_the_lab_and_in_the_address() -> None:
    at = negation_page()
    at = assert_no_errors(at.slider(key="task.shared.p_not").set_value(0.5).run())
    assert at.slider(key="why.shared.p_not").value == 0.5
    at = assert_no_errors(at.segmented_control(key="metric").set_value("loss").run())
    at = assert_no_errors(at.pills(key="models").set_value(["bag_of_words", "gru"]).run())
    at = assert_no_errors(at.selectbox(key="look").set_value(3).run())
    lab = (
        NegationLab()
        .with_shared(p_not=0.5)
        .with_models(["bag_of_words", "gru"])
        .with_view_fields(metric="loss", look=3)
    )
    assert url_params(at) == write(lab)
    assert [panel["title"] for panel in plot_frame_figures(at, "negation-race")] == ["Bag of words", "GRU"]
    at = assert_no_errors(next(b for b in at.button if b.label == "Back to the defaults").click().run())
    assert url_params(at) == {}
    assert at.slider(key="task.shared.p_not").value == 0.35


def test_a_world_is_chosen_with_one_click() -> None:
    at = negation_page()
    at = assert_no_errors(at.segmented_control(key="world").set_value("a pair held out").run())
    assert url_params(at) == {"held_out": "destroy"}
    assert "Training never shows *destroy* together with **not**" in page_text(at)


def test_a_race_without_models_is_refused_and_the_race_stays() -> None:
    at = negation_page()
    at = assert_no_errors(at.pills(key="models").set_value([]).run())
    assert "A race needs at least one model" in at.warning[0].value.replace("\\", "")
    assert at.pills(key="models").value == list(NEGATION_MODELS)


def test_settings_survive_a_walk_to_the_home_page_and_back() -> None:
    at = negation_page({"p_not": "0.5", "say": "human destroy nature"})
    at = assert_no_errors(at.switch_page("home.py").run())
    at.query_params.clear()
    at = assert_no_errors(at.switch_page("negation.py").run())
    assert url_params(at) == {"say": "human destroy nature", "p_not": "0.5"}


SMALL: Mapping[str, str] = {
    "models": "bag_of_words,rnn",
    "replicas": "2",
    "train_size": "40",
    "bag_of_words.epochs": "2",
    "rnn.epochs": "3",
}


def test_settings_without_a_run_call_to_train_and_training_fills_the_page() -> None:
    at = negation_page(SMALL)
    assert (
        "No finished run of any model with these settings yet. Training two seeds of two models takes about"
        in page_text(at)
    )
    assert "Nothing has been trained under these settings yet. Press Train." in page_text(at).replace("\\", "")
    assert not component_data(at, "verdicts")
    at = wait_for_training(at.button(key="train-missing").click().run())
    assert "No finished run of" not in page_text(at)
    assert "Saved; the address of this page holds these runs." in page_text(at)
    assert url_params(at) == SMALL
    assert [len(row["values"]) for row in component_data(at, "verdicts")[0]["rows"]] == [2, 2]
    for row, model in zip(table(at, "negation-results"), ("bag_of_words", "rnn"), strict=True):
        run = store.find_by_config(read(NegationLab, SMALL)[0].config(model))
        assert run is not None
        assert row["test_accuracy"]["values"] == pytest.approx(run.curves.last("test_accuracy").tolist(), abs=1e-4)


def test_training_the_same_again_says_that_every_curve_came_out_as_before() -> None:
    at = wait_for_training(negation_page(SMALL).button(key="train-missing").click().run())
    assert at.button(key="train").label == "Train again"
    at = wait_for_training(at.button(key="train").click().run())
    assert "Trained once more, and every curve came out as before, bit for bit." in page_text(at)


def test_one_seed_and_one_model_make_a_page_too() -> None:
    at = negation_page({"models": "transformer", "replicas": "1", "transformer.epochs": "1", "train_size": "8"})
    at = wait_for_training(at.button(key="train-missing").click().run())
    assert component_data(at, "verdicts")[0]["caption"] == "One seed."
    assert "Line: one seed." in page_text(at)
    assert "seeds" not in " ".join(headings(at))


# ---- runs by their keys


def kept(owner: str = "ada", model: str = "rnn", **changes: object) -> RunConfig:
    """A run that was trained here, to its end."""
    config = short_config(model, **{"replicas": 2, **changes})
    store.save_run(record_run(config), store.run_folder(config), owner)
    return config


def stopped_run() -> RunConfig:
    """A run of Ada's that was broken off at its tenth step."""
    config = short_config("rnn", replicas=2)
    record = interrupt_training(Recorder(config), train(config), 10)
    store.save_run(record, store.run_folder(config), "ada")
    return config


def test_a_branch_is_opened_by_its_key() -> None:
    parent = kept()
    child = branch_from(parent, 10, {"learning_rate": 0.01, "schedule": "cosine"})
    recorder = Recorder(child)
    for event in train(child, as_checkpoint(10, store.find(key(parent)).checkpoint(10))):
        recorder.add(event)
    store.save_run(recorder.record(), store.run_folder(child), "ada")
    at = negation_page({"run": key(child)})
    assert (url_params(at), warnings_of(at)) == ({"run": key(child)}, [])
    panel = next(panel for panel in plot_frame_figures(at, "negation-race") if panel["title"] == "RNN")
    assert panel["plot"]["data"][2]["x"][0] == 2.5  # epochs: step 10, at 4 an epoch
    assert panel["value"] == three(store.find(key(child)).curves.last("test_accuracy"))


def test_a_stopped_run_shows_where_it_stopped_and_goes_on_to_the_same_end() -> None:
    config = stopped_run()
    at = negation_page({"run": key(config), "models": "rnn"}, visitor="ada")
    assert "Stopped earlier: RNN at step 10 of 32. Go on takes it up from there" in page_text(at)
    assert at.button(key="train").label == at.button(key="train-missing").label == "Go on"
    curve = next(p for p in plot_frame_figures(at, "negation-race") if p["title"] == "RNN")["plot"]["data"][2]
    assert curve["x"][-1] == 2.5
    at = wait_for_training(at.button(key="train").click().run())
    assert_same_end(config)
    assert at.button(key="train").label == "Train again"


def assert_same_end(config: RunConfig) -> None:
    """Gone on with, a run ends as if nobody had stopped it."""
    run = store.find(key(config))
    assert run.card.state == "finished"
    np.testing.assert_array_equal(run.curves.losses, record_run(config).curves.losses)


def long_job(starter: str) -> RunConfig:
    """A training under way that no test waits for."""
    config = short_config("rnn", replicas=2, epochs=2_000, train_size=197, batch_size=8)
    job = service.submit(config, starter)
    until = time.monotonic() + 60
    while job.view().curves is None:
        assert time.monotonic() < until and not job.view().done
        time.sleep(0.01)
    return config


@pytest.mark.slow
def test_whoever_watches_a_training_of_somebody_else_cannot_stop_it() -> None:
    run = key(long_job("bob"))
    at = negation_page({"run": run, "models": "rnn"}, visitor="ada")
    assert url_params(at)["run"] == run
    for name in ("stop", "stop-missing"):
        assert (at.button(key=name).label, at.button(key=name).disabled) == ("Training", True)
    at = negation_page({"run": run, "models": "rnn"}, visitor="bob")
    assert (at.button(key="stop").label, at.button(key="stop").disabled) == ("Stop", False)
    at.button(key="stop").click().run()
    at = wait_for_training(at)
    assert "Stopped: the curves end where it was." in page_text(at)
    assert at.button(key="train").label == "Go on"


def test_another_seed_asks_the_next_seeds() -> None:
    for model in ("bag_of_words", "rnn"):
        config = read(NegationLab, SMALL)[0].config(model)
        store.save_run(record_run(config), store.run_folder(config), "ada")
    at = negation_page(SMALL)
    at = wait_for_training(at.button(key="another-seed").click().run())
    assert url_params(at) == {**SMALL, "seed": "2"}
    assert store.find_by_config(read(NegationLab, {**SMALL, "seed": "2"})[0].config("rnn")) is not None
    assert warnings_of(at) == []


def test_the_verdict_of_the_seeds_is_computed_from_them() -> None:
    runs = runs_of("default")
    ends = [(run.config.title, run.curves.last("exact_accuracy")) for run in runs.values()]
    sentence = findings.seed_noise_finding(ends)
    assert sentence and sentence in page_text(negation_page())
    assert "Bag of words by 0.117 (0.117 to 0.117)" in sentence


def test_more_steps_than_this_server_allows_are_refused_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    at = negation_page(SMALL)
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "2")
    at = assert_no_errors(at.button(key="train-missing").click().run())
    assert any("this server allows 2 (LINEAGE_MOST_STEPS)" in sentence for sentence in warnings_of(at))


# ---- between pages

HOSTILE: list[dict[str, str]] = [
    {
        "run": "<script>alert(1)</script>",
        "runs": "," * 500,
        "tags": "," * 50,
        "models": ",,,",
        "say": "\u202e$x$ **x**",
    },
    {"run": "../../etc/passwd", "runs": "../..,<b>", "target": "nan", "smooth": "inf", "x": "", "y": "", "log_x": ""},
    {
        "run": "\x00",
        "runs": "a" * 5_000,
        "text": "%_\\" * 900,
        "look": "9" * 4_400,
        "p_not": "nan",
        "rnn.hidden": "1e9",
    },
    {"when": "1' OR 1=1 --", "whose": "null", "sort": "-__class__", "tags": "' OR 1", "text": "\x00\ud7ff", "run": ""},
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", ["home.py", "negation.py", "runs.py", "compare.py"])
def test_no_address_breaks_a_page(file: str) -> None:
    for given in HOSTILE:
        at = page(file, given)
        assert at.title
        assert len(warnings_of(at)) <= 2 * len(given) + 1
        assert all("<script>" not in warning.value for warning in at.warning)


def test_the_run_of_one_page_is_open_on_the_others() -> None:
    run = store.find("negation-half-gru").key
    at = negation_page({"run": run})
    at.query_params.clear()
    at = assert_no_errors(at.switch_page("runs.py").run())
    assert url_params(at) == {"run": run}
    assert any(metric.label == "model" and metric.value == "GRU" for metric in at.metric)
    at.query_params.clear()
    at = assert_no_errors(at.switch_page("compare.py").run())
    assert url_params(at) == {"runs": run}
    assert [row["name"]["text"] for row in table(at, "comparison-results")] == ["1 GRU"]
    at.query_params.clear()
    at = assert_no_errors(at.switch_page("negation.py").run())
    assert url_params(at) == {"run": run}
