"""The training of one language model, as a script.

`python_file.py` makes a standalone file from this one and all that it uses, after replacing the names and settings
below by those of a run.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.generation.generate import prompt_ids
from explorer.generation.sampling import gumbel_noise, noise_generator
from explorer.models.configs import TransformerTextConfig
from explorer.models.context_window import window_start
from explorer.models.kneser_ney import Ngram
from explorer.models.language import State
from explorer.models.layers import learning, replica, stack
from explorer.models.neural_ngram import NeuralNgram
from explorer.models.recurrence import RecurrentLanguageModel
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.seeds import generator
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import TINYSHAKESPEARE_SHA256, brackets_text, repeats_text, toy_text
from explorer.tasks.text.rows import Blocks, TextData
from explorer.tasks.text.token_arrays import recipe_of, tokenize
from explorer.tokenization.characters import Characters
from explorer.training.config import Optimiser, RunConfig
from explorer.training.early_stopping import EarlyStopping
from explorer.training.objectives.text import CONTIGUOUS_ROWS
from explorer.training.optimisers import ReplicaOptimizer
from explorer.training.scoring import mean_loss, mean_surprisal, stack_batches

# Names that the code of all runs uses for what this run has.
Tokenizer = Characters
TaskConfig = TextConfig
ModelConfig = TransformerTextConfig

TASK = TextConfig()
MODEL = TransformerTextConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER, iterations=1_000)


def read() -> str:
    """Return the training text."""
    if TASK.corpus == "toy":
        return toy_text(TASK.size, TASK.corpus_seed)
    if TASK.corpus == "repeats":
        return repeats_text(TASK.size, TASK.corpus_seed)
    if TASK.corpus == "brackets":
        return brackets_text(TASK.size, TASK.corpus_seed)
    if TASK.corpus == "own":
        return read_file("the text of this run", TASK.text)
    return read_file("Tiny Shakespeare", TINYSHAKESPEARE_SHA256)


def read_file(name: str, expected: str) -> str:
    """Return the text of the file named on the command line, if its SHA-256 is the expected one."""
    if len(sys.argv) != 2:
        sys.exit(f"Say which file holds {name} (SHA-256 {expected}): python {sys.argv[0]} input.txt")
    try:
        text = Path(sys.argv[1]).read_text("utf-8-sig")  # every line ending becomes "\n"
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{sys.argv[1]} cannot be read as a text in UTF-8: {error}")
    text = re.sub(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]", "", text)  # without control characters
    found = hashlib.sha256(text.encode()).hexdigest()
    if found != expected:
        sys.exit(f"{sys.argv[1]} does not hold {name}: SHA-256 {expected} is expected, and this is {found}.")
    return text


def train(kind: str, text: str | Sequence[str], vocabulary: int) -> Tokenizer:
    """Train a tokenizer on a text or on several."""
    return Tokenizer.train([text] if isinstance(text, str) else text, vocabulary)


def load_data(text: str) -> TextData:
    """Tokenize the text and divide it into training and held-out rows."""
    return Blocks(TASK, text, tokenize(recipe_of(TASK, text), text))


def build_models(data: TextData) -> nn.Module:
    """Return the initialized model; several seeds are stacked."""
    models = [TransformerDecoder(MODEL, data.vocabulary, TASK.context, generator(seed, "start")) for seed in RUN.seeds]
    return stack(models) if RUN.replicas > 1 else models[0]


def train_steps(model: nn.Module, data: TextData) -> Iterator[tuple[int, str, list[float]]]:
    """Train all seeds at once. Yields a step, "loss" or "validation loss", and its value per seed in nats per token.

    The loss is that of the batch; the validation loss is over a part of the held-out rows.
    """
    if isinstance(model, Ngram):
        batch = data.full_training_batch()
        model.fit(*batch)
        yield 1, "loss", mean_loss(model, [batch], RUN.replicas).float().tolist()
        return
    optimizer = ReplicaOptimizer(model, OPTIMISER, RUN.replicas, RUN.average)
    if RUN.stop_at or RUN.patience:
        early_stopping = EarlyStopping(RUN)
    ones = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    state: State = ()
    for step in range(RUN.steps):
        if RUN.evaluates_at(step):
            if RUN.average:
                optimizer.swap_averaged_weights()  # evaluate the averaged weights
            part = validation(model, data, RUN.evaluation_size or None)
            yield step, "validation loss", part.tolist()
            if RUN.stop_at or RUN.patience:
                whole = torch.full_like(part, math.nan) if RUN.evaluation_size else part
                answers = {"val_loss_part": part, "val_loss": whole}
                if early_stopping.is_near_target(answers):
                    answers["val_loss"] = validation(model, data)
                early_stopping.update(answers)
                if early_stopping.should_stop:
                    return
            if RUN.average:
                optimizer.swap_averaged_weights()
        batch = stack_batches([data.batch(seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds])
        if data.resets_state(step, RUN.batch_size):
            state = ()
        with learning([generator(seed, f"dropout/{RUN.order}/{step}") for seed in RUN.seeds]):
            features, state = model.features(batch.ids, state)  # type: ignore[operator]  # a LanguageModel
            losses = mean_surprisal(model, features, batch)
        state = tuple(part.detach() for part in state)
        optimizer.zero_grad()
        losses.backward(ones)  # type: ignore[no-untyped-call]
        optimizer.step(step + 1, RUN.steps)
        yield step + 1, "loss", losses.detach().view(-1).tolist()
    if RUN.average:
        optimizer.swap_averaged_weights()


def validation(model: nn.Module, data: TextData, targets: int | None = None) -> Tensor:
    """Return the loss of each seed over about `targets` held-out targets, or over all."""
    if TASK.batches == "contiguous":
        # The state is carried over batches, as in training.
        return mean_loss(
            model, data.held_out_contiguous(CONTIGUOUS_ROWS, TASK.context, targets), RUN.replicas, carries=True
        )
    return mean_loss(model, data.held_out_batches(targets), RUN.replicas)


@torch.inference_mode()
def generate_text(model: nn.Module, data: TextData, seed: int) -> str:
    """Return text that one model generates after a line end, by sampling."""
    ids, _ = prompt_ids(data.tokenizer, "\n")
    start = len(ids)
    if isinstance(model, RecurrentLanguageModel):
        last, state = ids, State()
    for noise in gumbel_noise(noise_generator(seed, 0), RUN.sample or 200, data.vocabulary):
        if TASK.rows == "prefixes":
            # It was trained at the last position of padded rows only.
            row = ids[window_start(len(ids), TASK.context) :]
            logits = model(F.pad(row, (0, TASK.context - len(row)), value=data.padding)[None])[0, -1]
        elif isinstance(model, Ngram):
            logits = model.next_logits(ids)
        elif isinstance(model, RecurrentLanguageModel):
            features, state = model.features(last[None], state)
            logits = model.readout(features[:, -1])[0]
        elif isinstance(model, NeuralNgram):
            logits = model(ids[None, -model.window :])[0, -1]
        else:
            logits = model(ids[None, window_start(len(ids), TASK.context) :])[0, -1]
        last = (logits + noise).argmax()[None]
        ids = torch.cat([ids, last])
    return data.tokenizer.decode(ids[start:].tolist())


def main() -> list[list[float]]:
    """Train, print losses and generated text; return the losses of all batches."""
    torch.set_num_threads(RUN.threads)
    data = load_data(read())
    model = build_models(data)
    curve = []
    for step, what, numbers in train_steps(model, data):
        print(f"step {step}  {what}", *numbers)
        if what == "loss":
            curve.append(numbers)
    losses = validation(model, data)
    bits = losses / data.characters_per_token / math.log(2)
    for i, seed in enumerate(RUN.seeds):
        print(f"seed {seed}  validation loss {losses[i]}  perplexity {losses[i].exp()}  bits a character {bits[i]}")
        alone = replica(model, i) if RUN.replicas > 1 else model
        print(generate_text(alone, data, seed))
    return curve


if __name__ == "__main__":
    main()
