"""The state of the page on the sentence encoder; each field is a URL parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.catalogue import page_title, task_row
from explorer.errors import InvalidSetting, SentenceError, UnknownWords, shorten
from explorer.experiments.labelling import VARIANTS, LabellingVariant
from explorer.jobs import limits
from explorer.tasks.sequence_labelling.homographs import HOMOGRAPHS, VOCABULARY
from explorer.tasks.sequence_labelling.masked_word import MaskedWordConfig
from explorer.tasks.sequence_labelling.word_sense import WordSenseConfig
from explorer.training.config import RunConfig
from explorer.ui.state.run_lookup import find_config

Task = Literal["gloss", "gist"]
Kind = Literal["trained", "untrained", "alone"]
DEFAULT_SEEDS, MAX_SENTENCES, MAX_CHARACTERS = (
    5,
    10,
    900,
)  # seeds; typed sentences, and characters in all of them
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


def _check_word(value: object) -> None:
    if value not in HOMOGRAPHS:
        raise InvalidSetting(f"There is no map of “{shorten(value)}”. There is {', '.join(HOMOGRAPHS)}.")


@dataclass(frozen=True)
class SentenceEncoderState:
    """The task, the models, their training settings, and the sentences that they read."""

    task: Task = "gloss"
    layers: int = field(default=2, metadata={"low": 1, "high": 2})  # of the selected encoder
    run: str = ""  # key of a run
    rate: float = field(default=0.0, metadata={"low": 0.0, "high": 1.0})  # learning rate; 0: default
    steps: int = field(default=0, metadata={"low": 0, "high": 100_000})  # 0: default
    seeds: int = field(default=DEFAULT_SEEDS, metadata={"low": 1, "high": 16})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    say: str = field(
        default="", metadata={"longest": MAX_CHARACTERS}
    )  # sentences separated by “/”; empty: the examples
    chosen: int = field(default=0, metadata={"low": 0, "high": MAX_SENTENCES - 1})  # the selected sentence
    word: str = field(default="bank", metadata={"check": _check_word})  # whose map is shown
    replica: int = field(default=0, metadata={"low": 0, "high": 15})
    who: Kind = "trained"  # whose map is shown
    layer: int = field(default=-1, metadata={"low": -1, "high": 2})  # of the map; -1: the last

    @property
    def variant_names(self) -> tuple[str, ...]:
        """Return the names of both models: the encoder, and the one without attention."""
        return (f"{self.task}-{'one' if self.layers == 1 else 'two'}", f"{self.task}-alone")

    @property
    def variants(self) -> dict[str, LabellingVariant]:
        """Return both model variants by name."""
        return {name: VARIANTS[name] for name in self.variant_names}

    @property
    def configs(self) -> dict[str, RunConfig]:
        """Return the configuration of each run. Raises InvalidSetting."""
        shared: dict[str, object] = {
            "replicas": self.seeds,
            "seed": self.seed,
            **({"learning_rate": self.rate} if self.rate else {}),
            **({"iterations": self.steps} if self.steps else {}),
        }
        encoder, alone = self.variant_names
        configs = {encoder: VARIANTS[encoder].config(**shared), alone: VARIANTS[alone].config(**shared)}
        return configs | ({encoder: find_config(self.run)} if self.run else {})

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the typed sentences, or the examples."""
        return tuple(line.strip() for line in self.say.split("/") if line.strip()) if self.say else EXAMPLES

    @property
    def text(self) -> str:
        """Return the sentences, one per line."""
        return "\n".join(self.lines)

    def with_sentences(self, text: str) -> SentenceEncoderState:
        """Return the state with other sentences, one per line. Sentences beyond the limit are stored but not read."""
        lines = tuple(line.strip() for line in text.replace("/", " ").splitlines() if line.strip())
        is_default = lines in ((), EXAMPLES)
        return replace(self, say="" if is_default else "/".join(lines), chosen=min(self.chosen, max(len(lines) - 1, 0)))

    def check_limits(self) -> SentenceEncoderState:
        """Return the state if this server trains its runs. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_models(self, names: Iterable[str]) -> SentenceEncoderState:
        """Return the state if this server trains its runs: the models of this page are fixed. Raises InvalidSetting."""
        return self.check_limits()

    def with_training_settings(self, **settings: Any) -> SentenceEncoderState:
        """Return the state with other training settings. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).check_limits()

    def with_run(self, visitor_id: str = "") -> SentenceEncoderState:
        """Return the state with the settings of the requested run. Raises LineageError."""
        config, name = find_config(self.run, visitor_id), self.run
        if not isinstance(config.task, WordSenseConfig | MaskedWordConfig):
            page = task_row(config.task).page
            raise InvalidSetting(f"Run {shorten(name)} stands on another page: {page_title(page)}, /{page}?run={name}.")
        layers = getattr(config.model, "layers", 0)
        if (
            not getattr(config.model, "attention", False)
            or layers not in (1, 2)
            or getattr(config.model, "causal", True)
        ):
            raise InvalidSetting(
                f"Run {shorten(name)} is no encoder of one or two layers with attention: it can be compared, at "
                f"/compare?run={name}."
            )
        here = replace(self, task=task_row(config.task).name, layers=layers, seeds=config.replicas, seed=config.seed)  # type: ignore[arg-type]
        plain = replace(here, run="", rate=0.0, steps=0)
        return plain if plain.configs[plain.variant_names[0]] == config else here

    def reset(self) -> SentenceEncoderState:
        """Return the state with the default training settings; the sentences stay."""
        defaults = SentenceEncoderState()
        return replace(
            self,
            layers=defaults.layers,
            rate=defaults.rate,
            steps=defaults.steps,
            seeds=defaults.seeds,
            seed=defaults.seed,
            run="",
        )


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
        try:
            words[i] = VOCABULARY.split(line)
        except UnknownWords as error:
            near = "; ".join(f"for “{shorten(word, 24)}” {', '.join(each)}" for word, each in error.nearest.items())
            problems.append(f"Sentence {i + 1} is left out: the language does not have all its words. Nearest: {near}.")
        except SentenceError as error:
            problems.append(f"Sentence {i + 1} is left out. {error}")
    return TypedSentences(words, tuple(problems))
