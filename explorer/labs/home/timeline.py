"""The stations of the timeline on the home page, each with a figure from included runs that answers its question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer import ui
from explorer.errors import LineageError
from explorer.inspection import load_model
from explorer.model.example_texts import ENGLISH_EXAMPLES
from explorer.models.configs import NgramTextConfig
from explorer.number_format import format_signed, superscript
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import VOCABULARY
from explorer.ui.state.fields import PageState, setting

SENTENCE = ("human", "not", "preserve", "nature")
SOURCE = (3, 1, 4, 1, 5, 9, 2, 6, 8)  # digits that the model with attention reverses
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SEQUENCES = 8  # over which the gradients of the home page are averaged
LOWEST = -16.0  # of the gradients that are drawn, as a power of ten

Figure = dict[str, object]


@dataclass(frozen=True)
class Station:
    """An idea: when it came, who had it, what it asks, and the figure that answers."""

    year: str
    title: str
    source: str
    colour: str
    question: str
    page: str  # path
    link: str
    runs: tuple[str, ...]  # included runs of the figure
    make_figure: Callable[..., Figure | None]  # takes the runs
    needs_torch: bool = False


def figure_calls() -> dict[str, ui.Call[Figure | None]]:
    """Return what computes each figure, by the title of its station, that without torch first."""
    ordered = sorted(STATIONS, key=lambda station: station.needs_torch)
    return {station.title: ui.Call(_make_figure, station) for station in ordered}


def _make_figure(station: Station) -> Figure | None:
    """Return the figure of a station; None if a run of it cannot be read."""
    try:
        return station.make_figure(*(store.find(run) for run in station.runs))
    except LineageError:  # the page of the run says so
        return None


def timeline_view(document: ui.Document, figures: Mapping[str, Figure | None]) -> None:
    """Write all stations with the figures that have been computed; the event "open" is the page of a clicked link."""
    shown = ("year", "source", "colour", "question", "page", "link")
    data = [
        {name: getattr(station, name) for name in shown}
        | {"name": station.title, "href": station.page, "figure": figures.get(station.title)}
        for station in STATIONS
    ]
    document.component("home_timeline", {"stations": data}, "lineage")


def _amounts(values: Mapping[str, float], measure: str, caption: str) -> Figure:
    """Return a bar for each label, from zero. `measure` names the values in the alternative text."""
    rows = [{"label": label, "value": round(float(value), 3)} for label, value in values.items()]
    numbers = ", ".join(f"{row['label']} {row['value']:.2f}" for row in rows)
    return {"kind": "amounts", "rows": rows, "alt": f"{measure}: {numbers}.", "caption": caption}


def _ngram_loss(run: StoredRun) -> Figure:
    """Return the loss of an n-gram of characters, and of a uniform guess among them."""
    from explorer.tokenization.text import from_json

    assert isinstance(run.config.model, NgramTextConfig)
    uniform = math.log(len(from_json(run.tokenizer).tokens))
    losses = {"uniform guess": uniform, f"{run.config.model.n}-gram": _median(run, "val_loss")}
    measure = "loss on new text"
    return _amounts(
        losses, f"{ui.capitalize(measure)}, in nats per character", f"{measure}, nats per character: lower is better"
    )


def _median(run: StoredRun, metric: str) -> float:
    return float(np.median(run.curves.last(metric)))


def _word_weights(run: StoredRun) -> Figure:
    """Return the weights of a bag of words for the four words that matter: the median over its seeds."""
    words = ("preserve", "not", "destroy", "consume")
    weights = run.weights()["readout.weight"]  # seeds, classes, words
    towards_sustain = np.median(weights[:, 1] - weights[:, 0], axis=0)
    values = {word: float(towards_sustain[VOCABULARY.id(word)]) for word in words}
    numbers = ", ".join(f"{word} {format_signed(value)}" for word, value in values.items())
    count = run.config.replicas
    return {
        "kind": "bars",
        "rows": [{"label": word, "value": round(value, 3)} for word, value in values.items()],
        "alt": f"Learned weight of each word towards sustain, median of {count} seeds: {numbers}.",
        "caption": f"the one weight of each word (median of {count} seeds): left collapse, right sustain",
    }


def _gradients_reaching_back(*runs: StoredRun) -> Figure:
    """Return how much of the gradient arrives at each symbol before training; the station is about the last run."""
    from explorer.inspection.recurrent.input_gradients import gradient_norms
    from explorer.tasks.recall import RecallConfig, evaluation_sequences

    lines, parts = [], []
    for run in runs:
        task = run.config.task_as(RecallConfig)
        ids = evaluation_sequences(task, task.length, SEQUENCES)
        norms = load_model.to_array(
            gradient_norms(load_model.load_model(run, run.snapshot_steps()[0]).stack, ids, run.config.replicas)
        )
        relative = np.log10(np.maximum(norms / norms[:, -1:], 10.0 ** (2 * LOWEST)))
        powers = np.maximum(np.median(relative, axis=0), LOWEST).round(2)
        name = run.config.model_name
        lines.append({"label": name.upper(), "colour": f"--m-{name}", "values": powers.tolist()})
        parts.append(f"{name.upper()} 10 to the power {powers[0]:.0f}")
    length, exponent = len(powers), superscript(round(float(powers[0])))
    return {
        "kind": "reach",
        "lines": lines,
        "low": LOWEST,
        "left": f"{length} symbols ago",
        "right": "now",
        "alt": f"Share of the gradient that arrives at the first of {length} symbols before training, median of the "
        f"seeds: {', '.join(parts)}.",
        "caption": f"10{exponent} of the gradient reaches the first symbol before training (log scale, median of "
        f"{len(norms)} seeds)",
    }


def _letter_map(run: StoredRun) -> Figure:
    """Return the letters by their input vectors: in the first seed, the ranks along the first two directions."""
    from explorer.tokenization.text import from_json

    tokenizer = from_json(run.tokenizer)
    vectors = run.weights()["embedding.weight"][:, [tokenizer.encode(letter)[0] for letter in LETTERS]]
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    u, s, _ = np.linalg.svd(centred[0], full_matrices=False)
    ranks = (u[:, :2] * s[:2]).argsort(axis=0).argsort(axis=0) / (len(LETTERS) - 1)
    vowels = np.array([letter in "aeiou" for letter in LETTERS])
    unit = centred / np.linalg.norm(centred, axis=-1, keepdims=True)
    nearest = (unit @ unit.swapaxes(1, 2) - 2 * np.eye(len(LETTERS))).argmax(axis=-1)
    together = np.median(vowels[nearest[:, vowels]].sum(axis=-1))
    count, others = vowels.sum(), len(LETTERS) - 1
    found = (
        f"for {together:g} of {count} vowels the most similar letter is a vowel (median of {len(vectors)} seeds; by "
        f"chance {count * (count - 1) / others:.1f})"
    )
    return {
        "kind": "map",
        "points": [
            {"label": letter, "x": round(float(x), 3), "y": round(float(y), 3), "strong": bool(strong)}
            for letter, (x, y), strong in zip(LETTERS, ranks, vowels, strict=True)
        ],
        "alt": f"26 letters by their learned input vectors: {found}.",
        "caption": f"letters by their input vectors: {found}",
    }


def _nearest_words(run: StoredRun) -> Figure:
    """Return the words whose vectors are most similar to that of “queen”, in the grammar with planted analogies."""
    from explorer.inspection.words.word_vectors import load_table, neighbours

    word = "queen"
    near = {each.word: float(np.median(each.cosines)) for each in neighbours(load_table(run), word, 4)}
    return _amounts(
        dict(sorted(near.items(), key=lambda each: -each[1])),
        f"Cosine similarity of the vectors of these words with that of “{word}”",
        f"words nearest to “{word}”, by cosine similarity",
    )


def _gates_compared(lstm: StoredRun, gru: StoredRun) -> Figure:
    """Return how often an LSTM and a GRU name the first of 50 symbols, and their sizes."""
    measure = "share of correct answers when asked for the first of 50 symbols"
    sizes = f"{lstm.card.parameters:,} and {gru.card.parameters:,} parameters"
    values = {title: _median(run, "accuracy") for title, run in (("LSTM", lstm), ("GRU", gru))}
    return _amounts(values, ui.capitalize(measure), f"{measure}; {sizes}")


def _alignment(run: StoredRun) -> Figure | None:
    """Return which input digit each output digit attends to; None if the model does not reverse the source."""
    from explorer.inspection.attention.alignment import align
    from explorer.models.translation import Translator
    from explorer.tasks.seq2seq.digits import ReverseConfig

    model = load_model.load_model(run).single_replica(0)
    assert isinstance(model, Translator)
    aligned = align(model, run.config.task_as(ReverseConfig), SOURCE)
    if aligned.weights is None or aligned.target[:-1] != SOURCE[::-1]:
        return None
    weights = aligned.weights[0, 0, :-1]
    outputs = " ".join(str(digit) for digit in aligned.target[:-1])
    inputs = " ".join(str(SOURCE[int(i)]) for i in weights.argmax(axis=1))
    return {
        "kind": "grid",
        "rows": [str(digit) for digit in aligned.target[:-1]],
        "columns": [str(digit) for digit in SOURCE],
        "values": weights.round(3).tolist(),
        "alt": f"Attention while nine digits are reversed: the outputs {outputs} attend most to the inputs {inputs}.",
        "caption": "reversing nine digits: each output (row) attends to its input (column)",
    }


def _attention_to_not(run: StoredRun) -> Figure | None:
    """Return the attention of the head that attends most to “not”, of the first seed; None if that seed is wrong."""
    from explorer.inspection.words import negation_sentences
    from explorer.inspection.words.attending_head import find_attending_head

    if run.curves.last("exact_accuracy")[0] < 1 - 1e-6:
        return None
    view = negation_sentences.sentence_attention(load_model.shared_model(run), SENTENCE, 0)
    head = find_attending_head(view.tokens, view.weights[-1])
    row = view.weights[-1, head, 0]
    numbers = ", ".join(f"{token} {weight:.2f}" for token, weight in zip(view.tokens, row, strict=True))
    return {
        "kind": "gaze",
        "query": "answer",
        "tokens": list(view.tokens),
        "weights": [round(float(weight), 4) for weight in row],
        "alt": f"Attention of head {head + 1} at the position of the answer: {numbers}.",
        "caption": f"one of {view.weights.shape[1]} heads: to answer, it attends to “{view.tokens[int(row.argmax())]}”",
    }


def _second_copy(one: StoredRun, two: StoredRun) -> Figure:
    """Return the loss of one and of two layers on the second copy of a random sequence."""
    values = {title: _median(run, "second_copy_loss") for title, run in (("one layer", one), ("two layers", two))}
    measure = "loss on the second copy of a random sequence"
    return _amounts(
        values, f"{ui.capitalize(measure)}, in nats per symbol", f"{measure}, nats per symbol: lower is better"
    )


STATIONS: Sequence[Station] = (
    Station(
        "1948",
        "n-gram",
        "Shannon",
        "--m-ngram",
        "Can one predict the next letter by counting?",
        "text",
        "Open the language models",
        ("text-ngram-modified",),
        _ngram_loss,
    ),
    Station(
        "1954",
        "Bag of words",
        "Harris",
        "--m-counts",
        "Can a sum of word weights understand “not”?",
        "negation",
        "Open the negation page",
        ("negation-single-bag_of_words",),
        _word_weights,
    ),
    Station(
        "1990",
        "Recurrent network",
        "Elman; as a language model Mikolov et al. 2010",
        "--m-rnn",
        "How far back does the gradient of a recurrent network reach?",
        "memory",
        "Open the memory page",
        ("recall-50-rnn-usual",),
        _gradients_reaching_back,
        needs_torch=True,
    ),
    Station(
        "1997",
        "LSTM",
        "Hochreiter and Schmidhuber; forget gate: Gers, Schmidhuber and Cummins 2000",
        "--m-lstm",
        "What if the network can choose what to keep?",
        "gates",
        "Open the gates",
        ("recall-50-rnn-usual", "recall-50-lstm-chrono"),
        _gradients_reaching_back,
        needs_torch=True,
    ),
    Station(
        "2003",
        "Neural n-gram",
        "Bengio et al.",
        "--m-feedforward",
        "Can similar letters share what the network learns?",
        "text",
        "Open the language models",
        ("tuned-text-feedforward",),
        _letter_map,
    ),
    Station(
        "2013",
        "Word vectors",
        "Mikolov et al.",
        "--m-skip-gram",
        "Can a word be known by the company it keeps?",
        "word-vectors",
        "Open the word vectors",
        ("words-grammar-skip_gram",),
        _nearest_words,
    ),
    Station(
        "2014",
        "GRU",
        "Cho et al.",
        "--m-gru",
        "Does a simpler gate do as well?",
        "memory",
        "Open the memory page",
        ("recall-50-lstm-chrono", "recall-50-gru-chrono"),
        _gates_compared,
    ),
    Station(
        "2015",
        "Attention",
        "Bahdanau, Cho and Bengio",
        "--m-additive",
        "Why squeeze a sentence into one vector?",
        "translation",
        "Open the translation page",
        ("reverse-additive",),
        _alignment,
        needs_torch=True,
    ),
    Station(
        "2017",
        "Transformer",
        "Vaswani et al.",
        "--m-transformer",
        "What if attention is all there is?",
        "attention",
        "Open the attention explorer",
        ("negation-single-transformer-attending",),
        _attention_to_not,
        needs_torch=True,
    ),
    Station(
        "2022",
        "Induction heads",
        "Olsson et al.",
        "--m-transformer",
        "Can a model continue what it has read once?",
        "induction",
        "Open the induction heads",
        ("induction-one", "induction-two"),
        _second_copy,
    ),
)


FIRST_SENTENCE = ENGLISH_EXAMPLES[0]


@dataclass(frozen=True)
class HomeState(PageState):
    """The sentence, a URL parameter."""

    say: str = setting(FIRST_SENTENCE, "Type any English sentence", longest=300)
