"""How `addresses.json` was made: addresses of every page, with the canonical address and the messages of each.

`make` was called with the state classes and the codec of commit 52ba472, and is not called again: the file says what
shared links mean. Left out are addresses with which that code crashed, or which name no model of their page.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from random import Random
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlencode

from explorer.catalogue import MODELS, TASKS
from explorer.experiments.labelling import VARIANTS as LABELLING_VARIANTS
from explorer.experiments.recall import VARIANTS as RECALL_VARIANTS
from explorer.experiments.translation import VARIANTS as TRANSLATION_VARIANTS
from explorer.run_store import store
from explorer.training.config import Optimiser, RunConfig

GARBAGE = ["", "x", "-1", "nan", "1e9", "9999999999", "0.5", "true", "<b>", "٣", "a,b", "1,2,3", "no such", "../etc"]
TEXTS = [
    "the bank is near the loan",
    "abcabc",
    "human destroy nature",
    "3rd of march",
    "A & B = C?",
    "zwölf",
    "0.1,1.0",
]
RUNS = ["negation-single-rnn", "text-lstm", "text-transformer", "recall-50-lstm-chrono", "recall-100-gru-usual"]
RUNS += ["reverse-wide", "dates-transformer", "copy-vector", "noise-open", "tale-causal", "echo-rotary", "echo-scaled"]
RUNS += ["gloss-one", "gist-two", "gloss-alone", "gloss-gru", "echo-deep", "place-turns-rnn", "negation-double-gru"]
RUNS += [
    "negation-half-transformer-usual-start",
    "text-best",
    "text-assignment",
    "recall-trap-rnn",
    "recall-50-rnn-usual",
]
SPECIAL = {
    "f": ["1", "0.5x3,1", "2", "1x60"],
    "at": ["scores.2.1", "out.0.0", "7"],
    "off": ["0.1,2.3", "0.0", "a.b"],
    "open": ["attention", "mlp"],
    "word": ["bark", "bat", "dog"],
    "give": ["memory?length=10", "nowhere", "negation"],
    "say": ["the bank is near the loan", "human not preserve nature", "1 2 3", "17th of may 1987"],
    "text": ["0" * 64, "abcd" * 5, "g" * 64],
    "padding": ["0,1", "9", "true", "false"],
    "q": ["1,2,3,4", "0.5,-2,1e3", ",".join(["1"] * 37)],
    "experiment": ["assignment", "budget"],
    "unit": ["bits", "perplexity", "loss"],
    "along": ["tokens", "seconds"],
    "metric": ["loss", "accuracy"],
    "sort": ["-created", "name"],
}
for same, name in ((("i", "o", "z", "r"), "f"), (("g", "n"), "f"), (("flat",), "off"), (("k", "v"), "q")):
    SPECIAL |= dict.fromkeys(same, SPECIAL[name])


def numbers(hint: Any, low: float, high: float, random: Random) -> str:
    if int in (hint, *get_args(hint)):
        least, most = int(low), int(high)
        within = [random.randint(least, min(most, least + span)) for span in (10, 40, 300)]
        return str(random.choice([least, least - 1, least + 1, most, most + 1, *within]))
    return f"{random.choice([low, high, low - 1, high * 2, random.uniform(low, high), min(high, 0.01)]):.6g}"


def value(name: str, hint: Any, about: Any, random: Random) -> str:
    """Return a value that is mostly possible."""
    if random.random() < 0.12:
        return random.choice(GARBAGE)
    if name == "run":
        included = random.choice(RUNS)
        return random.choice([store.find(included).key, store.find(included).key, included, "0123456789ab"])
    if name in SPECIAL and random.random() < 0.7:
        return random.choice(SPECIAL[name])
    if get_origin(hint) is Literal:
        return str(random.choice(get_args(hint)))
    if hint is bool:
        return random.choice(["true", "false", "True", "1", "no"])
    if about.get("low") is not None and about.get("high") is not None:
        return numbers(hint, about["low"], about["high"], random)
    if any(get_origin(kind) is tuple for kind in (hint, *get_args(hint))):
        names = [one.name for one in LABELLING_VARIANTS.values()] + list(TRANSLATION_VARIANTS) + list(MODELS)
        names = names if random.random() < 0.5 else list(RECALL_VARIANTS)
        return ",".join(random.sample(names, random.choice([1, 2, 3, 4, 9])))
    if name in ("who", "model", "inside", "focus"):
        return random.choice([*RECALL_VARIANTS, *TRANSLATION_VARIANTS, "recall-lstm", "text-transformer", *RUNS])
    return random.choice([*TEXTS, "a" * random.choice([41, 81, 130, 201])] if random.random() < 0.9 else ["b" * 601])


def fields_of(kind: type[Any]) -> dict[str, tuple[Any, Any]]:
    """Return type and metadata of each parameter that a page may have, and of some that it does not have."""
    hints = typing.get_type_hints(kind)
    fields: dict[str, tuple[Any, Any]] = {f.name: (hints[f.name], f.metadata) for f in dataclasses.fields(kind)}
    if not hasattr(kind, "SHARED"):
        return fields
    for name in ("shared", "own", "requested_config", "awaiting_text", "look", "layer", "head"):
        fields.pop(name, None)
    fields |= {name: (int, {"low": 0, "high": 4}) for name in ("look", "layer", "head") if name in hints}
    parts: dict[str, tuple[str, ...]] = {"": kind.SHARED} | {f"{m}.": kind.own_settings(m) for m in kind.model_names()}
    for owner, names in parts.items():
        model = owner[:-1] or "transformer"
        classes = (TASKS[kind.TASK].config, RunConfig, Optimiser, MODELS[model].by_task[kind.TASK].config)
        for name in names:
            for each in reversed(classes):
                found = {f.name: f for f in dataclasses.fields(each)}
                if name in found:
                    fields[owner + name] = typing.get_type_hints(each)[name], found[name].metadata
    return fields


def addresses(kind: type[Any], count: int, random: Random) -> list[dict[str, str]]:
    """Return the parameters of `count` addresses."""
    fields = fields_of(kind)
    every: list[dict[str, str]] = [{}, *({"run": store.find(name).key} for name in RUNS if "run" in fields)]
    every += [{name: value(name, *fields[name], random)} for name in random.sample(list(fields), min(len(fields), 40))]
    while len(every) < count:
        names = random.sample(list(fields), min(len(fields), random.choice([1, 2, 2, 3, 4])))
        names += ["run"] * ("run" in fields and random.random() < 0.25) + ["models"] * (random.random() < 0.05)
        names += ["nothing"] * (random.random() < 0.03)
        every.append({name: value(name, *fields.get(name, (str, {})), random) for name in dict.fromkeys(names)})
    return every[:count]


Opened = tuple[dict[str, str], tuple[str, ...]]


def make(
    kinds: dict[str, type[Any]], opened: Callable[[type[Any], dict[str, str]], Opened | None], count: int
) -> dict[str, Any]:
    """Return the contents of the file: for each page, its addresses with canonical address and messages."""
    messages: dict[str, int] = {}
    pages: dict[str, list[list[object]]] = {}
    for page, kind in kinds.items():
        pages[page] = rows = []
        for params in addresses(kind, count, Random(page)):
            if (answer := opened(kind, params)) is None:
                continue
            written, problems = answer
            indices = [messages.setdefault(problem, len(messages)) for problem in problems]
            rows.append([urlencode(params), 0 if written == params else urlencode(written), *indices])
    return {"messages": list(messages), "pages": pages}
