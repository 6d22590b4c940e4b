"""The model variants of word vectors, and the settings that suit each text.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping

from explorer.experiments.model_variant import ModelVariant
from explorer.training.config import RunConfig

SEEDS = 8
VARIANTS = {
    each.name: each
    for each in (
        ModelVariant(
            "skip_gram", "Skip-gram", "skip-gram", "skip-gram", "solid", {}, "skip_gram", "word_vectors", SEEDS
        ),
        ModelVariant("cbow", "CBOW", "CBOW", "CBOW", "8px,3px", {}, "cbow", "word_vectors", SEEDS),
    )
}
# A text has more words than the grammar, and most of them are rare: longer training, and rare words are left out.
_OF_TEXTS: dict[str, object] = {
    "min_count": 10,
    "subsampling": 1e-3,
    "width": 32,
    "iterations": 3_000,
    "batch_size": 1_024,
    "learning_rate": 1e-2,
    "evaluate_every": 150,
    "replicas": 3,
}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "grammar": {"replicas": SEEDS},
    "tinyshakespeare": _OF_TEXTS,
    "own": {**_OF_TEXTS, "min_count": 3},
}


def config(variant: str, corpus: str, **changes: object) -> RunConfig:
    """Return the run of a variant on a text, with the settings that suit the text. Raises InvalidSetting.

    variant: its name
    corpus: the text, as in `WordVectorsConfig`
    changes: settings that differ; for a text of one's own, at least its SHA-256 as `text`
    """
    return VARIANTS[variant].config(corpus=corpus, **{**SETTINGS[corpus], **changes})


def shipped_configs() -> dict[str, RunConfig]:
    """Return every shipped run by name."""
    return {
        "words-grammar-skip_gram": config("skip_gram", "grammar"),
        "words-grammar-cbow": config("cbow", "grammar"),
        "words-tinyshakespeare-skip_gram": config("skip_gram", "tinyshakespeare"),
    }
