"""The texts of the studio: a prompt through every model at every temperature, under one slider."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from jaxtyping import Float32, Int, Int32, UInt16
from numpy import ndarray

from explorer.catalogue import task_row
from explorer.errors import InvalidSetting
from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig, TransformerTextConfig
from explorer.tasks.text import TextConfig
from explorer.ui import packed, slowly
from explorer.ui.at_hand import AtHand
from explorer.ui.components import ears, heard, register
from explorer.ui.findings import some, visible
from explorer.ui.session import PageSession, write_address
from explorer.ui.studio import Studio

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.generation.sampling import Sampling
    from explorer.tokenization.text import Tokenizer

MARKS = ((0, "always the likeliest"), (0.7, ""), (1, "as learned"), (1.2, ""), (2, "nearly all alike"))
UNITS = {"char": "letter", "word": "word"}
_CONTEXT = 24  # characters before a place that name it
PLACE = "the place that is shown"  # no run has such a name
Work: TypeAlias = "tuple[tuple[Hashable, ...], Callable[[], Texts | Place]]"
_KEY = "temperature"
_temperature = register(_KEY)


@dataclass(frozen=True)
class Prompt:
    """What was typed, as one model reads it."""

    ids: tuple[int, ...]
    text: str
    note: str  # what of it was changed, left out or forgotten


@dataclass(frozen=True, eq=False)
class Texts:
    """What one model writes after a prompt, at every temperature."""

    prompt: Prompt
    ids: Int32[ndarray, "temperatures tokens"]
    # Of each place the two likeliest tokens, and how surprising they are as learned, in nats.
    likeliest: UInt16[ndarray, "temperatures tokens 2"]
    surprises: Float32[ndarray, "temperatures tokens 2"]
    pieces: tuple[str, ...]  # the different ones
    content: bytes  # everything that the browser needs of it


def sampling(studio: Studio) -> Sampling:
    """How tokens are chosen."""
    from explorer.generation.sampling import Sampling

    top_k = 1 if studio.greedy else studio.top_k
    return Sampling(float(studio.t), top_k, float(studio.top_p), float(studio.min_p), studio.seed)


def unit(hand: AtHand) -> str:
    """What one token of a run is."""
    return UNITS.get(hand.config.on(TextConfig).tokenizer, "token")


def read(hand: AtHand, prompt: str) -> Prompt:
    """A prompt as a run's model reads it. Raises DamagedRun, TextError."""
    from explorer.generation.writing import prompt_ids

    task, tokenizer = hand.config.on(TextConfig), tokenizer_of(hand)
    small = prompt.lower() if task.lower else prompt
    ids, unseen = prompt_ids(tokenizer, small)
    text = tokenizer.decode(ids.tolist())
    notes = []
    if not tokenizer.encode(small).tolist():
        notes.append("Nothing of it is left to read, so the model starts from a line end." if prompt.strip() else "")
    if small != prompt:
        notes.append("It learned from small letters only.")
    if unseen:
        become = "left out" if tokenizer.unknown is None else "read as <unk>"
        notes.append(f"It never saw {some(unseen)}: {become}.")
    if forgotten := beyond(hand, len(ids)):
        left = len(ids) - forgotten
        end = _end(tokenizer.decode(ids[:forgotten].tolist()))
        notes.append(f"It sees only the last {left} {unit(hand)}s; all up to “{end}” is forgotten.")
    if tokenizer.kind == "bpe":
        notes.append("Its tokenizer keeps no spaces: one stands between all tokens.")
    return Prompt(tuple(ids.tolist()), text, " ".join(filter(None, notes)))


def beyond(hand: AtHand, tokens: int) -> int:
    """How many tokens at the beginning of a prompt a model no longer sees."""
    from explorer.generation.decoding import window_start

    model, context = hand.config.model, hand.config.on(TextConfig).context
    if isinstance(model, TransformerTextConfig):
        return window_start(tokens, context)
    if isinstance(model, NgramTextConfig):
        return max(0, tokens - model.n + 1)
    return max(0, tokens - model.window) if isinstance(model, FeedforwardTextConfig) else 0


def tokenizer_of(hand: AtHand) -> Tokenizer:
    tokenizer = hand.tokenizer
    assert tokenizer, "a run on text has one"
    return tokenizer


def check_writes(hand: AtHand) -> None:
    """Raises InvalidSetting for a run that learned something else than to write."""
    if not isinstance(hand.config.task, TextConfig):
        raise InvalidSetting(
            f"The run “{hand.name}” learned {task_row(hand.config.task).title.lower()}, it cannot write. "
            "Choose a language model above."
        )


def names(hand: AtHand, studio: Studio) -> tuple[Hashable, ...]:
    """What names a model's texts; with an own text's SHA-256, by which they are forgotten."""
    chosen = (studio.greedy, studio.top_k, float(studio.top_p), float(studio.min_p), studio.seed)
    return ("studio-texts", *hand.stamp, studio.prompt, studio.tokens, *chosen)


def texts(hand: AtHand, studio: Studio) -> Texts:
    """What a model writes; a second of work at most. Raises DamagedRun, TextError."""
    from explorer.generation.scrubbing import SURPRISE_UNIT, scrubbed
    from explorer.generation.writing import padding_of
    from explorer.tokenization.text import pieces

    task, tokenizer = hand.config.on(TextConfig), tokenizer_of(hand)
    prompt = read(hand, studio.prompt)
    found = scrubbed(
        hand.model(),
        tensor(prompt.ids),
        studio.tokens,
        sampling(studio),
        task.context,
        padding_of(task, tokenizer),
    )
    different: dict[str, int] = {}
    places = [
        [different.setdefault(piece, len(different)) for piece in pieces(tokenizer, row, prompt.ids)]
        for row in found.ids.tolist()
    ]
    arrays = {
        "ids": found.ids,
        "piece": np.array(places, dtype=np.uint16),
        **{name: getattr(found, name) for name in ("surprise", "chosen", "entropy", "spread", "top", "top_surprise")},
    }
    surprises = (found.top_surprise[..., :2] / SURPRISE_UNIT).astype(np.float32)
    likeliest = found.top[..., :2].copy()  # and not a view that holds on to all of them
    return Texts(prompt, found.ids, likeliest, surprises, tuple(different), packed.pack(arrays))


@dataclass(frozen=True, eq=False)
class Place:
    """The token whose distribution is shown, with all its logits."""

    context: str  # the end of what stands before it
    content: bytes  # logits and noise, for the browser


def place(hand: AtHand, studio: Studio, told: Texts) -> Place:
    """A whole text read once more at most. Raises LineageError."""
    from explorer.generation.scrubbing import position
    from explorer.generation.writing import padding_of

    task, tokenizer = hand.config.on(TextConfig), tokenizer_of(hand)
    before = told.ids[studio.of, : studio.at].tolist()
    padding = padding_of(task, tokenizer)
    found = position(hand.model(), tensor(told.prompt.ids), tensor(before), sampling(studio), task.context, padding)
    content = packed.pack({"logits": found.logits, "noise": found.noise})
    return Place(_end(tokenizer.decode([*told.prompt.ids, *before])), content)


def wanted(hands: Mapping[str, AtHand], studio: Studio) -> dict[str, Work]:
    """What the slider needs: every model's texts, and once they are there the place that is shown."""
    each: dict[str, Work] = {name: (names(hand, studio), partial(texts, hand, studio)) for name, hand in hands.items()}
    focus = focused(hands, studio)
    future = slowly.work(*each[focus])
    if future.done() and not future.cancelled() and not future.exception():
        told = future.result()
        if isinstance(told, Texts) and studio.at < told.ids.shape[1]:
            key = ("studio-place", *names(hands[focus], studio)[1:], studio.of, studio.at)
            each[PLACE] = key, partial(place, hands[focus], studio, told)
    return each


def focused(hands: Mapping[str, AtHand], studio: Studio) -> str:
    """Of the models that can be asked the one whose distribution is shown."""
    return studio.focused if studio.focused in hands else list(hands)[-1]


def likeliest(hand: AtHand, studio: Studio, told: Texts) -> tuple[str, str]:
    """The two likeliest tokens of the place that is shown."""
    names = tokenizer_of(hand).tokens
    first, second = (visible(names[id]) for id in told.likeliest[studio.of, studio.at].tolist())
    return first, second


def formulas(studio: Studio, told: Texts) -> list[str]:
    """What the temperature does to these two."""
    first, second = told.surprises[studio.of, studio.at]
    gap = float(second - first)
    lines = [
        r"\frac{p_1}{p_2} = e^{(l_1 - l_2) / \tau}",
        rf"\tau = 1: \quad e^{{{gap:.2f}}} = {_short(np.exp(gap))}",
    ]
    if studio.t not in (0, 1):
        lines.append(
            rf"\tau = {studio.t:.2f}: \quad e^{{{gap:.2f} / {studio.t:.2f}}} = {_short(np.exp(gap / studio.t))}"
        )
    return lines


def _short(value: float) -> str:
    if value < 1e4:
        return f"{value:.2f}" if value < 100 else f"{value:,.0f}".replace(",", r"{,}")
    power = int(np.log10(value))
    return rf"{value / 10**power:.1f} \cdot 10^{{{power}}}"


def show(
    session: PageSession[Studio], hands: Mapping[str, AtHand], found: Mapping[str, Texts | Place], old: frozenset[str]
) -> None:
    """The texts under their slider; see `assets/temperature.js`."""
    studio = session.state
    each = {name: one for name, one in found.items() if isinstance(one, Texts)}
    focus = focused({name: hands[name] for name in each}, studio)
    here = found.get(PLACE) if PLACE not in old else None
    units = {unit(hands[name]) for name in each}
    data = {
        "temperatures": [round(float(t), 2) for t in temperatures()],
        "temperature": float(studio.t),
        "marks": [list(mark) for mark in MARKS],
        "models": [
            {
                "name": name,
                "title": hands[name].title,
                "colour": hands[name].row.colour,
                "unit": unit(hands[name]),
                "address": packed.offer(one.content, hands[name].stamp),
                "pieces": list(one.pieces),
                "tokens": list(tokenizer_of(hands[name]).tokens),
                "prompt": one.prompt.text,
                "note": one.prompt.note,
            }
            for name, one in each.items()
        ],
        "focus": focus,
        "position": {
            "model": focus,
            "of": studio.of,
            "at": studio.at,
            "address": packed.offer(here.content, hands[focus].stamp) if isinstance(here, Place) else None,
            "context": here.context if isinstance(here, Place) else "",
        }
        if studio.at < each[focus].ids.shape[1]
        else None,
        "cut": {
            "greedy": studio.greedy,
            "top_k": int(studio.top_k),
            "top_p": float(studio.top_p),
            "min_p": float(studio.min_p),
        },
        "unit": units.pop() if len(units) == 1 else "token",
        "file": "temperature",
    }
    _temperature(data=data, key=_KEY, **ears(_KEY, "temperature", "position"))


def hear(session: PageSession[Studio], hands: Mapping[str, AtHand]) -> None:
    """Take in what the visitor did with the slider and the texts."""
    studio = session.state
    if isinstance(said := heard(_KEY, "temperature"), int | float) and 0 <= said <= 2:
        studio = replace(studio, t=round(float(said), 2))
    said = heard(_KEY, "position")
    if isinstance(said, dict) and said.get("model") in hands:
        of, at = said.get("of"), said.get("at")
        if type(of) is int and type(at) is int and 0 <= of < len(temperatures()) and 0 <= at < studio.tokens:
            studio = studio.at_place(said["model"], of, at)
    if studio != session.state:
        session.state = studio
        write_address(session)


def temperatures() -> Sequence[float]:
    from explorer.generation.scrubbing import TEMPERATURES

    return TEMPERATURES


def tensor(ids: Sequence[int]) -> Int[Tensor, " tokens"]:
    import torch

    return torch.tensor(ids, dtype=torch.int64)


def _end(text: str) -> str:
    """The last letters of a text, on one line."""
    line = text.replace("\n", "↵")
    return line if len(line) <= _CONTEXT else f"…{line[-_CONTEXT:]}"
