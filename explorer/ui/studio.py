"""What a visitor of the generation studio has chosen; each field is a part of the address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from explorer.errors import InvalidSetting

MOST_MODELS = 3  # side by side
LONGEST_PROMPT = 2_000  # characters
LONGEST_PATH = 120  # tokens that are chosen one by one
LONGEST_TEXT = 5_000  # tokens of a whole text
USUAL = ("text-ngram", "text-transformer")


def _models(given: object) -> None:
    if not isinstance(given, tuple) or not 1 <= len(given) <= MOST_MODELS:
        raise InvalidSetting(
            f"models names {len(given) if isinstance(given, tuple) else 0} models. Name one to {MOST_MODELS}."
        )


def _prompt(given: object) -> None:
    if len(str(given)) > LONGEST_PROMPT:
        raise InvalidSetting(
            f"A prompt has at most {LONGEST_PROMPT:,} characters; this one has {len(str(given)):,}. Shorten it."
        )


def _path(given: object) -> None:
    if isinstance(given, tuple) and (len(given) > LONGEST_PATH or any(id < 0 for id in given)):
        raise InvalidSetting(
            f"path is not possible: it is at most {LONGEST_PATH} numbers of tokens, with commas between."
        )


@dataclass(frozen=True)
class Studio:
    """The models, what they go on from, and how they choose."""

    models: tuple[str, ...] = field(default=USUAL, metadata={"check": _models})
    run: str = ""  # one run, as any page's address may name it
    focus: str = ""  # the model whose distribution is shown; empty: the last one
    prompt: str = field(default="Romeo", metadata={"check": _prompt, "longest": LONGEST_PROMPT})
    tokens: int = field(default=200, metadata={"low": 20, "high": 400})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    t: float = field(default=0.7, metadata={"low": 0.0, "high": 2.0})  # the temperature
    greedy: bool = False
    top_k: int = field(default=0, metadata={"low": 0, "high": 20_000})
    top_p: float = field(default=1.0, metadata={"low": 0.0, "high": 1.0})
    min_p: float = field(default=0.0, metadata={"low": 0.0, "high": 1.0})
    at: int = field(default=0, metadata={"low": 0, "high": 399})  # the token whose distribution is shown
    of: int = field(default=0, metadata={"low": 0, "high": 40})  # in which of the texts: the place of its temperature
    # Tokens that were chosen one by one; None: nobody chose yet, the first few are by the dice.
    path: tuple[int, ...] | None = field(default=None, metadata={"check": _path, "longest": 6 * LONGEST_PATH})
    length: int = field(default=1_000, metadata={"low": 100, "high": LONGEST_TEXT})  # of a whole text, in tokens

    @property
    def focused(self) -> str:
        """The model whose distribution is shown."""
        return self.focus if self.focus in self.models else self.models[-1]

    def settled(self, wanted: str = "") -> Studio:
        """As the fields can show it; where one run is asked for by name, that one writes."""
        run = self.run or wanted
        studio = replace(self, t=round(self.t, 2), models=tuple(dict.fromkeys(self.models)))  # as the slider has it
        return replace(studio.with_models([run]), run="") if run else studio

    def with_models(self, models: Iterable[str]) -> Studio:
        """Other models; the one in focus stays there if it can. With none of them nothing changes."""
        chosen = tuple(dict.fromkeys(models))[-MOST_MODELS:]
        return self._anew(models=chosen) if chosen else self

    def writing(self, **changes: object) -> Studio:
        """Another prompt, cut or seed: all texts are others, so no place in them is kept, and no path.

        Raises InvalidSetting for a prompt that is too long.
        """
        _prompt(changes.get("prompt", ""))
        return self._anew(**changes)

    def at_place(self, model: str, of: int, at: int) -> Studio:
        """The distribution of another token; another model begins its path anew."""
        path = self.path if model == self.focused else None
        return replace(self, focus="" if model == self.models[-1] else model, of=of if at else 0, at=at, path=path)

    def _anew(self, **changes: object) -> Studio:
        return replace(self, **{"at": 0, "of": 0, "path": None, **changes})  # type: ignore[arg-type]
