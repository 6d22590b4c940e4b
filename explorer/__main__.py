"""The command line: the same trainings and answers as in the browser, from a terminal.

python -m explorer --help
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from explorer import catalogue
from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, LineageError, NeedsText, UnknownRun, shortened
from explorer.tasks.text import TextConfig
from explorer.training import limits, store
from explorer.training.config import RunConfig, changed, default, validated
from explorer.training.presets import PRESETS
from explorer.training.presets import preset as named_preset
from explorer.training.pretraining import recipes, tags, trimmed
from explorer.training.record import Record

app = typer.Typer(help=__doc__.splitlines()[0] if __doc__ else None, no_args_is_help=True, add_completion=False)
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on standard output, nothing else there.")]
Run = Annotated[str, typer.Argument(help="A key, the name of a shipped run, or a run folder.")]


@app.command("list")
def list_everything(as_json: Json = False) -> None:
    """Models, tasks, shipped runs, and the runs of this machine."""
    shipped = store.pretrained()
    own = sorted(f.parent.name for f in environment().runs.glob("*/config.json"))
    if as_json:
        for row in catalogue.MODELS.values():
            _say({"kind": "model", "name": row.name, "title": row.title, "tasks": list(row.variants)})
        for task in catalogue.TASKS.values():
            _say({"kind": "task", "name": task.name, "title": task.title})
        for run, name in shipped.items():
            _say({"kind": "pretrained", "name": name, "run": run})
        for run in own:
            _say({"kind": "run", "run": run})
        return
    print("tasks     ", ", ".join(catalogue.TASKS))
    print("models    ", ", ".join(catalogue.MODELS))
    print("pretrained")
    for run, name in shipped.items():
        print(f"  {run}  {name}")
    print(f"runs in {environment().runs}")
    for run in own:
        print(f"  {run}")


@app.command()
def train(
    task: Annotated[str, typer.Option(help=f"What to learn: {', '.join(catalogue.TASKS)}.")] = "",
    model: Annotated[str, typer.Option(help=f"Who learns: {', '.join(catalogue.MODELS)}.")] = "",
    preset: Annotated[str, typer.Option(help=f"A named configuration: {', '.join(PRESETS)}.")] = "",
    corpus: Annotated[str, typer.Option(help="Which text: a name, or a file (UTF-8).")] = "",
    tokenizer: Annotated[str | None, typer.Option(help="What a token is: char, word, bpe or bytes.")] = None,
    stop_at: Annotated[
        str, typer.Option(metavar="val_loss=LOSS", help="End as soon as the validation loss is this low.")
    ] = "",
    max_seconds: Annotated[
        float | None, typer.Option(min=1, help="Measure a step first, then train as many as fit.")
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Seed of the first replica.")] = None,
    replicas: Annotated[str | None, typer.Option(help="How many seeds to train side by side.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, e.g. p_not=0.5.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run; by default LINEAGE_HOME/runs/KEY.")] = None,
    as_json: Json = False,
) -> None:
    """Train a model and keep the run."""
    changes: dict[str, object] = {"seed": seed, "replicas": replicas, "tokenizer": tokenizer}
    if corpus:
        changes |= _corpus(corpus)
    if stop_at:
        changes["stop_at"] = _target(stop_at)
    changes = {name: value for name, value in changes.items() if value is not None}
    for text in settings or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidSetting(f"--set {text} has no “=”. Write it as KEY=VALUE, e.g. --set p_not=0.5.")
        changes[name.strip()] = value.strip()
    config = limits.check(changed(_start(task, model, preset), changes))
    _check_ends(config, max_seconds)
    if max_seconds is not None:
        from explorer.training.budget import within

        config = within(config, max_seconds)
    if out and out.exists() and not (out / "config.json").is_file():
        raise InvalidSetting(f"{out} exists and is no run folder. Give --out a new folder.")
    _finish(config, out or store.place_of(config), as_json)


def _measured(config: RunConfig, answers: Mapping[str, Any]) -> dict[str, Any]:
    from explorer.training.lesson import lesson

    found = lesson(config.task).measured({name: value[None] for name, value in answers.items()}, config)
    return {name: m.model_dump() for name, m in store.summary({n: v[-1] for n, v in found.metrics.items()}).items()}


def _start(task: str, model: str, name: str) -> RunConfig:
    """What the settings change: a preset, or the defaults."""
    if name:
        chosen = named_preset(name)
        if task not in ("", chosen.task) or model not in ("", chosen.model):
            raise InvalidSetting(f"Preset {name} is for --task {chosen.task} --model {chosen.model}. Leave these out.")
        return chosen.config()
    if not task or not model:
        raise InvalidSetting("Name what to learn and who learns: --task and --model, or a --preset.")
    return default(task, model)


def _corpus(given: str) -> dict[str, object]:
    """The settings of a corpus given by name, or as a file."""
    known = [name for name in get_args(get_type_hints(TextConfig)["corpus"]) if name != "own"]
    if given in known:
        return {"corpus": given}
    sha = _own_text(given)
    if not sha:
        raise InvalidSetting(f"There is no corpus and no file “{given}”. There is {', '.join(known)}.")
    return {"corpus": "own", "text": sha}


def _own_text(given: str) -> str:
    """Remember the text in a file; its SHA-256, or nothing where there is no file."""
    from explorer.tasks import corpora

    file = Path(given)
    try:
        content = file.read_bytes() if file.is_file() else None
    except OSError as error:
        raise InvalidSetting(f"“{shortened(given)}” cannot be read: {error.strerror}. Give another file.") from error
    return "" if content is None else corpora.keep(corpora.validated_text(content, file.name))


def _check_ends(config: RunConfig, max_seconds: float | None) -> None:
    """Refuse an early end for what cannot have one. Raises InvalidSetting."""
    if config.model_name == "ngram" and (config.stop_at or max_seconds is not None):
        raise InvalidSetting(
            "An n-gram is counted in one go: --stop-at and --max-seconds have no steps to end. Leave them out."
        )
    if config.stop_at and not isinstance(config.task, TextConfig):
        raise InvalidSetting("--stop-at watches the validation loss, which only runs on text have. Leave it out.")


def _target(given: str) -> str:
    name, equals, loss = given.partition("=")
    if not equals or name.strip() != "val_loss":
        raise InvalidSetting(f"--stop-at {given} is not possible. Write it as val_loss=LOSS, e.g. val_loss=1.8.")
    return loss.strip()


def _finish(config: RunConfig, folder: Path, as_json: bool, trim: Callable[[Record], Record] | None = None) -> None:
    """Train and keep, all of it or what `trim` leaves."""
    from explorer.training.events import Evaluation, Event, Step
    from explorer.training.recorder import record_run

    last = 0.0
    with _progress(config, hidden=as_json) as advance:

        def listen(event: Event) -> None:
            nonlocal last
            if isinstance(event, Step):
                advance(event.step)
                # Reading a loss makes it a number; ten times a second is as often as anybody reads.
                if as_json and (time.monotonic() - last > 0.1 or event.step == config.steps):
                    last = time.monotonic()
                    losses = [round(float(loss), 6) for loss in event.losses]
                    _say({"kind": "step", "step": event.step, "of": config.steps, "loss": losses})
            elif as_json and config.iterations and isinstance(event, Evaluation):
                _say({"kind": "evaluation", "step": event.step, "metrics": _measured(config, event.answers)})

        record = record_run(config, listen)
    try:
        run = store.save_run(trim(record) if trim else record, folder)
    except OSError as error:
        raise InvalidSetting(f"The run cannot be written to {folder}: {error.strerror}. Give another --out.") from error
    notes = _notes(run)
    if as_json:
        metrics = {name: metric.model_dump() for name, metric in run.card.metrics.items()}
        noted = {"notes": notes} if notes else {}
        _say({"kind": "finished", "run": run.key, "seconds": run.card.seconds, "metrics": metrics, **noted})
        return
    print(f"{config.title}: {run.card.parameters:,} parameters, {config.replicas} seed(s), {run.card.seconds:.2f} s")
    _print_metrics(run.card)
    for note in notes:
        print(note)
    print(f"kept as {run.folder}")


def _notes(run: store.StoredRun) -> list[str]:
    """What was wished for and did not come true, a sentence each."""
    config, notes = run.config, []
    if not isinstance(config.task, TextConfig):
        return []
    loss = run.card.metrics["val_loss"].mean
    if config.stop_at and (loss is None or loss > config.stop_at):
        found = "unknown" if loss is None else f"{loss:.3f}"
        notes.append(
            f"A validation loss of {config.stop_at:g} was not reached: after {run.card.step:,} steps it is {found}."
        )
    if config.task.tokenizer != "char":  # characters are what they are, whatever the wish
        from explorer.tokenization.text import from_json

        wished, given = config.task.vocabulary, len(from_json(run.tokenizer).tokens)
        if given < wished:
            notes.append(f"{wished:,} tokens were wished for; this text gives {given:,}.")
    return notes


@app.command()
def evaluate(
    run: Run,
    corpus: Annotated[
        str, typer.Option(metavar="FILE", help="The file that a run on your own text learned from.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Ask a run's model again, from its weights, and compare with what its card says."""
    from explorer.inspection.evaluating import evaluate as evaluate_run

    stored = _stored(run)
    if corpus:
        _check_same_text(stored.config, corpus)
    card = stored.card.model_copy(update={"metrics": evaluate_run(stored)})
    same = all(_same(card.metrics.get(name), metric) for name, metric in stored.card.metrics.items())
    if as_json:
        metrics = {name: metric.model_dump() for name, metric in card.metrics.items()}
        _say({"kind": "evaluation", "run": stored.key, "as_on_card": same, "metrics": metrics})
        return
    print(f"{stored.config.title}, run {stored.key}")
    _print_metrics(card)
    print("as on its card" if same else "not what its card says: these weights were not the ones measured there")


def _check_same_text(config: RunConfig, given: str) -> None:
    """Take a file in, which has to be the text that a run learned from. Raises InvalidSetting, TextError."""
    learned = config.task.text if isinstance(config.task, TextConfig) else ""
    if not learned:
        raise InvalidSetting("This run did not learn from a text of your own. Leave --corpus out.")
    found = _own_text(given)
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


@app.command()
def predict(run: Run, sentence: Annotated[str, typer.Argument(help="A sentence.")], as_json: Json = False) -> None:
    """What a run's model says about a sentence (the mean over its seeds)."""
    from explorer.inspection.opening import open_model
    from explorer.inspection.sentences import sustain_probabilities, tokens_of
    from explorer.tasks.negation import VOCABULARY

    stored = _stored(run, "negation")
    words = VOCABULARY.split(sentence)
    sustain = float(sustain_probabilities(open_model(stored), words).mean())
    probabilities = {"collapse": round(1 - sustain, 6), "sustain": round(sustain, 6)}
    if as_json:
        _say({"sentence": sentence, "tokens": list(tokens_of(words)), "probabilities": probabilities})
        return
    for name, value in probabilities.items():
        print(f"{name:9} {value:.3f} {'█' * round(40 * value)}")


@app.command()
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
    stored = _stored(run, "text")
    if not stored.tokenizer:
        raise DamagedRun(f"Run {stored.key} has no tokenizer: it cannot read or write. Train it again.")
    model, tokenizer = open_model(stored).alone(0), from_json(stored.tokenizer)
    written = continued(model, tokenizer, stored.config.on(TextConfig), prompt, tokens, sampling, samples)
    if as_json:
        _say(asdict(written))
        return
    if written.lowered:
        print("The model learned from small letters only: the prompt is read in small letters.", file=sys.stderr)
    for unseen, become in ((written.dropped, "left out"), (written.unknown, "read as <unk>")):
        if unseen:
            print(f"The model never saw {', '.join(map(repr, unseen))}: {become}.", file=sys.stderr)
    for text in written.texts:
        print(written.prompt + text)


@app.command()
def pretrain(
    names: Annotated[list[str] | None, typer.Argument(help="Names of shipped runs; see `list`.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    as_json: Json = False,
) -> None:
    """Train the runs that ship with the program into pretrained/, each with its card."""
    from explorer.training.packing import model_card
    from explorer.training.recorder import record_run

    known = recipes()
    if not names and not everything:
        raise InvalidSetting(f"Name the runs to train, or give --all. There is {', '.join(known)}.")
    for name in known if everything else names or ():
        if name not in known:
            raise InvalidSetting(f"There is no shipped run “{name}”. There is {', '.join(known)}.")
        # The first steps of a process are slower: keep them off the card.
        record_run(changed(known[name], {"epochs": 1} if known[name].steps_per_epoch else {"iterations": 1}))
        _finish(known[name], store.PRETRAINED / name, as_json, partial(trimmed, name))
        run = store.say(store.load(store.PRETRAINED / name), tags=tags(name))
        (store.PRETRAINED / name / "MODEL_CARD.md").write_text(model_card(run))


@app.command("export")
def export_run(
    run: Run, file: Annotated[Path, typer.Argument(help="The zip to write.")], as_json: Json = False
) -> None:
    """A run as one zip: configuration, metrics as CSV, weights as safetensors, model card."""
    from explorer.training.packing import pack

    stored = _stored(run)
    try:
        file.write_bytes(pack(stored))
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be written: {error.strerror}. Give another file.") from error
    if as_json:
        _say({"kind": "exported", "run": stored.key, "file": str(file), "bytes": file.stat().st_size})
        return
    print(f"{file}, {file.stat().st_size:,} bytes")


@app.command("import")
def import_run(file: Annotated[Path, typer.Argument(help="A zip from export.")], as_json: Json = False) -> None:
    """Take a run in from a zip; everything in it is checked."""
    from explorer.training.unpacking import take_in

    kept = take_in(file, owner="")
    if as_json:
        _say({"kind": "imported", "run": kept.key})
        return
    print(f"kept as {kept.folder}")


@app.command()
def delete(runs: Annotated[list[str], typer.Argument(help="Keys of this machine's runs.")]) -> None:
    """Delete runs for good."""
    from explorer.training import library

    library.delete(runs, "", operator=True)
    library.purge(runs)


@app.command()
def reindex(as_json: Json = False) -> None:
    """Make the index of the runs anew from their folders."""
    from explorer.training import index

    count = index.reindex()
    if as_json:
        _say({"kind": "reindexed", "runs": count})
        return
    print(f"{count} runs")


def _stored(run: str, task: str = "") -> store.StoredRun:
    """A key or the name of a shipped run, otherwise a folder; of this task, if one is named."""
    try:
        found = store.find(run)
    except UnknownRun:
        if not Path(run).is_dir():
            raise
        found = store.load(Path(run))
    learned = catalogue.task_row(found.config.task)
    if task and learned.name != task:
        raise InvalidSetting(
            f"{run} learned {learned.name}; this command is for runs that learned {task}. Choose another; see `list`."
        )
    return found


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message, ensure_ascii=False), flush=True)


def _print_metrics(card: store.Card) -> None:
    for name, metric in card.metrics.items():
        known = [v for v in metric.values if v is not None]
        spread = f"  ({min(known):.3f} to {max(known):.3f})" if len(known) > 1 else ""
        print(f"  {name:26} {'none' if metric.mean is None else f'{metric.mean:.3f}'}{spread}")


@contextmanager
def _progress(config: RunConfig, hidden: bool) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=hidden or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(config.title, total=config.steps)
        yield lambda step: bar.update(task, completed=step)


def main() -> None:
    """Run the command line; what a user caused is said in one sentence."""
    # Threads of torch that wait for each other soon let others work. Without this, two threads on a machine whose cores
    # others use too may be ten times slower than one; on a quiet machine it costs nothing that can be measured.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        app()
    except LineageError as error:
        nearest = getattr(error, "nearest", {})
        hint = " ".join(f"{word}: {', '.join(known)}." for word, known in nearest.items())
        if isinstance(error, NeedsText):
            hint = "Here: name its file, --corpus FILE."
        print(f"{error} {hint}".strip(), file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
