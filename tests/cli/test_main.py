"""The command line, in this process and in processes of its own."""

from __future__ import annotations

import hashlib
import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from explorer.catalogue import MODELS
from explorer.environment import environment
from explorer.experiments.pretraining import shipped_configs
from explorer.jobs import time_budget
from explorer.run_store import store
from explorer.tasks.text.rows import drop_text_data
from explorer.training.config import default_config, key, with_settings
from tests.terminal import RunCommand, parse_json_lines

ROOT = Path(__file__).parents[2]
SHORT = ("--set", "epochs=2", "--set", "train_size=211")


def train(model: str, *options: str) -> tuple[str, ...]:
    return ("train", "--task", "negation", "--model", model, *SHORT, *options)


def test_list_names_models_tasks_and_runs(ask: RunCommand) -> None:
    code, out, _ = ask("list")
    assert code == 0
    for name in [*MODELS, *shipped_configs(), "negation", str(environment().runs)]:
        assert name in out


def test_list_as_json(ask: RunCommand) -> None:
    ask(*train("rnn", "--json"))
    code, out, err = ask("list", "--json")
    rows = parse_json_lines(out)
    assert (code, err) == (0, "")
    assert [row["name"] for row in rows if row["kind"] == "model"] == list(MODELS)
    assert {row["name"] for row in rows if row["kind"] == "pretrained"} == set(shipped_configs())
    config = with_settings(default_config("negation", "rnn"), {"epochs": 2, "train_size": 211})
    assert [row["run"] for row in rows if row["kind"] == "run"] == [key(config)]


def test_train_stores_a_run_that_predict_can_use(ask: RunCommand) -> None:
    code, out, _ = ask(*train("gru", "--seed", "5", "--replicas", "3"))
    config = with_settings(
        default_config("negation", "gru"), {"epochs": 2, "train_size": 211, "seed": 5, "replicas": 3}
    )
    assert code == 0
    assert "GRU: 2,586 parameters, 3 seed(s)" in out
    assert store.find(key(config)).config == config
    code, out, _ = ask("predict", key(config), "human not preserve nature")
    assert code == 0
    assert out.startswith("collapse ")


def test_train_as_json_ends_with_the_metrics(ask: RunCommand) -> None:
    code, out, err = ask(*train("bag_of_words", "--replicas", "3", "--json"))
    assert (code, err) == (0, "")
    *steps, last = parse_json_lines(out)
    assert steps[-1]["kind"] == "step"
    assert (steps[-1]["step"], steps[-1]["of"], len(steps[-1]["loss"])) == (8, 8, 3)
    assert list(last) == ["kind", "run", "seconds", "metrics"]
    assert (last["kind"], len(last["run"])) == ("finished", 12)
    accuracy = last["metrics"]["test_accuracy"]
    assert len(accuracy["values"]) == 3
    assert accuracy["mean"] == pytest.approx(sum(accuracy["values"]) / 3)


def test_train_into_a_folder(ask: RunCommand, tmp_path: Path) -> None:
    assert ask(*train("rnn", "--out", str(tmp_path / "mine")))[0] == 0
    assert store.load(tmp_path / "mine").config.model == default_config("negation", "rnn").model
    other = train("rnn", "--out", str(tmp_path / "mine"), "--seed", "3")
    code, out, err = ask(*other)
    assert (code, out) == (2, "") and "contains another run" in err and "--force" in err
    assert store.load(tmp_path / "mine").config.seed == 0
    assert ask(*other, "--force")[0] == 0
    assert store.load(tmp_path / "mine").config.seed == 3


def test_train_does_not_overwrite_other_folders(ask: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    code, _, err = ask(*train("rnn", "--out", str(tmp_path / "thesis")))
    assert code == 2
    assert "is not a run folder" in err
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def test_predict_as_json(ask: RunCommand) -> None:
    code, out, err = ask("predict", "negation-single-transformer", "Human NOT preserve nature!", "--json")
    assert (code, err) == (0, "")
    (prediction,) = parse_json_lines(out)
    assert list(prediction) == ["kind", "sentence", "tokens", "probabilities"]
    assert prediction["sentence"] == "Human NOT preserve nature!"
    assert prediction["tokens"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    assert list(prediction["probabilities"]) == ["collapse", "sustain"]
    assert prediction["probabilities"]["collapse"] > 0.9
    assert sum(prediction["probabilities"].values()) == pytest.approx(1)


def test_evaluate_as_json_agrees_with_the_card(ask: RunCommand) -> None:
    code, out, err = ask("evaluate", "negation-held-out-rnn", "--json")
    assert (code, err) == (0, "")
    (evaluation,) = parse_json_lines(out)
    card = store.find("negation-held-out-rnn").card
    assert (evaluation["kind"], evaluation["run"]) == ("evaluation", card.key)
    assert evaluation["metrics"]["exact_accuracy"]["values"] == pytest.approx(card.metrics["exact_accuracy"].values)


def test_evaluate_prints_the_metrics_as_text(ask: RunCommand) -> None:
    code, out, _ = ask("evaluate", "negation-single-bag_of_words")
    assert code == 0
    assert "exact_accuracy             0.883" in out


INVALID_ARGUMENTS: dict[str, tuple[tuple[str, ...], str]] = {
    "set without =": (train("rnn", "--set", "p_not"), "--set p_not has no “=”"),
    "unknown model": (train("transfromer"), "no model “transfromer”. Nearest: transformer"),
    "unknown task": (("train", "--task", "negatoin", "--model", "rnn"), "Nearest: negation"),
    "unknown setting": (train("rnn", "--set", "hiden=3"), "no setting “hiden”. Nearest: hidden"),
    "setting of another model": (train("rnn", "--set", "heads=3"), "no setting “heads”"),
    "impossible value": (train("rnn", "--set", "p_not=2"), "p_not = 2 is not possible. Give a number from 0 to 1."),
    "not a number": (train("rnn", "--seed", "one"), "seed = one is not possible"),
    "nan": (train("rnn", "--set", "learning_rate=nan"), "learning_rate = nan is not possible"),
    "too many replicas": (
        train("rnn", "--replicas", "33"),
        "replicas = 33 is not possible. Give a whole number from 1 to 32.",
    ),
    "two that do not fit": (train("transformer", "--set", "heads=3"), "heads = 3 does not divide width = 16"),
    "unknown run": (("predict", "nonsense", "human"), "There is no run “nonsense”"),
    "unknown run to evaluate": (("evaluate", "aaaaaaaaaaaa"), "There is no run “aaaaaaaaaaaa”"),
    "no run": (("predict", "", "human"), "There is no run “”"),
    "no corpus": (("train", "--task", "text", "--model", "gru", "--corpus", ""), "There is no corpus and no file “”"),
    "a corpus of another task": (
        ("train", "--task", "word_vectors", "--model", "skip_gram", "--corpus", "toy"),
        "The corpora are grammar, tinyshakespeare.",
    ),
    "no text": (("train", "--task", "recall", "--model", "gru", "--corpus", "toy"), "recall reads no text"),
    "endless": (("train", "--task", "text", "--model", "gru", "--max-seconds", "inf"), "'--max-seconds'"),
    "unknown word": (("predict", "negation-single-rnn", "human destroys nature"), "“destroys”"),
    "no word": (("predict", "negation-single-rnn", "..."), "no word in this sentence"),
    "emoji": (("predict", "negation-single-rnn", "🌍"), "never saw “🌍”"),
    "too long": (("predict", "negation-single-rnn", "not " * 10_000), "has 10,000 words"),
    "nothing to pretrain": (("pretrain",), "Name the runs to train"),
    "unknown run to pretrain": (("pretrain", "negation-single-rn"), "There is no included run"),
}


@pytest.mark.parametrize("case", INVALID_ARGUMENTS)
@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_invalid_arguments_print_one_sentence_on_standard_error(case: str, as_json: bool, ask: RunCommand) -> None:
    arguments, message = INVALID_ARGUMENTS[case]
    code, out, err = ask(*arguments, *(["--json"] if as_json else []))
    assert code == 2
    assert parse_json_lines(out) == ([{"kind": "error", "message": err.strip(), "code": 2}] if as_json else [])
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_nearest_words_are_suggested(ask: RunCommand) -> None:
    _, _, err = ask("predict", "negation-single-rnn", "human destroys nature")
    assert "never saw “destroys”" in err and "Known words like “destroys”: destroy, preserve, sustain." in err


def run_process(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env={"LINEAGE_HOME": str(home)}, capture_output=True, text=True
    )


@pytest.mark.slow
def test_train_in_a_process_writes_json_only(home: Path) -> None:
    process = run_process("-m", "explorer", *train("transformer", "--replicas", "2", "--json"), home=home)
    assert (process.returncode, process.stderr) == (0, "")
    rows = parse_json_lines(process.stdout)
    assert {row["kind"] for row in rows[:-1]} == {"step"}
    assert list(rows[-1]) == ["kind", "run", "seconds", "metrics"]
    assert (home / "runs" / rows[-1]["run"] / "card.json").is_file()


@pytest.mark.slow
def test_an_error_in_a_process_prints_no_traceback(home: Path) -> None:
    process = run_process("-m", "explorer", "predict", "nonsense", "human", home=home)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.count("\n") == 1


@pytest.mark.slow
def test_predicting_loads_no_streamlit(home: Path) -> None:
    code = """
import sys
sys.argv = ["explorer", "predict", "negation-single-rnn", "human destroy nature", "--json"]
import explorer.__main__
assert not {"torch", "streamlit", "plotly"} & set(sys.modules), "on import"
try:
    explorer.__main__.main()
finally:
    assert "torch" in sys.modules and not {"streamlit", "plotly"} & set(sys.modules), "on predict"
"""
    process = run_process("-c", code, home=home)
    assert "AssertionError" not in process.stderr
    assert process.returncode == 0


def test_imports_of_the_first_page_load_no_torch(home: Path) -> None:
    code = """
import sys
import explorer.catalogue, explorer.training.config, explorer.jobs.scheduler, explorer.run_store.store
import explorer.experiments.pretraining, explorer.export.python_file, explorer.tasks.ceiling
assert not {"torch", "streamlit"} & set(sys.modules)
"""
    process = run_process("-c", code, home=home)
    assert (process.returncode, process.stderr) == (0, "")


# ---- stored runs


def train_stored_run(ask: RunCommand) -> str:
    ask(*train("rnn", "--json"))
    return key(with_settings(default_config("negation", "rnn"), {"epochs": 2, "train_size": 211}))


@pytest.mark.slow
def test_an_exported_run_can_be_imported(ask: RunCommand, tmp_path: Path) -> None:
    run, file = train_stored_run(ask), tmp_path / "run.zip"
    code, out, err = ask("export", run, str(file), "--json")
    assert (code, err, parse_json_lines(out)[0]["run"]) == (0, "", run)
    assert parse_json_lines(out)[0]["bytes"] == file.stat().st_size
    assert ask("delete", run)[0] == 0
    assert list(environment().runs.iterdir()) == list(environment().trash.iterdir()) == []
    code, out, err = ask("import", str(file), "--json")
    assert (code, err, parse_json_lines(out)) == (0, "", [{"kind": "imported", "run": run}])
    assert store.find(run).card.owner == ""


def test_reindex_rebuilds_the_index(ask: RunCommand) -> None:
    train_stored_run(ask)
    code, out, _ = ask("reindex", "--json")
    assert (code, parse_json_lines(out)) == (0, [{"kind": "reindexed", "runs": len(shipped_configs()) + 1}])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "negation-single-rnn", "/nowhere/at/all.zip"), "cannot be written"),
        (("import", "/nowhere/at/all.zip"), "cannot be read"),
        (("delete", "negation-single-rnn"), "cannot be changed or deleted"),
        (("delete", "aaaaaaaaaaaa"), "There is no run"),
    ],
)
def test_errors_with_stored_runs_print_one_sentence(arguments: tuple[str, ...], message: str, ask: RunCommand) -> None:
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    assert message in err and "Traceback" not in err


def test_importing_a_file_that_is_no_zip_leaves_nothing(ask: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(b"no zip")
    code, out, err = ask("import", str(tmp_path / "run.zip"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not environment().runs.exists()


# ---- language models

TEXT = ("--corpus", "brackets", "--set", "size=3000", "--set", "context=8")
SMALL = ("--set", "iterations=12", "--set", "batch_size=4", "--set", "width=8", "--set", "hidden=12")


def train_text(model: str, *options: str) -> tuple[str, ...]:
    sizes = () if model == "ngram" else SMALL
    return ("train", "--task", "text", "--model", model, *TEXT, *sizes, *options)


@pytest.mark.parametrize("model", ["ngram", "gru", "transformer"])
def test_a_language_model_is_trained_and_evaluated_and_generates_text(ask: RunCommand, model: str) -> None:
    code, out, _ = ask(*train_text(model, "--json"))
    assert code == 0
    finished = parse_json_lines(out)[-1]
    assert {"val_loss", "perplexity", "bits_per_char"} <= finished["metrics"].keys()
    code, out, _ = ask("evaluate", finished["run"], "--json")
    assert (code, parse_json_lines(out)[0]["as_on_card"]) == (0, True)
    write = ("generate", finished["run"], "--prompt", "(a", "--tokens", "30", "--json")
    first, again, other = (parse_json_lines(ask(*write, "--seed", seed)[1])[0] for seed in ("1", "1", "2"))
    assert first == again
    assert first["prompt"] == "(a"
    assert len(first["texts"][0]) == 30
    assert first["texts"] != other["texts"]
    greedy = [parse_json_lines(ask(*write, "--greedy", "--seed", seed)[1])[0]["texts"] for seed in ("1", "2")]
    assert greedy[0] == greedy[1]


def test_unknown_characters_of_the_prompt_are_listed_and_left_out(ask: RunCommand) -> None:
    _, out, _ = ask(*train_text("ngram", "--json"))
    code, out, err = ask("generate", parse_json_lines(out)[-1]["run"], "--prompt", "(ZZ€a", "--tokens", "5")
    assert code == 0
    assert out.startswith("(a")
    assert err == "Not in the vocabulary: 'Z', '€' (left out).\n"


def test_nothing_is_said_about_the_default_prompt_of_a_model_without_line_breaks(ask: RunCommand) -> None:
    code, out, err = ask("generate", "text-toy-transformer", "--tokens", "5")
    assert (code, err) == (0, "") and out.strip()


def test_characters_read_as_unknown_tokens_are_not_reported_as_left_out(ask: RunCommand) -> None:
    _, out, _ = ask(*train_text("ngram", "--tokenizer", "bpe", "--set", "vocabulary=20", "--json"))
    run = parse_json_lines(out)[-1]["run"]
    code, out, err = ask("generate", run, "--prompt", "a日本", "--tokens", "5")
    assert (code, err) == (0, "Not in the vocabulary: '日', '本' (read as <unk>).\n")
    generated = parse_json_lines(ask("generate", run, "--prompt", "a日本", "--tokens", "5", "--json")[1])[0]
    assert (generated["dropped"], generated["unknown"]) == ([], ["日", "本"])


def test_the_prompt_is_lower_cased_if_the_training_text_was(ask: RunCommand) -> None:
    _, out, _ = ask(*train_text("ngram", "--set", "lower=true", "--json"))
    run = parse_json_lines(out)[-1]["run"]
    code, out, err = ask("generate", run, "--prompt", "(A", "--tokens", "5")
    assert code == 0 and out.startswith("(a")
    assert "lower-case letters only" in err and "prompt is lower-cased" in err and err.count("\n") == 1
    generated = parse_json_lines(ask("generate", run, "--prompt", "(A", "--tokens", "5", "--json")[1])[0]
    assert (generated["prompt"], generated["lowered"], generated["dropped"]) == ("(a", True, [])
    assert ask("generate", run, "--prompt", "(a", "--tokens", "5")[2] == ""


def test_a_model_of_padded_prefixes_generates_the_samples_of_its_training(ask: RunCommand) -> None:
    settings = ("rows=prefixes", "split=pairs", "corpus=repeats", "tokenizer=bpe", "vocabulary=60", "sample=20")
    training_settings = (
        "iterations=60",
        "learning_rate=0.05",
    )  # long enough that padding affects the generated text
    options = (word for pair in settings + training_settings for word in ("--set", pair))
    _, out, _ = ask(*train_text("transformer", *options, "--json"))
    run = parse_json_lines(out)[-1]["run"]
    result = parse_json_lines(ask("generate", run, "--prompt", "\n", "--tokens", "20", "--seed", "0", "--json")[1])[0]
    assert result["texts"][0] == store.find(run).curves.samples[-1][0]


OWN = "to be or not to be, that is the question. " * 50


def train_on_file(ask: RunCommand, file: Path) -> str:
    """Train a run on the text of a file, remove the text from this process's cache and return the key of the run."""
    file.write_text(OWN, encoding="utf-8")
    code, out, err = ask(
        "train", "--task", "text", "--model", "gru", "--corpus", str(file), "--tokenizer", "char", *SMALL, "--json"
    )
    assert (code, err) == (0, "")
    drop_text_data(hashlib.sha256(OWN.encode()).hexdigest())
    run: str = parse_json_lines(out)[-1]["run"]
    return run


def test_a_run_trained_on_a_file_generates_without_it(ask: RunCommand, tmp_path: Path) -> None:
    run = train_on_file(ask, tmp_path / "own.txt")
    assert parse_json_lines(ask("generate", run, "--tokens", "9", "--json")[1])[0]["texts"]


def test_a_run_trained_on_a_file_is_evaluated_with_it(ask: RunCommand, tmp_path: Path) -> None:
    run = train_on_file(ask, tmp_path / "own.txt")
    code, out, err = ask("evaluate", run)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith("On the command line, give its file with --corpus FILE.\n")
    code, out, err = ask("evaluate", run, "--corpus", str(tmp_path / "own.txt"), "--json")
    assert (code, err, parse_json_lines(out)[0]["as_on_card"]) == (0, "", True)


def test_a_run_is_evaluated_only_with_its_own_text(ask: RunCommand, tmp_path: Path) -> None:
    run = train_on_file(ask, tmp_path / "own.txt")
    (tmp_path / "other.txt").write_text(OWN + "!")
    for arguments, message in (
        ((run, "--corpus", str(tmp_path / "other.txt")), "is not the text of this run: its SHA-256 begins with"),
        ((run, "--corpus", str(tmp_path / "none.txt")), "There is no file"),
        (("negation-single-rnn", "--corpus", str(tmp_path / "own.txt")), "Leave --corpus out."),
    ):
        code, out, err = ask("evaluate", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err


@pytest.mark.parametrize("file", ["/proc/self/mem", "a" * 300])
def test_an_unreadable_file_prints_one_sentence(ask: RunCommand, file: str) -> None:
    code, out, err = ask("train", "--task", "text", "--model", "gru", "--corpus", file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "cannot be read: " in err and err.endswith("Give another file.\n")


def test_a_target_loss_that_was_not_reached_is_reported(ask: RunCommand) -> None:
    (note,) = parse_json_lines(ask(*train_text("gru", "--stop-at", "val_loss=0.01", "--json"))[1])[-1]["notes"]
    assert re.fullmatch(r"A validation loss of 0\.01 .*not reached.* 12 steps .*\d\.\d{3}\.", note)
    assert f"\n{note}\n" in ask(*train_text("gru", "--stop-at", "val_loss=0.01"))[1]  # the run exists now
    assert "was not reached" not in ask(*train_text("gru", "--stop-at", "val_loss=50"))[1]


def test_fewer_tokens_than_requested_are_reported(ask: RunCommand) -> None:
    _, out, _ = ask(*train_text("ngram", "--tokenizer", "word", "--set", "vocabulary=5000"))
    assert re.search(r"^5,000 tokens were requested; .* (\d,)?\d{1,3}\.$", out, re.MULTILINE)
    for sufficient_settings in (("--set", "vocabulary=5000"), ("--tokenizer", "word", "--set", "vocabulary=20")):
        assert (
            "were requested" not in ask(*train_text("ngram", *sufficient_settings))[1]
        )  # the character vocabulary has no requested size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "--model", "gru"), "Give --task and --model, or a --preset. "),
        (("train", "--preset", "best"), "There is no preset “best”. There is assignment, assignment-original, "),
        (("train", "--preset", "assignment", "--model", "gru"), "Preset assignment is for --task text --model transf"),
        (
            train_text("gru", "--corpus", "nowhere"),
            "There is no corpus and no file “nowhere”. The corpora are tinyshakespeare, ",
        ),
        (train_text("gru", "--stop-at", "loss=3"), "--stop-at loss=3 is not possible. Write it as val_loss=LOSS"),
        (train_text("gru", "--stop-at", "val_loss=low"), "stop_at = low is not possible. Give a number from 0 to 100."),
        (
            train_text("ngram", "--stop-at", "val_loss=2"),
            "An n-gram is fitted in one step: --stop-at and --max-seconds ",
        ),
        (
            train_text("ngram", "--max-seconds", "5"),
            "An n-gram is fitted in one step: --stop-at and --max-seconds have",
        ),
        (train("rnn", "--stop-at", "val_loss=2"), "--stop-at needs a validation loss, which only runs on text "),
        (train_text("bag_of_words"), "Bag of words cannot be trained on Text. There is ngram, "),
        (
            train_text("gru", "--tokenizer", "pieces"),
            "tokenizer = pieces is not possible. Give one of char, word",
        ),
        (
            train_text("gru", "--set", "batch_size=2048", "--set", "context=1024"),
            "These settings ask for 2,097,152 tokens",
        ),
        (
            ("generate", "negation-single-rnn"),
            "negation-single-rnn is a run of the task negation; this command needs a run",
        ),
    ],
)
def test_invalid_text_settings_print_one_sentence(ask: RunCommand, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [b"abc", b"\xff\xfeh\x00i\x00", bytes(range(256)) * 8])
def test_a_file_that_is_no_text_prints_one_sentence(ask: RunCommand, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "own.txt"
    file.write_bytes(content)
    code, _, err = ask("train", "--task", "text", "--model", "gru", "--corpus", str(file))
    assert code == 2
    assert err.count("\n") == 1


def test_invalid_sampling_settings_are_rejected(ask: RunCommand) -> None:
    _, out, _ = ask(*train_text("ngram", "--json"))
    for option, value in (("--temperature", "-1"), ("--top-p", "2"), ("--top-k", "many"), ("--seed", "x")):
        code, _, err = ask("generate", parse_json_lines(out)[-1]["run"], option, value)
        assert (code, err.count("\n")) == (2, 1), err


def test_a_time_budget_is_converted_into_a_number_of_steps(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()  # 0.1 s pass between two readings, however busy the machine is
    monkeypatch.setattr(time_budget, "time", SimpleNamespace(perf_counter=lambda: next(clock) / 10))
    code, out, _ = ask(*train_text("gru", "--max-seconds", "1", "--json"))
    assert code == 0
    steps = [line["of"] for line in parse_json_lines(out) if line["kind"] == "step"]
    assert len({*steps}) == 1
    assert steps[0] > 12


# ---- labelled sentences of one's own


def write_sentences(file: Path) -> Path:
    rows = [
        f"the {who} {verb} {what},{'good' if verb == 'likes' else 'bad'}"
        for who, verb, what in itertools.product(("cat", "dog", "bird"), ("likes", "hates"), ("rain", "snow", "sun"))
    ]
    file.write_text("\n".join(["text,label", *rows]))
    return file


def test_a_file_of_labelled_sentences_is_trained_on_and_asked(ask: RunCommand, tmp_path: Path) -> None:
    file = write_sentences(tmp_path / "sentences.csv")
    options = ("--task", "negation", "--model", "bag_of_words", "--replicas", "2", "--set", "epochs=30")
    code, out, err = ask("train", *options, "--corpus", str(file), "--json")
    assert (code, err) == (0, "")
    run = parse_json_lines(out)[-1]["run"]
    drop_text_data(hashlib.sha256(file.read_bytes()).hexdigest())
    (prediction,) = parse_json_lines(ask("predict", run, "The bird likes snow!", "--json")[1])
    assert list(prediction["probabilities"]) == ["bad", "good"]
    assert prediction["probabilities"]["good"] > 0.5 and sum(prediction["probabilities"].values()) == pytest.approx(1)
    assert prediction["tokens"] == ["<BOS>", "the", "bird", "likes", "snow", "<EOS>"]
    assert "\ngood " in ask("predict", run, "the cat hates rain")[1]
    assert ask("evaluate", run, "--corpus", str(file))[0] == 0


def test_inspect_reads_own_sentences_with_the_words_of_their_run(ask: RunCommand, tmp_path: Path) -> None:
    file, arrays = write_sentences(tmp_path / "sentences.csv"), tmp_path / "attention.npz"
    options = ("--task", "negation", "--model", "transformer", "--set", "epochs=1")
    run = parse_json_lines(ask("train", *options, "--corpus", str(file), "--json")[1])[-1]["run"]
    code, _, err = ask("inspect", run, "the zebra likes snow", "--out", str(arrays))
    assert (code, err) == (0, "Not in the vocabulary: 'zebra' (read as <unk>).\n")
    with np.load(arrays) as found:
        assert found["tokens"].tolist() == ["<BOS>", "the", "<UNK>", "likes", "snow", "<EOS>"]


def test_a_file_without_labels_is_one_sentence(ask: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("one\ntwo\n" * 100)
    for file, message in ((tmp_path / "plain.csv", "text,label"), (tmp_path / "none.csv", "There is no file")):
        code, out, err = ask("train", "--task", "negation", "--model", "rnn", "--corpus", str(file))
        assert (code, out, err.count("\n")) == (2, "", 1) and message in err
