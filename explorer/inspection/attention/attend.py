"""Attention weights of every head, and the predictions of a model under ablations of its attention.

All numbers come from the model's own taps (`models/taps.py`). The ablations are in `head_ablation.py`, the scores of
heads and their importance in `head_scores.py`, the intermediate values of one forward pass in `logit_lens.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt16
from numpy import ndarray
from torch import Tensor, nn

from explorer.catalogue import TYPED_TEXT_TASKS, page_title, task_row
from explorer.errors import InvalidSetting, shorten
from explorer.generation.generate import padding_token, prompt_ids
from explorer.inspection.attention.attention_model import AttentionModel, Ids, attention_model
from explorer.inspection.attention.head_ablation import NO_ABLATION, Ablation, interventions
from explorer.inspection.load_model import to_array
from explorer.models.configs import (
    TransformerEncoderConfig,
    TransformerEncoderEnglishConfig,
    TransformerTaggerConfig,
    TransformerTextConfig,
)
from explorer.models.taps import Trace, intervene, record
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.sequence_labelling.agreement import AgreementConfig
from explorer.tasks.sequence_labelling.config import PAD
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import Tokenizer, pieces
from explorer.tokenization.words import Words
from explorer.training.config import RunConfig

_ATTENTION_CONFIGS = (TransformerEncoderConfig, TransformerEncoderEnglishConfig, TransformerTextConfig)
_MAX_NAMED_RUNS = 4  # in an error message
_LEFT_CONTEXT = 16  # tokens before a piece that can change its spelling: enough for any character and any space
FULL_SCALE = 65_535  # the weight 1 as an unsigned number of 16 bits


def has_attention(config: RunConfig) -> bool:
    """Return whether the model of a configuration has attention heads."""
    if isinstance(config.task, AgreementConfig) and isinstance(config.model, TransformerTaggerConfig):
        return config.model.attention
    return type(config.model) in _ATTENTION_CONFIGS


def runs_with_attention(task: str = "") -> tuple[str, ...]:
    """Return the names of the pretrained runs with attention, of one task or of all."""
    runs = ((name, store.find(name).config) for name in store.pretrained_folders().values())
    return tuple(name for name, config in runs if has_attention(config) and task in ("", task_row(config.task).name))


def check_attention(config: RunConfig) -> None:
    """Raise InvalidSetting for a run without attention; the message names runs of its task that have it."""
    if has_attention(config):
        return
    task = task_row(config.task)
    if task.name not in TYPED_TEXT_TASKS:
        raise InvalidSetting(
            f"This run learned {task.title.lower()}; here one sees the attention of runs that learned "
            f"{' or '.join(TYPED_TEXT_TASKS)}. Look at this one on the page {page_title(task.page)}."
        )
    names = runs_with_attention(task.name)
    more = f", and {len(names) - _MAX_NAMED_RUNS} more" if len(names) > _MAX_NAMED_RUNS else ""
    raise InvalidSetting(
        f"This run is of the architecture “{config.title}”, which has no attention to look at. "
        f"Choose one that has: {', '.join(names[:_MAX_NAMED_RUNS])}{more}."
    )


@dataclass(frozen=True)
class TokenizedInput:
    """A text as the tokens that a model reads, and what was left out of it."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # the text each token adds; its name where it adds none
    truncated: str  # the part that does not fit into the context
    truncated_at: str  # "start", "end", or "" if nothing was truncated
    dropped: tuple[str, ...]  # characters outside the vocabulary that were left out
    unknown: tuple[str, ...]  # those that became the unknown token
    lowercased: bool  # whether the text was changed to lower case, as the training text was
    empty: bool = False  # whether no token was left, so that the model starts from a line end

    @property
    def unread(self) -> str:
        """Sentences about what the model does not read of the text; empty if it reads everything."""
        parts = [
            f"Not in the vocabulary: {', '.join(map(repr, unseen))} ({become})."
            for unseen, become in ((self.dropped, "left out"), (self.unknown, "read as <unk>"))
            if unseen
        ]
        if self.truncated:
            end = "beginning" if self.truncated_at == "start" else "end"
            sees = f"The context is {len(self.ids):,} tokens"
            parts.append(f"{sees}: the {end} of the text is truncated, {shorten(self.truncated)!r}.")
        return " ".join(parts)


def tokenize_input(
    config: RunConfig, tokenizer: Tokenizer | None, text: str, vocabulary: Words = VOCABULARY
) -> TokenizedInput:
    """Tokenize a text for the model of a configuration.

    A language model keeps the last tokens that fit into its context; one trained on padded prefixes gets padding up to
    the full context. An empty prompt becomes that of `prompt_ids`. A negation sentence keeps the first tokens that fit
    into the window; an agreement sentence keeps as many words as a training sentence can have.

    config: the configuration of the run
    tokenizer: that of a language model; None for a model that reads sentences
    text: what is read
    vocabulary: the words of a negation model, which differ from those of the grammar for own sentences

    Raises LineageError for unknown words in a sentence, and for half a character.
    """
    if tokenizer is None:
        return _tokenize_sentence(config, text, vocabulary)
    task = config.task_as(TextConfig)
    prepared = text.lower() if task.lower else text
    all_ids, dropped = prompt_ids(tokenizer, prepared)
    truncated, ids = all_ids[: -task.context].tolist(), all_ids[-task.context :].tolist()
    padding = padding_token(task, tokenizer)
    if padding is not None:
        ids += [padding] * (task.context - len(ids))
    token_texts = pieces(tokenizer, ids, after=truncated[-_LEFT_CONTEXT:])
    return TokenizedInput(
        tuple(ids),
        tuple(piece or tokenizer.tokens[id] for piece, id in zip(token_texts, ids, strict=True)),
        tokenizer.decode(truncated),
        "start" if truncated else "",
        dropped if tokenizer.unknown is None else (),
        () if tokenizer.unknown is None else dropped,
        prepared != text,
        not len(tokenizer.encode(prepared)),
    )


def _tokenize_sentence(config: RunConfig, text: str, vocabulary: Words) -> TokenizedInput:
    if isinstance(config.task, AgreementConfig):
        words = Words(config.task.vocabulary, first=PAD, last=PAD, padding=PAD).split(text)
        kept, left_out = words[: config.task.max_length], words[config.task.max_length :]
        ids = tuple(map(config.task.vocabulary.index, kept))
        return TokenizedInput(ids, kept, " ".join(left_out), "end" * bool(left_out), (), (), text != text.lower())
    typed, (_, unknown, left_out, _) = vocabulary.split(text), vocabulary.read(text)
    dropped, unknown = ((), unknown) if vocabulary.unknown else (unknown, ())
    all_ids = vocabulary.encode(typed)
    window = getattr(config.model, "window", len(all_ids))
    ids = all_ids[:window]
    tokens, truncated = (tuple(vocabulary.tokens[id] for id in part) for part in (ids, all_ids[window:]))
    truncated += left_out
    at = "end" if truncated else ""
    return TokenizedInput(ids, tokens, " ".join(truncated), at, dropped, unknown, text != text.lower())


def layer_values(model: AttentionModel, trace: Trace, name: str) -> Float[Tensor, "layers ..."]:
    """Return what a recorded forward pass has at one tap of each layer's attention, for the first row."""
    return torch.stack([trace[model.tap(layer, name)][0] for layer in range(model.layout.layers)])


@dataclass(frozen=True, eq=False)
class AttentionResult:
    """Attention weights and predictions of one forward pass."""

    weights: Float32[ndarray, "layers heads query key"]  # NaN where the mask hides the key, and for padding queries
    # After each token, or one row of classes; no row for a model that predicts nothing.
    log_probabilities: Float32[ndarray, "answers outcomes"]


@torch.inference_mode()
def attend(model: nn.Module | AttentionModel, ids: Ids, ablation: Ablation = NO_ABLATION) -> AttentionResult:
    """Run a single model (not a stack) under an ablation. Raises InvalidSetting."""
    transformer = attention_model(model)
    logits, trace = forward_with_taps(transformer, ids, ablation)
    weights = layer_values(transformer, trace, "weights")
    return AttentionResult(
        to_array(weights.masked_fill(~transformer.visible_pairs(trace, ids), torch.nan)),
        to_array(logits.log_softmax(-1) if transformer.layout.answers else logits[:0]),
    )


def forward_with_taps(
    model: nn.Module | AttentionModel, ids: Ids, ablation: Ablation = NO_ABLATION
) -> tuple[Float[Tensor, "answers outcomes"], Trace]:
    """Return the logits and the tapped values of a forward pass under an ablation. Raises InvalidSetting."""
    transformer = attention_model(model)
    with intervene(transformer.module, interventions(transformer, ablation)), record(transformer.module) as trace:
        logits = transformer.logits(ids)
    return logits, trace


def is_causal(weights: Float[ndarray, "*which query key"]) -> bool:
    """Return whether no query attends to a later token."""
    queries, keys = weights.shape[-2:]
    return queries == keys and bool(np.isnan(weights[..., *np.triu_indices(queries, 1)]).all())


def pack_weights(weights: Float[ndarray, "*which query key"], causal: bool) -> UInt16[ndarray, "*which cells"]:
    """Pack attention weights as whole numbers up to 65,535, with an error of at most 1 / 131,070; NaN becomes 0.

    The cells of each head follow row by row: all of them, or the lower triangle if `causal`.
    """
    shape = weights.shape
    cells = weights[..., *np.tril_indices(shape[-1])] if causal else weights.reshape(*shape[:-2], -1)
    return np.rint(np.nan_to_num(cells) * FULL_SCALE).astype(np.uint16)
