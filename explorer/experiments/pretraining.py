"""The runs that ship with the program, so that no page opens empty. `python -m explorer pretrain` trains them."""

from __future__ import annotations

from explorer.catalogue import models_of
from explorer.experiments import (
    gradient_clipping,
    labelling,
    paper_experiments,
    recall,
    sequence_shapes,
    text_setups,
    translation,
    word_vectors,
)
from explorer.experiments.default_runs import SEEDS, THREE_SEEDS, growth_runs, negation_runs, sentiment_runs, text_run
from explorer.experiments.presets import first_assignment
from explorer.training.config import RunConfig, default_config, with_settings

REVIEWS_ALONE = ("bag_of_words", "gru")  # models that also learned English without composed sentences
NEGATION_VERSIONS: dict[str, dict[str, object]] = {
    "single": {},
    "half": {"p_not": 0.5},
    "double": {"max_nots": 2},
    "held-out": {"held_out": "destroy"},
    "eos": {"padding": "eos"},
}
# A run whose test split no evaluation during training reads, and whose tokenizer has not seen the held-out lines.
LINES_WITH_TEST_SPLIT: dict[str, object] = {
    **THREE_SEEDS,
    "tokenizer": "bpe",
    "rows": "sentences",
    "split": "sentences",
    "test": 0.5,
    "tokenizer_from_training": True,
    "width": 32,
    "hidden": 96,
    "iterations": 600,
}
# Runs whose weights the memory page shows at every snapshot.
WITH_ALL_SNAPSHOTS = tuple(f"recall-50-{name}" for name in recall.DEFAULT_VARIANTS)
# Twenty snapshots of one training, for the pages that show the weights during training.
MANY_SNAPSHOTS: dict[str, object] = {"iterations": 1_000, "snapshots": 22, "sample": 200}


def shipped_configs() -> dict[str, RunConfig]:
    """Return every shipped run by name."""
    runs: dict[str, RunConfig] = {}
    for version, changes in NEGATION_VERSIONS.items():
        for model, run in negation_runs(models_of("negation")).items():
            name = f"negation-{version}-{model}"
            if model == "transformer":
                plain = with_settings(default_config("negation", model), {"replicas": SEEDS, **changes})
                runs[name], runs[f"{name}-usual-start"] = plain, with_settings(plain, {"start": 1.0})
                name = f"{name}-attending"
            runs[name] = with_settings(run, changes)
    runs |= {f"sentiment-{model}": run for model, run in sentiment_runs().items()}
    for model in REVIEWS_ALONE:
        runs[f"sentiment-reviews-{model}"] = with_settings(runs[f"sentiment-{model}"], {"composed": 0})
    runs |= {f"text-{model}": text_run(model) for model in models_of("text")}
    runs["text-ngram-modified"] = runs["text-ngram"]  # the n-gram of the pages
    runs["text-ngram"] = with_settings(default_config("text", "ngram"), {"sample": 200})
    for experiments in (paper_experiments, recall, gradient_clipping, translation):
        runs |= experiments.shipped_configs()
    for experiments in (text_setups, labelling, sequence_shapes, word_vectors):
        runs |= experiments.shipped_configs()
    runs["text-best-seeds"] = text_setups.large_transformer()
    runs["text-best"] = with_settings(runs["text-best-seeds"], {"replicas": 1})
    runs["text-lines"] = with_settings(default_config("text", "gru"), LINES_WITH_TEST_SPLIT)
    runs["text-assignment"] = first_assignment()
    runs |= {f"tuned-text-{model}": config for model, config in growth_runs().items()}
    runs["text-through-training"] = with_settings(default_config("text", "transformer"), MANY_SNAPSHOTS)
    return runs


def tags_of(name: str) -> tuple[str, ...]:
    """Return the tags of a shipped run: those of an experiment share one."""
    tags = [each.name for each in paper_experiments.EXPERIMENTS.values() if name.startswith(f"text-{each.name}-")]
    if name.startswith("recall-"):
        experiment = next((each for each in ("trap", "exploding") if each in name), "sweep")
        tags = [] if name in WITH_ALL_SNAPSHOTS else [experiment]
    if name.startswith("tuned-"):
        tags = ["tuned"]
    return ("experiment", *tags) if tags else ()
