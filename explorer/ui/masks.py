"""What a visitor of the masks page has chosen, and the instrument with the matrices of their batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from explorer.catalogue import task_row
from explorer.inspection.masks import layers, vectors
from explorer.tasks.tale import LETTERS
from explorer.training.labelling_runs import CONTESTANTS, MASKS
from explorer.ui import address
from explorer.ui.components import ears, heard, register
from explorer.ui.findings import number, some
from explorer.ui.known import config_of
from explorer.ui.tagged import Raced

MOST_WORDS = 10  # a sentence: then the matrices still have numbers in them
LONGEST = 200  # letters of a sentence
BEGINNING = 40  # letters that the models go on from: as many as they read
READS = {"tale": "Sentences, letter by letter", "noise": "Random symbols"}
SENTENCES = ("first", "second", "third")
_SET = ("shown", "padding", "causal", "side", "fill")  # what is set in the instrument
_KEY = "masks"
_masks = register("masks")


@dataclass(frozen=True)
class Masks(Raced):
    """The batch, the masks it is under, and how the two models are trained that one may leak."""

    who: tuple[str, ...] = tuple(dict.fromkeys(CONTESTANTS[name].name for name in MASKS))
    reads: Literal["tale", "noise"] = "tale"
    symbols: int = field(default=19, metadata={"low": 2, "high": 26})
    begin: str = field(default="the old king", metadata={"longest": BEGINNING})
    first: str = field(default="the cat sat on the mat", metadata={"longest": LONGEST})
    second: str = field(default="dogs bark", metadata={"longest": LONGEST})
    third: str = field(default="it rained all night", metadata={"longest": LONGEST})
    shown: int = field(default=2, metadata={"low": 0, "high": 2})
    padding: bool = True
    causal: bool = True
    side: Literal["right", "left"] = "right"
    fill: Literal["infinite", "finite", "self"] = "infinite"

    @property
    def task(self) -> str:
        return self.reads

    @property
    def of_task(self) -> Mapping[str, object]:
        return {"symbols": self.symbols} if self.reads == "noise" else {}

    def with_run(self) -> Masks:
        """The same, with what the run that was asked for reads. Raises LineageError."""
        learned = task_row(config_of(self.run).task).name
        here = replace(self, reads=learned) if learned in READS else self  # type: ignore[arg-type]
        return Raced.with_run(here)

    @property
    def beginning(self) -> tuple[str, list[str]]:
        """What the models go on from, in the signs that they know; and a sentence where that is not what was given."""
        given = self.begin.lower()
        strange = list(dict.fromkeys(sign for sign in given if sign not in LETTERS))
        known = "".join(sign for sign in given if sign in LETTERS)
        said = []
        if strange:
            said.append(f"The models know the letters a to z, the space and the full stop; left out: {some(strange)}.")
        if not known.strip():
            said.append(f"Write a beginning of at least one letter; until then it is “{Masks().begin}”.")
        return (known if known.strip() else Masks().begin), said

    @property
    def batch(self) -> list[list[str]]:
        """The words of each sentence; what is longer than the matrices can be is cut."""
        return [getattr(self, name).split()[:MOST_WORDS] for name in SENTENCES]

    @property
    def troubles(self) -> list[str]:
        """A sentence for each that was cut, and one where there is nothing at all."""
        found = []
        for name in SENTENCES:
            words = len(getattr(self, name).split())
            if words > MOST_WORDS:
                found.append(
                    f"The {name} sentence has {words} words; {number(MOST_WORDS)} have room in the matrices. "
                    f"The first {number(MOST_WORDS)} are shown."
                )
        if not any(self.batch):
            found.append("The batch is empty: write a word in one of the three sentences.")
        return found

    @property
    def set_here(self) -> dict[str, object]:
        """What is set in the instrument."""
        return {name: getattr(self, name) for name in _SET}

    def fresh(self) -> Masks:
        """Batch and masks as a newcomer finds them."""
        usual = Masks()
        return replace(self, **{name: getattr(usual, name) for name in (*SENTENCES, *_SET)})


def taken(state: Masks, said: object) -> Masks:
    """The state after what the instrument told; as it was, where that is nothing one could set."""
    try:
        told = {name: str(value).lower() for name, value in json.loads(str(said)).items() if name in _SET}
    except (ValueError, AttributeError):
        return state
    new, problems = address.read(Masks, told)
    return state if problems else replace(state, **{name: getattr(new, name) for name in told})


def hear(state: Masks) -> Masks:
    """What the visitor last set in the instrument."""
    said = heard(_KEY, "set")
    return state if said is None else taken(state, said)


def instrument(state: Masks) -> None:
    """The matrices of the batch; see `assets/masks.js`."""
    batch = state.batch
    known = vectors(word for words in batch for word in words)
    data = {
        "batch": batch,
        "vectors": {word: _short(vector) for word, vector in sorted(known.items())},
        "layers": [{name: [_short(row) for row in matrix] for name, matrix in layer.items()} for layer in layers()],
        "state": state.set_here,
        "file": "masks",
    }
    _masks(data=data, key=_KEY, **ears(_KEY, "set"))


def _short(values: object) -> list[float]:
    return [round(float(value), 4) for value in values]  # type: ignore[attr-defined]
