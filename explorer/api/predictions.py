"""The predictions of a model for a text, as pandas tables: classes, tokens, labels or output sequences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy import ndarray

from explorer.api.arguments import require_whole_number
from explorer.catalogue import task_row
from explorer.errors import DamagedRun, InvalidSetting
from explorer.generation.generate import TextGenerator, continue_prompt, generate_with_logits, prompt_ids
from explorer.generation.sampling import Sampling
from explorer.inspection.load_model import LoadedModel
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import Language
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.config import source_ids, target_ids, target_text
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import Tokenizer, from_json

if TYPE_CHECKING:
    from explorer.run_store.store import StoredRun
    from explorer.training.record import Record

MAX_TOKENS = 1_000_000  # of one text; `generate` keeps their noise in memory
TRANSLATION = (ReverseConfig, CopyConfig, DatesConfig, PairsConfig)


def predict(run: StoredRun | Record, loaded: LoadedModel, text: str) -> pd.DataFrame:
    """Return the prediction for one text; see `Run.predict`. Raises LineageError."""
    task = loaded.config.task
    if isinstance(task, TRANSLATION):
        return _translate(loaded, text)
    if isinstance(task, LabellingConfig):
        return _label_positions(loaded, text)
    if isinstance(task, NegationConfig):
        return _distribution("label", *_classify(loaded, text))
    if isinstance(task, RecallConfig):
        return _distribution("symbol", *_recall_first(loaded, text))
    if isinstance(task, TextConfig | StringConfig):
        return _distribution("token", *_next_token(run, loaded, text))
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


def _distribution(name: str, outcomes: Sequence[str], shares: Float[ndarray, "seeds outcomes"]) -> pd.DataFrame:
    """Return outcomes with their mean probability over the seeds, the most probable first.

    With several seeds, also the lowest and the highest probability of a seed.
    """
    table = pd.DataFrame({name: list(outcomes), "probability": shares.mean(axis=0).astype(float)})
    if len(shares) > 1:
        table["lowest"], table["highest"] = shares.min(axis=0).astype(float), shares.max(axis=0).astype(float)
    return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def _classify(loaded: LoadedModel, text: str) -> tuple[Sequence[str], Float[ndarray, "seeds outcomes"]]:
    from explorer.inspection.words.negation_sentences import class_probabilities

    language = Language.from_json(loaded.tokenizer)
    return language.classes, class_probabilities(loaded, language.vocabulary.split(text))


def _recall_first(loaded: LoadedModel, text: str) -> tuple[Sequence[str], Float[ndarray, "seeds outcomes"]]:
    from explorer.inspection.recurrent.gates import ALPHABET

    ids, replicas = recall_ids(loaded.config.task_as(RecallConfig), text), loaded.config.replicas
    rows = ids.expand(replicas, *ids.shape) if replicas > 1 else ids
    with torch.inference_mode():
        shares = loaded.stack(rows).softmax(dim=-1).view(replicas, -1).numpy()
    return ALPHABET[: shares.shape[-1]], shares


def recall_ids(task: RecallConfig, text: str) -> torch.Tensor:
    """Return a typed sequence of symbols as one row. Raises InvalidSetting."""
    from explorer.inspection.recurrent.gates import ALPHABET, parse_symbols

    ids = parse_symbols(text, task.symbols)
    if not ids:
        raise InvalidSetting(f"The sequence is empty. The symbols are {', '.join(ALPHABET[: task.symbols])}.")
    return torch.tensor([ids])


def _next_token(
    run: StoredRun | Record, loaded: LoadedModel, text: str
) -> tuple[Sequence[str], Float[ndarray, "seeds outcomes"]]:
    tokenizer, rows = tokenizer_of(run), []
    ids = read_prompt(run, tokenizer, text)
    with torch.inference_mode():
        for each in for_each_seed(loaded):
            logits, _, _ = next(generate_with_logits(text_generator(run, each.stack, tokenizer), ids, 1, Sampling()))
            rows.append(logits[0].softmax(dim=-1).numpy().copy())
    return tokenizer.tokens, np.stack(rows)


def tokenizer_of(run: StoredRun | Record) -> Tokenizer:
    """Return the tokenizer of a run on text or on a string. Raises InvalidSetting for a run of another task."""
    from explorer.tokenization.characters import Characters

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


def text_generator(run: StoredRun | Record, model: torch.nn.Module, tokenizer: Tokenizer) -> TextGenerator:
    """Return a single model of a run on text or on a string, ready to generate."""
    from explorer.training.objectives.string import string_generator

    task = run.config.task
    if isinstance(task, StringConfig):
        return string_generator(model)
    return TextGenerator.for_task(model, run.config.task_as(TextConfig), tokenizer)


def read_prompt(run: StoredRun | Record, tokenizer: Tokenizer, text: str) -> torch.Tensor:
    """Return the ids of a text. Warns about parts of it that are not in the vocabulary."""
    lower = isinstance(run.config.task, TextConfig) and run.config.task.lower
    ids, unseen = prompt_ids(tokenizer, text.lower() if lower else text)
    warn_unseen(unseen, tokenizer)
    return ids


def warn_unseen(unseen: Sequence[str], tokenizer: Tokenizer) -> None:
    """Warn about parts of a text that are not in the vocabulary."""
    if unseen:
        become = "left out" if tokenizer.unknown is None else "read as <unk>"
        warnings.warn(f"Not in the vocabulary: {', '.join(map(repr, unseen))} ({become}).", stacklevel=5)


def generate(run: StoredRun | Record, model: torch.nn.Module, prompt: str, tokens: int, sampling: Sampling) -> str:
    """Return the prompt and its continuation by a single model.

    run: the run of the model, with its tokenizer
    model: the model of one seed at one step
    prompt: the text to continue
    tokens: the number of tokens to generate
    sampling: the settings of the sampling

    Raises InvalidSetting for a run of another task, or a number of tokens that is not from 1 to 1,000,000.
    """
    tokens = require_whole_number("tokens", tokens, 1, MAX_TOKENS)
    tokenizer = tokenizer_of(run)
    lower = isinstance(run.config.task, TextConfig) and run.config.task.lower
    found = continue_prompt(
        text_generator(run, model, tokenizer), tokenizer, prompt, tokens, sampling, samples=1, lower=lower
    )
    warn_unseen((*found.dropped, *found.unknown), tokenizer)
    return found.whole[0]


def surprisals(run: StoredRun | Record, loaded: LoadedModel, text: str) -> pd.DataFrame:
    """Return -log p of every token of a text but the first, in nats; see `Run.surprisal`. Raises InvalidSetting."""
    from explorer.inspection.language.perplexity import windowed_surprisals
    from explorer.tokenization.text import pieces

    tokenizer, task = tokenizer_of(run), run.config.task
    if not isinstance(task, TextConfig) or task.rows == "prefixes":
        raise InvalidSetting(
            "The loss of a text needs a language model that predicts at every position: a run of the task text whose "
            "rows are blocks or sentences."
        )
    ids = read_prompt(run, tokenizer, text).numpy()
    if len(ids) < 2:
        raise InvalidSetting(
            "This text has fewer than two tokens, so none is predicted from another. Give a longer one."
        )
    window = task.context
    values = np.stack(
        [windowed_surprisals(each.stack, ids, window, max(1, window // 2)) for each in for_each_seed(loaded)]
    )
    tokens = [piece or tokenizer.tokens[id] for piece, id in zip(pieces(tokenizer, ids.tolist()), ids, strict=True)]
    table = pd.DataFrame({"position": np.arange(1, len(ids)), "token": tokens[1:], "surprisal": values.mean(axis=0)})
    if len(values) > 1:
        table["lowest"], table["highest"] = values.min(axis=0), values.max(axis=0)
    return table


def _translate(loaded: LoadedModel, text: str) -> pd.DataFrame:
    """Return the greedy output of each seed, its probability, and whether it is right."""
    from explorer.inspection.seq2seq.decoding import greedy_translations, require_translator

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
    from explorer.inspection.words.labelling import parse_row, predict_positions

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
