"""Commands that ask the model of a run: evaluate, predict, generate."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from explorer.commands.common import Json, Run, own_text, print_metrics, say, stored_run
from explorer.errors import DamagedRun, InvalidSetting, shortened
from explorer.tasks.text import TextConfig
from explorer.training import store
from explorer.training.config import RunConfig, validated


def evaluate(
    run: Run,
    corpus: Annotated[
        str, typer.Option(metavar="FILE", help="The file that a run on your own text learned from.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Ask a run's model again, from its weights, and compare with what its card says."""
    from explorer.inspection.evaluating import evaluate as evaluate_run

    stored = stored_run(run)
    if corpus:
        _check_same_text(stored.config, corpus)
    card = stored.card.model_copy(update={"metrics": evaluate_run(stored)})
    same = all(_same(card.metrics.get(name), metric) for name, metric in stored.card.metrics.items())
    if as_json:
        metrics = {name: metric.model_dump() for name, metric in card.metrics.items()}
        say({"kind": "evaluation", "run": stored.key, "as_on_card": same, "metrics": metrics})
        return
    print(f"{stored.config.title}, run {stored.key}")
    print_metrics(card)
    print("as on its card" if same else "not what its card says: these weights were not the ones measured there")


def _check_same_text(config: RunConfig, given: str) -> None:
    """Take a file in, which has to be the text that a run learned from. Raises InvalidSetting, TextError."""
    learned = config.task.text if isinstance(config.task, TextConfig) else ""
    if not learned:
        raise InvalidSetting("This run did not learn from a text of your own. Leave --corpus out.")
    found = own_text(given)
    if not found:
        raise InvalidSetting(f"There is no file “{shortened(given)}”. Give the one that this run learned from.")
    if found != learned:
        raise InvalidSetting(
            f"“{shortened(given)}” is not the text of this run: its SHA-256 begins with {found[:12]}, and that of the "
            f"text with {learned[:12]}. Give the file that this run learned from."
        )


def _same(one: store.Metric | None, other: store.Metric) -> bool:
    """Equal to six digits, seed by seed; another machine may round the last ones differently."""
    if one is None or len(one.values) != len(other.values):
        return False
    pairs = zip(one.values, other.values, strict=True)
    return all(a == b or (a is not None and b is not None and abs(a - b) < 1e-6) for a, b in pairs)


def predict(run: Run, sentence: Annotated[str, typer.Argument(help="A sentence.")], as_json: Json = False) -> None:
    """What a run's model says about a sentence (the mean over its seeds)."""
    from explorer.inspection.opening import open_model
    from explorer.inspection.sentences import sustain_probabilities, tokens_of
    from explorer.tasks.negation import VOCABULARY

    stored = stored_run(run, "negation")
    words = VOCABULARY.split(sentence)
    sustain = float(sustain_probabilities(open_model(stored), words).mean())
    probabilities = {"collapse": round(1 - sustain, 6), "sustain": round(sustain, 6)}
    if as_json:
        say({"sentence": sentence, "tokens": list(tokens_of(words)), "probabilities": probabilities})
        return
    for name, value in probabilities.items():
        print(f"{name:9} {value:.3f} {'█' * round(40 * value)}")


def generate(
    run: Run,
    prompt: Annotated[str, typer.Option(help="The text to go on from.")] = "\n",
    tokens: Annotated[int, typer.Option(min=1, max=10_000, help="Tokens to write.")] = 200,
    temperature: Annotated[str | None, typer.Option(help="0 always takes the likeliest token.")] = None,
    top_k: Annotated[str | None, typer.Option(help="Only so many of the likeliest tokens.")] = None,
    top_p: Annotated[str | None, typer.Option(help="Only the likeliest that together reach this.")] = None,
    min_p: Annotated[str | None, typer.Option(help="Only tokens this share as likely as the likeliest.")] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="The same as --temperature 0.")] = False,
    seed: Annotated[str | None, typer.Option(help="Seed of the dice.")] = None,
    samples: Annotated[int, typer.Option(min=1, max=64, help="Texts to write side by side.")] = 1,
    as_json: Json = False,
) -> None:
    """Let a language model write."""
    from explorer.generation.sampling import Sampling
    from explorer.generation.writing import continued
    from explorer.inspection.opening import open_model
    from explorer.tokenization.text import from_json

    given = {
        "temperature": "0" if greedy else temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "seed": seed,
    }
    sampling = validated(Sampling, {name: value for name, value in given.items() if value is not None})
    stored = stored_run(run, "text")
    if not stored.tokenizer:
        raise DamagedRun(f"Run {stored.key} has no tokenizer: it cannot read or write. Train it again.")
    model, tokenizer = open_model(stored).alone(0), from_json(stored.tokenizer)
    written = continued(model, tokenizer, stored.config.on(TextConfig), prompt, tokens, sampling, samples)
    if as_json:
        say(asdict(written))
        return
    if written.lowered:
        print("The model learned from small letters only: the prompt is read in small letters.", file=sys.stderr)
    for unseen, become in ((written.dropped, "left out"), (written.unknown, "read as <unk>")):
        if unseen:
            print(f"The model never saw {', '.join(map(repr, unseen))}: {become}.", file=sys.stderr)
    for text in written.texts:
        print(written.prompt + text)
