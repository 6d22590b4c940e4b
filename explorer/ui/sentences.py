"""What a visitor of the sentence encoder has chosen; each field is a part of the address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.catalogue import page_title, task_row
from explorer.errors import InvalidSetting, SentenceError, UnknownWords, shortened
from explorer.tasks.gist import GistConfig
from explorer.tasks.gloss import GlossConfig
from explorer.tasks.meanings import HOMOGRAPHS, TYPED
from explorer.training import limits
from explorer.training.config import RunConfig
from explorer.training.labelling_runs import CONTESTANTS, Contestant
from explorer.ui.known import config_of

Task = Literal["gloss", "gist"]
Kind = Literal["trained", "untrained", "alone"]
SEEDS, MOST, LONGEST = 5, 10, 900  # seeds of a race; typed sentences, and letters in all of them
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


def _word(given: object) -> None:
    if given not in HOMOGRAPHS:
        raise InvalidSetting(f"There is no map of “{shortened(given)}”. There is {', '.join(HOMOGRAPHS)}.")


@dataclass(frozen=True)
class Sentences:
    """What is learned, by whom, and what is read."""

    task: Task = "gloss"
    layers: int = field(default=2, metadata={"low": 1, "high": 2})  # of the encoder that is looked into
    run: str = ""  # a run, as any page's address may name it
    rate: float = field(default=0.0, metadata={"low": 0.0, "high": 1.0})  # step size; 0: as usual
    steps: int = field(default=0, metadata={"low": 0, "high": 100_000})  # 0: as usual
    seeds: int = field(default=SEEDS, metadata={"low": 1, "high": 16})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    say: str = field(default="", metadata={"longest": LONGEST})  # the sentences, “/” between; empty: the examples
    chosen: int = field(default=0, metadata={"low": 0, "high": MOST - 1})  # the sentence that is looked into
    word: str = field(default="bank", metadata={"check": _word})  # whose map is shown
    replica: int = field(default=0, metadata={"low": 0, "high": 15})
    who: Kind = "trained"  # whose map is shown
    layer: int = field(default=-1, metadata={"low": -1, "high": 2})  # of the map; -1: the last

    @property
    def names(self) -> tuple[str, ...]:
        """Who is trained: the encoder, and the one without attention."""
        return (f"{self.task}-{'one' if self.layers == 1 else 'two'}", f"{self.task}-alone")

    @property
    def contestants(self) -> dict[str, Contestant]:
        return {name: CONTESTANTS[name] for name in self.names}

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The run of each. Raises InvalidSetting."""
        shared: dict[str, object] = {
            "replicas": self.seeds,
            "seed": self.seed,
            **({"learning_rate": self.rate} if self.rate else {}),
            **({"iterations": self.steps} if self.steps else {}),
        }
        encoder, alone = self.names
        found = {encoder: CONTESTANTS[encoder].config(**shared), alone: CONTESTANTS[alone].config(**shared)}
        return found | ({encoder: config_of(self.run)} if self.run else {})

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentences as they were typed."""
        return tuple(line.strip() for line in self.say.split("/") if line.strip()) if self.say else EXAMPLES

    @property
    def text(self) -> str:
        """The sentences, one a line."""
        return "\n".join(self.lines)

    def saying(self, text: str) -> Sentences:
        """Other sentences, one a line. Those that are too many stay as they are typed, and are not read."""
        lines = tuple(line.strip() for line in text.replace("/", " ").splitlines() if line.strip())
        usual = lines in ((), EXAMPLES)
        return replace(self, say="" if usual else "/".join(lines), chosen=min(self.chosen, max(len(lines) - 1, 0)))

    def checked(self) -> Sentences:
        """The same, if this server trains what it asks for. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_who(self, who: Iterable[str]) -> Sentences:
        """For `race_session`: there is nobody to choose here but whose map is shown."""
        return self.checked()

    def racing(self, **settings: Any) -> Sentences:
        """Other settings of the training. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).checked()

    def with_run(self) -> Sentences:
        """The page on which a run stands that an address names. Raises LineageError."""
        config, name = config_of(self.run), self.run
        if not isinstance(config.task, GlossConfig | GistConfig):
            page = task_row(config.task).page
            raise InvalidSetting(
                f"Run {shortened(name)} stands on another page: {page_title(page)}, /{page}?run={name}."
            )
        layers = getattr(config.model, "layers", 0)
        if (
            not getattr(config.model, "attention", False)
            or layers not in (1, 2)
            or getattr(config.model, "causal", True)
        ):
            raise InvalidSetting(
                f"Run {shortened(name)} is no encoder of one or two layers with attention: it can be compared, at "
                f"/compare?run={name}."
            )
        here = replace(self, task=task_row(config.task).name, layers=layers, seeds=config.replicas, seed=config.seed)  # type: ignore[arg-type]
        plain = replace(here, run="", rate=0.0, steps=0)
        return plain if plain.configs[plain.names[0]] == config else here

    def reset(self) -> Sentences:
        """The usual training; what was typed stays."""
        usual = Sentences()
        return replace(
            self, layers=usual.layers, rate=usual.rate, steps=usual.steps, seeds=usual.seeds, seed=usual.seed, run=""
        )


@dataclass(frozen=True)
class Typed:
    """What became of the typed sentences."""

    words: dict[int, tuple[str, ...]]  # by place in the list: those that can be read
    problems: tuple[str, ...]


def read(lines: tuple[str, ...]) -> Typed:
    """Each sentence as words of the language, or one sentence that says why it is none."""
    words: dict[int, tuple[str, ...]] = {}
    problems = []
    if len(lines) > MOST:
        problems.append(f"{len(lines)} sentences are more than are read. The first {MOST} are; leave the others out.")
    for i, line in enumerate(lines[:MOST]):
        try:
            words[i] = TYPED.split(line)
        except UnknownWords as error:
            near = "; ".join(f"for “{shortened(word, 24)}” {', '.join(each)}" for word, each in error.nearest.items())
            problems.append(f"Sentence {i + 1} is left out: the language does not have all its words. Nearest: {near}.")
        except SentenceError as error:
            problems.append(f"Sentence {i + 1} is left out. {error}")
    return Typed(words, tuple(problems))
