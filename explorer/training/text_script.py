"""The training of one language model, as a script.

`export.py` makes a file that stands alone from this one and from all it uses. It is written for one run; the names
and settings of another one take the place of its own.
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

from explorer.generation.decoding import window_start
from explorer.generation.sampling import dice, gumbel
from explorer.generation.writing import prompt_ids
from explorer.models.configs import TransformerTextConfig
from explorer.models.language import State
from explorer.models.layers import learning, replica, stack
from explorer.models.neural_ngram import NeuralNgram
from explorer.models.ngram import Ngram
from explorer.models.recurrence import RecurrentLanguageModel
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.seeds import generator
from explorer.tasks.corpora import TINYSHAKESPEARE_SHA256, brackets, repeats, toy
from explorer.tasks.text import TextConfig
from explorer.tasks.tokens import make, recipe_of
from explorer.tasks.windows import Blocks, TextData
from explorer.tokenization.characters import Characters
from explorer.training.config import Optimiser, RunConfig
from explorer.training.ending import Ending
from explorer.training.optimisers import Stepper
from explorer.training.scoring import loss_over, mean_surprise, side_by_side
from explorer.training.text_lesson import LANES

# Names by which the code of all runs knows what this one has.
Tokenizer = Characters
TaskConfig = TextConfig
ModelConfig = TransformerTextConfig

TASK = TextConfig()
MODEL = TransformerTextConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER, iterations=1_000)


def read() -> str:
    """The text to learn from."""
    if TASK.corpus == "toy":
        return toy(TASK.size, TASK.corpus_seed)
    if TASK.corpus == "repeats":
        return repeats(TASK.size, TASK.corpus_seed)
    if TASK.corpus == "brackets":
        return brackets(TASK.size, TASK.corpus_seed)
    if TASK.corpus == "own":
        return given("the text of this run", TASK.text)
    return given("Tiny Shakespeare", TINYSHAKESPEARE_SHA256)


def given(name: str, expected: str) -> str:
    """What the file holds that is named on the command line. It has to be the text with this name and SHA-256."""
    if len(sys.argv) != 2:
        sys.exit(f"Say which file holds {name} (SHA-256 {expected}): python {sys.argv[0]} input.txt")
    try:
        text = Path(sys.argv[1]).read_text("utf-8-sig")  # whatever ends a line is "\n" now
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{sys.argv[1]} cannot be read as a text in UTF-8: {error}")
    text = re.sub(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]", "", text)  # control characters are not learned
    found = hashlib.sha256(text.encode()).hexdigest()
    if found != expected:
        sys.exit(f"{sys.argv[1]} does not hold {name}: SHA-256 {expected} is expected, and this is {found}.")
    return text


def train(kind: str, text: str | Sequence[str], vocabulary: int) -> Tokenizer:
    """Learn how to cut a text, from it or from several."""
    return Tokenizer.train([text] if isinstance(text, str) else text, vocabulary)


def cut(text: str) -> TextData:
    """The text in tokens, and these in rows: some to learn from, the others to be asked about."""
    return Blocks(TASK, text, make(recipe_of(TASK, text), text))


def build(data: TextData) -> nn.Module:
    """A model for each seed; several lie side by side in one."""
    models = [TransformerDecoder(MODEL, data.vocabulary, TASK.context, generator(seed, "start")) for seed in RUN.seeds]
    return stack(models) if RUN.replicas > 1 else models[0]


def learn(model: nn.Module, data: TextData) -> Iterator[tuple[int, str, list[float]]]:
    """Train every seed side by side. Yields a step, what was measured there, and one number a seed, in nats a token.

    The loss of each batch; and on the way the validation loss, over a part of all that is held out.
    """
    if isinstance(model, Ngram):
        everything = data.whole_training()
        model.fit(*everything)
        yield 1, "loss", loss_over(model, [everything], RUN.replicas).float().tolist()
        return
    stepper = Stepper(model, OPTIMISER, RUN.replicas, RUN.average)
    if RUN.stop_at or RUN.patience:
        ending = Ending(RUN)
    one = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    state: State = ()
    for step in range(RUN.steps):
        if RUN.evaluated(step):
            if RUN.average:
                stepper.swap()  # the mean of the weights is asked
            part = validation(model, data, RUN.evaluation_size or None)
            yield step, "validation loss", part.tolist()
            if RUN.stop_at or RUN.patience:
                whole = torch.full_like(part, math.nan) if RUN.evaluation_size else part
                answers = {"val_loss_part": part, "val_loss": whole}
                if ending.near(answers):
                    answers["val_loss"] = validation(model, data)
                ending.look(answers)
                if ending.reached:
                    return
            if RUN.average:
                stepper.swap()
        batch = side_by_side([data.batch(seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds])
        if data.starts_cold(step, RUN.batch_size):
            state = ()
        with learning([generator(seed, f"dropout/{RUN.order}/{step}") for seed in RUN.seeds]):
            features, state = model.features(batch.ids, state)  # type: ignore[operator]  # a LanguageModel
            losses = mean_surprise(model, features, batch)
        state = tuple(part.detach() for part in state)
        stepper.zero_grad()
        losses.backward(one)  # type: ignore[no-untyped-call]
        stepper.step(step + 1, RUN.steps)
        yield step + 1, "loss", losses.detach().view(-1).tolist()
    if RUN.average:
        stepper.swap()


def validation(model: nn.Module, data: TextData, targets: int | None = None) -> Tensor:
    """The loss of each seed over about so many held-out targets, or over all."""
    if TASK.batches == "contiguous":
        # The state is carried on, as in training.
        return loss_over(model, data.held_out_lanes(LANES, TASK.context, targets), RUN.replicas, carries=True)
    return loss_over(model, data.held_out(targets), RUN.replicas)


@torch.inference_mode()
def write(model: nn.Module, data: TextData, seed: int) -> str:
    """What one model writes after a line end: tokens drawn from its distribution."""
    ids, _ = prompt_ids(data.tokenizer, "\n")
    start = len(ids)
    if isinstance(model, RecurrentLanguageModel):
        last, state = ids, State()
    for noise in gumbel(dice(seed, 0), RUN.sample or 200, data.vocabulary):
        if TASK.rows == "prefixes":
            # Only at the last place of a padded row was it ever asked.
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
    """Train, and say what came of it; returns the losses of all batches."""
    torch.set_num_threads(RUN.threads)
    data = cut(read())
    model = build(data)
    curve = []
    for step, what, numbers in learn(model, data):
        print(f"step {step}  {what}", *numbers)
        if what == "loss":
            curve.append(numbers)
    losses = validation(model, data)
    bits = losses / data.characters_per_token / math.log(2)
    for i, seed in enumerate(RUN.seeds):
        print(f"seed {seed}  validation loss {losses[i]}  perplexity {losses[i].exp()}  bits a character {bits[i]}")
        alone = replica(model, i) if RUN.replicas > 1 else model
        print(write(alone, data, seed))
    return curve


if __name__ == "__main__":
    main()
