"""How soon ours learns text, and how well; every ratio is taken in one run on an idle machine.

    python -m benchmarks.language_models COMMAND

COMMAND: assignment, best, characters, contexts, context-use, counts, generation or race.

Needs Tiny Shakespeare (LINEAGE_DATA_DIR). Baselines are `plain_text.py`: before each of our trainings, 300 steps are
timed on each number of threads; the fastest number counts. Ours is a command of its own, timed from its start to its
end, on the threads that it chooses. The medians of the rounds are compared.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import typer
from torch import Generator, Tensor, nn

from benchmarks.baselines import plain_text
from benchmarks.machine import describe_machine, fastest_threads, on_idle_machine, seconds_of
from explorer.catalogue import models_of
from explorer.experiments.presets import preset
from explorer.experiments.text_setups import SETUPS
from explorer.generation.generate import TextGenerator, generate_ids
from explorer.generation.sampling import Sampling
from explorer.inspection.language.context_use import measure_context_use
from explorer.inspection.load_model import load_model
from explorer.labs.context import context_use as stored_context_use
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.objectives.text import CONTIGUOUS_ROWS
from explorer.training.recorder import record_run
from explorer.training.scoring import mean_loss

app = typer.Typer(no_args_is_help=True, add_completion=False)
Threads = Annotated[int, typer.Option(help="Threads of torch.")]
Rounds = Annotated[int, typer.Option(help="How often both sides are timed.")]
STEPS_AN_EPOCH, BEST_EPOCH, BEST_LOSS = 3_933, 19, 3.9084  # of the assignment's own loop, as it reports them
RECIPE_STEPS = 2_000
SMOOTHINGS: tuple[Literal["kneser_ney", "modified_kneser_ney", "stupid_backoff"], ...] = (
    "kneser_ney",
    "modified_kneser_ney",
    "stupid_backoff",
)
CONTEXT_USE = ("shakespeare", "shakespeare-bpe", "repeats", "brackets")  # setups of the page on context
SAME_CONTEXT = {  # included networks, and the contexts under which they are compared with n-grams
    "text-best-seeds": ("16", "32", "64", "128", "reading on"),
    "text-transformer": ("16", "32", "64"),
    "text-gru": ("16", "32", "64", "128", "reading on"),
}


def run_command(*words: str) -> tuple[float, dict[str, float], int]:
    """Run a command of ours in an empty home and cache: its seconds, its last metrics (means), and its last step."""
    with tempfile.TemporaryDirectory() as home:
        env = os.environ | {"LINEAGE_HOME": home, "LINEAGE_CACHE": home}
        start = time.perf_counter()
        command = [sys.executable, "-m", "explorer", *words, "--json"]
        said = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True).stdout
        seconds = time.perf_counter() - start
    lines = [json.loads(line) for line in said.splitlines()]
    step = max((line["step"] for line in lines if line["kind"] == "step"), default=1)
    return seconds, {name: each["mean"] for name, each in lines[-1]["metrics"].items()}, step


def report(figures: dict[str, Any]) -> None:
    print(describe_machine())
    for name, value in figures.items():
        print(f"  {name:44} {value:,.4g}" if isinstance(value, float) else f"  {name:44} {value}")


@app.command()
def assignment(rounds: Rounds = 3) -> None:
    """The assignment's protocol: how long its loop takes to its best loss, and how long ours."""
    config = preset("assignment-original").config().task
    assert isinstance(config, TextConfig)
    data = text_data(config)
    pairs = [(batch.ids, batch.targets[:, -1]) for batch in data.training_sample(data.training_targets, rows=4_096)]
    prefixes, targets = torch.cat([x for x, _ in pairs]), torch.cat([y for _, y in pairs])

    def step() -> float:
        steps = plain_text.assignment_steps(prefixes, targets, data.padding, data.vocabulary)
        return statistics.median(plain_text.timed(steps))

    chosen = ("train", "--preset", "assignment")
    with on_idle_machine():
        baselines, crossings = [], []
        for _ in range(rounds):
            baselines.append(fastest_threads(step))
            crossings.append(run_command(*chosen, "--stop-at", f"val_loss={BEST_LOSS}"))
        whole, at_end, _ = run_command(*chosen)
        honest, apart, _ = run_command(*chosen, "--set", "split=sentences")
    needs = statistics.median(seconds for seconds, _ in baselines) * STEPS_AN_EPOCH * BEST_EPOCH
    crossing = statistics.median(seconds for seconds, _, _ in crossings)
    report(
        {
            "pairs": data.training_targets + data.held_out_targets,
            "training pairs": data.training_targets,
            "its loop, seconds a step": needs / STEPS_AN_EPOCH / BEST_EPOCH,
            "its loop, on so many threads": baselines[0][1],
            "its loop, seconds to 3.9084": needs,
            "ours, seconds to 3.9084": crossing,
            "ours, each time": ", ".join(f"{seconds:.1f}" for seconds, _, _ in crossings),
            "sooner": needs / crossing,
            "validation loss then": crossings[0][1]["val_loss"],
            "ours to its end, seconds": whole,
            "validation loss then ": at_end["val_loss"],
            "perplexity (its loop ends at 59.37)": at_end["perplexity"],
            "split by sentence: seconds": honest,
            "split by sentence: validation loss": apart["val_loss"],
            "split by sentence: perplexity": apart["perplexity"],
        }
    )


@app.command()
def characters(rounds: Rounds = 3) -> None:
    """The public small recipe for characters: its loss, when ours has it, and what ours has in its time."""
    data = text_data(TextConfig())
    text = torch.cat([data.full_training_batch().ids[0], data.full_training_batch().targets[0, -1:]])
    held_out = torch.cat([b.ids[b.mask] if b.mask is not None else b.ids.flatten() for b in data.held_out_batches()])

    def step() -> float:
        return statistics.median(plain_text.timed(plain_text.recipe_steps(text, data.vocabulary)))

    chosen = ("train", "--preset", "characters")
    with on_idle_machine():
        baselines, crossings = [fastest_threads(step)], []
        torch.set_num_threads(baselines[0][1])
        *_, model = plain_text.recipe_steps(text, data.vocabulary, RECIPE_STEPS)
        loss = plain_text.cold_loss(model, held_out)
        for _ in range(rounds):
            baselines.append(fastest_threads(step))
            crossings.append(run_command(*chosen, "--stop-at", f"val_loss={loss}"))
        recipe = statistics.median(seconds for seconds, _ in baselines) * RECIPE_STEPS
        spent, at_end, _ = run_command(*chosen, "--max-seconds", str(recipe - 3))
    crossing = statistics.median(seconds for seconds, _, _ in crossings)
    report(
        {
            "recipe, on so many threads": baselines[0][1],
            "recipe, seconds a step": recipe / RECIPE_STEPS,
            "recipe, seconds for 2,000 steps": recipe,
            "recipe, loss over everything held out": loss,
            "ours, seconds to that loss": crossing,
            "ours, each time": ", ".join(f"{seconds:.1f}" for seconds, _, _ in crossings),
            "sooner": recipe / crossing,
            "validation loss then": crossings[0][1]["val_loss"],
            "ours in the recipe's time, seconds": spent,
            "validation loss then ": at_end["val_loss"],
            "bits per character": at_end["bits_per_char"],
        }
    )


@app.command()
def best(run: str = "", seed: int = 0) -> None:
    """The preset characters-best beside what nanoGPT reports for its GPU recipe: loss, time and operations.

    nanoGPT reports 1.4697 nats, estimated on 200 random blocks of 256 held-out characters. `run`: a stored run of the
    preset; without it, the preset is trained.
    """
    torch.set_num_threads(os.cpu_count() or 1)
    config = with_settings(preset("characters-best").config(), {"seed": seed})
    if run:
        found = store.load(Path(run)) if Path(run).is_dir() else store.find(run)
        seconds, model = found.card.seconds, load_model(found).stack
    else:
        with on_idle_machine():
            record = record_run(config)
        seconds, model = record.seconds, load_model(record).stack
    data = text_data(config.task_as(TextConfig))
    task = config.task_as(TextConfig)
    stream = torch.cat([b.targets.flatten() if b.mask is None else b.targets[b.mask] for b in data.held_out_batches()])
    starts = torch.randint(len(stream) - task.context, (200,), generator=Generator().manual_seed(0)).tolist()
    blocks = torch.stack([stream[i : i + task.context + 1] for i in starts])
    with torch.inference_mode():
        logits = torch.cat([model(rows[:, :-1]) for rows in blocks.split(20)])
    estimate = nn.functional.cross_entropy(logits.flatten(0, 1), blocks[:, 1:].flatten())
    tokens = config.steps * config.batch_size * task.context
    report(
        {
            "parameters": sum(p.numel() for p in model.parameters()),
            "seconds of training": seconds,
            "loss on 200 random blocks of 256": float(estimate),
            "loss on all blocks of 256": float(mean_loss(model, data.held_out_batches())),
            "tokens": tokens,
            "operations": training_operations(model, config.model.layers, config.model.width, task.context, tokens),  # type: ignore[union-attr]
            "nanoGPT: loss on 200 random blocks of 256": 1.4697,
            "nanoGPT: operations": training_operations(None, 6, 384, 256, 5_000 * 64 * 256),
        }
    )


def training_operations(model: nn.Module | None, layers: int, width: int, context: int, tokens: int) -> float:
    """Return the additions and multiplications of a training: 6 for each weight and token, and those of attention.

    Kaplan et al. (2020), appendix B and section 2.1; without a model, a block has 12 width^2 weights.
    """
    weights = 12 * layers * width**2 if model is None else sum(p.numel() for p in model.parameters())
    return (6 * weights + 12 * layers * width * context) * tokens


@app.command()
def counts() -> None:
    """Kneser-Ney over characters: seconds to count and to score, and the loss, for each order."""
    torch.set_num_threads(1)
    data = text_data(TextConfig())
    everything = data.full_training_batch()
    stream = [(b.ids, b.targets) for b in data.held_out_contiguous(1, data.held_out_targets)]
    figures: dict[str, Any] = {}
    for smoothing, n in ((smoothing, n) for smoothing in SMOOTHINGS for n in range(1, 9)):
        model = Ngram(NgramTextConfig(n, smoothing), data.vocabulary, 64, Generator())
        start = time.perf_counter()
        model.fit(*everything)
        counted = time.perf_counter()
        read_on = sum(float(model.surprisal(x, y).double().sum()) for x, y in stream) / data.held_out_targets
        scored = time.perf_counter()
        cold = float(mean_loss(model, data.held_out_batches()))
        name = f"{smoothing} {n}"
        figures[f"{name}: seconds to count, to score"] = f"{counted - start:.3f}, {scored - counted:.3f}"
        figures[f"{name}: nats, read on / in cold blocks of 64"] = f"{read_on:.4f} / {cold:.4f}"
    report(figures)


@app.command()
def contexts() -> None:
    """Included networks and the best n-gram under the same context; written to the file that the text page shows."""
    torch.set_num_threads(1)
    at = {context: text_data(TextConfig(context=context)) for context in (16, 32, 64, 128)}
    data = at[64]
    ngrams = {
        (smoothing, n): Ngram(NgramTextConfig(n, smoothing), data.vocabulary, 64, Generator())
        for smoothing in SMOOTHINGS
        for n in range(1, 9)
    }
    for ngram in ngrams.values():
        ngram.fit(*data.full_training_batch())
    (ids, targets), *_ = ((b.ids, b.targets) for b in data.held_out_contiguous(1, data.held_out_targets))
    figures: dict[str, Any] = {"ngram": {}, "networks": {}}

    def add(label: str, ngram_loss: Callable[[Ngram], float]) -> None:
        losses = {each: ngram_loss(ngram) for each, ngram in ngrams.items()}
        (smoothing, n), loss = min(losses.items(), key=lambda each: each[1])
        figures["ngram"][label] = {"smoothing": smoothing, "n": n, "loss": round(loss, 5)}

    for context, blocks in at.items():
        add(str(context), lambda ngram, blocks=blocks: float(mean_loss(ngram, blocks.held_out_batches())))  # type: ignore[misc]
    # The first 64 targets are left out, so that a Transformer of 128 has 64 to 128 tokens of context for each target.
    add("reading on", lambda ngram: float(ngram.surprisal(ids, targets)[0, 64:].double().mean()))
    for name, labels in SAME_CONTEXT.items():
        run = store.find(name)
        model = load_model(run)
        replicas = model.config.replicas
        measured: dict[str, list[float]] = {}
        figures["networks"][name] = {
            "model": model.config.model_name,
            "parameters": run.card.parameters,
            "losses": measured,
        }
        for label in labels:
            if label != "reading on":
                losses = mean_loss(model.stack, at[int(label)].held_out_batches(), replicas)
            elif model.config.model_name == "transformer":
                losses = overlapping_loss(model.stack, ids[0], targets[0], replicas)
            else:
                rows = data.held_out_contiguous(CONTIGUOUS_ROWS, data.config.context)
                losses = mean_loss(model.stack, rows, replicas, carries=True)
            measured[label] = [round(loss, 5) for loss in losses.tolist()]
            print(name, label, measured[label], flush=True)
    stored_context_use.SAME_CONTEXT_FILE.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


@app.command()
def context_use() -> None:
    """Loss of included runs by the number of tokens before the target; written to the file that the page shows."""
    torch.set_num_threads(1)
    figures: dict[str, Any] = {}
    for setup in CONTEXT_USE:
        for model in models_of("text"):
            config = SETUPS[setup].config(model)
            run = store.find_by_config(config)
            assert run, (setup, model)
            measured = asdict(measure_context_use(load_model(run).stack, config))
            figures[run.key] = {
                name: np.round(value, 5).tolist() if isinstance(value, np.ndarray) else value
                for name, value in measured.items()
            }
            print(setup, model, flush=True)
    stored_context_use.FILE.write_text(json.dumps(figures) + "\n", "utf-8")


@torch.inference_mode()
def overlapping_loss(model: nn.Module, ids: Tensor, targets: Tensor, replicas: int, half: int = 64) -> Tensor:
    """Return the loss of the targets from `half` on, read in windows of twice `half`, so each sees `half` or more."""
    total = torch.zeros(replicas, dtype=torch.float64)
    for start in range(0, len(ids) - half, half):
        window, wanted = ids[start : start + 2 * half], targets[start + half : start + 2 * half]
        features, _ = model.features(window.expand(replicas, 1, -1).squeeze(0))  # type: ignore[operator]
        logits = model.readout(features[..., half:, :]).flatten(0, -2)  # type: ignore[operator]
        losses = nn.functional.cross_entropy(logits, wanted.repeat(replicas), reduction="none")
        total += losses.double().view(replicas, -1).sum(-1)
    return total / (len(ids) - half)


@app.command()
def generation(rounds: int = 5, tokens: int = 256) -> None:
    """Writing with state against reading everything anew for each token; one thread."""
    torch.set_num_threads(1)
    figures: dict[str, Any] = {}
    large: dict[str, dict[str, object]] = {
        "transformer": {"width": 128, "hidden": 512, "context": 512},
        "rnn": {"hidden": 256},
        "lstm": {"hidden": 256},
        "gru": {"hidden": 256},
    }
    for name, sizes in large.items():
        model = build_model(
            with_settings(default_config("text", name), {**sizes, "corpus": "brackets"}), vocabulary=65
        ).eval()
        prompt = torch.tensor([1])

        def generate_with_full_forwards(model: nn.Module = model, prompt: Tensor = prompt) -> None:
            ids = prompt[None]
            with torch.inference_mode():
                for _ in range(tokens):
                    logits = model(ids)[:, -1]
                    ids = torch.cat([ids, logits.softmax(-1).multinomial(1, generator=Generator().manual_seed(0))], 1)

        def with_state(samples: int, model: nn.Module = model, prompt: Tensor = prompt) -> None:
            generate_ids(TextGenerator(model), prompt, tokens, Sampling(), samples)

        timed = (generate_with_full_forwards, lambda: with_state(1), lambda: with_state(8))
        for each in timed:
            each()  # the first one does not count
        whole, one, eight = (seconds_of(each, rounds) for each in timed)
        figures[f"{name}: seconds anew, with state, eight"] = f"{whole:.3f}, {one:.4f}, {eight:.4f}"
        figures[f"{name}: times faster with state"] = whole / one
        figures[f"{name}: eight for one"] = eight / one
    report(figures)


@app.command()
def race(seconds: float = 25, seeds: int = 3, threads: Threads = 1) -> None:
    """Six architectures with about as many parameters, the same time each, on characters: who has learned most."""
    figures: dict[str, Any] = {}
    for name in ("ngram", "feedforward", "rnn", "lstm", "gru", "transformer"):
        losses, bits, steps = [], [], []
        for seed in range(seeds if name != "ngram" else 1):
            more = [] if name == "ngram" else ["--max-seconds", str(seconds), "--set", f"threads={threads}"]
            if name in ("rnn", "lstm", "gru"):
                more += ["--set", "batches=contiguous"]
            _, then, last = run_command("train", "--task", "text", "--model", name, "--seed", str(seed), *more)
            losses.append(then["val_loss"])
            bits.append(then["bits_per_char"])
            steps.append(last)
        figures[name] = (
            f"{statistics.mean(losses):.3f} nats ({min(losses):.3f} to {max(losses):.3f}), "
            f"{statistics.mean(bits):.3f} bits a character, {statistics.mean(steps):,.0f} steps"
        )
        print(name, figures[name], flush=True)
    report(figures)


if __name__ == "__main__":
    app()
