"""The cost of a training, computed from its configuration before anything is built: parameters, memory and time.

Parameters are counted on a model without memory (torch's meta device). Memory and time follow from formulas:

    memory    4 bytes for each weight, its gradient, optimizer state and snapshots, and for each number that a step
              keeps for the backward pass, or that an evaluation keeps at once, whichever is more
    time      small operations in sequence, multiplications, and numbers that are written, each times a constant of this
              machine (`machine_speed`)

The constants in the formulas were fitted to measurements of every model (`benchmarks/cost.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from explorer import cores
from explorer.catalogue import task_row
from explorer.errors import LineageError
from explorer.jobs.machine_speed import bfloat16_speed, machine_speed
from explorer.models import configs as models
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import MARKERS, MAX_TOKENS, negation_data
from explorer.tasks.recall import RecallConfig, evaluation_lengths
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.seq2seq.config import MAX_SOURCE_TOKENS
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig, evaluation_rows
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.training import model_factory, train
from explorer.training.config import RunConfig

_BASE_BYTES = 35_000_000  # what the first training of a process adds, whatever its size
_SHAKESPEARE_CHARACTERS, _SHAKESPEARE_LETTERS = 1_115_394, 65
_SYMBOLS_PER_FORWARD = 2**17  # of an evaluation of recall
_SENTENCES_PER_FORWARD = 512  # of an evaluation on own sentences
_SHARED = 0.8  # of the seconds of a training with large steps
_PASSES = 3.8  # how often the passes of a step write or read each number that they keep
_PASSES_OF_TRANSFORMER = 5.5  # the same for a Transformer
_UPDATE = 14  # how often an optimizer writes or reads a number for each weight
_MUON = 11  # multiplications of its five Newton-Schulz steps for each weight, times the width
# Tokens that an evaluation before the last one reads, fitted to measured seconds.
_EVALUATED_ON_THE_WAY = {
    "agreement": 35_000,
    "echo": 600,
    "gist": 25_000,
    "gloss": 18_000,
    "induction": 4_500,
    "noise": 28_000,
    "place": 9_000,
    "tale": 48_000,
}
_ONE_ANSWER = ("negation", "sentiment", "recall")  # tasks whose models answer once for a row
# Of the task sentiment: reviews and rated words, tokens of each and of a composed sentence, tokens of an evaluation.
_REVIEWS, _RATED_WORDS, _ENGLISH_TOKENS, _ENGLISH_EVALUATED = 10_400, 7_000, (26, 4, 11), 100_000
_ENGLISH_LONGEST = 62  # tokens
# Numbers kept and evaluated for each hidden unit, and operations of a step; one LSTM alone has PyTorch's own kernel.
_RECURRENT = {"rnn": (6, 4, 8), "lstm": (16, 12, 24), "gru": (13, 6.5, 26)}


@dataclass(frozen=True)
class Cost:
    """What a training takes."""

    parameters: int  # of one replica; for a text that is not in memory, with the vocabulary that was asked for
    peak_bytes: int  # the most memory that the training adds to a process that has loaded torch
    seconds: float  # of the whole training, evaluations included, if nothing else runs on its core
    step_seconds: float  # of one optimizer step, on one core
    shared: float = 0.0  # the share of the seconds that several cores divide among them
    # The longest time for which a training in this process keeps others from theirs: a step or, on a text, one batch of
    # an evaluation.
    turn_seconds: float = 0.0


@dataclass(frozen=True)
class _Work:
    """How much of its task a model reads at once, for one replica."""

    rows: int  # in a training batch
    time: int  # tokens in a row
    evaluated: int  # tokens in the largest batch of an evaluation
    evaluated_each_time: int  # tokens of one evaluation on the way
    outputs: int  # numbers that the model predicts at a position where it predicts
    longest: int = 0  # tokens in a row of an evaluation
    data_bytes: int = 0
    evaluated_at_end: int = 0  # tokens that only the last evaluation reads
    share_read: float = 1.0  # of the tokens of a training batch; the others are padding


@dataclass(frozen=True)
class _TokenWork:
    """What a model does with one token, in numbers kept for the backward pass or by an evaluation, and operations."""

    kept: float
    evaluated: float
    operations: float  # of a forward pass, in sequence
    matrix_share: float = 1.0  # the multiplications of a token for each parameter


def estimate_cost(config: RunConfig) -> Cost:
    """Return the cost of a training. Never raises; a model that cannot be built costs nothing."""
    if isinstance(config.task, WordVectorsConfig):
        return _estimate_cost(config, _count_words(config.task), 0)
    if isinstance(config.task, TextConfig):  # what is known of the text differs between visitors
        return _estimate_cost(config, _vocabulary(config.task), _text_length(config.task))
    if isinstance(config.task, SentimentConfig):  # the vocabulary is as large as it may be
        return _estimate_cost(config, config.task.vocabulary, 0)
    if isinstance(config.task, NegationConfig) and config.own_text:
        return _estimate_cost(config, *_size_of_sentences(config.task))
    return _estimate_cost(config, 0, 0)


def expected_seconds(config: RunConfig, on_cores: int | None = None) -> float:
    """Return the seconds of a training on so many cores, or on those that are idle now."""
    cost = estimate_cost(config)
    return cost.seconds * (1 - cost.shared + cost.shared / (on_cores or cores.idle_cores()))


@lru_cache(maxsize=4096)
def _estimate_cost(config: RunConfig, vocabulary: int, length: int) -> Cost:
    """Return the cost of a training on a text with so many tokens and characters, or on another task."""
    if isinstance(config.model, models.NgramTextConfig):
        return _counting_cost(config, length)
    try:
        shapes = model_factory.model_shapes(config, vocabulary or None)
    except LineageError:
        return Cost(0, 0, 0.0, 0.0)
    sizes = [(name, math.prod(shape)) for name, (shape, learned) in shapes.items() if learned]
    parameters, multiplied = sum(size for _, size in sizes), train.count_multiplied(sizes)
    work, replicas, steps = _work(config, vocabulary, length), config.replicas, config.steps - config.first_step
    use = _work_per_token(config, work)
    tokens = work.rows * work.time
    numbers = tokens * (use.kept + (3 * work.outputs if _predicts_everywhere(config) else 0))
    evaluated = work.evaluated * (use.evaluated + (3 * work.outputs if _predicts_everywhere(config) else 0))
    states = (2 if config.optimiser.method in ("adam", "muon") else 1) + (config.average > 0)
    snapshots = len(config.snapshot_steps) + 1  # and the last checkpoint
    weights = parameters * (3 + states + snapshots * (1 + states))
    curves = 24 * steps * (replicas + 1)
    peak = 4 * replicas * (weights + max(numbers, evaluated)) + curves + work.data_bytes + _BASE_BYTES
    passes = _seconds_of_passes(config, multiplied, work, numbers, use)
    step = passes + _seconds_of_update(config, parameters)
    evaluations = len(range(0, steps, config.evaluate_every or config.steps_per_epoch or config.steps or 1)) + 1
    evaluated_tokens = evaluations * work.evaluated_each_time + work.evaluated_at_end
    seconds = steps * step + evaluated_tokens / max(3 * tokens, 1) * passes
    turn = max(step, passes * work.evaluated / (3 * tokens)) if isinstance(config.task, TextConfig) else step
    is_large = train.is_large_step(multiplied * replicas, tokens * work.share_read)
    shared = _SHARED * (1 - _seconds_of_operations(use) / step) if is_large else 0.0
    return Cost(parameters, int(peak), seconds, step, shared, turn)


def _text_length(task: TextConfig) -> int:
    if task.corpus == "tinyshakespeare":
        return _SHAKESPEARE_CHARACTERS
    return task.size if task.corpus != "own" else corpora.text_length(task) or task.size


def _vocabulary(task: TextConfig) -> int:
    """Return the number of tokens, or an upper bound where the text has to be read for it."""
    if task.tokenizer != "char":
        return task.vocabulary
    if task.corpus == "tinyshakespeare":
        return _SHAKESPEARE_LETTERS - 26 * task.lower
    try:
        corpora.load_text(task)  # only who may read a text learns how many characters it has
    except LineageError:
        return 256
    return _count_characters(task.corpus, task.text, task.size, task.corpus_seed, task.lower)


def _size_of_sentences(task: NegationConfig) -> tuple[int, int]:
    """Return the number of tokens of own sentences and the length of the longest, or bounds if they are not there."""
    try:
        data = negation_data(task)
    except LineageError:
        return task.vocabulary + len(MARKERS), MAX_TOKENS
    return len(data.vocabulary.tokens), max(data.lengths)


_GRAMMAR_WORDS = 277  # of the word vectors task, with the unknown word; fewer in very short texts
# Of Tiny Shakespeare: words that get a vector, by the smallest count (min_count) from which they do.
_SHAKESPEARE_WORDS = {1: 12_374, 2: 6_854, 3: 4_984, 5: 3_323, 10: 1_896, 20: 1_047, 50: 503, 100: 271}


def _count_words(task: WordVectorsConfig) -> int:
    """Return an upper bound of the words that get a vector, without reading the text."""
    if task.corpus == "grammar":
        return min(task.vocabulary + 1, _GRAMMAR_WORDS)
    if task.corpus == "own":
        return task.vocabulary + 1
    smaller = max(count for count in _SHAKESPEARE_WORDS if count <= task.min_count)
    return min(task.vocabulary + 1, _SHAKESPEARE_WORDS[smaller])


@lru_cache(maxsize=256)
def _count_characters(corpus: str, text: str, size: int, corpus_seed: int, lower: bool) -> int:
    """Return how many different characters a text has; the arguments are fields of a TextConfig."""
    found = corpora.load_text(TextConfig(corpus=corpus, text=text, size=size, corpus_seed=corpus_seed))  # type: ignore[arg-type]
    return len(set(found.lower() if lower else found))


def _work(config: RunConfig, vocabulary: int, length: int) -> _Work:
    task, rows = config.task, config.batch_size
    name = task_row(task).name
    if isinstance(task, TextConfig):
        held_out = int(length * task.held_out)
        part = config.evaluation_size or length
        evaluated = min(evaluation_rows(task.context) * task.context, max(held_out, part))
        if task.batches == "contiguous":
            evaluated = 16 * task.context
        data = 12 * length + 8 * rows * task.context * config.replicas
        each = min(part, held_out) + min(part, length)
        return _Work(rows, task.context, evaluated, each, vocabulary, data_bytes=data)
    if isinstance(task, RecallConfig):
        longest = max(evaluation_lengths(task.length))
        each, evaluated = 2 * 256 * task.length, min(256 * longest, _SYMBOLS_PER_FORWARD)
        at_end = 256 * (sum(evaluation_lengths(task.length)) if hasattr(config.model, "heads") else longest)
        return _Work(rows, task.length, evaluated, each, task.symbols, evaluated_at_end=at_end)
    if isinstance(task, WordVectorsConfig):  # a row: the input words, the true word and the noise words
        read = 2 * task.window if config.model_name == "cbow" else 1
        time = read + 1 + task.negatives
        rows_evaluated = 4_096
        return _Work(rows, time, rows_evaluated * time, rows_evaluated * time, 0, data_bytes=60_000_000)
    if isinstance(task, PairsConfig):
        time, outputs = task.longest_source + task.longest_target + 1, len(task.targets) + 2
        return _Work(rows, time, 500 * (time + 5), 200 * (time + 5), outputs, MAX_SOURCE_TOKENS)
    if isinstance(task, SentimentConfig):
        parts = task.reviews * _REVIEWS, task.words * _RATED_WORDS, task.composed
        time = round(sum(map(math.prod, zip(parts, _ENGLISH_TOKENS, strict=True))) / max(1, sum(parts))) or 1
        data = 80_000_000 + 150 * sum(parts) + 300 * task.composed + 8 * config.steps * rows * config.replicas
        evaluated = _SENTENCES_PER_FORWARD * (_ENGLISH_LONGEST if hasattr(config.model, "width") else time)
        return _Work(rows, time, evaluated, _ENGLISH_EVALUATED, vocabulary, data_bytes=data)
    if config.own_text:  # sentences with labels, the longest of which has `length` tokens
        time = min(length, getattr(config.model, "window", length))
        sentences = getattr(task, "train_size", 0)
        evaluated = min(_SENTENCES_PER_FORWARD, 2 * sentences) * time
        order = 8 * config.epochs * sentences * config.replicas
        return _Work(rows, time, evaluated, 2 * sentences * time, vocabulary, data_bytes=order)
    if name == "negation":
        return _Work(6, 6, 6, 0, 2, data_bytes=12 * config.epochs * getattr(task, "train_size", 0) * config.replicas)
    if name == "string":
        length = len(getattr(task, "text", "")) or 1
        return _Work(1, length, length, length, 32)
    longest = getattr(task, "longest", 0)
    if name in ("reverse", "copy"):
        return _Work(rows, 2 * longest, 500 * (2 * longest + 11), 8 * longest * 2 * longest, 12, 30, share_read=0.5)
    if name == "dates":
        return _Work(rows, 42, 425 * 36, 17 * 8 * 42, 40, 36, share_read=0.62)
    most = getattr(task, "max_length", 12)
    times = {"echo": 2 * longest, "induction": 2 * longest, "gloss": 12, "gist": 12}
    time = times.get(name, getattr(task, "length", 0) or most)
    largest = {"echo": 2_000 * most, "gloss": 512 * 12, "gist": 512 * 12, "tale": 48 * most, "place": 256 * most}
    evaluated = largest.get(name, 512 * most)
    return _Work(rows, min(time, most), evaluated, _EVALUATED_ON_THE_WAY.get(name, evaluated // 4), 32, most)


def _predicts_everywhere(config: RunConfig) -> bool:
    return task_row(config.task).name not in _ONE_ANSWER


def _work_per_token(config: RunConfig, work: _Work) -> _TokenWork:
    """Return what the model does with one token; see its forward pass in `models/`."""
    model, time = config.model, work.time
    width, hidden = getattr(model, "width", 1), getattr(model, "hidden", 1)
    layers, name = getattr(model, "layers", 1), config.model_name
    if work.outputs > 2 and name in ("bag_of_words", "bag_of_bigrams", "bag_of_words_hidden"):  # a large vocabulary
        if name == "bag_of_bigrams":  # it looks up one weight for each class and pair
            return _TokenWork(20, 20, 40, 0.0)
        counts = (2 * work.outputs + 3 * hidden) / time  # a number for each word of the vocabulary
        return _TokenWork(8 + counts, 8 + counts, 40, 1 / time)
    if name == "bag_of_words":
        return _TokenWork(8, 8, 10)
    if name in ("skip_gram", "cbow"):  # no matrix product: each word looks up its vector, and one product of vectors
        kept = width * (3.5 if name == "cbow" else 1.7) + 2
        return _TokenWork(kept, kept, 60 + 25 * config.replicas, 0.0)
    if name == "bag_of_words_hidden":  # the counts of a row, and the tanh layer over them
        return _TokenWork(8 + 3 * hidden / time, 8 + 3 * hidden / time, 20, 1 / time)
    if name == "bag_of_bigrams":  # a row has one count for each pair of its 11 tokens
        return _TokenWork(25, 25, 20, 1 / time)
    if name == "feedforward":  # its window as one row, and the tanh layer
        window = getattr(model, "window", 1)
        kept, evaluated = 2 * width * window + 4 * hidden, width * window + 3 * hidden
        if work.outputs > 2 and not _predicts_everywhere(config):
            return _TokenWork(kept / time, evaluated / time, 25, 1 / time)
        return _TokenWork(kept, evaluated, 25, 0.35)
    if isinstance(model, models.ConvolutionConfig):  # windows of every size, and the responses of the filters to them
        each = [size * width + 3 * model.filters for size in range(model.narrowest, model.widest + 1)]
        return _TokenWork(4 * width + sum(each), 4 * width + sum(each), 10 + 12 * len(each))
    if name in _RECURRENT:
        kept, evaluated, steps = (10, 4.5, 6) if name == "lstm" and config.replicas == 1 else _RECURRENT[name]
        return _TokenWork(layers * (kept * hidden + 2 * width), evaluated * hidden + width, steps * time * layers + 40)
    if name == "encoder_decoder":
        additive = getattr(model, "attention", "none") == "additive"
        look = hidden * time / 2 if additive else 0  # tanh(W s + U h) for every pair of source and target
        operations = (30 + 20 * additive) * time + 60  # one half of the weights reads the source, the other the target
        return _TokenWork(16 * hidden + 3 * width + look, 8 * hidden + width, operations, 0.5)
    if "transformer" not in name:  # a model without a formula: an estimate from its sizes, rather too high
        sizes = sum(size for size in vars(model).values() if type(size) is int)
        return _TokenWork(8 * sizes, 8 * sizes, 60)
    # A Transformer of any kind.
    both = 2 if name == "transformer_encoder_decoder" else 1
    heads, name_of_task = getattr(model, "heads", 1), task_row(config.task).name
    pairs, far = heads * time, heads * work.longest
    operations = 70 * both * layers + 60
    block = 12 * width + 3 * hidden + pairs
    if name_of_task in _ONE_ANSWER:  # only one position of the last block is needed
        share = (layers - 1 + 0.1) / layers
        return _TokenWork((layers - 1) * block + 7 * width, block * (layers > 1) + 7 * width, operations, share)
    evaluated = 14 * width + 3 * hidden + pairs if name_of_task == "text" else 9 * width + 2 * hidden + 1.5 * far
    return _TokenWork(layers * block, evaluated, operations, 1 / both)


def _multiplications(config: RunConfig) -> float:
    """Return how many of them one thread does in a second, in the precision of a run."""
    return bfloat16_speed() if config.precision == "bfloat16" else machine_speed().multiplications


def _seconds_of_update(config: RunConfig, parameters: int) -> float:
    """Return the seconds in which an optimizer changes the weights; Muon makes its updates orthogonal."""
    width = getattr(config.model, "width", 1) if config.optimiser.method == "muon" else 0
    weights = parameters * config.replicas
    return _UPDATE * weights / machine_speed().numbers + _MUON * width * weights / _multiplications(config)


def _seconds_of_operations(use: _TokenWork) -> float:
    """Return the seconds of the operations of a step, one after the other, without what they compute."""
    return (100 + 4.5 * use.operations) * machine_speed().operation


def _seconds_of_passes(config: RunConfig, multiplied: int, work: _Work, numbers: float, use: _TokenWork) -> float:
    """Return the seconds of the forward and the backward pass of a step."""
    speed, replicas = machine_speed(), config.replicas
    times = _PASSES_OF_TRANSFORMER if "transformer" in config.model_name else _PASSES
    multiplications = 3 * multiplied * use.matrix_share * work.rows * work.time * replicas
    return (
        _seconds_of_operations(use)
        + multiplications / _multiplications(config)
        + times * numbers * replicas / speed.numbers
    )


def _counting_cost(config: RunConfig, length: int) -> Cost:
    """Return the cost of an n-gram: its table is counted once, and a cache counts again what an evaluation reads."""
    assert isinstance(config.model, models.NgramTextConfig)
    has_cache = config.model.cache > 0
    seconds = (7e-7 if has_cache else 6e-8) * length * config.model.n
    return Cost(0, _BASE_BYTES + (30 * config.model.n + 100 * has_cache) * length, seconds, seconds)
