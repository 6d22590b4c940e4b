"""The state of the page on word vectors: the text, the models and their settings, and the words that are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from explorer.experiments import word_vectors
from explorer.experiments.model_variant import ModelVariant
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.tokenization.words import fold_variants
from explorer.training.config import RunConfig
from explorer.ui.state.experiment_state import VariantComparison
from explorer.ui.state.fields import check_fingerprint, setting
from explorer.ui.state.open_experiment import setting_value

CORPUS_NAMES = {"grammar": "Grammar", "tinyshakespeare": "Tiny Shakespeare", "own": "Your own"}
CORPUS_DESCRIPTIONS = {
    "grammar": "10,000 made-up sentences of 276 words, with planted analogies: a king takes his crown, a queen hers.",
    "tinyshakespeare": "200,000 words from Shakespeare’s plays; 1,895 different words occur ten times or more.",
    "own": "Your own text. Words that occur fewer than three times get no vector.",
}
_EXAMPLES: Mapping[str, tuple[str, str, str, str, str]] = {  # a word, an analogy, and the words of the map
    "grammar": (
        "queen",
        "king",
        "queen",
        "father",
        "king queen father mother son daughter uncle aunt actor actress monk nun",
    ),
    "tinyshakespeare": (
        "romeo",
        "king",
        "queen",
        "man",
        "romeo juliet tybalt mercutio king queen prince duke father mother son daughter day night morning love hate",
    ),
    "own": ("", "", "", "", ""),
}
_OPTIONAL = {  # by field, where 0 stands for what suits the text
    "seeds": "replicas",
    "steps": "iterations",
    "rate": "learning_rate",
    "width": "width",
    "window": "window",
    "min_count": "min_count",
    "subsampling": "subsampling",
    "negatives": "negatives",
}


@dataclass(frozen=True)
class WordVectorsState(VariantComparison):
    """The text, the models with their settings, and the words that the visitor asks about."""

    TASKS: ClassVar[tuple[str, ...]] = ("word_vectors",)

    who: tuple[str, ...] = setting(
        ("skip_gram",), "Models", options={name: each.title for name, each in word_vectors.VARIANTS.items()}
    )
    corpus: Literal["grammar", "tinyshakespeare", "own"] = setting("tinyshakespeare", "Text", options=CORPUS_NAMES)
    text: str = setting("", check=check_fingerprint)  # the SHA-256 of an own text
    seeds: int = setting(0, "Seeds (0 = default)", low=0, high=16, step=1)
    steps: int = setting(0, "Training steps (0 = default)", low=0, high=100_000, step=500)
    rate: float = setting(0.0, "Learning rate (0 = default)", low=0.0, high=1.0)
    width: int = setting(0, "Dimensions of a vector (0 = default)", low=0, high=512)
    window: int = setting(0, "Window (0 = 5 neighbours on each side)", low=0, high=20)
    min_count: int = setting(0, "Smallest count of a word (0 = default)", low=0, high=1_000)
    subsampling: float = setting(0.0, "Subsampling threshold (0 = default, 1 = none)", low=0.0, high=1.0)
    negatives: int = setting(0, "Noise words (0 = 5)", low=0, high=50)
    word: str | None = setting(None, "Word", longest=40)
    a: str | None = setting(None, "a", longest=40)
    b: str | None = setting(None, "is to b", longest=40)
    c: str | None = setting(None, "as c is to ?", longest=40)
    show: str | None = setting(None, "Words on the map", longest=400)
    replica: int = setting(0, "Seed", low=0, high=15)  # whose vectors the map shows

    @classmethod
    def url_base(cls) -> WordVectorsState:
        return cls(corpus="grammar")

    @property
    def choices(self) -> Mapping[str, ModelVariant]:
        return word_vectors.VARIANTS

    @property
    def task_fields(self) -> tuple[str, ...]:
        return ("corpus", "text", "window", "min_count", "subsampling", "negatives")

    @property
    def _training_settings(self) -> set[str]:
        return super()._training_settings | {"width"}

    @property
    def read_corpus(self) -> Literal["grammar", "tinyshakespeare", "own"]:
        """The text that is read: the grammar, until there is an own text."""
        return "grammar" if self.corpus == "own" and not self.text else self.corpus

    def config(self, name: str) -> RunConfig:
        settings = {setting: getattr(self, field) for field, setting in _OPTIONAL.items() if getattr(self, field)}
        own = {"text": self.text} if self.read_corpus == "own" else {}
        return word_vectors.config(name, self.read_corpus, seed=self.seed, **own, **settings)

    def variant_of_run(self) -> ModelVariant:
        model = self.configs[self.run].model_name
        return self.choices[model].requested_as(self.run)

    def with_settings_of(self, config: RunConfig) -> WordVectorsState:
        task = config.task_as(WordVectorsConfig)
        usual = word_vectors.config(config.model_name, task.corpus, text=task.text)
        values = {field: setting_value(config, name) for field, name in _OPTIONAL.items()}
        settings: dict[str, Any] = {
            field: type(value)(0) if value == setting_value(usual, _OPTIONAL[field]) else value
            for field, value in values.items()
        }
        return replace(self, corpus=task.corpus, text=task.text, seed=config.seed, run="", **settings)

    def with_corpus(self, corpus: Literal["grammar", "tinyshakespeare", "own"], text: str = "") -> WordVectorsState:
        """Return the state with another text and the usual settings for it. Raises InvalidSetting."""
        return replace(type(self)(), who=self.who, corpus=corpus, text=text).check_limits()

    def reset(self) -> WordVectorsState:
        return replace(super().reset(), corpus="grammar" if self.corpus == "own" else self.corpus)

    @cached_property
    def examples(self) -> tuple[str, str, str, str, str]:
        """The word, the analogy (a, b, c) and the words of the map: typed ones, or examples for the text."""
        typed = (self.word, self.a, self.b, self.c, self.show)
        pairs = zip(typed, _EXAMPLES[self.read_corpus], strict=True)
        word, a, b, c, show = (clean(example if own is None else own) for own, example in pairs)
        return word, a, b, c, show

    @property
    def untyped(self) -> WordVectorsState:
        """The state without typed words, whose examples are those of the text."""
        return replace(self, word=None, a=None, b=None, c=None, show=None)


def clean(typed: str) -> str:
    """Return typed words as the text has them: in small letters, separated by single spaces."""
    return " ".join(fold_variants(typed.lower()).replace(",", " ").split())
