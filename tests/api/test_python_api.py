"""The Python API: what `import explorer` offers, in memory and stored."""

from __future__ import annotations

import doctest
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch

import explorer
from explorer.api import catalogue_tables, comparisons, inspected_model, run, stored, sweeps, trainer
from explorer.errors import Diverged, InvalidSetting, LineageError, TextError, UnknownRun, UnknownWords
from explorer.run_store import store
from explorer.training.config import default_config, with_settings
from explorer.training.events import Step
from explorer.training.recorder import record_run
from explorer.training.train import train as training_events
from tests import needs

SENTENCE = "human not preserve nature"


@pytest.fixture(scope="module")
def small() -> explorer.Run:
    """A Transformer of two seeds, in memory."""
    return explorer.train("negation", "transformer", seeds=2, epochs=2, progress=False)


def test_importing_the_package_loads_neither_torch_nor_pandas() -> None:
    code = (
        "import sys, explorer; explorer.train, explorer.load, explorer.runs, explorer.compare, explorer.settings, "
        "dir(explorer); print(sorted({'torch', 'pandas', 'plotly', 'tqdm', 'streamlit'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=root).strip() == "[]"
    assert {"train", "load"} <= set(dir(explorer))


@pytest.mark.parametrize("module", [catalogue_tables, comparisons, inspected_model, run, stored, sweeps, trainer])
def test_the_examples_of_the_docstrings_are_true(module: ModuleType, small: explorer.Run) -> None:
    names = {"explorer": explorer, "run": small}
    found = doctest.testmod(sys.modules[module.__name__], extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted and not found.failed


def test_a_training_equals_that_of_the_command_line(small: explorer.Run) -> None:
    config = with_settings(default_config("negation", "transformer"), {"replicas": 2, "epochs": 2})
    record = record_run(config)
    assert small.config == config and small.state == "finished" and small.folder is None
    np.testing.assert_array_equal(small.curves_of_run.losses, record.curves.losses)
    np.testing.assert_array_equal(small.weights()["readout.weight"], record.weights()["readout.weight"])


def test_curves_have_a_row_for_each_step_seed_and_metric(small: explorer.Run) -> None:
    curves = small.curves()
    assert curves.columns.tolist() == ["step", "seed", "metric", "value"]
    assert set(small.metric_names) | {"batch_loss"} <= set(curves.metric)
    assert not curves.duplicated(["step", "seed", "metric"]).any()
    losses = curves[curves.metric == "batch_loss"].pivot(index="step", columns="seed", values="value")
    np.testing.assert_array_equal(losses.to_numpy(), small.curves_of_run.losses)
    assert losses.index.tolist() == list(range(small.step)) and losses.columns.tolist() == [0, 1]
    last = small.metrics().set_index(["metric", "seed"]).value
    assert last["test_loss", 1] == pytest.approx(small.curves_of_run.metrics["test_loss"][-1, 1])
    pd.testing.assert_frame_equal(
        small.curves("test_loss"), curves[curves.metric == "test_loss"].reset_index(drop=True)
    )


def test_a_prediction_is_the_mean_over_the_seeds(small: explorer.Run) -> None:
    table = small.predict(SENTENCE)
    assert table.probability.sum() == pytest.approx(1) and table.probability.is_monotonic_decreasing
    each = small.predict(SENTENCE, seed="all")
    mean = each.groupby("label").probability.mean()
    assert table.set_index("label").probability.to_dict() == pytest.approx(mean.to_dict())
    assert (table.lowest <= table.probability).all() and (table.probability <= table.highest).all()
    one = small.predict(SENTENCE, seed=1).set_index("label").probability
    assert one.to_dict() == pytest.approx(each[each.seed == 1].set_index("label").probability.to_dict())
    several = small.predict([SENTENCE, "human consume nature"])
    assert several.text.tolist() == [SENTENCE] * 2 + ["human consume nature"] * 2
    first = small.predict(SENTENCE, step=0)
    assert abs(first.probability[0] - 0.5) < 0.3 and small.steps[0] == 0


def test_every_kind_of_task_is_predicted_and_traced() -> None:
    answers = ["seed", "output", "probability", "correct"]
    labels = ["position", "token", "label", "probability", "expected", "correct", "in_loss"]
    for name, text, columns in (
        ("text-toy-rnn", "abc", ["token", "probability", "lowest", "highest"]),
        ("recall-10-lstm-usual", "abba", ["symbol", "probability", "lowest", "highest"]),
        ("dates-additive", "3rd of march 1997", answers),
        ("reverse-transformer", "123", answers),
        ("tale-causal", "the king", labels),
    ):
        found = explorer.load(name)
        table = found.predict(text)
        assert table.columns.tolist() == columns and len(table)
        assert table.probability.between(0, 1).all()
        assert "correct" not in columns or table.correct.astype(float).mean() > 0.7
        trace = found.trace(text)
        assert len(trace) and all(isinstance(value, np.ndarray) for value in trace.values())
        assert repr(trace).startswith(f"Trace of {len(trace.tokens)} tokens")


def test_language_models_generate_and_measure_text_and_words_have_neighbours() -> None:
    short = explorer.train("string", "rnn", text="abab", iterations=40, progress=False)
    assert short.predict("a").token[0] == "b"
    assert short.generate("a", tokens=3, temperature=0) == "abab"
    toy = explorer.load("text-toy-rnn")
    assert toy.generate("abca", tokens=6, sampling_seed=3) == toy.generate("abca", tokens=6, sampling_seed=3)
    table = toy.surprisal("abca abca")
    assert len(table) == 8 and "".join(table.token) == "bca abca"
    following = toy.predict("abca abc").set_index("token").probability
    one = toy.surprisal("abca abca", seed=0).surprisal
    of_seed = toy.predict("abca abc", seed=0).set_index("token").probability
    assert np.exp(-one.iloc[-1]) == pytest.approx(of_seed["a"], rel=1e-3) and following["a"] > 0.5
    with pytest.warns(UserWarning, match=r"Not in the vocabulary: 'Z' \(left out\)"):
        toy.generate("abZ", tokens=1)
    words = explorer.load("words-grammar-skip_gram")
    assert words.neighbours("king", 3).columns.tolist() == ["word", "cosine", "lowest", "highest"]
    answers = words.analogy("king", "queen", "monk")
    assert answers[~answers.in_question].word.iloc[0] == "nun"


def test_attention_has_arrays_a_table_and_a_figure(small: explorer.Run) -> None:
    found = small.attention(SENTENCE, seed=1)
    assert found.tokens == found.keys == ("<BOS>", *SENTENCE.split(), "<EOS>")
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, rtol=1e-5)
    np.testing.assert_allclose(found.weights[0, 0], small.trace(SENTENCE, seed=1)["blocks.0.attention.weights"][0])
    table = found.table()
    assert len(table) == 36 and table.loc[7, "key_token"] == "human"
    figure = found.plot(0, 0)
    np.testing.assert_allclose(np.array(figure.data[0].z), found.weights[0, 0], atol=1e-4)
    assert list(figure.layout.xaxis.ticktext)[1] == "human"
    with pytest.raises(InvalidSetting, match="There is no head 4"):
        found.plot(0, 4)
    aligned = explorer.load("dates-additive").attention("3rd of march 1997")
    assert aligned.weights.shape[2:] == (len(aligned.tokens), len(aligned.keys))


def test_a_value_of_the_forward_pass_is_replaced(small: explorer.Run) -> None:
    before = small.trace(SENTENCE)
    same = small.trace(SENTENCE, replace={"embedded": before["embedded"]})
    np.testing.assert_array_equal(same.logits, before.logits)
    patched = small.trace(SENTENCE, replace={"blocks.0.attention.mixed": lambda value: 0 * value})
    assert not np.array_equal(patched.logits, before.logits) and not patched["blocks.0.attention.mixed"].any()
    with pytest.raises(InvalidSetting, match=r"Nearest: blocks\.0"):
        small.trace(SENTENCE, replace={"block.0.attention.mixed": lambda value: value})
    with pytest.raises(InvalidSetting, match="does not fit"):
        small.trace(SENTENCE, replace={"embedded": before["embedded"][:2]})
    zeros = np.zeros(small.trace(SENTENCE)["embedded"].shape)
    assert not small.trace(SENTENCE, replace={"embedded": zeros})["embedded"].any()
    recurrent = explorer.load("negation-single-rnn")
    before = recurrent.trace(SENTENCE)
    state = before["cell.state"]
    same = recurrent.trace(SENTENCE, replace={"cell.state": state})
    np.testing.assert_array_equal(same.logits, before.logits)
    changed = recurrent.trace(SENTENCE, replace={"cell.state": state[::-1].copy()})
    np.testing.assert_array_equal(changed["cell.state"], state[::-1])
    for steps in (len(state) - 1, len(state) + 1):
        with pytest.raises(InvalidSetting, match="does not fit"):
            recurrent.trace(SENTENCE, replace={"cell.state": np.resize(state, (steps, state.shape[1]))})


REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda run: run.generate("a"), "is no language model. Use a run of the task text or string"),
    (lambda run: run.neighbours("king"), "Use a run of the task word_vectors"),
    (lambda run: explorer.load("words-grammar-skip_gram").predict("king"), r"run\.neighbours"),
    (lambda run: explorer.load("text-toy-rnn").attention("abc"), "no attention"),
    (lambda run: explorer.load("dates-vector").attention("3rd of march 1997"), "no attention"),
    (lambda run: explorer.load("text-toy-rnn").surprisal("a"), "fewer than two tokens"),
    (lambda run: run.predict(SENTENCE, step=-1), "no weights of step -1. Give one of 0, 1,"),
    (lambda run: run.predict(SENTENCE, seed=7), "no seed 7. Give one of 0, 1"),
    (lambda run: run.predict([]), "no text to predict"),
    (lambda run: run.predict(3), "A text is needed"),
    (lambda run: run.curves("loss"), "no metric “loss”. There is train_loss"),
    (lambda run: run.plot("loss"), "No run has the metric “loss”"),
    (lambda run: run.export("run.doc"), r"ends in \.py"),
    (lambda run: run.export("no/such/folder/run.py"), "cannot be written"),
    (lambda run: run.url(), r"run\.save\(\)"),
    (lambda run: run.resume(), "nothing left to train"),
    (lambda run: explorer.compare([]), "no run to compare"),
    (lambda run: explorer.train("negation"), "Give a task and a model"),
    (lambda run: explorer.train("negation", "transformer", epoch=3), "Nearest: epochs"),
    (lambda run: explorer.train("negation", "transformer", seeds=99), "from 1 to 32"),
    (lambda run: explorer.train("negation", "transformer", seeds=2, replicas=2), "the same setting"),
    (lambda run: explorer.train("text", "rnn", preset="assignment"), "for the task text and the model transformer"),
    (lambda run: explorer.train("text", "rnn", corpus="missing.txt"), "no corpus and no file"),
    (
        lambda run: explorer.train("negation", "rnn", corpus="mine.csv"),
        "no file “mine.csv”. Give a CSV file with the columns text",
    ),
    (lambda run: explorer.train("recall", "rnn", corpus="toy"), "recall reads no text"),
    (lambda run: explorer.train("negation", "rnn", data=[("good", "a")]), "is of the type list. Give a CSV file"),
    (lambda run: explorer.settings("negation", "ngram"), "cannot be trained on"),
    (lambda run: explorer.list_models("sums"), "There is no task “sums”"),
    (lambda run: explorer.load(3), "its name or its folder is needed, not a value of the type int"),
    (lambda run: explorer.compare(3), "Runs are given as a list"),
    (lambda run: explorer.compare([run]).table(["test_loss"]), "The name of a metric is needed"),
    (lambda run: explorer.train("negation", ["rnn"]), "The name of a model is needed"),
    (lambda run: explorer.train("text", "rnn", corpus="a\0"), "no corpus and no file “a ”"),
    (lambda run: explorer.train("negation", "rnn", data="a\0"), "it is no file name"),
    (lambda run: run.predict(SENTENCE, step=pd.DataFrame()), "no weights of step"),
    (lambda run: run.predict(SENTENCE, seed=[0]), "no seed"),
    (lambda run: run.trace(SENTENCE, replace=[1]), "Replacements are given by name"),
    (lambda run: run.trace(SENTENCE, replace={"embedded": "zero"}), "no array of numbers but of the type str"),
    (lambda run: run.trace(SENTENCE, replace={"embedded": lambda value: None}), "of the type NoneType"),
    (lambda run: run.attention(SENTENCE).plot(0, 0.5), r"There is no head 0\.5"),
    (lambda run: run.attention(SENTENCE).show(0, None), "head = None is not possible"),
    (lambda run: run.save(tags="mine"), "Tags are given as a list of texts"),
    (lambda run: run.save(3), "The name of a run is needed"),
    (lambda run: run.export(None), "The name of a file is needed"),
    (lambda run: run.url(8501), "The address of the server is needed"),
    (lambda run: explorer.load("text-toy-rnn").generate("a", tokens="9"), "tokens = “9” is not possible. Give a w"),
    (lambda run: explorer.load("text-toy-rnn").generate("a", tokens=10**30), "from 1 to 1,000,000"),
    (lambda run: explorer.load("text-toy-rnn").temperature("a", tokens=1.5), "from 1 to 400"),
    (lambda run: explorer.load("words-grammar-skip_gram").neighbours("king", 0), "count = 0 is not possible"),
    (lambda run: explorer.load("words-grammar-skip_gram").neighbours("king", True), "count = True is not possible"),
    (lambda run: run.predict(SENTENCE, step=True), "no weights of step True"),
    (lambda run: run.predict(SENTENCE, seed=0.0), "no seed 0"),
    (lambda run: run.attention(SENTENCE).plot(True), "no layer True"),
    (lambda run: run.attention(SENTENCE).show(live="yes"), "live = “yes” is not possible. Give True or False"),
    (lambda run: run.export("run.csv", force=1), "force = 1 is not possible. Give True or False"),
    *(
        (lambda run, given=given: explorer.load("text-toy-rnn").generate("a", **given), sentence)
        for given, sentence in (
            ({"top_k": "3"}, "top_k = “3” is not possible. Give a whole number"),
            ({"top_k": 2.0}, "top_k = 2.0 is not possible"),
            ({"temperature": True}, "temperature = True is not possible. Give a number"),
            ({"temperature": float("nan")}, "temperature = nan is not possible"),
            ({"temperature": float("inf")}, "temperature = inf is not possible"),
            ({"temperature": -1}, "from 0 to 5"),
            ({"sampling_seed": 1.5}, "sampling_seed = 1.5 is not possible"),
            ({"tokens": True}, "tokens = True is not possible"),
        )
    ),
    *(
        (lambda run, given=given: explorer.train("negation", "rnn", **given), sentence)
        for given, sentence in (
            ({"epochs": "3"}, "epochs = “3” is not possible. Give a whole number"),
            ({"epochs": 1.5}, "epochs = 1.5 is not possible"),
            ({"seeds": 2.0}, "seeds = 2.0 is not possible"),
            ({"learning_rate": True}, "learning_rate = True is not possible. Give a number"),
            ({"learning_rate": float("nan")}, "learning_rate = nan is not possible"),
            ({"fresh_data": 1}, "fresh_data = 1 is not possible. Give True or False"),
            ({"progress": "no"}, "progress = “no” is not possible"),
        )
    ),
    (lambda run: explorer.sweep("negation", "rnn", {"learning_rate": ["1e-3", 0.1]}), "learning_rate = “1e-3”"),
    (lambda run: explorer.sweep("negation", "rnn", {"epochs": [1, 2]}, seeds=True), "seeds = True is not possible"),
]


def test_numbers_of_numpy_are_numbers() -> None:
    run = explorer.train(
        "negation", "rnn", seeds=np.int64(2), epochs=np.int32(1), learning_rate=np.float32(0.01), fresh_data=np.True_
    )
    assert run.settings["epochs"] == 1 and len(run.seeds) == 2
    assert len(run.predict(SENTENCE, seed=np.int64(1))) == 2
    assert explorer.load("text-toy-rnn").generate("a", tokens=np.int8(3), temperature=np.float64(0), top_k=np.uint8(2))


@pytest.mark.parametrize(("action", "sentence"), REFUSED)
def test_what_is_not_possible_is_said_in_a_sentence(
    small: explorer.Run, action: Callable[[Any], object], sentence: str
) -> None:
    with pytest.raises(InvalidSetting, match=sentence):
        action(small)


def test_an_unknown_name_or_word_is_answered_with_similar_ones(small: explorer.Run) -> None:
    with pytest.raises(UnknownRun, match="text-transformer"):
        explorer.load("text-transfomer")
    for name in ("", "x" * 5_000):
        with pytest.raises(UnknownRun, match="There is no run"):
            explorer.load(name)
    with pytest.raises(UnknownWords) as error:
        small.predict("humn preserve nature")
    assert str(error.value).endswith("Known words like “humn”: human, consume, sustain.")


def test_a_run_is_shown_stored_loaded_and_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: explorer.Run
) -> None:
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "home"))
    made = explorer.train("negation", "bag_of_words", seeds=2, epochs=2, progress=False)
    assert not (tmp_path / "home").exists()
    assert made.save("my first run", tags=["try"]) is made and made.folder == tmp_path / "home" / "runs" / made.key
    again = explorer.load(made.key)
    assert again.name == "my first run" and explorer.load(made.folder).key == made.key
    pd.testing.assert_frame_equal(again.curves(), made.curves())
    table = explorer.runs().set_index("key")
    assert table.loc[made.key, "name"] == "my first run" and not table.loc[made.key, "included"]
    assert table.loc[made.key, "exact_accuracy"] == pytest.approx(
        made.metrics().query("metric == 'exact_accuracy'").value.mean()
    )
    assert again.url("http://server/") == f"http://server/runs?run={made.key}"
    explorer.load(made.key).save(note="a note")
    assert explorer.load(made.key).name == "my first run"
    text, html = repr(small), small._repr_html_()
    for part in (small.key, "Transformer", "in memory", "exact_accuracy"):
        assert part in text
    assert small.key in html and "3,522 parameters" in html and "exact_accuracy" in html


@pytest.mark.parametrize("stored_first", [False, True])
def test_a_run_is_exported(small: explorer.Run, tmp_path: Path, stored_first: bool) -> None:
    one = explorer.load("negation-single-rnn") if stored_first else small
    for ending, beginning in ((".py", b'"""'), (".ipynb", b"{"), (".zip", b"PK"), (".csv", b"\xef\xbb\xbfstep,epoch")):
        assert one.export(tmp_path / f"run{ending}").read_bytes().startswith(beginning)
    with pytest.raises(InvalidSetting, match="force=True to overwrite"):
        one.export(tmp_path / "run.py")
    one.export(tmp_path / "run.py", force=True)
    assert (tmp_path / "run.safetensors").exists()


NOT_DATA = "the data that they are measured on differ (p_not 0.35; 0.5)"


def test_runs_are_compared(small: explorer.Run) -> None:
    found = explorer.compare([small, "negation-single-rnn"])
    table = found.table()
    assert table.model.tolist() == ["transformer", "rnn"] and table.seeds.tolist() == [2, 8]
    assert table.test_loss[0] == pytest.approx(small.metrics().query("metric == 'test_loss'").value.mean())
    one = found.table("test_loss")
    assert one.model.tolist() == ["rnn", "transformer"]  # the best first
    assert one.difference[0] == pytest.approx(one["mean"][0] - one["mean"][1]) and np.isnan(one.difference[1])
    assert one.low[0] <= one.difference[0] <= one.high[0] and 0 <= one.p[0] <= 1
    assert found.table("test_accuracy").model.tolist() == ["rnn", "transformer"]
    assert found.settings().loc["model"].tolist() == ["transformer", "rnn"]
    assert set(found.curves("test_loss").run) == set(found.names)
    assert set(found.curves("batch_loss").metric) == {"batch_loss"}
    figure = found.plot("test_loss")
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == found.names
    assert "transformer" in found._repr_html_() and "Comparison of 2 runs" in repr(found)
    assert explorer.compare(["text-toy-rnn", "text-rnn"]).notes()


def test_runs_that_cannot_be_compared_keep_their_order_and_the_table_says_why() -> None:
    runs = ["negation-single-rnn", "negation-half-rnn", "negation-single-lstm"]
    table = explorer.compare(runs).table("test_loss")
    assert table.note.tolist() == ["", f"These values cannot be compared directly: {NOT_DATA}.", ""]
    assert table.key.tolist() == [explorer.load(run).key for run in runs]
    assert table.difference.isna().tolist() == [True, True, False]
    assert "note" in explorer.compare(["text-toy-rnn", "text-rnn"]).table()


def test_every_setting_of_every_model_is_listed() -> None:
    for task in explorer.list_tasks().task:
        for model in explorer.list_models(task).model:
            table = explorer.settings(task, model).set_index("setting")
            assert table.index.is_unique and table.help.str.len().min() > 5
            config = default_config(task, model)
            with_settings(config, table.default.to_dict())  # every name is accepted, with its default
            assert with_settings(config, table.default.to_dict()) == config


def end_with(error: BaseException, steps: int) -> Callable[..., Iterator[Any]]:
    """Return a training that ends with an error after some steps."""

    def events(*arguments: Any) -> Iterator[Any]:
        for event in training_events(*arguments):
            if steps == 0:
                raise error
            yield event
            if isinstance(event, Step) and event.step == steps:
                raise error

    return events


def test_trainings_that_end_early_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explorer.train("negation", "bag_of_words", epochs=4, progress=False)
    with monkeypatch.context() as changed, pytest.warns(UserWarning, match=r"run\.resume\(\) trains the rest"):
        changed.setattr("explorer.training.train.train", end_with(KeyboardInterrupt(), 40))
        part = explorer.train("negation", "bag_of_words", epochs=4, progress=False)
    assert part.state == "stopped" and 0 < part.step <= 40 and part.predict(SENTENCE).shape == (2, 2)
    rest = part.resume(progress=False)
    np.testing.assert_array_equal(rest.curves_of_run.losses, whole.curves_of_run.losses)
    assert rest.state == "finished" and rest.key == whole.key
    with monkeypatch.context() as changed, pytest.warns(UserWarning, match="grew"):
        changed.setattr("explorer.training.train.train", end_with(Diverged("The weights grew."), 40))
        found = explorer.train("negation", "bag_of_words", epochs=4, progress=False)
    assert found.state == "diverged" and "diverged at step" in repr(found)
    with pytest.raises(InvalidSetting, match="diverged at step"):
        found.resume()

    for error in (KeyboardInterrupt(), Diverged("The weights grew.")):  # before the first evaluation there is no run
        monkeypatch.setattr("explorer.training.train.train", end_with(error, 0))
        with pytest.raises(type(error)):
            explorer.train("negation", "bag_of_words", progress=False)


def test_a_training_leaves_the_threads_and_writes_a_progress_bar_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        explorer.train("negation", "bag_of_words", epochs=1)  # without a terminal
        assert torch.get_num_threads() == 2 and capsys.readouterr() == ("", "")
    finally:
        torch.set_num_threads(before)
    explorer.train("negation", "bag_of_words", epochs=1, progress=True)
    assert "13/13" in capsys.readouterr().err


def test_own_files_and_tables_are_trained_on(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("the cat sat on the mat. " * 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = explorer.train(
            "text", "rnn", corpus=tmp_path / "own.txt", iterations=5, width=8, hidden=8, progress=False
        )
    assert own.config.own_text and len(own.predict("the").token) == len(set("the cat sat on the mat. "))
    table = pd.DataFrame([(a + b, (a + b)[::-1]) for a in "abcdef" for b in "ghijkl"], columns=["source", "target"])
    table.to_csv(tmp_path / "own.csv", index=False)
    settings: Any = {"attention": "additive", "hidden": 8, "width": 6, "iterations": 2, "progress": False}
    own, of_file = (
        explorer.train("pairs", "encoder_decoder", data=data, **settings) for data in (table, tmp_path / "own.csv")
    )
    assert of_file.key == own.key
    assert own.config.task.longest_target == 2  # type: ignore[union-attr]
    found = own.predict("ag")
    assert found.correct[0] in (True, False), "the right answer is known"
    assert own.predict("aa").correct[0] is None
    assert own.attention("ag").keys == ("a", "g")


def test_own_labelled_sentences_are_trained_on(tmp_path: Path) -> None:
    ends = {"good": "happy", "bad": "angry"}
    rows = [
        (f"we think that the {word} was {end}", ends[end])
        for word in ("tea", "soup", "bread", "cake", "fish", "rice", "salad", "cheese")
        for end in ends
    ]
    table = pd.DataFrame(rows, columns=["text", "label"])
    table.to_csv(tmp_path / "own.csv", index=False)
    own = explorer.train("negation", "transformer", data=table, seeds=2, epochs=60, progress=False)
    found = own.predict(["we think that the tea was good", "we think that the tea was bad"])
    assert own.config.model.window == 9  # type: ignore[union-attr]
    data, task = tmp_path / "own.csv", own.config.task
    half = explorer.train("negation", "rnn", data=data, held_out_share=0.5, epochs=1, progress=False).config.task
    assert (task.train_size, half.train_size) == (12, 8)  # type: ignore[union-attr]
    assert found.groupby("text").label.first().tolist() == ["angry", "happy"]
    attention = own.attention("we think that the tea was good")
    assert attention.tokens == ("<BOS>", *["we", "think", "that", "the", "tea", "was", "good"], "<EOS>")
    assert attention.show().data["answers"]["rows"][0]["text"] == "happy"  # type: ignore[index]


@needs.sentences
def test_own_english_sentences_are_added_and_a_run_reads_any_text() -> None:
    table = pd.DataFrame({"text": ["zzz one", "zzz two", "yyy one", "yyy two"], "label": ["1", "1", "0", "0"]})
    settings: Any = {"reviews": 60, "composed": 0, "words": 0, "iterations": 3, "progress": False}
    with pytest.raises(TextError, match="neither positive nor negative"):
        explorer.train("sentiment", "rnn", data=table.replace("1", "blue"), **settings)
    own = explorer.train("sentiment", "transformer", data=table, seeds=2, **{**settings, "reviews": 1})
    assert own.config.own_text and sorted(own.predict("Not bad, isn’t it?").label) == ["negative", "positive"]
    with pytest.warns(UserWarning, match="left out"):
        attention = own.attention("It isn’t 映画 bad.")
    assert attention.tokens == ("<BOS>", "it", "is", "not", "bad", "<EOS>")
    assert attention.show().data["answers"]["rows"][0]["text"] in ("negative", "positive")  # type: ignore[index]
    trace = own.trace("It is not bad")
    np.testing.assert_allclose(trace["blocks.1.attention.weights"], attention.weights[1], atol=1e-6)


def test_own_sentences_that_cannot_be_read_are_refused() -> None:
    pairs = pd.DataFrame({"source": list("abcdefghij"), "label": [1] * 10})
    sentences = pd.DataFrame({"text": ["a b c d e f g h i j"] * 20, "class": [1] * 20})
    for task, model, data, sentence in (
        ("pairs", "encoder_decoder", pairs, "columns source and target"),
        ("recall", "transformer", "own.csv", "tasks negation, sentiment and pairs"),
        ("negation", "transformer", "missing.csv", "cannot be read"),
        ("negation", "transformer", sentences, "label"),
    ):
        with pytest.raises(LineageError, match=sentence):
            explorer.train(task, model, data=data, progress=False)


def test_a_sweep_gives_a_table_a_best_run_and_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    found = explorer.sweep(
        "negation", "rnn", {"learning_rate": [1e-4, 1e-2]}, seeds=1, epochs=2, train_size=64, progress=True
    )
    table = found.table()
    assert isinstance(table, pd.DataFrame) and len(table) == len(found) == 2
    assert set(table.learning_rate) == {1e-4, 1e-2}
    best = found.best()
    assert best.key == table.run.iloc[0] and store.find(best.key).card.finished
    assert best.settings["learning_rate"] == 1e-2
    assert found.winner is None or found.winner == {"learning_rate": 0.01}
    assert isinstance(found.plot(), go.Figure)
    assert found.finding in repr(found) and found.finding in found._repr_html_()
    assert "4/4" in capsys.readouterr().err
    assert explorer.load(table.confirmation.iloc[0]).seeds == list(range(1000, 1008))


def test_what_is_not_possible_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="executor = cloud is not possible"):
        explorer.sweep("negation", "rnn", {"learning_rate": [1e-3, 1e-2]}, executor="cloud")
    with pytest.raises(InvalidSetting, match="Give a task and a model"):
        explorer.sweep("negation", "", {"learning_rate": [1e-3, 1e-2]})
    with pytest.raises(InvalidSetting, match="no setting “lerning_rate”"):
        explorer.sweep("negation", "rnn", {"learning_rate": [1e-3, 1e-2]}, lerning_rate=1)
