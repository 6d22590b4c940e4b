"""The eight stations of the timeline on the home page, each with a figure from a real run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Condition

from cachetools import LRUCache, cached
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import DamagedRun
from explorer.experiments import recall, translation, word_vectors
from explorer.experiments.default_runs import negation_runs, text_run
from explorer.number_format import format_signed
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import CLASSES
from explorer.tasks.seq2seq.digits import ReverseConfig, evaluation_lengths
from explorer.training.config import with_settings
from explorer.ui.document import Document
from explorer.ui.training.run_view import load_run_model, run_views

SENTENCE = ("human", "not", "preserve", "nature")

_DIGITS = 20  # at 14 digits the accuracy of the wider vector depends on the training; at 20 all seeds fail

Station = dict[str, object]  # what `static/components/home_timeline/view.js` draws
Figure = dict[str, object]


def add_timeline(document: Document, stations: Sequence[Station], key: str) -> None:
    """Add the stations to a document; the event "open" is the address of the page whose link was clicked."""
    document.component("home_timeline", {"stations": list(stations)}, key)


def stations(figures: bool) -> list[Station]:
    """Return the stations from the bag of words to the Transformer. Without `figures` their figures stay empty."""
    classifiers = run_views(negation_runs(), visitor_id="")
    language_models = run_views({model: text_run(model) for model in ("feedforward", "gru")}, visitor_id="")
    attention: Station = {"href": "/attention", "page": "attention", "link": "Open the attention explorer"}
    negation: Station = {"href": "/negation", "page": "negation", "link": "Open the negation lab"}
    memory: Station = {"href": "/memory", "page": "memory", "link": "Open the memory lab"}
    text: Station = {"href": "/text", "page": "text", "link": "Open the language models"}
    words: Station = {"href": "/word-vectors", "page": "word-vectors", "link": "Open the word vectors"}
    translation_page: Station = {"href": "/translation", "page": "translation", "link": "Open the translation lab"}

    def station(year: str, name: str, colour: str, question: str, more: Station) -> Station:
        return {"year": year, "name": name, "colour": colour, "question": question, "figure": None, **more}

    def classifier(model: str, make_figure: Callable[[StoredRun], Figure | None]) -> Station:
        run = classifiers[model].stored
        try:
            return {**negation, "figure": make_figure(run) if figures and run else None}
        except DamagedRun:  # the negation page says so, and offers to train it again
            return negation

    def generated_text(model: str) -> Station:
        run = language_models[model].stored
        return {**text, "figure": _sample_figure(run) if figures and run and run.curves.samples else None}

    return [
        station(
            "1958",
            "Bag of words",
            "--m-counts",
            "Can a sum of word weights understand “not”?",
            classifier("bag_of_words", _word_weights_figure),
        ),
        station(
            "2003",
            "Neural n-gram",
            "--m-feedforward",
            "Can similar words share what they know?",
            generated_text("feedforward"),
        ),
        station(
            "2010",
            "Recurrent net",
            "--m-rnn",
            "What if it reads word by word, and remembers?",
            classifier("rnn", _prediction_by_word_figure),
        ),
        station(
            "2013",
            "Word vectors",
            "--m-skip-gram",
            "Can a word be known by the company it keeps?",
            {**words, "figure": _neighbours_figure() if figures else None},
        ),
        station(
            "2013",
            "LSTM",
            "--m-lstm",
            "What changes when memory gets a door?",
            {**memory, "figure": _gate_bias_figure() if figures else None},
        ),
        station("2014", "GRU", "--m-gru", "Is one door fewer enough?", generated_text("gru")),
        station(
            "2015",
            "Attention",
            "--m-additive",
            "Why squeeze a sentence into one vector?",
            {**translation_page, "figure": _fixed_vector_figure() if figures else None},
        ),
        station(
            "2017",
            "Transformer",
            "--m-transformer",
            "What if attention is all there is?",
            {**classifier("transformer", _attention_figure), **attention},
        ),
    ]


@cached(LRUCache(16), key=lambda run: run.cache_key, condition=Condition())
def _word_weights_figure(run: StoredRun) -> Figure:
    """Return the weights of a bag of words for the four words that matter, averaged over its seeds."""
    from explorer.inspection.words import negation_sentences

    words = ("preserve", "not", "destroy", "consume")
    seeds = range(run.config.replicas)
    model = load_run_model(run)
    per_seed = [negation_sentences.word_weights(model, replica) for replica in seeds]
    values = [
        sum(float(w.weights[1, w.tokens.index(word)] - w.weights[0, w.tokens.index(word)]) for w in per_seed)
        / len(seeds)
        for word in words
    ]
    rows = [{"label": word, "value": round(value, 3)} for word, value in zip(words, values, strict=True)]
    weights = ", ".join(f"{word} {format_signed(value)}" for word, value in zip(words, values, strict=True))
    return {
        "kind": "bars",
        "rows": rows,
        "alt": f"Learned weight of each word towards sustain, mean of {len(seeds)} seeds: {weights}.",
        "caption": f"weight of each word, {len(seeds)} seeds: collapse left, sustain right",
    }


def _neighbours_figure() -> Figure | None:
    """Return the words whose vectors are most similar to that of “queen”, in the grammar with planted analogies."""
    run = run_views({"": word_vectors.config("skip_gram", "grammar")}, visitor_id="")[""].stored
    try:
        return _nearest_words(run) if run else None
    except DamagedRun:  # the page says so, and offers to train it again
        return None


@cached(LRUCache(16), key=lambda run: run.cache_key, condition=Condition())
def _nearest_words(run: StoredRun) -> Figure | None:
    from explorer.inspection.words.word_vectors import load_table, neighbours

    word = "queen"
    near = neighbours(load_table(run), word, 4)
    return _shares_figure(
        {each.word: each.cosines for each in near},
        f"Cosine of the vectors of these words with that of “{word}”",
        f"nearest to “{word}”, by the cosine of the vectors",
    )


def _gate_bias_figure() -> Figure | None:
    """Return how often LSTMs name the first of 50 symbols, by the initialization of their gate biases."""
    views = run_views(
        {name: recall.VARIANTS[name].config() for name in ("lstm-usual", "lstm-forget-3", "lstm-chrono")}, visitor_id=""
    )
    return _shares_figure(
        {
            recall.VARIANTS[name].label: view.stored.curves.last("accuracy")
            for name, view in views.items()
            if view.stored
        },
        "Share of sequences whose first of 50 symbols the LSTM names, by the start of its gates",
        "names the first of 50 symbols, by the start of its gates",
    )


def _fixed_vector_figure() -> Figure | None:
    """Return how often 20 digits are reversed correctly: one vector, a wider one, and attention."""
    variants = translation.VARIANTS
    views = run_views(
        {name: variants[name].config("reverse") for name in ("vector", "wide", "additive")}, visitor_id=""
    )
    column = evaluation_lengths(ReverseConfig()).index(_DIGITS)
    exact = {
        name: view.stored.curves.answers["by_length"][-1][:, column] for name, view in views.items() if view.stored
    }
    return _shares_figure(
        {variants[name].label: values for name, values in exact.items()},
        f"Share of sources of {_DIGITS} digits that come out turned around",
        f"{_DIGITS} digits turned around without a mistake",
    )


def _shares_figure(shares: Mapping[str, Float[ndarray, " seeds"]], measure: str, caption: str) -> Figure | None:
    """Return a bar for each label: the mean over the seeds. `measure` names the shares in the alternative text."""
    if not shares:
        return None
    rows = [{"label": label, "value": round(float(values.mean()), 3)} for label, values in shares.items()]
    numbers = ", ".join(f"{row['label']} {row['value']:.2f}" for row in rows)
    return {"kind": "shares", "rows": rows, "alt": f"{measure}: {numbers}.", "caption": caption}


def _sample_figure(run: StoredRun) -> Figure:
    """Return the first lines that a language model generated at the end of its training."""
    lines = [line for line in run.curves.samples[-1][0].split("\n") if line.strip()][:6]
    return {
        "kind": "lines",
        "lines": lines,
        "alt": f"It wrote: {' / '.join(lines)}",
        "caption": f"what it writes after {run.card.step:,} steps",
    }


@cached(LRUCache(16), key=lambda run: run.cache_key, condition=Condition())
def _prediction_by_word_figure(run: StoredRun) -> Figure:
    """Return P(sustain) of a recurrent model after each word of the sentence."""
    from explorer.inspection.words import negation_sentences

    reading = negation_sentences.sustain_by_token(load_run_model(run), SENTENCE, 0)
    numbers = ", ".join(f"{token} {value:.2f}" for token, value in zip(reading.tokens, reading.sustain, strict=True))
    return {
        "kind": "path",
        "labels": list(reading.tokens),
        "values": [round(float(v), 4) for v in reading.sustain],
        "low": CLASSES[0],
        "high": CLASSES[1],
        "alt": f"Probability of sustain after each word: {numbers}.",
        "caption": "what it would answer after each word",
    }


def _attention_figure(run: StoredRun) -> Figure | None:
    """Return the attention of the predicted position, of the run with PyTorch's standard embedding initialization.

    Attention is sharp there, in the seeds that learn the task at all.
    """
    standard = store.find_by_config(with_settings(run.config, {"start": 1.0}))
    return _sharp_attention(standard) if standard else None


@cached(LRUCache(16), key=lambda run: run.cache_key, condition=Condition())
def _sharp_attention(run: StoredRun) -> Figure | None:
    """Return the attention of the first seed that has solved the task; None where no seed has."""
    from explorer.inspection.words import negation_sentences

    solved = run.curves.last("exact_accuracy") > 1 - 1e-6
    if not solved.any():
        return None
    view = negation_sentences.sentence_attention(load_run_model(run), SENTENCE, int(solved.argmax()))
    row = view.weights[0, 0, 0]
    inner = range(len(view.tokens) - 1)
    numbers = ", ".join(f"{view.tokens[i]} {row[i]:.2f}" for i in inner)
    return {
        "kind": "gaze",
        "tokens": [view.tokens[i] for i in inner],
        "from": 0,
        "weights": [round(float(row[i]), 4) for i in inner],
        "alt": f"Attention of the token that gives the answer: {numbers}.",
        "caption": "where the answer, read at <BOS>, looks",
    }
