"""Commands that ask the model of a run: evaluate, predict, generate, inspect."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explorer.commands.common import Json, Run, own_text, print_metrics, say, stored_run
from explorer.commands.labelling import inspect_row, predict_row
from explorer.commands.tables import by_head, tell, write_arrays
from explorer.errors import DamagedRun, InvalidSetting, shortened
from explorer.tasks.dates import DatesConfig, understood
from explorer.tasks.digits import CopyConfig, ReverseConfig
from explorer.tasks.labelling import LabellingConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.strings import StringConfig
from explorer.tasks.text import TextConfig
from explorer.tasks.translation import (
    TranslationConfig,
    longest_answer,
    read_back,
    right_answer,
    said,
    source_tokens,
    spelled,
    target_tokens,
)
from explorer.training import store
from explorer.training.config import RunConfig, validated

if TYPE_CHECKING:
    from explorer.generation.writing import Writer
    from explorer.inspection.attention import Read
    from explorer.tokenization.text import Tokenizer


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


def predict(
    run: Run,
    sentence: Annotated[str, typer.Argument(help="A sentence, a row of signs, or what is to be translated.")],
    as_json: Json = False,
) -> None:
    """What a run's model says about a sentence, at every place of a row, or of the first of some symbols (the mean over
    its seeds), or what each seed makes of a source."""
    from explorer.inspection.opening import open_model
    from explorer.inspection.sentences import sustain_probabilities, tokens_of
    from explorer.tasks.negation import VOCABULARY

    task = (stored := stored_run(run)).config.task
    if isinstance(task, ReverseConfig | CopyConfig | DatesConfig):
        return _translate(stored, task, sentence, as_json)
    if isinstance(task, RecallConfig):
        return _recall(stored, task, sentence, as_json)
    if isinstance(task, LabellingConfig):
        return predict_row(stored, task, sentence, as_json)
    stored = stored_run(run, "negation")
    words = VOCABULARY.split(sentence)
    sustain = float(sustain_probabilities(open_model(stored), words).mean())
    probabilities = {"collapse": round(1 - sustain, 6), "sustain": round(sustain, 6)}
    if as_json:
        say({"sentence": sentence, "tokens": list(tokens_of(words)), "probabilities": probabilities})
        return
    _print_bars(probabilities)


def _print_bars(probabilities: Mapping[str, float]) -> None:
    for name, value in probabilities.items():
        print(f"{name:9} {value:.3f} {'█' * round(40 * value)}")


def _recall(stored: store.StoredRun, task: RecallConfig, text: str, as_json: bool) -> None:
    """Which symbol came first, says the mean over the seeds."""
    import torch

    from explorer.inspection.gates import ALPHABET, typed
    from explorer.inspection.opening import open_model

    ids = typed(text, task.symbols)
    if not ids:
        raise InvalidSetting(f"The sequence is empty. Write symbols, of {', '.join(ALPHABET[: task.symbols])}.")
    asked = torch.tensor([ids])
    if stored.config.replicas > 1:
        asked = asked.expand(stored.config.replicas, *asked.shape)
    with torch.inference_mode():
        found = open_model(stored).stack(asked).softmax(dim=-1).view(stored.config.replicas, -1).mean(dim=0)
    probabilities = {ALPHABET[i]: round(float(share), 6) for i, share in enumerate(found)}
    if as_json:
        say({"symbols": len(ids), "first": ALPHABET[ids[0]], "trained_at": task.length, "probabilities": probabilities})
        return
    _print_bars(probabilities)


def _translate(stored: store.StoredRun, task: TranslationConfig, text: str, as_json: bool) -> None:
    """What each seed of a run writes about a source, greedily, and how likely it finds that."""
    import torch

    from explorer.generation.translating import greedy
    from explorer.inspection.opening import open_model

    source = spelled(task, text)
    opened = open_model(stored)
    answers = []
    for index, seed in enumerate(stored.config.seeds):
        model: Any = opened.alone(index)
        written = greedy(model, torch.tensor([source]), longest_answer(task, len(source)))
        answers.append(
            {
                "seed": seed,
                "target": said(task, written.ids[0].tolist()),
                "probability": round(math.exp(float(written.score[0])), 6),
                "finished": bool(written.finished[0]),
            }
        )
    right = right_answer(task, source)
    if isinstance(task, DatesConfig) and (why := understood(text).why):
        print(why, file=sys.stderr)
    if as_json:
        expected = None if right is None else said(task, right)
        say({"source": read_back(task, source), "answers": answers, "right": expected})
        return
    for answer in answers:
        end = "" if answer["finished"] else "  (no end)"
        print(f"{answer['target']}  {answer['probability']:.3f}{end}")


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
    from explorer.generation.writing import continued_by

    given = {
        "temperature": "0" if greedy else temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "seed": seed,
    }
    sampling = validated(Sampling, {name: value for name, value in given.items() if value is not None})
    found = stored_run(run)
    stored = found if isinstance(found.config.task, StringConfig) else stored_run(run, "text")
    writer, tokenizer = _writer(stored)
    lower = isinstance(stored.config.task, TextConfig) and stored.config.task.lower
    written = continued_by(writer, tokenizer, prompt, tokens, sampling, samples, lower)
    if as_json:
        say(asdict(written))
        return
    if written.lowered:
        print("The model learned from small letters only: the prompt is read in small letters.", file=sys.stderr)
    for unseen, become in ((written.dropped, "left out"), (written.unknown, "read as <unk>")):
        if unseen:
            print(f"The model never saw {', '.join(map(repr, unseen))}: {become}.", file=sys.stderr)
    for text in written.whole:
        print(text)


def _writer(stored: store.StoredRun) -> tuple[Writer, Tokenizer]:
    """The first seed of a language model, as it writes, and what it cuts text with. Raises DamagedRun."""
    from explorer.generation.writing import Writer
    from explorer.inspection.opening import open_model
    from explorer.tokenization.characters import Characters
    from explorer.tokenization.text import from_json
    from explorer.training.string_lesson import string_writer

    task = stored.config.task
    if isinstance(task, StringConfig):
        return string_writer(open_model(stored).alone(0)), Characters(task.vocabulary)
    if not stored.tokenizer:
        raise DamagedRun(f"Run {stored.key} has no tokenizer: it cannot read or write. Train it again.")
    tokenizer = from_json(stored.tokenizer)
    return Writer.of(open_model(stored).alone(0), stored.config.on(TextConfig), tokenizer), tokenizer


def inspect(
    run: Run,
    text: Annotated[str, typer.Argument(help="What the model reads.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every number of the forward to this file (npz, by the taps' names)."),
    ] = None,
    replica: Annotated[int, typer.Option(help="Which seed of the run, counted from 0.")] = 0,
    step: Annotated[
        int | None, typer.Option(help="After so many steps of its training; the last without this.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Where the attention of a run's model looks while it reads a text: the habits of every head.

    Of a model that translates: what it writes, token by token, and where it looks for it. Of one that answers at every
    place and has no attention: how long its vector is at each token, and how far that moved.
    """
    import numpy as np

    from explorer.inspection.attention import attend, check_attention, read
    from explorer.inspection.heads import habits
    from explorer.inspection.lens import named_arrays
    from explorer.inspection.opening import open_model
    from explorer.tokenization.text import from_json

    stored = stored_run(run)
    if isinstance(stored.config.task, ReverseConfig | CopyConfig | DatesConfig):
        _check_choice(stored, replica, step)
        return _aligned(open_model(stored, step).alone(replica), stored.config.task, text, out, as_json)
    if isinstance(stored.config.task, LabellingConfig):
        _check_choice(stored, replica, step)
        return inspect_row(stored, stored.config.task, text, out, replica, step, as_json)
    check_attention(stored.config)
    _check_choice(stored, replica, step)
    tokenizer = from_json(stored.tokenizer) if isinstance(stored.config.task, TextConfig) else None
    given = read(stored.config, tokenizer, text)
    model = open_model(stored, step).alone(replica)
    found = habits(attend(model, given.ids).weights, given.ids)
    if out is not None:
        write_arrays(out, named_arrays(model, given.ids) | {"tokens": np.array(given.tokens)})
    _say_what_was_read(given)
    tell(by_head(found), out, as_json)


def _aligned(model: Any, task: TranslationConfig, text: str, out: Path | None, as_json: bool) -> None:
    """What a model writes about a source, and for each token where all heads together looked most."""
    import numpy as np

    from explorer.inspection.alignment import align

    found = align(model, task, spelled(task, text))
    source = [source_tokens(task)[i] for i in found.source]
    target = [target_tokens(task)[i] for i in found.target]
    if out is not None:
        write_arrays(
            out,
            {
                "source": np.array(source),
                "target": np.array(target),
                "candidates": np.array(target_tokens(task)),
                "probabilities": found.probabilities,
                **found.taps,
            },
        )
    looks = None if found.weights is None else found.weights.mean(axis=(0, 1))
    for i, token in enumerate(target):
        row: dict[str, Any] = {
            "kind": "token",
            "token": token,
            "probability": round(float(found.probabilities[i, found.target[i]]), 6),
        }
        if looks is not None:
            most = int(looks[i].argmax())
            row |= {"looks_at": most, "source_token": source[most], "weight": round(float(looks[i, most]), 6)}
        if as_json:
            say(row)
        else:
            where = f"  {row['weight']:.3f} at {row['looks_at']} “{row['source_token']}”" if looks is not None else ""
            print(f"{token:5} {row['probability']:.3f}{where}")
    if out is not None and not as_json:
        print(f"{out}, {out.stat().st_size:,} bytes")


def _check_choice(stored: store.StoredRun, replica: int, step: int | None) -> None:
    """Raises InvalidSetting for a seed or a step that a run does not have."""
    replicas, steps = stored.config.replicas, stored.snapshot_steps()
    if not 0 <= replica < replicas:
        possible = "0: this run has one seed" if replicas == 1 else f"a whole number from 0 to {replicas - 1}"
        raise InvalidSetting(f"replica = {replica} is not possible. Give {possible}.")
    if step is not None and step not in steps:
        kept = ", ".join(f"{kept:,}" for kept in steps)
        raise InvalidSetting(f"This run keeps no weights of step {step:,}. Give one of {kept}.")


def _say_what_was_read(given: Read) -> None:
    """What the model did not read as it was typed, on standard error."""
    if given.lowered:
        print("The model learned from small letters only: the text is read in small letters.", file=sys.stderr)
    for unseen, become in ((given.dropped, "left out"), (given.unknown, "read as <unk>")):
        if unseen:
            print(f"The model never saw {', '.join(map(repr, unseen))}: {become}.", file=sys.stderr)
    if given.nothing:
        from explorer.generation.writing import FROM_NOTHING

        print(FROM_NOTHING, file=sys.stderr)
    if given.cut:
        end = "beginning" if given.cut_at == "start" else "end"
        sees = f"The model sees {len(given.ids):,} tokens at once"
        print(f"{sees}: the {end} of the text is cut off, {shortened(given.cut)!r}.", file=sys.stderr)
