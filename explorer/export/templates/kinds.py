"""What each kind of task needs in an exported file: the loss of each batch, and the answer to a text."""

from __future__ import annotations

import argparse
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import tokenizers
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from explorer.export.templates.common import (
    MODEL,
    SEEDS,
    SIZES,
    TRAINING,
    batch_losses,
    batches,
    build_model,
    describe,
    ids_of,
    make_tokenizer,
    stored,
    train_steps,
)
from explorer.export.templates.layers import Dropout
from explorer.models.context_window import window_start
from explorer.models.word_vectors import negative_sampling_loss
from explorer.seeds import generator
from explorer.tokenization.english import MAX_PIECES, split_english
from explorer.tokenization.words import split_words

Tokenizer: TypeAlias = tuple[Callable[[str], list[int]], Callable[[list[int]], str]]


def sentence_losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per sentence; the last batch of an epoch may have fewer of them."""
    for step, batch in enumerate(batches()):
        if MODEL.dropout:
            Dropout.generator = generator(SEEDS[0], f"dropout/{getattr(TRAINING, 'order', 0)}/{step}")
        used = (batch["ids"] != SIZES[-1]).any(0)  # columns that are not padding in all rows
        each = F.cross_entropy(model(batch["ids"][:, used]), batch["labels"], reduction="none")
        yield (each * batch["mask"]).sum() / batch["mask"].sum()


def classify(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the probability of each class for a sentence, as the mean over the seeds."""
    facts = stored()[1]
    words: list[str] = facts["words"]
    read = [word if word in words or "<UNK>" not in words else "<UNK>" for word in split_words(given.text)]
    ids = [words.index("<BOS>"), *ids_of(read, words), words.index("<EOS>")]
    ids += [words.index("<EOS>")] * (facts["length"] - len(ids))
    return describe_classes(models, ids)


def describe_classes(models: list[nn.Module], ids: list[int]) -> str:
    """Return the probability of each class for a row, as the mean over the seeds."""
    found = torch.stack([model(torch.tensor([ids])).softmax(-1)[0] for model in models])
    return describe(stored()[1]["classes"], found.mean(0))


def pieces_of(word: str, known: list[str]) -> list[str]:
    """Return the longest known pieces of a word, from its start on (WordPiece); none if a part of it is unknown."""
    found, start = list[str](), 0
    while start < len(word) <= 60:
        parts = (("##" if start else "") + word[start:end] for end in range(len(word), start, -1))
        piece = next((part for part in parts if part in known), "")
        if not piece:
            return []
        found.append(piece)
        start += len(piece.removeprefix("##")) if start else len(piece)
    return found


def classify_english(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the probability of each class for an English sentence, as the mean over the seeds."""
    known: list[str] = stored()[1]["words"]
    read = [piece for word in split_english(given.text) for piece in pieces_of(word, known)]
    if not read:
        raise SystemExit("There is no English word in this sentence.")
    return describe_classes(models, ids_of(["<BOS>", *read[:MAX_PIECES], "<EOS>"], known))


def recall_losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per sequence: the first symbol has to be recalled."""
    for batch in batches():
        yield F.cross_entropy(model(batch["ids"]), batch["ids"][:, 0])


def recall(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the probability of each symbol to be the first one of a sequence, as the mean over the seeds."""
    symbols: list[str] = stored()[1]["symbols"]
    ids = torch.tensor([ids_of("".join(given.text.lower().split()), symbols)])
    return describe(symbols, torch.stack([model(ids).softmax(-1)[0] for model in models]).mean(0))


def label_losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per position that has a target."""
    for batch in batches():
        each = F.cross_entropy(model(batch["ids"]).flatten(0, 1), batch["targets"].flatten(), reduction="none")
        yield (each * batch["mask"].flatten()).sum() / batch["mask"].sum()


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a typed row: words, of which “_” is the hidden one, or single signs."""
    facts = stored()[1]
    if facts["words"]:
        words = split_words(re.sub("_+", " hidden ", text))
        return ["<HIDDEN>" if word == "hidden" and "<HIDDEN>" in facts["vocabulary"] else word for word in words]
    signs = text.lower() if " " in facts["vocabulary"] else "".join(text.lower().split())
    if facts["copies"] and "|" not in signs:  # digits alone get the beginning of their copy
        signs += "|" + (signs if facts["copies"] == "copy" else signs[::-1])[:-1]
    return list(signs)


def label(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the likeliest label of each token and its probability, by the mean over the seeds."""
    facts, tokens = stored()[1], tokens_of(given.text)
    ids = torch.tensor([ids_of(tokens, facts["vocabulary"])])
    best = torch.stack([model(ids).softmax(-1)[0] for model in models]).mean(0).max(-1)
    rows = zip(tokens, best.indices.tolist(), best.values.tolist(), strict=True)
    return "\n".join(f"{token}  {facts['labels'][label]}  {probability:.4f}" for token, label, probability in rows)


def translation_losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per target token, with the true tokens before it (teacher forcing)."""
    for batch in batches():
        logits = model(batch["source"], batch["decoder_input"])
        each = F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten(), reduction="none")
        yield (each * batch["mask"].flatten()).sum() / batch["mask"].sum()


def greedy_decode(model: Any, source: Tensor, longest: int) -> tuple[list[int], float]:
    """Return the ids of the likeliest token at each step up to <EOS>, and the probability of the sequence."""
    read, state, ids, probability = model.encode(source), (), [model.bos], 1.0
    while len(ids) <= longest and ids[-1] != model.eos:
        logits, state = model.decode(read, torch.tensor([ids[-1:]]), state)
        best = logits[0, -1].softmax(-1).max(-1)
        ids.append(int(best.indices))
        probability *= float(best.values)
    return [id for id in ids[1:] if id != model.eos], probability


def translate(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the output of each seed and its probability."""
    facts = stored()[1]
    text = unicodedata.normalize("NFC", given.text) if facts["capitals"] else given.text.lower()
    source = torch.tensor([ids_of((" " if facts["spaces"] else "").join(text.split()), facts["sources"])])
    longest = facts["longest"] or source.shape[1] + facts["extra"]
    answers = [greedy_decode(model, source, longest) for model in models]
    return "\n".join(f"{probability:.4f}  {''.join(facts['targets'][i] for i in ids)}" for ids, probability in answers)


def word_losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per row: a true neighbour is told from noise words."""
    for batch in batches():
        yield negative_sampling_loss(model(batch["inputs"], batch["present"].float(), batch["words"]))


def nearest_words(models: list[Any], given: argparse.Namespace) -> str:
    """Return the words with the highest cosine similarity to a word, as the mean over the seeds."""
    words: list[str] = stored()[1]["words"]
    (word,) = ids_of([given.text], words)
    vectors = [F.normalize(model.embedding.weight, dim=-1) for model in models]
    cosines = torch.stack([unit @ unit[word] for unit in vectors]).mean(0)
    cosines[[0, word]] = -2  # row 0 stands for no word
    return "\n".join(f"{cosines[i]:.4f}  {words[i]}" for i in cosines.argsort(descending=True)[:6].tolist())


def token_losses(model: Any) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per token: every position predicts its next token."""
    state: tuple[Tensor, ...] = ()
    for step, batch in enumerate(batches()):
        if MODEL.dropout:
            Dropout.generator = generator(SEEDS[0], f"dropout/{getattr(TRAINING, 'order', 0)}/{step}")
        if TRAINING.masked:
            ids, targets = batch["ids"], batch["targets"]
        else:
            ids, targets = batch["ids"][:, :-1], batch["ids"][:, 1:]
        if TRAINING.carries and batch["reset"]:
            state = ()
        features, after = model.features(ids, state)
        if TRAINING.carries:
            state = tuple(part.detach() for part in after)
        if TRAINING.masked:
            features, targets = features[batch["mask"]], targets[batch["mask"]]
        logits = model.readout(features).flatten(0, -2)
        yield F.cross_entropy(logits.float(), targets.flatten())


def continue_text(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return a prompt and its continuation by the model of the first seed."""
    encode, decode = make_tokenizer(stored()[1]["tokenizer"])
    ids = encode(given.text.lower() if TRAINING.lower else given.text) or list(stored()[1]["start"])
    noise = generator(given.seed, "sample 0")
    for _ in range(given.tokens):
        row = ids[window_start(len(ids), stored()[1]["context"]) :] if TRAINING.windowed else ids
        if TRAINING.padded:  # it was trained to predict after the last position of padded rows
            row = row + [stored()[1]["padding"]] * (stored()[1]["context"] - len(row))
        logits = models[0](torch.tensor([row]))[0, -1]
        # The Gumbel-max trick: this samples from softmax(logits / temperature).
        u = torch.rand(len(logits), generator=noise, dtype=torch.float64)
        ids.append(int((logits + given.temperature * u.log().neg().log().neg().float()).argmax()))
    return str(decode(ids))


def count_ngrams(seed: int, file: Path) -> list[float]:
    """Count the n-grams of the training text, print and return the loss over it, and write the tables."""
    model, data = build_model(seed), stored()[0]
    if "data.ids" not in data:
        raise SystemExit("The training text of this run was not on the machine that made this file: no counting.")
    ids, targets = data["data.ids"][0].long(), data["data.targets"][0].long()
    mask = data["data.mask"][0] if "data.mask" in data else torch.ones_like(ids).bool()
    model.fit(ids, targets, mask)  # type: ignore[operator]  # an n-gram
    loss = float(model.surprisal(ids, targets)[mask].double().mean())  # type: ignore[operator]
    print(f"loss of the training text {loss}")
    save_file({f"weights.{name}": value[None].contiguous() for name, value in model.state_dict().items()}, file)
    print(f"tables in {file}; use them with --weights {file}")
    return [loss]


def train_in_steps(seed: int, file: Path) -> list[float]:
    """Train the model of one seed, print some of the losses and write the weights; return the losses."""
    model = build_model(seed).train()
    curve = []
    for step, loss in enumerate(train_steps(model, batch_losses(model)), start=1):
        curve.append(loss)
        if step == 1 or step % max(1, TRAINING.steps // 20) == 0 or step == TRAINING.steps:
            print(f"step {step}  loss {loss}")
    save_file({f"weights.{name}": value[None].contiguous() for name, value in model.state_dict().items()}, file)
    print(f"weights in {file}; use them with --weights {file}")
    return curve


def characters(stored: str) -> Tokenizer:
    """Return `encode` and `decode` of single characters; unknown ones are left out."""
    known: str = json.loads(stored)["characters"]
    return lambda text: [known.index(c) for c in text if c in known], lambda ids: "".join(known[id] for id in ids)


def subwords(stored: str) -> Tokenizer:
    """Return `encode` and `decode` of byte pair encoding."""
    library = tokenizers.Tokenizer.from_str(json.dumps(json.loads(stored)["tokenizer"]))
    padding = library.token_to_id("<pad>")
    return lambda text: library.encode(text).ids, lambda ids: library.decode([id for id in ids if id != padding])


def words(stored: str) -> Tokenizer:
    """Return `encode` and `decode` of words, of which all unknown ones are the token <unk>."""
    library = tokenizers.Tokenizer.from_str(json.dumps(json.loads(stored)["tokenizer"]))

    def decode(ids: list[int]) -> str:
        text = re.sub(r" ?([\n-]) ?", r"\1", " ".join(str(library.id_to_token(id)) for id in ids))
        text = re.sub(r" ([,.;:!?…)\]}”])", r"\1", text)
        return re.sub(r"([(\[{“]) ", r"\1", text)

    return lambda text: library.encode(text).ids, decode
