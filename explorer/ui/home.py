"""The seven stations of the home page; a station with a room shows what a real run found there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxtyping import Float
from numpy import ndarray

from explorer.errors import DamagedRun
from explorer.tasks.digits import ReverseConfig, asked_lengths
from explorer.tasks.negation import CLASSES
from explorer.training import store
from explorer.training.config import changed
from explorer.training.recall_runs import CONTESTANTS
from explorer.training.store import StoredRun
from explorer.training.translation_runs import CONTESTANTS as TRANSLATORS
from explorer.ui import runs
from explorer.ui.negation_lab import NegationLab
from explorer.ui.runs import lanes
from explorer.ui.text_lab import TextLab

SENTENCE = ("human", "not", "preserve", "nature")

_DIGITS = 14  # where one vector has lost the thread

Station = dict[str, object]


def stations(figures: bool) -> list[Station]:
    """The lineage from counts to 2017. Without `figures` the places for them stay empty."""
    found = lanes(NegationLab().configs)
    texts = TextLab()
    readers = lanes({model: texts.config(model) for model in ("feedforward", "gru")})
    heads: Station = {"href": "/attention", "page": "attention", "link": "Open the attention explorer"}
    lab: Station = {"href": "/negation", "page": "negation", "link": "Open the negation lab"}
    memory: Station = {"href": "/memory", "page": "memory", "link": "Open the memory lab"}
    library: Station = {"href": "/text", "page": "text", "link": "Open the language models"}
    look_back: Station = {"href": "/translation", "page": "translation", "link": "Open the translation lab"}

    def station(year: str, name: str, colour: str, question: str, more: Station) -> Station:
        return {"year": year, "name": name, "colour": colour, "question": question, "figure": None, **more}

    def drawn(model: str, draw: Callable[[StoredRun], Station | None]) -> Station:
        run = found[model].stored
        try:
            return {**lab, "figure": draw(run) if figures and run else None}
        except DamagedRun:  # the lab says so, and offers to train it again
            return lab

    def wrote(model: str) -> Station:
        run = readers[model].stored
        return {**library, "figure": _writing(run) if figures and run and run.curves.samples else None}

    return [
        station(
            "Counts",
            "Bag of words",
            "--m-counts",
            "Is a sentence more than its words?",
            drawn("bag_of_words", _weights),
        ),
        station(
            "2003",
            "Neural n-gram",
            "--m-feedforward",
            "Can similar words share what they know?",
            wrote("feedforward"),
        ),
        station(
            "2010", "Recurrent net", "--m-rnn", "What if it reads word by word, and remembers?", drawn("rnn", _path)
        ),
        station(
            "2013",
            "LSTM",
            "--m-lstm",
            "What changes when memory gets a door?",
            {**memory, "figure": _doors() if figures else None},
        ),
        station("2014", "GRU", "--m-gru", "Is one door fewer enough?", wrote("gru")),
        station(
            "2015",
            "Attention",
            "--m-additive",
            "Why squeeze a sentence into one vector?",
            {**look_back, "figure": _vectors() if figures else None},
        ),
        station(
            "2017",
            "Transformer",
            "--m-transformer",
            "What if attention is all there is?",
            {**drawn("transformer", _gaze), **heads},
        ),
    ]


def _weights(run: StoredRun) -> Station:
    """The bag of words' weights of the four words that matter, averaged over its seeds."""
    words = ("preserve", "not", "destroy", "consume")
    seeds = range(run.config.replicas)
    per_seed = [runs.word_weights(run, replica) for replica in seeds]
    values = [
        sum(float(w.weights[1, w.tokens.index(word)] - w.weights[0, w.tokens.index(word)]) for w in per_seed)
        / len(seeds)
        for word in words
    ]
    rows = [{"label": word, "value": round(value, 3)} for word, value in zip(words, values, strict=True)]
    said = ", ".join(f"{row['label']} {row['value']:+.2f}" for row in rows)
    return {
        "kind": "bars",
        "rows": rows,
        "alt": f"Learned weight of each word towards sustain, mean of {len(seeds)} seeds: {said}.",
        "caption": f"weight of each word, {len(seeds)} seeds: collapse left, sustain right",
    }


def _doors() -> Station | None:
    """How often the LSTM knows the first of 50 symbols, with its gates as they usually start and open."""
    found = lanes({name: CONTESTANTS[name].config() for name in ("lstm-usual", "lstm-forget-3", "lstm-chrono")})
    return _shares(
        {CONTESTANTS[n].label: lane.stored.curves.last("accuracy") for n, lane in found.items() if lane.stored},
        "Share of sequences whose first of 50 symbols the LSTM names, by the start of its gates",
        "names the first of 50 symbols, by the start of its gates",
    )


def _vectors() -> Station | None:
    """How often 14 digits come out turned around, through one vector, a wider one, and with attention."""
    found = lanes({name: TRANSLATORS[name].config("reverse") for name in ("vector", "wide", "additive")})
    at = asked_lengths(ReverseConfig()).index(_DIGITS)
    right = {n: lane.stored.curves.answers["by_length"][-1][:, at] for n, lane in found.items() if lane.stored}
    return _shares(
        {TRANSLATORS[n].label: values for n, values in right.items()},
        f"Share of sources of {_DIGITS} digits that come out turned around",
        f"{_DIGITS} digits turned around without a mistake",
    )


def _shares(right: Mapping[str, Float[ndarray, " seeds"]], what: str, caption: str) -> Station | None:
    """A bar each: the mean over the seeds. `what` they are, in words."""
    if not right:
        return None
    rows = [{"label": label, "value": round(float(values.mean()), 3)} for label, values in right.items()]
    said = ", ".join(f"{row['label']} {row['value']:.2f}" for row in rows)
    return {"kind": "shares", "rows": rows, "alt": f"{what}: {said}.", "caption": caption}


def _writing(run: StoredRun) -> Station:
    """What a language model wrote at the end of its training."""
    lines = [line for line in run.curves.samples[-1][0].split("\n") if line.strip()][:6]
    return {
        "kind": "lines",
        "lines": lines,
        "alt": f"It wrote: {' / '.join(lines)}",
        "caption": f"what it writes after {run.card.step:,} steps",
    }


def _path(run: StoredRun) -> Station:
    view = runs.reading(run, SENTENCE, 0)
    said = ", ".join(f"{token} {value:.2f}" for token, value in zip(view.tokens, view.sustain, strict=True))
    return {
        "kind": "path",
        "labels": list(view.tokens),
        "values": [round(float(v), 4) for v in view.sustain],
        "low": CLASSES[0],
        "high": CLASSES[1],
        "alt": f"Probability of sustain after each word: {said}.",
        "caption": "what it would answer after each word",
    }


def _gaze(run: StoredRun) -> Station | None:
    """Where the answer looks, in the run from the usual start: there attention is sharp, where it learns at all."""
    usual = store.find_config(changed(run.config, {"start": 1.0}))
    if usual is None:
        return None
    learned = usual.curves.last("exact_accuracy") > 1 - 1e-6
    if not learned.any():
        return None
    seed = int(learned.argmax())
    view = runs.attention(usual, SENTENCE, seed)
    row = view.weights[0, 0, 0]
    inner = range(len(view.tokens) - 1)
    said = ", ".join(f"{view.tokens[i]} {row[i]:.2f}" for i in inner)
    return {
        "kind": "gaze",
        "tokens": [view.tokens[i] for i in inner],
        "from": 0,
        "weights": [round(float(row[i]), 4) for i in inner],
        "alt": f"Attention of the token that gives the answer: {said}.",
        "caption": "where the answer, read at <BOS>, looks",
    }
