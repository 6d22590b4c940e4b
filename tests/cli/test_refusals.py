"""What is not possible, for every command: one sentence on standard error, with --json also one line of output."""

from __future__ import annotations

import shlex

import pytest

from tests.terminal import RunCommand, parse_json_lines

NEGATION = "train --task negation --model"
TEXT = "--set size=3000 --set context=8 --corpus brackets"
KING = "'the king and the queen'"
# The command line and a part of the sentence; "|" separates several parts.
REFUSED = [
    # program
    ("lis", "No such command 'lis'. Did you mean 'list'? See lineage --help."),
    ("list --tsk text", "--tsk| --help."),
    ("generate text-ngram --tokens 0", "--tokens| --help."),
    ("predict", "RUN| --help."),
    ("predict '\x1b]0;title\x07\u202e' x", "There is no run"),
    # train
    (f"{NEGATION} rnn --set p_not", "--set p_not has no “=”"),
    (f"{NEGATION} transfromer", "no model “transfromer”. Nearest: transformer"),
    (f"{NEGATION} rnn --set hiden=3", "no setting “hiden”. Nearest: hidden"),
    (f"{NEGATION} rnn --set heads=3", "no setting “heads”"),
    (f"{NEGATION} rnn --set p_not=2", "p_not = 2 is not possible. Give a number from 0 to 1."),
    (f"{NEGATION} rnn --replicas 33", "replicas = 33 is not possible. Give a whole number from 1 to 32."),
    (f"{NEGATION} transformer --set heads=3", "heads = 3 does not divide width = 16"),
    ("train --task text --model gru --corpus nowhere", "no corpus and no file “nowhere”. The corpora are tinyshake"),
    (f"train --task text --model gru --corpus {'a' * 300}", "cannot be read: | Give another file.\n"),
    ("train --task text --model gru --corpus /proc/self/mem", "cannot be read: | Give another file.\n"),
    ("train --task word_vectors --model skip_gram --corpus toy", "The corpora are grammar, tinyshakespeare."),
    ("train --task recall --model gru --corpus toy", "recall reads no text"),
    ("train --task text --model gru --max-seconds inf", "'--max-seconds'"),
    ("train --model gru", "Give --task and --model, or a --preset. "),
    ("train --preset best", "There is no preset “best”. There is assignment, assignment-original, "),
    ("train --preset assignment --model gru", "Preset assignment is for the task text and the model transf"),
    (f"train --task text --model gru {TEXT} --stop-at loss=3", "--stop-at loss=3 is not possible. Write it as val_l"),
    (f"train --task text --model gru {TEXT} --stop-at val_loss=low", "stop_at = low is not possible. Give a number"),
    (f"train --task text --model ngram {TEXT} --stop-at val_loss=2", "An n-gram is fitted in one step: --stop-at"),
    (f"train --task text --model ngram {TEXT} --max-seconds 5", "An n-gram is fitted in one step: --stop-at and --m"),
    (f"{NEGATION} rnn --stop-at val_loss=2", "--stop-at needs the validation loss of a text."),
    ("train --task text --model bag_of_words", "Bag of words cannot be trained on Text. There is ngram, "),
    (f"train --task text --model gru {TEXT} --tokenizer pieces", "tokenizer = pieces is not possible. Give one of c"),
    ("train --task text --model gru --set batch_size=2048 --set context=1024", "These settings ask for 2,097,152 t"),
    (
        "train --task recall --model gru --set length=10000",
        "10,000 symbols in a sequence; this server allows 1,000|give --yes",
    ),
    ("train --task pairs --model encoder_decoder --corpus no.csv", "CSV file with the columns source and target."),
    (f"{NEGATION} rnn --corpus none.csv", "There is no file"),
    ("train --resume ''", "There is no run “”"),
    ("train --resume nonsense", "There is no run “nonsense”"),
    ("train --resume negation-single-rnn --seed 3", "Leave all other settings out."),
    ("train --resume negation-single-rnn --corpus x.txt", "Leave --corpus out."),
    ("pretrain", "Name the runs to train, or give --all or --missing."),
    ("pretrain negation-single-rnn --missing", "Name the runs to train, or give --all or --missing."),
    ("pretrain negation-single-rn", "There is no included run"),
    # predict, evaluate, generate
    ("predict nonsense human", "There is no run “nonsense”"),
    ("predict '' human", "There is no run “”"),
    ("evaluate aaaaaaaaaaaa", "There is no run “aaaaaaaaaaaa”"),
    (
        "predict negation-single-rnn 'human destroys nature'",
        "never saw “destroys”|Known words like “destroys”: destroy, preserve, sustain.",
    ),
    ("predict negation-single-rnn ...", "no word in this sentence"),
    ("predict gloss-two 'the bank sleeps'", "“sleeps”"),
    ("predict recall-50-gru-chrono abxa", "“x” is no symbol"),
    ("predict reverse-transformer 12a", "The source has “a”, which the model never saw. Give digits from 0 to 9."),
    ("evaluate negation-single-rnn --corpus own.txt", "Leave --corpus out."),
    (
        "generate negation-single-rnn",
        "negation-single-rnn is a run of the task negation; this command needs a run of t",
    ),
    ("generate text-ngram --temperature -1", "temperature"),
    ("generate text-ngram --top-p 2", "top_p"),
    ("generate text-ngram --top-k many", "many"),
    ("generate text-ngram --seed x", "x"),
    # inspect
    (f"inspect text-gru {KING}", "which has no attention to look at. Choose one that has: text-assignment, text-best"),
    ("inspect negation-single-rnn human", "Choose one that has: negation-double-transformer"),
    (f"inspect nonsense {KING}", "There is no run “nonsense”"),
    (f"inspect text-transformer {KING} --replica 3", "replica = 3 is not possible. Give a whole number from 0 to 2."),
    (f"inspect text-best {KING} --replica -1", "replica = -1 is not possible. Give 0: this run has one seed."),
    (f"inspect text-transformer {KING} --step 7", "has no weights of step 7. Give one of 1,000."),
    (f"inspect text-transformer {KING} --out no/such/folder/a.npz", "there is no folder no/such/folder."),
    ("inspect negation-single-transformer 'human destroys nature'", "never saw “destroys”"),
    ("inspect noise-causal ab3", "“3” is not a symbol of this task"),
    ("inspect echo-learned 12 --replica 9", "replica = 9 is not possible"),
    ("inspect echo-learned 12 --step 7", "has no weights of step 7"),
    ("inspect recall-50-transformer-learned abba", "This run learned recall|on the page Memory"),
    (f"inspect reverse-transformer {'1' * 51}", "The source has 51 tokens. Give at most 50."),
    ("inspect reverse-transformer 12 --replica 9", "replica = 9 is not possible. Give a whole number from 0 to "),
    ("inspect reverse-transformer 12 --out no/such/folder/a.npz", "there is no folder no/such/folder."),
    # stored runs
    ("export negation-single-rnn /nowhere/at/all.zip", "cannot be written"),
    ("import /nowhere/at/all.zip", "cannot be read"),
    ("delete negation-single-rnn", "cannot be changed or deleted"),
    ("delete aaaaaaaaaaaa", "There is no run"),
    # list, settings, lessons
    ("list --task negatoin", "There is no task “negatoin”. Nearest: negation"),
    ("list --model gpt-5", "There is no model “gpt-5”"),
    ("list --sort beauty", "Runs cannot be ordered by “beauty”. There is created, name"),
    ("list --own --included", "exclude each other"),
    (f"list --search {'x' * 5_000}", "at most 2,000 characters"),
    ("settings --model rnn", "Give --task as well: negation, sentiment, text"),
    ("settings --task dates --model rnn", "RNN cannot be trained on Dates."),
    ("settings --preset nothing", "There is no preset “nothing”"),
    ("settings --preset assignment --task dates", "Leave these out."),
    ("lessons counting --measures", "--measures"),
    ("lessons windows", "There is no lesson “windows”. There is counting, "),
    ("lessons none.yaml", "Give the path of a .yaml file, or the name of a lesson."),
    # sweep
    ("sweep --task negation --model rnn", "needs at least one setting"),
    ("sweep --task negation --model rnn --set learning_rate", "has no “=”"),
    ("sweep --task negation --model rnn --set hidden=3,4 --set hidden=3,4", "given twice"),
    ("sweep --task negation --model rnn --set lerning_rate=1,2", "Nearest: learning_rate"),
    ("sweep --task negation --model rnn --set hidden=3,4 --search random", "number of its trials"),
]


@pytest.mark.parametrize(("line", "parts"), REFUSED, ids=[line[:60] for line, _ in REFUSED])
def test_what_is_not_possible_is_one_sentence(line: str, parts: str, ask: RunCommand) -> None:
    code, out, err = ask(*shlex.split(line), "--json")
    assert code == 2 and err.count("\n") == 1 and "Traceback" not in err
    assert parse_json_lines(out) == [{"kind": "error", "message": err.strip(), "code": 2}]
    assert all(part in err for part in parts.split("|"))
    assert not {"\x1b", "\x07", "\u202e"} & set(err), "a message cannot control the terminal"


def test_without_json_the_sentence_is_the_only_output(ask: RunCommand) -> None:
    assert ask("predict", "", "human")[:2] == (2, "")
