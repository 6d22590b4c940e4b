"""The state of the page on the sentence encoder; each field is a URL parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from explorer.catalogue import task_row
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.labelling import VARIANTS
from explorer.experiments.model_variant import ModelVariant
from explorer.tasks.sequence_labelling.homographs import HOMOGRAPHS, VOCABULARY
from explorer.training.config import RunConfig
from explorer.ui.state.experiment_state import VariantComparison
from explorer.ui.state.fields import one_of, setting
from explorer.ui.state.run_lookup import find_config

Task = Literal["gloss", "gist"]
Kind = Literal["trained", "untrained", "alone"]
DEFAULT_SEEDS, MAX_SENTENCES, MAX_CHARACTERS = 5, 10, 900  # typed sentences, and characters in all of them
EXAMPLES = (
    "the bank is near the loan and the cash",
    "the bank is near the boat and the reed",
    "we saw the bat with a ball and a pitcher",
    "we saw the bat with a moon and a wing",
    "the puppy and the leash made us think of the bark",
    "the oak and the leaf made us think of the bark",
    "a winter and a summer are by the spring",
    "a metal and a clock are by the spring",
    "the shore is near the water and the mud",
    "the bank is near the vault and the credit",
)
DEFAULT_WORD = "bank"
REAL_EXAMPLES = (
    "The manager of the bank raised the interest rate.",
    "He forgot the number of his account at the bank.",
    "Ducks were nesting in the grass along the river bank.",
    "After the flood, water covered the left bank of the stream.",
)
MIN_REAL_SENTENCES, MAX_REAL_SENTENCES = 3, 8
_ENCODERS = {"trained": "Trained", "untrained": "Untrained", "alone": "No attention"}


def _check_typed_word(value: object) -> None:
    word = str(value)
    if not word.strip() or len(word) > 40 or len(word.split()) > 1:
        raise InvalidSetting(f"“{shorten(word)}” is not one word. Give one word of at most 40 characters.")


@dataclass(frozen=True)
class SentenceEncoderState(VariantComparison):
    """The task, the models, their training settings, and the sentences that they read."""

    MODELS_FIELD: ClassVar[str] = ""  # the models of this page are fixed
    TASKS: ClassVar[tuple[str, ...]] = ("gloss", "gist")
    RESET: ClassVar[tuple[str, ...]] = ("layers",)

    task: Task = setting("gloss", "Task", options={"gloss": "word sense", "gist": "hidden word"})
    layers: int = setting(2, "Layers", low=1, high=2, options=(1, 2))  # of the encoder
    rate: float = setting(0.0, "Learning rate (0 = default)", low=0.0, high=1.0, step=0.001)  # learning rate
    steps: int = setting(0, "Training steps (0 = default)", low=0, high=100_000, step=50)
    seeds: int = setting(DEFAULT_SEEDS, "Seeds", low=1, high=16, step=1)
    # Sentences separated by “/”; empty: the examples.
    say: str = setting("", f"Your sentences, one per line, at most {MAX_SENTENCES}", longest=MAX_CHARACTERS)
    chosen: int = setting(0, low=0, high=MAX_SENTENCES - 1)  # the selected sentence
    word: str = setting("bank", "Word", options=HOMOGRAPHS, check=one_of(HOMOGRAPHS))  # whose map is shown
    replica: int = setting(0, "Seed", low=0, high=15)
    who: Kind = setting("trained", "Encoder", options=_ENCODERS)  # whose map is shown
    layer: int = setting(-1, low=-1, high=2)  # of the map; -1: the last
    real: str = setting("", "Real model", longest=80)  # hub:NAME; empty: the first that is open
    # Sentences for the real encoder, separated by “/”; empty: the examples.
    read: str = setting("", "English sentences, one per line", longest=MAX_CHARACTERS)
    about: str = setting(DEFAULT_WORD, "A word that is in all of them", check=_check_typed_word)
    against: int = setting(1, "Compare with sentence", low=1, high=MAX_REAL_SENTENCES, step=1)

    @property
    def variant_names(self) -> tuple[str, ...]:
        """The names of both models: the encoder, and the one without attention."""
        return (f"{self.task}-{'one' if self.layers == 1 else 'two'}", f"{self.task}-alone")

    @property
    def choices(self) -> Mapping[str, ModelVariant]:
        return {name: VARIANTS[name] for name in self.variant_names}

    @property
    def selected_models(self) -> tuple[str, ...]:
        return self.variant_names

    @cached_property
    def variants(self) -> dict[str, ModelVariant]:
        return dict(self.choices)

    @property
    def task_name(self) -> str:
        return self.task

    @cached_property
    def configs(self) -> dict[str, RunConfig]:
        """The configuration of each model; a requested run takes the place of the encoder. Raises InvalidSetting."""
        configs = {name: self.config(name) for name in self.variant_names}
        return configs | {self.variant_names[0]: find_config(self.run)} if self.run else configs

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the typed sentences, or the examples."""
        return _split_lines(self.say.split("/")) if self.say else EXAMPLES

    def with_sentences(self, text: str) -> SentenceEncoderState:
        """Return the state with other sentences, one per line. Sentences beyond the limit are stored but not read."""
        lines = _split_lines(text.replace("/", " ").splitlines())
        say = "" if lines in ((), EXAMPLES) else "/".join(lines)
        return replace(self, say=say, chosen=min(self.chosen, max(len(lines) - 1, 0)))

    @property
    def real_lines(self) -> tuple[str, ...]:
        """Return the sentences that the real model reads, or the examples."""
        return _split_lines(self.read.split("/")) or REAL_EXAMPLES

    def with_real_sentences(self, text: str) -> SentenceEncoderState:
        """Return the state with other sentences for the real model, one per line."""
        lines = _split_lines(text.replace("/", " ").splitlines())
        return replace(self, read="" if lines in ((), REAL_EXAMPLES) else "/".join(lines), against=1)

    def with_models(self, names: Iterable[str]) -> SentenceEncoderState:
        """Return the state if this server trains its runs: the models of this page are fixed. Raises InvalidSetting."""
        return self.check_limits()

    def with_run(self, visitor_id: str = "") -> SentenceEncoderState:
        """Return the state with the settings of the requested run, which becomes the encoder. Raises LineageError."""
        config = self.requested_run(self.run, visitor_id)
        layers, attends, causal = (getattr(config.model, name, None) for name in ("layers", "attention", "causal"))
        if not attends or layers not in (1, 2) or causal is not False:
            raise InvalidSetting(
                f"Run {shorten(self.run)} is no encoder of one or two layers with attention: it can be compared, at "
                f"/compare?run={self.run}."
            )
        here = replace(self, task=task_row(config.task).name, layers=layers, seeds=config.replicas, seed=config.seed)  # type: ignore[arg-type]
        plain = replace(here, run="", rate=0.0, steps=0)
        return plain if plain.configs[plain.variant_names[0]] == config else here


def _split_lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line.strip() for line in lines if line.strip())


@dataclass(frozen=True)
class TypedSentences:
    """The typed sentences that can be read, and messages about the others."""

    words: dict[int, tuple[str, ...]]  # the readable ones, by index in the list
    problems: tuple[str, ...]


def parse_sentences(lines: tuple[str, ...]) -> TypedSentences:
    """Split each sentence into words of the language, or return a message that says why that is impossible."""
    words: dict[int, tuple[str, ...]] = {}
    problems = []
    if len(lines) > MAX_SENTENCES:
        problems.append(
            f"{len(lines)} sentences are more than are read. The first {MAX_SENTENCES} are; leave the others out."
        )
    for i, line in enumerate(lines[:MAX_SENTENCES]):
        reading = VOCABULARY.read(line)
        if reading.tokens:
            words[i] = reading.tokens
        if unread := reading.describe_unread():
            near = [f"for “{shorten(w, 24)}” {', '.join(VOCABULARY.nearest(w))}" for w in reading.unknown[:3]]
            nearest = f" Nearest: {'; '.join(near)}." if near else ""
            problems.append(f"Sentence {i + 1}{'' if reading.tokens else ' is left out'}: {unread}{nearest}")
    return TypedSentences(words, tuple(problems))
