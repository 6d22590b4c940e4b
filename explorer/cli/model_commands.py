"""Commands that use the model of a run: evaluate, predict, generate, inspect."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explorer.catalogue import task_row
from explorer.cli.common import (
    Force,
    Json,
    Run,
    RunOrRealModel,
    check_new_file,
    check_same_text,
    print_metrics,
    stored_run,
)
from explorer.cli.labelling import inspect_row, predict_row
from explorer.cli.program import print_json
from explorer.cli.real_model_commands import (
    inspect_real_model,
    is_real_model,
    predict_with_real_model,
)
from explorer.cli.tables import head_rows, print_rows, write_arrays
from explorer.errors import InvalidSetting
from explorer.experiments import trimming
from explorer.generation import seq2seq_decoding
from explorer.inspection import load_model
from explorer.inspection.attention import alignment, attend, head_scores, logit_lens
from explorer.inspection.recurrent import gates
from explorer.inspection.words import negation_sentences
from explorer.lazy_libraries import np, torch
from explorer.tasks.own_sentences import Language, SentenceConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.config import (
    TranslationConfig,
    max_answer_length,
    source_ids,
    source_text,
    source_vocabulary,
    target_ids,
    target_text,
    target_vocabulary,
)
from explorer.tasks.seq2seq.dates import DatesConfig, parse_date
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.training.config import validate
from explorer.visible_text import escape_invisible

if TYPE_CHECKING:
    from explorer.generation.generate import TextGenerator
    from explorer.run_store import store
    from explorer.tokenization.text import Tokenizer


def evaluate(
    run: Run,
    corpus: Annotated[str, typer.Option(metavar="FILE", help="The training text of a run on your own text.")] = "",
    as_json: Json = False,
) -> None:
    """Evaluate a run again and compare the metrics with its card."""
    from explorer.inspection.evaluate import evaluate as evaluate_run

    stored = stored_run(run)
    tolerance = (
        trimming.allowed_change(stored.config) if stored.shipped else 1e-6
    )  # of rounded weights, or of another machine
    if corpus:
        check_same_text(stored.config, corpus)
    card = stored.card.model_copy(update={"metrics": evaluate_run(stored)})
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
    pairs = zip(one.values, other.values, strict=True)
    return all(
        a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance))
        for a, b in pairs
    )


def predict(
    run: RunOrRealModel,
    sentence: Annotated[
        str, typer.Argument(metavar="INPUT", help="A sentence, a sequence of symbols, or a source to translate.")
    ],
    as_json: Json = False,
) -> None:
    """Print what the model of a run predicts for an input.

    Negation and sentiment: the class of a sentence. Recall: the first symbol. Sequence labelling: the label at every
    position. These are averaged over the seeds. Translation: the output of each seed. Real model: the most probable
    tokens that follow the text, or at each [MASK] of an encoder.
    """
    if is_real_model(run):
        return predict_with_real_model(run, sentence, as_json)
    task = (stored := stored_run(run)).config.task
    if isinstance(task, ReverseConfig | CopyConfig | DatesConfig | PairsConfig):
        return _predict_translation(stored, task, sentence, as_json)
    if isinstance(task, RecallConfig):
        return _predict_first_symbol(stored, task, sentence, as_json)
    if isinstance(task, LabellingConfig):
        return predict_row(stored, task, sentence, as_json)
    if not isinstance(task, SentenceConfig):
        instead = f"generate {run} --prompt TEXT"
        if isinstance(task, WordVectorsConfig):
            instead = f'explorer.load("{run}").neighbours(word) in Python'
        raise InvalidSetting(
            f"{run} is a run of the task {task_row(task).name}, which predicts no class. Use {instead}."
        )
    language = Language.from_json(stored.tokenizer)
    words, unread = language.vocabulary.split(sentence), language.vocabulary.read(sentence).describe_unread()
    found = negation_sentences.class_probabilities(load_model.load_model(stored), words).mean(axis=0)
    probabilities = {name: round(float(share), 6) for name, share in zip(language.classes, found, strict=True)}
    if as_json:
        length = negation_sentences.evaluation_length(task)
        tokens = list(negation_sentences.sentence_tokens(words, length, language.vocabulary))
        answer = {"kind": "prediction", "sentence": sentence, "tokens": tokens, "probabilities": probabilities}
        print_json({**answer, **({"unread": unread} if unread else {})})
        return
    if unread:
        print(unread, file=sys.stderr)
    _print_bars(probabilities)


def _print_bars(probabilities: Mapping[str, float]) -> None:
    width = max(9, *map(len, probabilities))
    for name, value in probabilities.items():
        print(f"{escape_invisible(name):{width}} {value:.3f} {'█' * round(40 * value)}")


def _predict_first_symbol(stored: store.StoredRun, task: RecallConfig, text: str, as_json: bool) -> None:
    """Print the probability of each symbol to be the first one, averaged over the seeds."""
    ids = gates.parse_symbols(text, task.symbols)
    if not ids:
        raise InvalidSetting(
            f"The sequence is empty. Possible symbols are {', '.join(gates.ALPHABET[: task.symbols])}."
        )
    rows = torch.tensor([ids])
    if stored.config.replicas > 1:
        rows = rows.expand(stored.config.replicas, *rows.shape)
    with torch.inference_mode():
        found = load_model.load_model(stored).stack(rows).softmax(dim=-1).view(stored.config.replicas, -1).mean(dim=0)
    probabilities = {gates.ALPHABET[i]: round(float(share), 6) for i, share in enumerate(found)}
    if as_json:
        print_json(
            {
                "kind": "prediction",
                "symbols": len(ids),
                "first": gates.ALPHABET[ids[0]],
                "trained_at": task.length,
                "probabilities": probabilities,
            }
        )
        return
    _print_bars(probabilities)


def _predict_translation(stored: store.StoredRun, task: TranslationConfig, text: str, as_json: bool) -> None:
    """Print the greedy translation of each seed, and its probability."""
    source = source_ids(task, text)
    loaded = load_model.load_model(stored)
    answers = []
    for index, seed in enumerate(stored.config.seeds):
        model: Any = loaded.single_replica(index)
        output = seq2seq_decoding.greedy_decode(model, torch.tensor([source]), max_answer_length(task, len(source)))
        answers.append(
            {
                "seed": seed,
                "target": target_text(task, output.ids[0].tolist()),
                "probability": round(math.exp(float(output.score[0])), 6),
                "finished": bool(output.finished[0]),
            }
        )
    right = target_ids(task, source)
    if isinstance(task, DatesConfig) and (why := parse_date(text).error):
        print(why, file=sys.stderr)
    if as_json:
        expected = None if right is None else target_text(task, right)
        print_json({"kind": "prediction", "source": source_text(task, source), "answers": answers, "right": expected})
        return
    for answer in answers:
        end = "" if answer["finished"] else "  (no end)"
        print(f"{answer['target']}  {answer['probability']:.3f}{end}")


_NO_PROMPT = "\n"  # a model that does not know it starts from nothing


def generate(
    run: RunOrRealModel,
    prompt: Annotated[
        str, typer.Option(metavar="TEXT", help="Text to continue.", show_default="a line break")
    ] = _NO_PROMPT,
    tokens: Annotated[
        int, typer.Option(metavar="COUNT", min=1, max=10_000, help="Number of tokens to generate.")
    ] = 200,
    temperature: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Divide the logits by this number; 0 always chooses the most likely token."
        ),
    ] = None,
    top_k: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Sample from this many most likely tokens.")
    ] = None,
    top_p: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Sample from the most likely tokens that together reach this probability."),
    ] = None,
    min_p: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Sample from tokens with at least this share of the highest probability."),
    ] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="The same as --temperature 0.")] = False,
    seed: Annotated[str | None, typer.Option(metavar="NUMBER", help="Seed of the sampling noise.")] = None,
    samples: Annotated[int, typer.Option(metavar="COUNT", min=1, max=64, help="Number of texts to generate.")] = 1,
    as_json: Json = False,
) -> None:
    """Generate text with a language model."""
    from explorer.generation.generate import continue_prompt
    from explorer.generation.sampling import Sampling

    given = {
        "temperature": "0" if greedy else temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "seed": seed,
    }
    sampling = validate(Sampling, {name: value for name, value in given.items() if value is not None})
    generator, tokenizer, lower = _find_generator(run)
    generated = continue_prompt(generator, tokenizer, prompt, tokens, sampling, samples, lower)
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


def _find_generator(run: str) -> tuple[TextGenerator, Tokenizer, bool]:
    """Return a language model, its tokenizer, and whether prompts are lower-cased; of a run the first seed.

    Raises InvalidSetting for a model that does not continue texts, and DamagedRun.
    """
    from explorer.api.predictions import writer_of
    from explorer.inspection.pretrained.reader import find_reader

    if is_real_model(run):
        reader = find_reader(run)
        return reader.text_generator(), reader.tokenizer, False
    stored = stored_run(run)
    if not isinstance(stored.config.task, StringConfig):
        stored_run(run, "text")  # refuses a run of another task
    writer = writer_of(stored, load_model.load_model(stored).single_replica(0))
    return writer.generator, writer.tokenizer, writer.lower


def inspect(
    run: RunOrRealModel,
    text: Annotated[str, typer.Argument(metavar="INPUT", help="Input of the model.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write all intermediate values of the forward pass to this npz file, by tap name."
        ),
    ] = None,
    replica: Annotated[int, typer.Option(metavar="NUMBER", help="Index of the seed, counted from 0.")] = 0,
    step: Annotated[
        int | None,
        typer.Option(metavar="STEP", help="Training step of the weights. Default: the last.", show_default=False),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Print what every attention head of a run or of a real model does on a text.

    Translation: each generated token and the source token with the highest attention weight. Sequence labelling without
    attention: the norm of the state at each token, and its distance from the previous one.
    """
    from explorer.api.attention_source import tokenize

    if out is not None:
        check_new_file(out, force)
    if is_real_model(run):
        if replica:
            raise InvalidSetting(f"replica = {replica} is not possible: a real model has one state. Leave it out.")
        return _warn_about_input(inspect_real_model(run, text, out, step, force, as_json))
    stored = stored_run(run)
    if isinstance(stored.config.task, ReverseConfig | CopyConfig | DatesConfig | PairsConfig):
        _check_replica_and_step(stored, replica, step)
        return _inspect_alignment(
            load_model.load_model(stored, step).single_replica(replica), stored.config.task, text, out, force, as_json
        )
    if isinstance(stored.config.task, LabellingConfig):
        _check_replica_and_step(stored, replica, step)
        return inspect_row(stored, stored.config.task, text, out, replica, step, force, as_json)
    attend.check_attention(stored.config)
    _check_replica_and_step(stored, replica, step)
    given = tokenize(stored, text)
    model = load_model.load_model(stored, step).single_replica(replica)
    found = head_scores.score_heads(attend.attend(model, given.ids).weights, given.ids)
    if out is not None:
        write_arrays(out, logit_lens.tap_arrays(model, given.ids) | {"tokens": np.array(given.tokens)}, force)
    _warn_about_input(given)
    print_rows(head_rows(found), out, as_json)


def _inspect_alignment(
    model: Any, task: TranslationConfig, text: str, out: Path | None, force: bool, as_json: bool
) -> None:
    """Print the translation of a source, and for each token the source token with the highest mean attention weight.

    model: the model of one seed
    task: its task
    text: the source
    out: the file for all intermediate values, if they are written
    force: whether this file may be replaced
    as_json: whether the rows are printed as JSON

    Raises InvalidSetting for a source that the model cannot read, or a file that cannot be written.
    """
    found = alignment.align(model, task, source_ids(task, text))
    source = [source_vocabulary(task)[i] for i in found.source]
    target = [target_vocabulary(task)[i] for i in found.target]
    if out is not None:
        write_arrays(
            out,
            {
                "source": np.array(source),
                "target": np.array(target),
                "candidates": np.array(target_vocabulary(task)),
                "probabilities": found.probabilities,
                **found.taps,
            },
            force,
        )
    weights = None if found.weights is None else found.weights.mean(axis=(0, 1))
    for i, token in enumerate(target):
        row: dict[str, Any] = {
            "kind": "token",
            "token": token,
            "probability": round(float(found.probabilities[i, found.target[i]]), 6),
        }
        if weights is not None:
            most = int(weights[i].argmax())
            row |= {"looks_at": most, "source_token": source[most], "weight": round(float(weights[i, most]), 6)}
        if as_json:
            print_json(row)
        else:
            where = f"  {row['weight']:.3f} at {row['looks_at']} “{row['source_token']}”" if weights is not None else ""
            print(f"{token:5} {row['probability']:.3f}{where}")
    if out is not None and not as_json:
        print(f"{out}, {out.stat().st_size:,} bytes")


def _check_replica_and_step(stored: store.StoredRun, replica: int, step: int | None) -> None:
    """Raise InvalidSetting for a seed or a step that a run does not have."""
    replicas, steps = stored.config.replicas, stored.snapshot_steps()
    if not 0 <= replica < replicas:
        possible = "0: this run has one seed" if replicas == 1 else f"a whole number from 0 to {replicas - 1}"
        raise InvalidSetting(f"replica = {replica} is not possible. Give {possible}.")
    if step is not None and step not in steps:
        kept = ", ".join(f"{kept:,}" for kept in steps)
        raise InvalidSetting(f"This run has no weights of step {step:,}. Give one of {kept}.")


def _warn_about_input(given: attend.TokenizedInput) -> None:
    """Print on standard error where the model's input differs from the typed text."""
    if given.lowercased:
        print("The model knows lower-case letters only: the text is lower-cased.", file=sys.stderr)
    if given.unread:
        print(given.unread, file=sys.stderr)
    if given.empty:
        from explorer.generation.generate import FROM_NOTHING

        print(FROM_NOTHING, file=sys.stderr)
