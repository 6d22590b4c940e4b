"""The texts of the studio: a prompt through every model at every temperature, under one slider."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from explorer.catalogue import task_row
from explorer.errors import InvalidSetting, shortened
from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig, TransformerTextConfig
from explorer.tasks.text import TextConfig
from explorer.ui import packed
from explorer.ui.at_hand import AtHand
from explorer.ui.components import ears, heard, register
from explorer.ui.findings import listed, visible
from explorer.ui.session import PageSession, write_address
from explorer.ui.studio import Studio

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.generation.sampling import Sampling
    from explorer.generation.scrubbing import Scrubbed
    from explorer.tokenization.text import Tokenizer

MARKS = ((0, "always the likeliest"), (0.7, ""), (1, "as learned"), (1.2, ""), (2, "nearly all alike"))
UNITS = {"char": "letter", "word": "word"}
_CONTEXT = 24  # characters before a place that name it
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
    scrubbed: Scrubbed
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
        names = listed([f"“{shortened(name, 12)}”" for name in unseen[:4]])
        notes.append(f"It never saw {names}{' and others' if len(unseen) > 4 else ''}: {become}.")
    if forgotten := beyond(hand, len(ids)):
        left = len(ids) - forgotten
        end = _end(tokenizer.decode(ids[:forgotten].tolist()))
        notes.append(f"It sees the last {left} {unit(hand)}s, and nothing up to “{end}”.")
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
    from explorer.generation.scrubbing import scrubbed
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
    return Texts(prompt, found, tuple(different), packed.pack(arrays))


def place(hand: AtHand, studio: Studio, told: Texts) -> dict[str, object]:
    """The token whose distribution is shown, with all its logits."""
    from explorer.generation.scrubbing import position
    from explorer.generation.writing import padding_of

    task, tokenizer = hand.config.on(TextConfig), tokenizer_of(hand)
    before = told.scrubbed.ids[studio.of, : studio.at].tolist()
    found = position(
        hand.model(),
        tensor(told.prompt.ids),
        tensor(before),
        sampling(studio),
        task.context,
        padding_of(task, tokenizer),
    )
    content = packed.pack({"logits": found.logits, "noise": found.noise})
    return {
        "model": hand.name,
        "of": studio.of,
        "at": studio.at,
        "address": packed.offer(content, "studio.place"),
        "context": _end(tokenizer.decode([*told.prompt.ids, *before])),
    }


def likeliest(hand: AtHand, studio: Studio, told: Texts) -> tuple[str, str]:
    """The two likeliest tokens of the place that is shown."""
    names = tokenizer_of(hand).tokens
    first, second = (visible(names[id]) for id in told.scrubbed.top[studio.of, studio.at, :2].tolist())
    return first, second


def formula(studio: Studio, told: Texts) -> str:
    """What the temperature does to these two."""
    from explorer.generation.scrubbing import SURPRISE_UNIT

    first, second = told.scrubbed.top_surprise[studio.of, studio.at, :2] / SURPRISE_UNIT
    gap = float(second - first)
    ratio = r"\frac{p_1}{p_2} = e^{(l_1 - l_2) / \tau}: \qquad "
    learned = rf"\tau = 1: \; e^{{{gap:.2f}}} = {_short(np.exp(gap))}"
    if studio.t in (0, 1):
        return ratio + learned
    now = rf"\tau = {studio.t:.2f}: \; e^{{{gap:.2f} / {studio.t:.2f}}} = {_short(np.exp(gap / studio.t))}"
    return ratio + learned + r", \qquad " + now


def _short(value: float) -> str:
    if value < 1e4:
        return f"{value:.2f}" if value < 100 else f"{value:,.0f}".replace(",", r"{,}")
    power = int(np.log10(value))
    return rf"{value / 10**power:.1f} \cdot 10^{{{power}}}"


def show(
    session: PageSession[Studio], hands: Mapping[str, AtHand], found: Mapping[str, Texts], old: frozenset[str]
) -> bool:
    """The texts under their slider; see `assets/temperature.js`. Whether the visitor has just moved something that
    other parts of the page show too."""
    moved = _heard(session, found)
    studio = session.state
    focus = studio.focused if studio.focused in found else next(iter(found))
    kept = studio.at < found[focus].scrubbed.ids.shape[1] and not old
    units = {unit(hands[name]) for name in found}
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
                "address": packed.offer(each.content, f"studio.{name}"),
                "pieces": list(each.pieces),
                "tokens": list(tokenizer_of(hands[name]).tokens),
                "prompt": each.prompt.text,
                "note": each.prompt.note,
                "old": name in old,
            }
            for name, each in found.items()
        ],
        "focus": focus,
        "position": place(hands[focus], studio, found[focus]) if kept else None,
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
    return moved


def _heard(session: PageSession[Studio], found: Mapping[str, Texts]) -> bool:
    """Take in what the visitor did with the slider and the texts."""
    studio = session.state
    if isinstance(said := heard(_KEY, "temperature"), int | float) and 0 <= said <= 2:
        studio = replace(studio, t=round(float(said), 2))
    said = heard(_KEY, "position")
    if isinstance(said, dict) and said.get("model") in found:
        of, at = said.get("of"), said.get("at")
        rows, tokens = found[said["model"]].scrubbed.ids.shape
        if isinstance(of, int) and isinstance(at, int) and 0 <= of < rows and 0 <= at < tokens:
            studio = studio.at_place(said["model"], of, at)
    moved = studio != session.state
    session.state = studio
    if moved:
        write_address(session)
    return moved


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
