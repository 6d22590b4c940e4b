"""What lies beside an exported file: the weights of a run, the examples it was trained on, and its vocabularies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import islice
from pkgutil import resolve_name
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import Tensor

from explorer.catalogue import model_for_task
from explorer.errors import CorpusMissing, NeedsText
from explorer.generation.generate import padding_token, prompt_ids
from explorer.models.configs import NgramTextConfig
from explorer.run_store.store import StoredRun
from explorer.seeds import generator
from explorer.tasks import negation, own_sentences
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import Language, SentenceConfig, language_of, negation_data
from explorer.tasks.recall import RecallConfig
from explorer.tasks.recall import batch as sequences
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sentiment.data import batches as english_batches
from explorer.tasks.sentiment.data import example_rows, sentiment_data
from explorer.tasks.seq2seq.batches import batch, batch_of_table
from explorer.tasks.seq2seq.config import max_answer_length, source_vocabulary, target_vocabulary
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.tasks.seq2seq.own_pairs import pair_table
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.sequence_labelling.rows import pad_and_stack
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.tasks.word_vectors import WordVectorsConfig, draw_batch, word_data
from explorer.tokenization.text import from_json
from explorer.training.config import RunConfig
from explorer.training.record import Record

MAX_NUMBERS = 4_000_000  # of the stored examples: longer trainings read them again
Examples = Iterator[dict[str, Tensor]]


def stored_tensors(config: RunConfig, run: StoredRun | Record | None) -> bytes:
    """Return the safetensors file beside the program: weights, examples, and in its metadata the vocabularies.

    run: the trained run; None if there is none, so that only `train` works.

    Without examples if they are a text that this visitor may not read. Raises TextError.
    """
    tokenizer = run.tokenizer if run else ""
    weights = {
        f"weights.{name}": torch.from_numpy(np.array(value))
        for name, value in (run.weights(None) if run else {}).items()
    }
    try:
        data = {f"data.{name}": value for name, value in _stack(_examples(config), _fills(config)).items()}
        tokenizer = tokenizer or _tokenizer(config)
    except (CorpusMissing, NeedsText):
        data = {}
    tensors = {name: value.contiguous() for name, value in (weights | data).items()}
    return save(tensors, {"facts": json.dumps(_facts(config, tokenizer), ensure_ascii=False)})


def _tokenizer(config: RunConfig) -> str:
    """Return the tokenizer or the language of the data of a run that is not trained, as JSON. Raises NeedsText."""
    if isinstance(config.task, TextConfig):
        return text_data(config.task).tokenizer.to_json()
    if isinstance(config.task, NegationConfig) and config.task.corpus == "own":
        return language_of(negation_data(config.task)).to_json()
    if isinstance(config.task, SentimentConfig):
        return language_of(sentiment_data(config.task)).to_json()
    return json.dumps({"words": word_data(config.task).words}) if isinstance(config.task, WordVectorsConfig) else ""


def _facts(config: RunConfig, tokenizer: str) -> dict[str, Any]:
    """Return what the program of a run reads: vocabularies, and how a text is turned into ids."""
    task = config.task
    if isinstance(task, SentenceConfig):
        language = Language.from_json(tokenizer)
        return {
            "words": language.vocabulary.tokens,
            "classes": language.classes,
            "length": max(negation_data(task).lengths)
            if isinstance(task, NegationConfig) and task.padding == "eos"
            else 0,
        }
    if isinstance(task, RecallConfig):
        return {"symbols": list(ascii_lowercase[: task.symbols])}
    if isinstance(task, StringConfig):
        return {
            "tokenizer": json.dumps({"kind": "char", "characters": "".join(task.vocabulary)}),
            "context": 1,
            "start": [0],
        }
    if isinstance(task, TextConfig):
        known = from_json(tokenizer)
        return {
            "tokenizer": tokenizer,
            "context": task.context,
            "padding": padding_token(task, known),
            "start": prompt_ids(known, "")[0].tolist(),
        }
    if isinstance(task, WordVectorsConfig):
        found = json.loads(tokenizer)
        return {"words": found["words"] if "words" in found else list(from_json(tokenizer).tokens)}
    if isinstance(task, LabellingConfig):
        return {
            "vocabulary": list(task.vocabulary),
            "labels": list(task.labels),
            "words": any(len(token) > 1 and not token.startswith("<") for token in task.vocabulary),
            "copies": getattr(task, "again", ""),
        }
    fixed = isinstance(task, DatesConfig | PairsConfig)
    return {
        "sources": list(source_vocabulary(task)[:-1]),
        "targets": list(target_vocabulary(task)),
        "capitals": isinstance(task, PairsConfig),
        "spaces": fixed,
        "longest": max_answer_length(task, 0) if fixed else 0,
        "extra": max_answer_length(task, 0),
    }


def _examples(config: RunConfig) -> Examples:
    """Return the batch of each step of the first seed. Raises NeedsText or TextError."""
    task, seed, order, size = config.task, config.seed, config.order, config.batch_size
    if isinstance(task, NegationConfig | SentimentConfig):
        return _sentences(config, task)
    if isinstance(task, StringConfig):
        return iter([{"ids": torch.tensor([task.ids])}])
    if isinstance(task, TextConfig):
        return _text_rows(config, task)

    def draw(step: int) -> dict[str, Tensor]:
        if isinstance(task, RecallConfig):
            return {"ids": sequences(task, seed, order, step, size)}
        if isinstance(task, WordVectorsConfig):
            neighbours = resolve_name(model_for_task(config.model).class_path).predicts_neighbours
            drawn = draw_batch(word_data(task), seed, f"{order}/{step}", size, neighbours)
            return {"inputs": drawn.inputs, "present": drawn.present.bool(), "words": drawn.words}
        if isinstance(task, LabellingConfig):
            rows = import_module(type(task).__module__).batch(task, seed, order, step, size)
            return {"ids": rows.ids, "targets": rows.targets, "mask": rows.mask}
        if isinstance(task, PairsConfig):
            return dict(vars(batch_of_table(task, pair_table(task), seed, order, step, size)))
        return dict(vars(batch(task, seed, order, step, size)))

    return map(draw, range(config.steps))


def _sentences(config: RunConfig, task: NegationConfig | SentimentConfig) -> Examples:
    size = config.batch_size
    if isinstance(task, SentimentConfig):
        english = sentiment_data(task)
        rows = example_rows(english.training, english.vocabulary.id(english.vocabulary.padding))
        ids, labels = rows.ids.long(), rows.labels
        order = config.seeds, config.order, size, config.steps
        batches = [each[0] for each in english_batches(rows.lengths, *order)]
    elif (data := negation_data(task)) and task.corpus == "own":
        rows = own_sentences.sentence_rows(data)
        ids, labels = rows.ids, rows.labels
        batches = [each[0] for each in own_sentences.batch_rows(data, config.seeds, config.order, config.epochs, size)]
    else:
        purpose = f"order/{config.order}" if config.order else "order"
        sample, rng = torch.tensor(data.sample("train", config.seed)), generator(config.seed, purpose)
        ids, labels = negation.row_ids(data), negation.row_labels(data)
        drawn = negation.batch_rows(data, sample, config.epochs, size, rng)
        batches = [rows[rows < len(ids)] for rows in drawn]
    for chosen in batches:
        empty = (0, size - len(chosen))  # the last batch of an epoch has fewer sentences
        chosen, mask = F.pad(chosen, empty), F.pad(torch.ones(len(chosen)), empty).bool()
        yield {"ids": ids[chosen], "labels": labels[chosen], "mask": mask}


def _text_rows(config: RunConfig, task: TextConfig) -> Examples:
    data = text_data(task)
    if isinstance(config.model, NgramTextConfig):
        batch = data.full_training_batch()
        yield {"ids": batch.ids, "targets": batch.targets} | ({} if batch.mask is None else {"mask": batch.mask})
        return
    masked = task.rows != "blocks"
    for step in range(config.steps):
        ids, targets, mask = data.batch(config.seed, config.order, step, config.batch_size)
        if masked:
            yield {"ids": ids, "targets": targets, "mask": torch.ones_like(ids).bool() if mask is None else mask}
        elif task.batches == "contiguous":
            reset = torch.tensor(data.resets_state(step, config.batch_size))
            yield {"ids": torch.cat([ids, targets[:, -1:]], 1), "reset": reset}
        else:
            yield {"ids": torch.cat([ids, targets[:, -1:]], 1)}


def _stack(batches: Examples, fills: Mapping[str, int]) -> dict[str, Tensor]:
    """Return the batches on a first axis, padded to the longest rows, each number in as few bytes as all need."""
    first = next(batches)
    most = max(1, MAX_NUMBERS // sum(value.numel() for value in first.values()))
    parts = [first, *islice(batches, most - 1)]
    stacked = {}
    for name in first:
        values = [part[name] for part in parts]
        if values[0].dim():
            values = list(pad_and_stack(values, fills.get(name, 0)))
        stacked[name] = _smallest(torch.stack(values))
    return stacked


def _fills(config: RunConfig) -> dict[str, int]:
    """Return the ids that pad rows, by the name of the tensor; where it is masked, any is fine."""
    task = config.task
    if isinstance(task, LabellingConfig):
        return {"ids": len(task.vocabulary) - 1}
    if isinstance(task, ReverseConfig | CopyConfig | DatesConfig | PairsConfig):
        end = len(target_vocabulary(task)) - 1
        return {"source": len(source_vocabulary(task)) - 1, "decoder_input": end, "targets": end}
    return {}


def _smallest(value: Tensor) -> Tensor:
    if value.dtype != torch.int64 or not value.numel():
        return value
    largest = int(value.max())
    return value.to(torch.uint8 if largest < 2**8 else torch.int16 if largest < 2**15 else torch.int32)
