"""Whether a measure of several runs can be compared: whether they are tested on the same data, in the same unit.

A loss of a language model is a mean over tokens, so it depends on the tokens, on the text before each of them and on
the text that is held out. Losses that differ in one of these must not share an axis without a note. Bits per byte
depend on the held-out text only. On other tasks a setting of the task changes the data of the test, unless it is one of
`_TRAINING_FIELDS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from explorer.catalogue import task_row
from explorer.models.configs import GRUTextConfig, LSTMTextConfig, RNNTextConfig
from explorer.tasks.text.config import CORPUS_NAMES, TextConfig
from explorer.training.config import RunConfig

Reason: TypeAlias = Literal["task", "test set", "text", "token", "held out", "context", "evaluated"]
BITS_PER_BYTE = "bits_per_byte"  # the metric of language models that does not depend on their tokens
TOKEN_NOUNS = {"char": "character", "word": "word", "bpe": "BPE token", "bytes": "byte-level token"}
TOKENIZERS = {"char": "characters", "word": "words", "bpe": "BPE tokens", "bytes": "byte-level tokens"}
_CORPORA = {**CORPUS_NAMES, "own": "a text of a visitor"}
_TEXT_FIELDS = ("corpus", "text", "size", "corpus_seed", "lower")
_TOKEN_FIELDS = ("tokenizer", "vocabulary", "tokenizer_from_training")
_CONTEXT_FIELDS = ("context", "batches")
_SPLITS = {
    "end": "the end of the text",
    "windows": "windows at random positions",
    "sentences": "whole lines",
    "pairs": "single targets of lines",
}
_TRAINING_FIELDS = {  # by task: they change what a model learns from and what it knows, not the data of its test
    "text": ("training_share",),
    "negation": ("train_size", "held_out", "padding", "vocabulary"),
    "sentiment": ("reviews", "composed", "words", "vocabulary", "data_seed"),
    "recall": ("sequences",),
    "gloss": ("sentences",),
    "word_vectors": ("window", "subsampling", "negatives"),
}


@dataclass(frozen=True)
class Difference:
    """A reason why a measure of some runs cannot be compared, and a sentence that says so."""

    reason: Reason
    sentence: str


def carries_state(config: RunConfig, measure: str = "val_loss") -> bool:
    """Return whether a measure (but never that on training text) carries a recurrent state between blocks."""
    task = config.task
    recurrent = isinstance(config.model, RNNTextConfig | LSTMTextConfig | GRUTextConfig)
    return isinstance(task, TextConfig) and task.batches == "contiguous" and recurrent and measure != "train_loss"


def loss_context(config: RunConfig, measure: str = "val_loss", *, brief: bool = False) -> str:
    """Return how much text is read before each token that counts in a loss; empty for tasks other than text."""
    task = config.task
    if not isinstance(task, TextConfig):
        return ""
    if carries_state(config, measure):
        return "reading on" if brief else "reading on, with the state carried from block to block"
    if task.rows == "blocks":
        return f"blocks of {task.context:,}" if brief else f"blocks of {task.context:,} tokens without earlier context"
    if task.rows == "sentences":
        return "single lines" if brief else f"single lines from their start, at most {task.context:,} tokens"
    return "prefixes of lines" if brief else f"one prefix of a line for each token, at most {task.context:,} tokens"


def token_noun(config: RunConfig) -> str:
    """Return the noun for a token: “character”, “word” and so on; empty for tasks other than text."""
    return TOKEN_NOUNS[config.task.tokenizer] if isinstance(config.task, TextConfig) else ""


def baseline_name(task: str) -> str:
    """Return what the baselines of a task are those of; see `Objective.baselines`."""
    return "unigram" if task in ("text", "string") else "most frequent class"


def describe_tokens(config: RunConfig) -> str:
    """Return the tokenizer with the size of its vocabulary; empty for tasks other than text."""
    task = config.task
    if not isinstance(task, TextConfig):
        return ""
    size = "" if task.tokenizer == "char" else f" ({task.vocabulary:,})"
    return f"{TOKENIZERS[task.tokenizer]}{size}{', lower case' if task.lower else ''}"


def comparability(configs: Iterable[RunConfig], measure: str = "val_loss") -> list[Difference]:
    """Return the reasons why a measure of these runs, named as a metric, cannot be compared; empty if it can."""
    runs = list(configs)
    tasks = list(dict.fromkeys(task_row(run.task).title for run in runs))
    if len(tasks) > 1:
        return [Difference("task", f"the tasks differ ({', '.join(tasks)})")]
    if different := _different_test_data(runs, measure):
        return [Difference("test set", f"the data that they are measured on differ ({different})")]
    texts = {run: run.task for run in runs if isinstance(run.task, TextConfig)}
    contexts = [loss_context(run, measure) for run in texts]
    sizes = [run.evaluation_size for run in texts if measure == "val_loss_part"]
    checks: tuple[tuple[Reason, Sequence[object], Sequence[str], str], ...] = (
        ("text", list(map(_text, texts.values())), list(map(_describe_text, texts.values())), "the texts differ"),
        ("token", list(map(_tokens, texts.values())), list(map(describe_tokens, texts)), "a token is not the same"),
        (
            "held out",
            list(map(_held_out_part, texts.values())),
            [f"{task.held_out:.0%}, {_SPLITS[task.split]}" for task in texts.values()],
            "the held-out parts differ",
        ),
        ("context", contexts, contexts, "contexts differ"),
        (
            "evaluated",
            sizes,
            [f"{size:,} tokens" if size else "all" for size in sizes],
            "the evaluated shares of the held-out text differ",
        ),
    )
    found = []
    for reason, values, described, beginning in checks:
        if measure == BITS_PER_BYTE and reason in ("token", "context"):
            continue
        distinct = list(dict.fromkeys(described))
        if len(set(values)) > 1:
            names = f" ({'; '.join(distinct)})" if len(distinct) > 1 else ""
            found.append(Difference(reason, beginning + names))
    return found


def comparability_sentence(differences: Sequence[Difference]) -> str:
    """Return one sentence with all reasons; empty if there is none."""
    reasons = "; ".join(each.sentence for each in differences)
    return f"These values cannot be compared directly: {reasons}." if reasons else ""


def lower_is_better(measure: str) -> bool:
    """Return whether small values of a metric are good."""
    return any(part in measure for part in ("loss", "perplexity", "bits", "error"))


def can_compare_bits(differences: Sequence[Difference]) -> bool:
    """Return whether bits per byte remove every difference but the context: text and held-out part are the same."""
    return not {each.reason for each in differences} & {"task", "test set", "text", "held out"}


def _different_test_data(runs: Sequence[RunConfig], measure: str) -> str:
    """Return the settings of a task other than text that change what a measure is computed from: “length 10; 50”."""
    if not runs or isinstance(runs[0].task, TextConfig):
        return ""
    name = task_row(runs[0].task).name
    on_training = measure.startswith(("train", "batch")) or (name, measure) == ("word_vectors", "loss")
    without = () if on_training else _TRAINING_FIELDS.get(name, ())
    every = {
        field.name: list(dict.fromkeys(getattr(run.task, field.name) for run in runs))
        for field in dataclasses.fields(runs[0].task)
        if field.name not in without
    }
    return ", ".join(
        f"{name} {'; '.join(str(value)[:20] for value in values)}" for name, values in every.items() if len(values) > 1
    )


def _values(task: TextConfig, names: Iterable[str]) -> tuple[object, ...]:
    return tuple(getattr(task, name) for name in names)


def _text(task: TextConfig) -> object:
    generated = task.corpus not in ("tinyshakespeare", "own")
    return _values(task, _TEXT_FIELDS if generated else ("corpus", "text", "lower"))


def _describe_text(task: TextConfig) -> str:
    name = f"{_CORPORA[task.corpus]} {task.text[:8]}".strip()
    return f"{name} in lower case" if task.lower else name


def _tokens(task: TextConfig) -> object:
    return _values(task, (name for name in _TOKEN_FIELDS if name != "vocabulary" or task.tokenizer != "char"))


def _held_out_part(task: TextConfig) -> object:
    """Return all settings that are neither the text, its tokens nor the context; a seed counts for random splits."""
    others = {*_TEXT_FIELDS, *_TOKEN_FIELDS, *_CONTEXT_FIELDS, *_TRAINING_FIELDS["text"]}
    names = (field.name for field in dataclasses.fields(task) if field.name not in others)
    return _values(task, (name for name in names if name != "split_seed" or task.split != "end"))
