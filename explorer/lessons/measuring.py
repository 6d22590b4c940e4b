"""The measurements of lessons: each takes its settings and gives one number, or one label, for each seed.

Of a run that ships, or of draws from a known seed, so everybody finds the same. Needs torch for all that is not on a
run's card.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import torch

from explorer.generation.decoding import decoder
from explorer.generation.measures import by_temperature
from explorer.generation.sampling import Sampling, cut
from explorer.generation.writing import Writer, answered, prompt_ids
from explorer.inspection import alignment, attention, gates, gradients, heads, positions, scaled, translating, unrolling
from explorer.inspection.opening import OpenedModel, open_model
from explorer.inspection.sentences import sustain_probabilities
from explorer.lessons.registry import asked_lengths
from explorer.tasks.digits import ReverseConfig
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.text import TextConfig
from explorer.tasks.translation import TranslationConfig, source_tokens
from explorer.tokenization.text import Tokenizer, from_json
from explorer.training import store
from explorer.training.recall_runs import SOLVED

Given: TypeAlias = Mapping[str, Any]
Found: TypeAlias = "list[float] | list[str]"
DICE = 8  # throws of the dice for each text that is written
PER_LENGTH = 50  # fresh sources, as the page asks


@lru_cache(maxsize=8)
def _opened(run: str, step: int | None = None) -> OpenedModel:
    return open_model(store.find(run), step)


def _step(given: Given) -> int | None:
    """The step of the training that is asked for; None: its end."""
    step = given.get("step", -1)
    return None if step < 0 else step


def _floats(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values).ravel()]


# ---- from the record


def score(given: Given) -> list[float]:
    values = store.find(given["run"]).card.metrics[given["metric"]].values
    return [float("nan") if value is None else float(value) for value in values]


def fall(given: Given) -> list[float]:
    pairs = zip(score({**given, "run": given["other"]}), score(given), strict=True)
    return [other - one for other, one in pairs]


def at_length(given: Given) -> list[float]:
    run = store.find(given["run"])
    place = asked_lengths(run.config).index(given["length"])
    return _floats(run.curves.answers["by_length"][-1][:, place])


def solved(given: Given) -> list[float]:
    return [float(sum(value >= SOLVED for value in score({**given, "metric": "accuracy"})))]


def reached(given: Given) -> list[float]:
    return [float(sum(value >= given["least"] for value in score(given)))]


# ---- negation


def sustain(given: Given, sentence: str = "sentence") -> list[float]:
    return _floats(sustain_probabilities(_opened(given["run"]), VOCABULARY.split(given[sentence])))


def says(given: Given) -> list[str]:
    return ["sustain" if share > 0.5 else "collapse" for share in sustain(given)]


def apart(given: Given) -> list[float]:
    pairs = zip(sustain(given), sustain(given, "other"), strict=True)
    return [abs(one - other) for one, other in pairs]


# ---- memory


def gradient(given: Given) -> list[float]:
    along = gradients.along_sequence(_opened(given["run"], _step(given)))
    return _floats(along[:, 0] / along[:, -1])


def terms(given: Given) -> list[float]:
    share = unrolling.terms(_opened(given["run"], _step(given))).share
    from_the_end = share[:, ::-1].cumsum(axis=1)
    return _floats((from_the_end >= given["share"]).argmax(axis=1) + 1)


def left(given: Given) -> list[float]:
    return [float(given["gate"] ** (given["steps"] - 1))]


def kept(given: Given) -> list[float]:
    return _floats(gates.kept_shares(_opened(given["run"])).max(axis=-1))


# ---- translation


def mirror(given: Given) -> list[float]:
    opened, found = _opened(given["run"]), list[float]()
    config = opened.config.on(ReverseConfig)
    source = [source_tokens(config).index(digit) for digit in given["digits"]]
    for replica in range(opened.config.replicas):
        model = translating.translator(opened.alone(replica))
        seen = alignment.align(model, config, source, source[::-1]).weights
        assert seen is not None, "the registry lets only runs with attention through"
        shares = seen.mean(axis=(0, 1))[: len(source), : len(source)]
        found.append(float(np.fliplr(shares).diagonal().mean()))
    return found


def touched(given: Given) -> list[float]:
    opened = _opened(given["run"])
    config: TranslationConfig = opened.config.task  # type: ignore[assignment]  # the registry lets nothing else through
    model = translating.translator(opened.stack)
    return _floats(alignment.touched(model, config, given["touch"], PER_LENGTH, lengths=[given["length"]]))


# ---- attention

_softmaxes = lru_cache(maxsize=1)(scaled.softmaxes)


def strongest(given: Given) -> list[float]:
    largest = _softmaxes().largest[int(given["divided"] == "yes")]
    return [float(np.median(largest[scaled.WIDTHS.index(given["width"])]))]


def order(given: Given) -> list[float]:
    found = _orders(given["sentence"], given["other"])
    return _floats(found[given["positions"], given["sees"] == "past"])


@lru_cache(maxsize=8)
def _orders(one: str, other: str) -> dict[tuple[str, bool], Any]:
    every = positions.word_order(one.lower().split(), other.lower().split())
    return {(each.positions, each.causal): each.sentence for each in every}


def _read(given: Given) -> tuple[OpenedModel, attention.Read]:
    opened = _opened(given["run"], _step(given))
    return opened, attention.read(opened.config, _tokenizer(given["run"]), given["text"])


@lru_cache(maxsize=8)
def _tokenizer(run: str) -> Tokenizer:
    return from_json(store.find(run).tokenizer)


def habit(given: Given) -> list[float]:
    opened, read = _read(given)
    found = []
    for replica in range(opened.config.replicas):
        seen = attention.attend(opened.alone(replica), read.ids)
        shares = getattr(heads.habits(seen.weights, read.ids), given["habit"])
        found.append(float(shares[given["layer"], given["head"]]))
    return found


def visible(given: Given) -> list[float]:
    opened, read = _read(given)
    row = attention.attend(opened.alone(0), read.ids).weights[given["layer"], given["head"], given["place"] - 1]
    return [float((~np.isnan(row)).sum())]


def head_off(given: Given) -> list[float]:
    run = store.find(given["run"])
    found = []
    for replica in range(run.config.replicas):
        worth = heads.worth(run, replica)
        found.append(float(worth.worth[given["layer"], given["head"]]))
    return found


# ---- generation


def _logits(given: Given) -> list[torch.Tensor]:
    """What each seed gives for the next token."""
    opened, tokenizer = _opened(given["run"]), _tokenizer(given["run"])
    ids, _ = prompt_ids(tokenizer, given["prompt"])
    found = []
    for replica in range(opened.config.replicas):
        writer = Writer.of(opened.alone(replica), opened.config.on(TextConfig), tokenizer)
        reader = decoder(writer.model, writer.context or len(ids), 1, writer.padding)
        with torch.inference_mode():
            found.append(reader.read(ids[None])[0])
    return found


def _shares(logits: torch.Tensor, temperature: float, top_p: float = 1.0) -> torch.Tensor:
    """The probabilities at a temperature, after a cut; at temperature 0 the likeliest has all."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(), len(logits)).double()
    left = cut(logits[None], Sampling(temperature=temperature, top_p=top_p))[0]
    return (left.double() / temperature).softmax(dim=-1)


def likeliest(given: Given) -> list[float]:
    return [float(_shares(each, given["temperature"]).max()) for each in _logits(given)]


def grows(given: Given) -> list[float]:
    pairs = zip(likeliest(given), likeliest({**given, "temperature": given["other"]}), strict=True)
    return [here / there for here, there in pairs]


def choices_left(given: Given) -> list[float]:
    return [float((_shares(each, given["temperature"], given["top_p"]) > 0).sum()) for each in _logits(given)]


def _writing(given: Given) -> tuple[Writer, torch.Tensor]:
    opened, tokenizer = _opened(given["run"]), _tokenizer(given["run"])
    ids, _ = prompt_ids(tokenizer, given["prompt"])
    return Writer.of(opened.alone(0), opened.config.on(TextConfig), tokenizer), ids


def repeats(given: Given) -> list[float]:
    writer, ids = _writing(given)
    found = by_temperature(writer, ids, given["tokens"], Sampling(), [given["temperature"]], DICE)
    return _floats(found.repetition8[0])


def in_common(given: Given) -> list[float]:
    writer, ids = _writing(given)
    both = torch.tensor([given["temperature"], given["other"]], dtype=torch.float64)
    with torch.inference_mode():
        steps = [ids for _, _, ids in answered(writer, ids, given["tokens"], Sampling(), DICE, both)]
    one, other = torch.stack(steps, dim=1).view(2, DICE, -1)
    same = (one == other).long().cumprod(dim=-1).sum(dim=-1)
    return _floats(same)


_FUNCTIONS: Mapping[str, Callable[[Given], Found]] = {
    each.__name__: each
    for each in (
        score,
        fall,
        at_length,
        solved,
        reached,
        says,
        sustain,
        apart,
        gradient,
        terms,
        left,
        kept,
        mirror,
        touched,
        strongest,
        order,
        habit,
        visible,
        head_off,
        likeliest,
        grows,
        choices_left,
        repeats,
        in_common,
    )
}


def measured(name: str, given: Given) -> Found:
    """One number or label for each seed (of what is written: for each throw of the dice). Raises LineageError."""
    return _FUNCTIONS[name](given)
