"""How text is taught: every position of a row predicts its next token, whatever the model.

Loss in nats a token. Held-out rows are read cold, each from its own start, except by a recurrent net that was
trained with carried state: it reads on from row to row, as it did in training.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.catalogue import variant
from explorer.errors import InvalidSetting
from explorer.generation.sampling import Sampling
from explorer.generation.writing import Writer, prompt_ids, write
from explorer.models.configs import NgramTextConfig
from explorer.models.language import State
from explorer.models.layers import learning, replica
from explorer.models.ngram import Ngram
from explorer.seeds import generator
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import Batch, text_data
from explorer.training.config import RunConfig
from explorer.training.lesson import Layout, Lesson, Measured
from explorer.training.scoring import loss_over, mean_surprise, side_by_side

METRICS = ("val_loss", "val_loss_part", "train_loss", "perplexity", "bits_per_char")
LANES = 16  # in which held-out text is read with carried state; each starts cold once


class TextLesson(Lesson):
    """Draws rows of tokens, and remembers what a recurrent net carries from one batch to the next."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model = config, model
        self.data = text_data(config.on(TextConfig))
        self.tokenizer = self.data.tokenizer.to_json()
        self._state: State = ()

    @staticmethod
    def build(config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        if isinstance(config.model, NgramTextConfig) and config.on(TextConfig).rows == "prefixes":
            raise InvalidSetting("An n-gram reads lines, not padded prefixes. Choose rows = sentences: the same pairs.")
        if isinstance(config.model, NgramTextConfig) and config.replicas > 1:
            raise InvalidSetting("Counting knows no chance: every seed gives the same n-gram. Give replicas = 1.")
        module, _, name = variant(config.model).place.partition(":")
        vocabulary = text_data(config.on(TextConfig)).vocabulary if vocabulary is None else vocabulary
        model: nn.Module = getattr(import_module(module), name)(
            config.model, vocabulary, config.on(TextConfig).context, generator
        )
        return model

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config, size = self.config, self.config.batch_size
        batch = side_by_side([self.data.batch(seed, config.order, step, size) for seed in config.seeds])
        carries = config.on(TextConfig).batches == "contiguous"
        if carries and self.data.starts_cold(step, size):
            self._state = ()
        with learning([generator(seed, f"dropout/{config.order}/{step}") for seed in config.seeds]):
            features, state = self.model.features(batch.ids, self._state)  # type: ignore[operator]  # a LanguageModel
            self._state = tuple(part.detach() for part in state) if carries else ()
            losses = mean_surprise(self.model, features, batch)
        return losses, float(batch.ids.numel() // config.replicas)

    def count(self) -> tuple[Float[Tensor, " replicas"], float] | None:
        if not isinstance(self.model, Ngram):
            return None
        everything = self.data.whole_training()
        self.model.fit(*everything)
        return self._loss([everything]).float(), float(everything.ids.numel())

    @torch.inference_mode()
    def evaluate(self, step: int, whole: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        size, carries = self.config.evaluation_size, self.config.on(TextConfig).batches == "contiguous"
        part = self._loss(self._held_out(size or None), carries)
        val = part
        if size:
            val = self._loss(self._held_out(None), carries) if whole else torch.full_like(part, math.nan)
        return {
            "val_loss": val,
            "val_loss_part": part,
            "train_loss": self._loss(self.data.trained_on(size or 65_536)),  # rows from here and there: each cold
            "perplexity": val.exp(),
            "bits_per_char": val / self.data.characters_per_token / math.log(2),
        }

    def samples(self, step: int) -> tuple[str, ...]:
        config, task = self.config, self.config.on(TextConfig)
        if not config.sample:
            return ()
        tokenizer = self.data.tokenizer
        start, _ = prompt_ids(tokenizer, "\n")
        alone = [self.model] if config.replicas == 1 else [replica(self.model, r) for r in range(config.replicas)]
        texts = [
            write(Writer.of(model, task, tokenizer), start, config.sample, Sampling(seed=seed))[0]
            for model, seed in zip(alone, config.seeds, strict=True)
        ]
        return tuple(tokenizer.decode(text.tolist()) for text in texts)

    def state(self) -> dict[str, Tensor]:
        return _named(self._state, self.config.replicas)

    @staticmethod
    @torch.inference_mode()
    def carried(config: RunConfig, model: nn.Module) -> dict[str, Tensor]:
        if config.on(TextConfig).batches != "contiguous":
            return {}
        replicas = (config.replicas,) if config.replicas > 1 else ()
        ids = torch.zeros(*replicas, config.batch_size, 1, dtype=torch.int64)
        return _named(model.features(ids)[1], config.replicas)  # type: ignore[operator]  # a LanguageModel

    def restore(self, state: Mapping[str, Tensor]) -> None:
        count = sum(name.startswith("carried.") for name in state)
        parts = [state[f"carried.{i}"] for i in range(count)]
        self._state = tuple(parts if self.config.replicas > 1 else (part[0] for part in parts))

    @staticmethod
    def measured(answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig) -> Measured:
        return Measured({name: answers[name].numpy() for name in METRICS}, {})

    @staticmethod
    def layout(config: RunConfig) -> Layout:
        trained = not isinstance(config.model, NgramTextConfig)
        return Layout(METRICS, signals=("gradient_norm",) if trained else (), samples=config.sample > 0)

    def _held_out(self, targets: int | None) -> Iterator[Batch]:
        """Held-out rows, in the order in which the model reads them."""
        if self.config.on(TextConfig).batches == "contiguous":
            return self.data.held_out_lanes(LANES, self.config.on(TextConfig).context, targets)
        return self.data.held_out(targets)

    def _loss(self, batches: Iterable[Batch], carries: bool = False) -> Float[Tensor, " replicas"]:
        return loss_over(self.model, batches, self.config.replicas, carries)


def _named(state: State, replicas: int) -> dict[str, Tensor]:
    """The parts of a carried state, each with a leading replica axis."""
    rows = state if replicas > 1 else tuple(part[None] for part in state)
    return {f"carried.{i}": part.clone() for i, part in enumerate(rows)}
