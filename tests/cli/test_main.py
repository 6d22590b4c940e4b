"""The command line, in this process and in processes of its own."""

from __future__ import annotations

import hashlib
import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

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


def train(model: str, *more: str) -> tuple[str, ...]:
    return ("train", "--task", "negation", "--model", model, *SHORT, *more)


def test_list_names_what_there_is(ask: RunCommand) -> None:
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


def test_train_keeps_a_run_that_can_be_asked(ask: RunCommand) -> None:
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


def test_train_as_json_ends_with_what_came_out(ask: RunCommand) -> None:
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
    assert ask(*train("rnn", "--out", str(tmp_path / "mine"), "--seed", "3"))[0] == 0
    assert store.load(tmp_path / "mine").config.seed == 3


def test_train_overwrites_nothing_that_is_no_run(ask: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    code, _, err = ask(*train("rnn", "--out", str(tmp_path / "thesis")))
    assert code == 2
    assert "is not a run folder" in err
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def test_predict_as_json(ask: RunCommand) -> None:
    code, out, err = ask("predict", "negation-single-transformer", "Human NOT preserve nature!", "--json")
    assert (code, err) == (0, "")
    (said,) = parse_json_lines(out)
    assert list(said) == ["sentence", "tokens", "probabilities"]
    assert said["sentence"] == "Human NOT preserve nature!"
    assert said["tokens"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    assert list(said["probabilities"]) == ["collapse", "sustain"]
    assert said["probabilities"]["collapse"] > 0.9
    assert sum(said["probabilities"].values()) == pytest.approx(1)


def test_evaluate_as_json_agrees_with_the_card(ask: RunCommand) -> None:
    code, out, err = ask("evaluate", "negation-held-out-rnn", "--json")
    assert (code, err) == (0, "")
    (said,) = parse_json_lines(out)
    card = store.find("negation-held-out-rnn").card
    assert (said["kind"], said["run"]) == ("evaluation", card.key)
    assert said["metrics"]["exact_accuracy"]["values"] == pytest.approx(card.metrics["exact_accuracy"].values)


def test_evaluate_says_it_in_words(ask: RunCommand) -> None:
    code, out, _ = ask("evaluate", "negation-single-bag_of_words")
    assert code == 0
    assert "exact_accuracy             0.883" in out


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
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
    "unknown word": (("predict", "negation-single-rnn", "human destroys nature"), "“destroys”"),
    "no word": (("predict", "negation-single-rnn", "..."), "no word in this sentence"),
    "emoji": (("predict", "negation-single-rnn", "🌍"), "never saw “🌍”"),
    "too long": (("predict", "negation-single-rnn", "not " * 10_000), "has 10,000 words"),
    "nothing to pretrain": (("pretrain",), "Name the runs to train"),
    "unknown run to pretrain": (("pretrain", "negation-single-rn"), "There is no shipped run"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_a_mistake_is_one_sentence_on_standard_error(mistake: str, as_json: bool, ask: RunCommand) -> None:
    words, said = MISTAKES[mistake]
    code, out, err = ask(*words, *(["--json"] if as_json else []))
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_nearest_words_are_said(ask: RunCommand) -> None:
    _, _, err = ask("predict", "negation-single-rnn", "human destroys nature")
    assert (
        err.strip()
        == "The models never saw “destroys”. Words near it that they know: destroys: destroy, preserve, sustain."
    )


def in_a_process(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env={"LINEAGE_HOME": str(home)}, capture_output=True, text=True
    )


def test_train_in_a_process_writes_json_only(home: Path) -> None:
    done = in_a_process("-m", "explorer", *train("transformer", "--replicas", "2", "--json"), home=home)
    assert (done.returncode, done.stderr) == (0, "")
    said = parse_json_lines(done.stdout)
    assert {row["kind"] for row in said[:-1]} == {"step"}
    assert list(said[-1]) == ["kind", "run", "seconds", "metrics"]
    assert (home / "runs" / said[-1]["run"] / "card.json").is_file()


@pytest.mark.slow
def test_a_mistake_in_a_process_shows_no_traceback(home: Path) -> None:
    done = in_a_process("-m", "explorer", "predict", "nonsense", "human", home=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


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
    done = in_a_process("-c", code, home=home)
    assert "AssertionError" not in done.stderr
    assert done.returncode == 0


def test_what_the_first_page_needs_loads_no_torch(home: Path) -> None:
    code = """
import sys
import explorer.catalogue, explorer.training.config, explorer.jobs.scheduler, explorer.run_store.store
import explorer.experiments.pretraining, explorer.export.python_file, explorer.tasks.ceiling
assert not {"torch", "streamlit"} & set(sys.modules)
"""
    done = in_a_process("-c", code, home=home)
    assert (done.returncode, done.stderr) == (0, "")


# ---- what is kept


def kept(ask: RunCommand) -> str:
    ask(*train("rnn", "--json"))
    return key(with_settings(default_config("negation", "rnn"), {"epochs": 2, "train_size": 211}))


@pytest.mark.slow
def test_an_exported_run_comes_back_with_import(ask: RunCommand, tmp_path: Path) -> None:
    run, file = kept(ask), tmp_path / "run.zip"
    code, out, err = ask("export", run, str(file), "--json")
    assert (code, err, parse_json_lines(out)[0]["run"]) == (0, "", run)
    assert parse_json_lines(out)[0]["bytes"] == file.stat().st_size
    assert ask("delete", run)[0] == 0
    assert list(environment().runs.iterdir()) == list(environment().trash.iterdir()) == []
    code, out, err = ask("import", str(file), "--json")
    assert (code, err, parse_json_lines(out)) == (0, "", [{"kind": "imported", "run": run}])
    assert store.find(run).card.owner == ""


def test_the_index_can_be_made_anew(ask: RunCommand) -> None:
    kept(ask)
    code, out, _ = ask("reindex", "--json")
    assert (code, parse_json_lines(out)) == (0, [{"kind": "reindexed", "runs": len(shipped_configs()) + 1}])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "negation-single-rnn", "/nowhere/at/all.zip"), "cannot be written"),
        (("import", "/nowhere/at/all.zip"), "cannot be read"),
        (("delete", "negation-single-rnn"), "cannot be changed or deleted"),
        (("delete", "aaaaaaaaaaaa"), "There is no run"),
    ],
)
def test_a_mistake_with_kept_runs_is_one_sentence(words: tuple[str, ...], said: str, ask: RunCommand) -> None:
    code, out, err = ask(*words)
    assert (code, out) == (2, "")
    assert said in err and "Traceback" not in err


def test_no_zip_is_refused_and_leaves_nothing(ask: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(b"no zip")
    code, out, err = ask("import", str(tmp_path / "run.zip"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not environment().runs.exists()


# ---- language models

TEXT = ("--corpus", "brackets", "--set", "size=3000", "--set", "context=8")
SMALL = ("--set", "iterations=12", "--set", "batch_size=4", "--set", "width=8", "--set", "hidden=12")


def learn(model: str, *more: str) -> tuple[str, ...]:
    small = () if model == "ngram" else SMALL
    return ("train", "--task", "text", "--model", model, *TEXT, *small, *more)


@pytest.mark.parametrize("model", ["ngram", "gru", "transformer"])
def test_a_language_model_is_trained_evaluated_and_writes(ask: RunCommand, model: str) -> None:
    code, out, _ = ask(*learn(model, "--json"))
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


def test_what_a_model_never_saw_is_named_and_left_out(ask: RunCommand) -> None:
    _, out, _ = ask(*learn("ngram", "--json"))
    code, out, err = ask("generate", parse_json_lines(out)[-1]["run"], "--prompt", "(ZZ€a", "--tokens", "5")
    assert code == 0
    assert out.startswith("(a")
    assert err == "Not in the vocabulary: 'Z', '€' (left out).\n"


def test_what_becomes_an_unknown_token_is_not_said_to_be_left_out(ask: RunCommand) -> None:
    _, out, _ = ask(*learn("ngram", "--tokenizer", "bpe", "--set", "vocabulary=20", "--json"))
    run = parse_json_lines(out)[-1]["run"]
    code, out, err = ask("generate", run, "--prompt", "a日本", "--tokens", "5")
    assert (code, err) == (0, "Not in the vocabulary: '日', '本' (read as <unk>).\n")
    said = parse_json_lines(ask("generate", run, "--prompt", "a日本", "--tokens", "5", "--json")[1])[0]
    assert (said["dropped"], said["unknown"]) == ([], ["日", "本"])


def test_a_prompt_is_lowered_where_the_text_was(ask: RunCommand) -> None:
    _, out, _ = ask(*learn("ngram", "--set", "lower=true", "--json"))
    run = parse_json_lines(out)[-1]["run"]
    code, out, err = ask("generate", run, "--prompt", "(A", "--tokens", "5")
    assert code == 0 and out.startswith("(a")
    assert err == "The model knows lower-case letters only: the prompt is lower-cased.\n"
    said = parse_json_lines(ask("generate", run, "--prompt", "(A", "--tokens", "5", "--json")[1])[0]
    assert (said["prompt"], said["lowered"], said["dropped"]) == ("(a", True, [])
    assert ask("generate", run, "--prompt", "(a", "--tokens", "5")[2] == ""


def test_a_model_of_padded_prefixes_writes_as_in_its_training(ask: RunCommand) -> None:
    settings = ("rows=prefixes", "split=pairs", "corpus=repeats", "tokenizer=bpe", "vocabulary=60", "sample=20")
    enough = ("iterations=60", "learning_rate=0.05")  # until padding makes a difference to what is written
    chosen = (word for pair in settings + enough for word in ("--set", pair))
    _, out, _ = ask(*learn("transformer", *chosen, "--json"))
    run = parse_json_lines(out)[-1]["run"]
    said = parse_json_lines(ask("generate", run, "--prompt", "\n", "--tokens", "20", "--seed", "0", "--json")[1])[0]
    assert said["texts"][0] == store.find(run).curves.samples[-1][0]


OWN = "to be or not to be, that is the question. " * 50


def of_own_text(ask: RunCommand, file: Path) -> str:
    """A run on the text in a file, which this process then knows no more."""
    file.write_text(OWN)
    code, out, err = ask(
        "train", "--task", "text", "--model", "gru", "--corpus", str(file), "--tokenizer", "char", *SMALL, "--json"
    )
    assert (code, err) == (0, "")
    drop_text_data(hashlib.sha256(OWN.encode()).hexdigest())
    run: str = parse_json_lines(out)[-1]["run"]
    return run


def test_a_run_of_a_file_writes_without_it(ask: RunCommand, tmp_path: Path) -> None:
    run = of_own_text(ask, tmp_path / "own.txt")
    assert parse_json_lines(ask("generate", run, "--tokens", "9", "--json")[1])[0]["texts"]


def test_a_run_of_a_file_is_evaluated_with_it(ask: RunCommand, tmp_path: Path) -> None:
    run = of_own_text(ask, tmp_path / "own.txt")
    code, out, err = ask("evaluate", run)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith("On the command line, give its file with --corpus FILE.\n")
    code, out, err = ask("evaluate", run, "--corpus", str(tmp_path / "own.txt"), "--json")
    assert (code, err, parse_json_lines(out)[0]["as_on_card"]) == (0, "", True)


def test_a_run_is_evaluated_with_no_other_text_than_its_own(ask: RunCommand, tmp_path: Path) -> None:
    run = of_own_text(ask, tmp_path / "own.txt")
    (tmp_path / "other.txt").write_text(OWN + "!")
    for words, said in (
        ((run, "--corpus", str(tmp_path / "other.txt")), "is not the text of this run: its SHA-256 begins with"),
        ((run, "--corpus", str(tmp_path / "none.txt")), "There is no file"),
        (("negation-single-rnn", "--corpus", str(tmp_path / "own.txt")), "Leave --corpus out."),
    ):
        code, out, err = ask("evaluate", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err


@pytest.mark.parametrize("file", ["/proc/self/mem", "a" * 300])
def test_a_file_that_cannot_be_read_is_one_sentence(ask: RunCommand, file: str) -> None:
    code, out, err = ask("train", "--task", "text", "--model", "gru", "--corpus", file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "cannot be read: " in err and err.endswith("Give another file.\n")


def test_a_loss_that_was_not_reached_is_said(ask: RunCommand) -> None:
    (note,) = parse_json_lines(ask(*learn("gru", "--stop-at", "val_loss=0.01", "--json"))[1])[-1]["notes"]
    assert re.fullmatch(r"A validation loss of 0\.01 was not reached: after 12 steps it is \d\.\d{3}\.", note)
    assert f"\n{note}\n" in ask(*learn("gru", "--stop-at", "val_loss=0.01"))[1]
    assert "was not reached" not in ask(*learn("gru", "--stop-at", "val_loss=50"))[1]


def test_fewer_tokens_than_wished_for_are_said(ask: RunCommand) -> None:
    _, out, _ = ask(*learn("ngram", "--tokenizer", "word", "--set", "vocabulary=5000"))
    assert re.search(r"^5,000 tokens were requested; this text gives (\d,)?\d{1,3}\.$", out, re.MULTILINE)
    for enough in (("--set", "vocabulary=5000"), ("--tokenizer", "word", "--set", "vocabulary=20")):
        assert "wished for" not in ask(*learn("ngram", *enough))[1]  # characters are what they are


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "--model", "gru"), "Give --task and --model, or a --preset.\n"),
        (("train", "--preset", "best"), "There is no preset “best”. There is assignment, assignment-original, "),
        (("train", "--preset", "assignment", "--model", "gru"), "Preset assignment is for --task text --model transf"),
        (
            learn("gru", "--corpus", "nowhere"),
            "There is no corpus and no file “nowhere”. The corpora are tinyshakespeare, ",
        ),
        (learn("gru", "--stop-at", "loss=3"), "--stop-at loss=3 is not possible. Write it as val_loss=LOSS"),
        (learn("gru", "--stop-at", "val_loss=low"), "stop_at = low is not possible. Give a number from 0 to 100."),
        (learn("ngram", "--stop-at", "val_loss=2"), "An n-gram is fitted in one step: --stop-at and --max-seconds "),
        (learn("ngram", "--max-seconds", "5"), "An n-gram is fitted in one step: --stop-at and --max-seconds have"),
        (train("rnn", "--stop-at", "val_loss=2"), "--stop-at needs a validation loss, which only runs on text "),
        (learn("bag_of_words"), "Bag of words cannot be trained on Text. There is ngram, "),
        (
            learn("gru", "--tokenizer", "pieces"),
            "tokenizer = pieces is not possible. Give one of char, word",
        ),
        (
            learn("gru", "--set", "batch_size=2048", "--set", "context=1024"),
            "These settings ask for 2,097,152 tokens",
        ),
        (
            ("generate", "negation-single-rnn"),
            "negation-single-rnn is a run of the task negation; this command needs a run",
        ),
    ],
)
def test_what_is_not_possible_with_text_is_one_sentence(ask: RunCommand, words: tuple[str, ...], said: str) -> None:
    code, out, err = ask(*words)
    assert (code, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [b"abc", b"\xff\xfeh\x00i\x00", bytes(range(256)) * 8])
def test_a_file_that_is_no_text_is_refused_in_one_sentence(ask: RunCommand, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "own.txt"
    file.write_bytes(content)
    code, _, err = ask("train", "--task", "text", "--model", "gru", "--corpus", str(file))
    assert code == 2
    assert err.count("\n") == 1


def test_sampling_that_is_not_possible_is_refused(ask: RunCommand) -> None:
    _, out, _ = ask(*learn("ngram", "--json"))
    for option, value in (("--temperature", "-1"), ("--top-p", "2"), ("--top-k", "many"), ("--seed", "x")):
        code, _, err = ask("generate", parse_json_lines(out)[-1]["run"], option, value)
        assert (code, err.count("\n")) == (2, 1), err


def test_a_time_becomes_a_number_of_steps_before_there_is_a_run(
    ask: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()  # a tenth of a second passes between two looks at it, however busy the machine is
    monkeypatch.setattr(time_budget, "time", SimpleNamespace(perf_counter=lambda: next(clock) / 10))
    code, out, _ = ask(*learn("gru", "--max-seconds", "1", "--json"))
    assert code == 0
    steps = [line["of"] for line in parse_json_lines(out) if line["kind"] == "step"]
    assert len({*steps}) == 1
    assert steps[0] > 12
