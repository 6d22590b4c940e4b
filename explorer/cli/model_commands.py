"""The commands `evaluate` and `generate`."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from typing import Annotated

from explorer.cli.common import (
    Json,
    Run,
    RunOrRealModel,
    check_same_text,
    find_model,
    flag,
    option,
    print_metrics,
    stored_run,
)
from explorer.cli.program import print_json
from explorer.experiments import trimming
from explorer.generation import generate as generate_texts
from explorer.generation import sampling
from explorer.inspection import evaluate as evaluation
from explorer.model import run_model
from explorer.run_store import store
from explorer.tasks.string import StringConfig
from explorer.training.config import validate


def evaluate(
    run: Run,
    corpus: Annotated[str, option("FILE", "The training text of a run on your own text.")] = "",
    as_json: Json = False,
) -> None:
    """Evaluate a run again and compare the metrics with its card."""
    stored = stored_run(run)
    tolerance = trimming.allowed_change(stored.config)  # an included run, or a copy of it, has rounded weights
    if corpus:
        check_same_text(stored.config, corpus)
    card = stored.card.model_copy(update={"metrics": evaluation.evaluate(stored)})
    same = all(_is_close(card.metrics.get(name), metric, tolerance) for name, metric in stored.card.metrics.items())
    if as_json:
        metrics = {name: metric.model_dump() for name, metric in card.metrics.items()}
        print_json({"kind": "evaluation", "run": stored.key, "as_on_card": same, "metrics": metrics})
        return
    print(f"{stored.config.title}, run {stored.key}")
    print_metrics(card, stored.config)
    print("equal to its card" if same else "different from its card: the card was not measured with these weights")


def _is_close(one: store.Metric | None, other: store.Metric, tolerance: float) -> bool:
    """Return whether two metrics are equal for each seed up to the tolerance, relative where they are above 1."""
    if one is None or len(one.values) != len(other.values):
        return False
    return all(
        a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance))
        for a, b in zip(one.values, other.values, strict=True)
    )


_NO_PROMPT = "\n"  # a model that does not know it starts from nothing


def generate(
    run: RunOrRealModel,
    prompt: Annotated[str, option("TEXT", "Text to continue.", show_default="a line break")] = _NO_PROMPT,
    tokens: Annotated[int, option("COUNT", "Number of tokens to generate.", min=1, max=10_000)] = 200,
    temperature: Annotated[
        str | None, option("NUMBER", "Divide the logits by this number; 0 always chooses the most likely token.")
    ] = None,
    top_k: Annotated[str | None, option("COUNT", "Sample from this many most likely tokens.")] = None,
    top_p: Annotated[
        str | None, option("SHARE", "Sample from the most likely tokens that together reach this probability.")
    ] = None,
    min_p: Annotated[
        str | None, option("SHARE", "Sample from tokens with at least this share of the highest probability.")
    ] = None,
    greedy: Annotated[bool, flag("--greedy", "The same as --temperature 0.")] = False,
    seed: Annotated[str | None, option("NUMBER", "Seed of the sampling noise.")] = None,
    samples: Annotated[int, option("COUNT", "Number of texts to generate.", min=1, max=64)] = 1,
    as_json: Json = False,
) -> None:
    """Generate text with a language model."""
    given = {
        "temperature": "0" if greedy else temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "seed": seed,
    }
    settings = validate(sampling.Sampling, {name: value for name, value in given.items() if value is not None})
    model = find_model(run)
    if isinstance(model, run_model.RunModel) and not isinstance(model.config.task, StringConfig):
        stored_run(run, "text")  # refuses a run of another task
    generator, tokenizer = model.text_generator(), model.tokenizer
    assert tokenizer, "a language model has one"
    generated = generate_texts.continue_prompt(generator, tokenizer, prompt, tokens, settings, samples, model.lowercase)
    if as_json:
        print_json({"kind": "generated", **asdict(generated)})
        return
    if generated.lowered:
        print("The model knows lower-case letters only: the prompt is lower-cased.", file=sys.stderr)
    for unseen, become in ((generated.dropped, "left out"), (generated.unknown, "read as <unk>")):
        if unseen and prompt != _NO_PROMPT:
            print(f"Not in the vocabulary: {', '.join(map(repr, unseen))} ({become}).", file=sys.stderr)
    for text in generated.whole:
        print(text)
