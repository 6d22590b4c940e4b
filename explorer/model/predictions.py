"""What a model predicts for a text: probabilities of outcomes, labels at every position, or another text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import nn

from explorer.catalogue import task_row
from explorer.errors import InvalidSetting
from explorer.generation.generate import TextGenerator, generate_with_logits
from explorer.generation.sampling import Sampling
from explorer.generation.seq2seq_decoding import greedy_decode
from explorer.inspection.recurrent.gates import ALPHABET, parse_symbols
from explorer.inspection.seq2seq.decoding import require_translator
from explorer.inspection.words.labelling import PositionAnswer, parse_row, predict_positions
from explorer.inspection.words.negation_sentences import class_probabilities, evaluation_length, sentence_tokens
from explorer.model.model import Model
from explorer.model.real_model import MASKS, RealModel
from explorer.model.run_model import RunModel
from explorer.models.configs import TransformerTextConfig
from explorer.tasks.own_sentences import SentenceConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.config import (
    TRANSLATION_CONFIGS,
    TranslationConfig,
    max_answer_length,
    source_ids,
    source_text,
    target_ids,
    target_text,
)
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig


@dataclass(frozen=True, eq=False)
class Distribution:
    """The probability of every outcome by each seed, at one position of a text."""

    kind: str  # of an outcome: label, symbol or token
    outcomes: Sequence[str]
    probabilities: Float[ndarray, "seeds outcomes"]
    tokens: tuple[str, ...] = ()  # that a classifier reads
    unread: str = ""  # what the model does not read of the text, in sentences
    position: int | None = None  # of the mask that an encoder fills


@dataclass(frozen=True)
class Output:
    """A text that a model writes for a source, one most probable token after the other."""

    text: str
    probability: float  # the product of those of its tokens
    has_end: bool


@dataclass(frozen=True)
class Translation:
    """What each seed writes for a source."""

    source: str
    outputs: tuple[Output, ...]
    expected: str | None  # the correct output; None where it is not known


Prediction: TypeAlias = Distribution | Translation | list[PositionAnswer]


def predict(model: RunModel, text: str, step: int | None = None, replicas: Sequence[int] | None = None) -> Prediction:
    """Return what the seeds of a run predict for a text: these replicas, by default all of them.

    Labels at every position are those of the mean over the seeds. Raises LineageError for a text that the model cannot
    read, and for a task without prediction.
    """
    task: Any = model.config.task
    chosen = list(range(model.config.replicas) if replicas is None else replicas)
    if isinstance(task, TextConfig | StringConfig):
        return _next_token(model, text, step, chosen)
    if isinstance(task, SentenceConfig):
        vocabulary = model.language.vocabulary
        words, unread = vocabulary.split(text), vocabulary.read(text).describe_unread()
        tokens = sentence_tokens(words, evaluation_length(task), vocabulary)
        shares = class_probabilities(model.load_replicas(step), words)[chosen]
        return Distribution("label", model.outcomes, shares, tokens, unread)
    if isinstance(task, RecallConfig):
        rows = recall_ids(task, text)
        tokens = tuple(ALPHABET[id] for id in rows[0].tolist())
        if model.config.replicas > 1:
            rows = rows.expand(model.config.replicas, *rows.shape)
        with torch.inference_mode():
            shares = model.load_replicas(step).stack(rows).softmax(dim=-1).view(model.config.replicas, -1).numpy()
        return Distribution("symbol", ALPHABET[: task.symbols], shares[chosen], tokens)
    if isinstance(task, LabellingConfig):
        return predict_positions(model.load_replicas(step), task, parse_row(task, text), chosen)
    if isinstance(task, TRANSLATION_CONFIGS):
        source = source_ids(task, text)
        outputs = tuple(_write_output(model.module(replica, step), task, source) for replica in chosen)
        right = target_ids(task, source)
        return Translation(source_text(task, source), outputs, None if right is None else target_text(task, right))
    raise InvalidSetting(
        f"A model of the task {task_row(task).name} predicts nothing for a text: it has a vector for each word. Use "
        'run.neighbours("word") or run.analogy("king", "queen", "monk").'
    )


def _write_output(module: nn.Module, task: TranslationConfig, source: Sequence[int]) -> Output:
    translator = require_translator(module)
    found = greedy_decode(translator, torch.tensor([list(source)]), max_answer_length(task, len(source)))
    text = target_text(task, found.ids[0].tolist())
    return Output(text, math.exp(float(found.score[0])), bool(found.finished[0]))


def recall_ids(task: RecallConfig, text: str) -> torch.Tensor:
    """Return a typed sequence of symbols as one row. Raises InvalidSetting."""
    ids = parse_symbols(text, task.symbols)
    if not ids:
        raise InvalidSetting(f"The sequence is empty. The symbols are {', '.join(ALPHABET[: task.symbols])}.")
    return torch.tensor([ids])


def _next_token(model: RunModel, text: str, step: int | None, replicas: Sequence[int]) -> Distribution:
    shares = np.stack([next_token(model.text_generator(replica, step), model, text) for replica in replicas])
    ids, unseen = model.read_prompt(text)
    unread = describe_unseen(model, unseen)
    if isinstance(model.config.model, TransformerTextConfig) and (cut := model.count_truncated(len(ids))):
        unread = f"{unread} The model reads the last {len(ids) - cut:,} of {len(ids):,} tokens.".strip()
    return Distribution("token", model.outcomes, shares, unread=unread)


def describe_unseen(model: Model, unseen: Sequence[str]) -> str:
    """Return a sentence about the parts of a text that are not in the vocabulary; empty if there are none."""
    become = "left out" if model.tokenizer is None or model.tokenizer.unknown is None else "read as <unk>"
    return f"Not in the vocabulary: {', '.join(map(repr, unseen))} ({become})." if unseen else ""


@torch.inference_mode()
def next_token(generator: TextGenerator, model: Model, text: str) -> Float[ndarray, " outcomes"]:
    """Return the probability of each token to be the next one after a text."""
    ids, _ = model.read_prompt(text)
    logits, _, _ = next(generate_with_logits(generator, torch.tensor(ids), 1, Sampling()))
    shares: ndarray = logits[0].softmax(dim=-1).numpy().copy()
    return shares


def predict_with_real_model(model: RealModel, text: str, step: int | None = None) -> list[Distribution] | Output:
    """Return what a real model predicts for a text, by its kind.

    A decoder predicts the next token, an encoder the token at each mask, an encoder–decoder writes another text. Raises
    InvalidSetting for a model that predicts nothing, and for a text without a mask.
    """
    card = model.card
    if not card.predicts:
        raise InvalidSetting(f"{card.name} predicts nothing, it only makes vectors. Look at its attention.")
    if card.kind == "encoder":
        return _fill_masks(model, text, step)
    if card.kind == "encoder-decoder":
        return _translate(model, text, step)
    shares = next_token(model.text_generator(step=step), model, text)
    return [Distribution("token", model.tokenizer.tokens, shares[None], unread=model.tokenize(text).unread)]


@torch.inference_mode()
def _fill_masks(model: RealModel, text: str, step: int | None) -> list[Distribution]:
    given, tokens = model.tokenize(text), model.tokenizer.tokens
    masked = [i for i, token in enumerate(given.tokens) if token in MASKS]
    if not masked:
        mask = next((token for token in tokens if token in MASKS), MASKS[0])
        raise InvalidSetting(f"{model.card.name} predicts the tokens that are hidden. Write {mask} in place of one.")
    shares = model.module(step=step).part().logits(given.ids)[masked].softmax(-1).numpy()
    return [
        Distribution("token", tokens, row[None], unread=given.unread, position=position)
        for position, row in zip(masked, shares, strict=True)
    ]


@torch.inference_mode()
def _translate(model: RealModel, text: str, step: int | None) -> Output:
    ids, tokenizer, module = model.tokenize(text).ids, model.tokenizer, model.module(step=step)
    written = model.translate(ids, step)
    logits = module.part("cross", written[:-1]).logits(ids)
    if module.padding is not None:
        logits[:, module.padding] = -torch.inf  # as in `translate`
    chosen = logits.log_softmax(-1)[range(len(written) - 1), list(written[1:])]
    output = tokenizer.decode([id for id in written if id not in tokenizer.special])
    return Output(output.strip(), float(chosen.sum().exp()), True)
