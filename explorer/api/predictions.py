"""The predictions of a model for a text, as pandas tables: classes, tokens, labels or output sequences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy import ndarray

from explorer.api.arguments import require_whole_number, warn_unread
from explorer.catalogue import task_row
from explorer.errors import DamagedRun, InvalidSetting
from explorer.generation.generate import TextGenerator, continue_prompt, generate_with_logits, prompt_ids
from explorer.generation.sampling import Sampling
from explorer.inspection.language.perplexity import windowed_surprisals
from explorer.inspection.load_model import LoadedModel
from explorer.inspection.recurrent.gates import ALPHABET, parse_symbols
from explorer.inspection.seq2seq.decoding import greedy_translations, require_translator
from explorer.inspection.words.labelling import parse_row, predict_positions
from explorer.inspection.words.negation_sentences import class_probabilities
from explorer.models.configs import TransformerTextConfig
from explorer.models.context_window import window_start
from explorer.run_store.store import StoredRun
from explorer.tasks.own_sentences import Language, SentenceConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.config import source_ids, target_ids, target_text
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.characters import Characters
from explorer.tokenization.text import Tokenizer, from_json, pieces
from explorer.training.objectives.string import string_generator
from explorer.training.record import Record

MAX_TOKENS = 1_000_000  # of one text; `generate` keeps their noise in memory
TRANSLATION = (ReverseConfig, CopyConfig, DatesConfig, PairsConfig)
UNITS = {"char": "letter", "word": "word"}  # what a token is, by tokenizer; else “token”


def predict(run: StoredRun | Record, loaded: LoadedModel, text: str) -> pd.DataFrame:
    """Return the prediction for one text; see `Run.predict`. Raises LineageError."""
    task = loaded.config.task
    if isinstance(task, TRANSLATION):
        return _translate(loaded, text)
    if isinstance(task, LabellingConfig):
        return _label_positions(loaded, text)
    if isinstance(task, SentenceConfig):
        table = distribution("label", *_classify(loaded, text))
        table.attrs["unread"] = Language.from_json(loaded.tokenizer).vocabulary.read(text).describe_unread()
        warn_unread(table.attrs["unread"])
        return table
    if isinstance(task, RecallConfig):
        return distribution("symbol", *_recall_first(loaded, text))
    if isinstance(task, TextConfig | StringConfig):
        names, shares, unread = _next_token(run, loaded, text)
        table = distribution("token", names, shares)
        table.attrs["unread"] = unread
        return table
    raise InvalidSetting(
        f"A model of the task {task_row(task).name} predicts nothing for a text: it has a vector for each word. Use "
        'run.neighbours("word") or run.analogy("king", "queen", "monk").'
    )


def for_each_seed(loaded: LoadedModel) -> list[LoadedModel]:
    """Return each seed of a run as a model of its own."""
    one = replace(loaded.config, replicas=1)
    return [
        replace(loaded, config=replace(one, seed=seed), stack=loaded.single_replica(index))
        for index, seed in enumerate(loaded.config.seeds)
    ]


def distribution(name: str, outcomes: Sequence[str], shares: Float[ndarray, "seeds outcomes"]) -> pd.DataFrame:
    """Return outcomes with their mean probability over the seeds, the most probable first.

    With several seeds, also the lowest and the highest probability of a seed.
    """
    table = pd.DataFrame({name: list(outcomes), "probability": shares.mean(axis=0).astype(float)})
    if len(shares) > 1:
        table["lowest"], table["highest"] = shares.min(axis=0).astype(float), shares.max(axis=0).astype(float)
    return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def _classify(loaded: LoadedModel, text: str) -> tuple[Sequence[str], Float[ndarray, "seeds outcomes"]]:
    language = Language.from_json(loaded.tokenizer)
    return language.classes, class_probabilities(loaded, language.vocabulary.split(text))


def _recall_first(loaded: LoadedModel, text: str) -> tuple[Sequence[str], Float[ndarray, "seeds outcomes"]]:
    ids, replicas = recall_ids(loaded.config.task_as(RecallConfig), text), loaded.config.replicas
    rows = ids.expand(replicas, *ids.shape) if replicas > 1 else ids
    with torch.inference_mode():
        shares = loaded.stack(rows).softmax(dim=-1).view(replicas, -1).numpy()
    return ALPHABET[: shares.shape[-1]], shares


def recall_ids(task: RecallConfig, text: str) -> torch.Tensor:
    """Return a typed sequence of symbols as one row. Raises InvalidSetting."""
    ids = parse_symbols(text, task.symbols)
    if not ids:
        raise InvalidSetting(f"The sequence is empty. The symbols are {', '.join(ALPHABET[: task.symbols])}.")
    return torch.tensor([ids])


def _next_token(
    run: StoredRun | Record, loaded: LoadedModel, text: str
) -> tuple[Sequence[str], Float[ndarray, "seeds outcomes"], str]:
    writers = [writer_of(run, each.stack) for each in for_each_seed(loaded)]
    ids, unread = writers[0].read_prompt(text), writers[0].describe_unread(text)
    if isinstance(run.config.model, TransformerTextConfig) and (
        cut := window_start(len(ids), run.config.task_as(TextConfig).context)
    ):
        unread = f"{unread} The model reads the last {len(ids) - cut:,} of {len(ids):,} tokens.".strip()
        warn_unread(unread)
    return writers[0].tokenizer.tokens, np.stack([next_token(writer, ids) for writer in writers]), unread


@torch.inference_mode()
def next_token(writer: Writer, ids: torch.Tensor) -> Float[ndarray, " outcomes"]:
    """Return the probability of each token to be the next one."""
    logits, _, _ = next(generate_with_logits(writer.generator, ids, 1, Sampling()))
    shares: ndarray = logits[0].softmax(dim=-1).numpy().copy()
    return shares


def tokenizer_of(run: StoredRun | Record) -> Tokenizer:
    """Return the tokenizer of a run on text or on a string. Raises InvalidSetting for a run of another task."""
    task = run.config.task
    if isinstance(task, StringConfig):
        return Characters(task.vocabulary)
    if not isinstance(task, TextConfig):
        raise InvalidSetting(
            f"This run learned the task {task_row(task).name}, so it is no language model. Use a run of the task text "
            'or string, such as explorer.load("text-transformer").'
        )
    if not run.tokenizer:
        raise DamagedRun(f"Run {run.key} has no tokenizer, so it cannot read or generate text. Train it again.")
    return from_json(run.tokenizer)


@dataclass(frozen=True)
class Writer:
    """A single language model that continues texts, with its tokenizer."""

    generator: TextGenerator
    tokenizer: Tokenizer
    lower: bool = False  # whether texts are lower-cased first

    def read_prompt(self, text: str) -> torch.Tensor:
        """Return the ids that the model reads. Warns about parts of the text that are not in the vocabulary."""
        ids, unseen = prompt_ids(self.tokenizer, text.lower() if self.lower else text)
        self._warn(unseen)
        return torch.tensor([*self.generator.start, *ids.tolist()])

    def describe_unread(self, text: str) -> str:
        """Return a sentence about the parts of a text that are not in the vocabulary; empty if there are none."""
        return _describe_unseen(self.tokenizer.find_unknown(text.lower() if self.lower else text), self.tokenizer)

    def generate(self, prompt: str, tokens: int, sampling: Sampling) -> str:
        """Return the prompt and its continuation.

        Raises InvalidSetting for a number of tokens that is not from 1 to 1,000,000.
        """
        tokens = require_whole_number("tokens", tokens, 1, MAX_TOKENS)
        found = continue_prompt(self.generator, self.tokenizer, prompt, tokens, sampling, samples=1, lower=self.lower)
        self._warn((*found.dropped, *found.unknown))
        return found.whole[0]

    def _warn(self, unseen: Sequence[str]) -> None:
        if unseen:
            warnings.warn(_describe_unseen(unseen, self.tokenizer), stacklevel=5)


def _describe_unseen(unseen: Sequence[str], tokenizer: Tokenizer) -> str:
    become = "left out" if tokenizer.unknown is None else "read as <unk>"
    return f"Not in the vocabulary: {', '.join(map(repr, unseen))} ({become})." if unseen else ""


def writer_of(run: StoredRun | Record, model: torch.nn.Module) -> Writer:
    """Return a single model of a run on text or on a string, ready to generate. Raises InvalidSetting, DamagedRun."""
    tokenizer, task = tokenizer_of(run), run.config.task
    if isinstance(task, StringConfig):
        return Writer(string_generator(model), tokenizer)
    text_task = run.config.task_as(TextConfig)
    return Writer(TextGenerator.for_task(model, text_task, tokenizer), tokenizer, text_task.lower)


def surprisals(run: StoredRun | Record, loaded: LoadedModel, text: str) -> pd.DataFrame:
    """Return -log p of every token of a text but the first, in nats; see `Run.surprisal`. Raises InvalidSetting."""
    tokenizer_of(run)  # the error of a run of another task comes first
    task = run.config.task
    if not isinstance(task, TextConfig) or task.rows == "prefixes":
        raise InvalidSetting(
            "The loss of a text needs a language model that predicts at every position: a run of the task text whose "
            "rows are blocks or sentences."
        )
    return writer_surprisals([writer_of(run, each.stack) for each in for_each_seed(loaded)], text, task.context)


def writer_surprisals(writers: Sequence[Writer], text: str, window: int | None = None) -> pd.DataFrame:
    """Return -log p of every token of a text but the first, read in windows: the mean over models, and their range.

    window: in tokens; by default the whole text, or as much as the model can read

    Raises InvalidSetting for a text of fewer than two tokens.
    """
    tokenizer = writers[0].tokenizer
    ids = writers[0].read_prompt(text).numpy()
    if len(ids) < 2:
        raise InvalidSetting(
            "This text has fewer than two tokens, so none is predicted from another. Give a longer one."
        )
    window = window or min(writers[0].generator.context or len(ids), len(ids) - 1)
    stride = max(1, window // 2)
    values = np.stack([windowed_surprisals(each.generator.model, ids, window, stride) for each in writers])
    tokens = [piece or tokenizer.tokens[id] for piece, id in zip(pieces(tokenizer, ids.tolist()), ids, strict=True)]
    table = pd.DataFrame({"position": np.arange(1, len(ids)), "token": tokens[1:], "surprisal": values.mean(axis=0)})
    if len(values) > 1:
        table["lowest"], table["highest"] = values.min(axis=0), values.max(axis=0)
    return table


def _translate(loaded: LoadedModel, text: str) -> pd.DataFrame:
    """Return the greedy output of each seed, its probability, and whether it is right."""
    task: Any = loaded.config.task
    source = source_ids(task, text)
    answers = greedy_translations(require_translator(loaded.stack), task, source)
    outputs = [target_text(task, answer.ids) for answer in answers]
    right = target_ids(task, source)
    expected = None if right is None else target_text(task, right)
    return pd.DataFrame(
        {
            "seed": list(loaded.config.seeds),
            "output": outputs,
            "probability": [math.exp(answer.log_probability) for answer in answers],
            "correct": [None if expected is None else output == expected for output in outputs],
        }
    )


def _label_positions(loaded: LoadedModel, text: str) -> pd.DataFrame:
    """Return the likeliest label at every position, by the mean over the seeds."""
    task: Any = loaded.config.task
    found = predict_positions(loaded, task, parse_row(task, text))
    return pd.DataFrame(
        {
            "position": np.arange(len(found)),
            "token": [each.token for each in found],
            "label": [each.answer for each in found],
            "probability": [each.probability for each in found],
            "expected": [each.target for each in found],
            "correct": [each.is_correct for each in found],
            "in_loss": [each.in_loss for each in found],
        }
    ).astype({"expected": object, "correct": object})
