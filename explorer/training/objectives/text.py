"""The objective of language modelling: every position of a row predicts its next token.

The loss is in nats per token; bits per byte count everything, so that they can be compared between tokenizers (see
`tasks/text/bits_per_byte.py`). Each held-out row is read with a new state, except by a recurrent network that was
trained with carried state: it carries its state from row to row, as in training.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.generation.generate import TextGenerator, generate_ids, prompt_ids
from explorer.generation.sampling import Sampling
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.models.language import State
from explorer.models.layers import learning, replica
from explorer.seeds import generator
from explorer.tasks.replicas import stack_replicas
from explorer.tasks.text.bits_per_byte import HeldOutText, held_out_text
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Batch, TextData, text_data
from explorer.training.config import RunConfig
from explorer.training.device import device_of, move_batch, on_processor
from explorer.training.events import EvaluationPart
from explorer.training.objective import Objective, Parts, RecordLayout, complete
from explorer.training.scoring import MeanLoss, mean_loss, mean_surprisal

METRICS = ("bits_per_byte", "val_loss", "val_loss_part", "train_loss", "perplexity", "bits_per_char")
_TRAINING_SAMPLE = 65_536  # targets
CONTIGUOUS_ROWS = 16  # of held-out text that is read with carried state; each starts with a zero state


class TextObjective(Objective):
    """Draws rows of tokens, and carries the state of a recurrent network from batch to batch."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model = config, model
        self.data = text_data(config.task_as(TextConfig))
        self.tokenizer = self.data.tokenizer.to_json()
        self._device, self._state = device_of(model), State()

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        if isinstance(config.model, NgramTextConfig) and config.task_as(TextConfig).rows == "prefixes":
            raise InvalidSetting("An n-gram reads lines, not padded prefixes. Choose rows = sentences: the same pairs.")
        if isinstance(config.model, NgramTextConfig) and config.replicas > 1:
            raise InvalidSetting("An n-gram has no random numbers: every seed gives the same one. Give replicas = 1.")
        task = config.task_as(TextConfig)
        return text_data(task).vocabulary if vocabulary is None else vocabulary, task.context

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config, size = self.config, self.config.batch_size
        batch = stack_replicas([self.data.batch(seed, config.order, step, size) for seed in config.seeds])
        batch = move_batch(batch, self._device)
        carries = config.task_as(TextConfig).batches == "contiguous"
        if carries and self.data.resets_state(step, size):
            self._state = ()
        with learning([generator(seed, f"dropout/{config.order}/{step}") for seed in config.seeds]):
            features, state = self.model.features(batch.ids, self._state)  # type: ignore[operator]  # a LanguageModel
            self._state = tuple(part.detach() for part in state) if carries else ()
            losses = mean_surprisal(self.model, features, batch)
        return losses, float(batch.ids.numel() // config.replicas)

    def fit_by_counting(self) -> tuple[Float[Tensor, " replicas"], float] | None:
        if not isinstance(self.model, Ngram):
            return None
        batch = self.data.full_training_batch()
        self.model.fit(*batch)
        return mean_loss(self.model, [batch], self.config.replicas).float(), float(batch.ids.numel())

    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        return complete(self.evaluate_in_parts(step, full))

    def evaluate_in_parts(self, step: int, full: bool) -> Parts[Mapping[str, Float[Tensor, "replicas ..."]]]:
        task, size = self.config.task_as(TextConfig), self.config.evaluation_size
        carries = task.batches == "contiguous"
        part = yield from self._loss_in_parts(held_out_batches(task, self.data, size or None), carries)
        val = part
        if size:
            everything = held_out_batches(task, self.data)
            val = (yield from self._loss_in_parts(everything, carries)) if full else torch.full_like(part, math.nan)
        # rows from all over the text, each with a new state
        train = yield from self._loss_in_parts(self.data.training_sample(size or _TRAINING_SAMPLE))
        return {**self._in_all_units(val), "val_loss_part": part, "train_loss": train}

    def baselines(self) -> dict[str, float]:
        """Return the metrics of a unigram: the frequencies of a sample of the training targets, each plus one."""
        counts = torch.ones(self.data.vocabulary, dtype=torch.float64)
        for batch in self.data.training_sample(_TRAINING_SAMPLE):
            counts += batch.counted_targets.bincount(minlength=len(counts))
        surprisal = counts.sum().log() - counts.log()
        held_out = torch.cat([batch.counted_targets for batch in self.data.held_out_batches()])
        return {name: float(value) for name, value in self._in_all_units(surprisal[held_out].mean()).items()}

    def _in_all_units(self, val_loss: Tensor) -> dict[str, Tensor]:
        return {
            "bits_per_byte": self._held_out_text.bits_per_byte(val_loss),  # NaN as the loss before the last evaluation
            "val_loss": val_loss,
            "perplexity": val_loss.exp(),
            "bits_per_char": val_loss / self.data.characters_per_token / math.log(2),
        }

    @cached_property
    def _held_out_text(self) -> HeldOutText:
        return held_out_text(self.config.task_as(TextConfig))

    def generate_samples(self, step: int) -> tuple[str, ...]:
        return complete(self.generate_samples_in_parts(step))

    def generate_samples_in_parts(self, step: int) -> Parts[tuple[str, ...]]:
        config, task = self.config, self.config.task_as(TextConfig)
        if not config.sample:
            return ()
        tokenizer = self.data.tokenizer
        prompt, _ = prompt_ids(tokenizer, "\n")
        whole = on_processor(self.model)
        models = [whole] if config.replicas == 1 else [replica(whole, r) for r in range(config.replicas)]
        texts = []
        for model, seed in zip(models, config.seeds, strict=True):
            text_generator = TextGenerator.for_task(model, task, tokenizer)
            ids = generate_ids(text_generator, prompt, config.sample, Sampling(seed=seed))[0]
            texts.append(tokenizer.decode(ids.tolist()))
            yield EvaluationPart()
        return tuple(texts)

    def state(self) -> dict[str, Tensor]:
        return _state_tensors(self._state, self.config.replicas)

    @staticmethod
    @torch.inference_mode()
    def state_template(config: RunConfig, model: nn.Module) -> dict[str, Tensor]:
        if config.task_as(TextConfig).batches != "contiguous":
            return {}
        replicas = (config.replicas,) if config.replicas > 1 else ()
        ids = torch.zeros(*replicas, config.batch_size, 1, dtype=torch.int64)
        return _state_tensors(model.features(ids)[1], config.replicas)  # type: ignore[operator]  # a LanguageModel

    def restore(self, state: Mapping[str, Tensor]) -> None:
        count = sum(name.startswith("carried.") for name in state)
        parts = [move_batch(state[f"carried.{i}"], self._device) for i in range(count)]
        self._state = tuple(parts if self.config.replicas > 1 else (part[0] for part in parts))

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        trained = not isinstance(config.model, NgramTextConfig)
        return RecordLayout(METRICS, signals=("gradient_norm",) if trained else (), samples=config.sample > 0)

    def _loss_in_parts(self, batches: Iterable[Batch], carries: bool = False) -> Parts[Float[Tensor, " replicas"]]:
        loss = MeanLoss(self.model, self.config.replicas, carries)
        for batch in batches:
            loss.add(move_batch(batch, self._device))
            yield EvaluationPart()
        return loss.value


def held_out_batches(task: TextConfig, data: TextData, targets: int | None = None) -> Iterator[Batch]:
    """Return the held-out rows of a task in the order in which a model reads them; `targets`: about so many of them."""
    if task.batches == "contiguous":
        return data.held_out_contiguous(CONTIGUOUS_ROWS, task.context, targets)
    return data.held_out_batches(targets)


def _state_tensors(state: State, replicas: int) -> dict[str, Tensor]:
    """Return the parts of a carried state by name, each with a leading replica axis."""
    rows = state if replicas > 1 else tuple(part[None] for part in state)
    return {f"carried.{i}": part.clone() for i, part in enumerate(rows)}
