"""What real pretrained models do: figures over many texts, with 95 % intervals and controls.

    python -m benchmarks.real_models [--language-model FOLDER] [--encoder FOLDER] [--draws 20]

Measures the time and the memory to load a model and to read 64 tokens, then the experiments of
`inspection/pretrained/`: induction heads and what is lost without them, the first token, the depth at which answers
appear, the states that carry them (patching), senses of ambiguous words, and what “it” means. Without a folder, the
first opened model of that kind is used (`lineage open`). Takes about six minutes with a language model of 135 million
parameters.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import torch
import typer

from explorer.errors import InvalidSetting
from explorer.hub.card import ModelCard
from explorer.hub.loading import load
from explorer.hub.opened import read_card
from explorer.hub.suitable import Need, how_to_get, suitable_models
from explorer.hub.tokenizer import load_tokenizer
from explorer.inspection.attention.patching import patch_states
from explorer.inspection.pretrained import opened_model as experiments
from explorer.inspection.pretrained.answer_depth import single_token_prompts
from explorer.inspection.pretrained.coreference import Coreference
from explorer.inspection.pretrained.intervals import estimate
from explorer.inspection.pretrained.repeated_tokens import PERIOD, SEQUENCES
from explorer.inspection.pretrained.texts import AMBIGUOUS, PROMPTS, PRONOUN_PAIRS
from explorer.models.taps import record
from explorer.number_format import format_interval

TOKENS = 64
RANDOM_NETWORKS = 4


@contextmanager
def _timed(title: str) -> Iterator[None]:
    print(f"\n{title}")
    start = time.monotonic()
    yield
    print(f"  ({time.monotonic() - start:.1f} s)", flush=True)


def _peak_memory() -> float:
    """Return the highest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def measure_loading(folder: Path) -> ModelCard:
    """Print the time and the memory to load a model and to read 64 tokens; return its card."""
    before, start = _peak_memory(), time.monotonic()
    module = load(folder)
    load_tokenizer(folder, module.vocabulary)
    seconds = time.monotonic() - start
    parameters = sum(weight.numel() for weight in module.model.parameters())
    print(f"\n{folder.name}: {parameters / 1e6:.1f} million parameters, {module.kind}")
    print(f"  loaded and checked in {seconds:.1f} s; peak memory {before:.0f} -> {_peak_memory():.0f} MB")
    ids = list(range(100, 100 + TOKENS))
    for title, watch in (("unobserved", False), ("with all taps recorded", True)):
        durations = []
        for _ in range(5):
            start = time.thread_time()
            with torch.inference_mode():
                if watch:
                    with record(module) as trace:
                        module.part().logits(ids)
                else:
                    module.part().logits(ids)
            durations.append(time.thread_time() - start)
        size = f"; {sum(each.nbytes for each in trace.values()) / 1e6:.1f} MB recorded" if watch else ""
        print(f"  {TOKENS} tokens, {title}: {np.median(durations):.3f} s{size}")
    return read_card(str(folder))


def print_induction(card: ModelCard, draws: int) -> None:
    """Print the induction heads, and the loss on the second copy without them and without random heads."""
    with _timed(f"Induction: {SEQUENCES} sequences of {PERIOD} random tokens, twice; other sequences choose the heads"):
        scores = experiments.induction_scores(card)
        heads, previous = scores.best_induction_heads(), scores.previous_token_head()
        for head in heads:
            print(f"  induction head {head[0]}.{head[1]}: score {scores.induction_of(head).format()}")
        if previous:
            print(f"  previous-token head {previous[0]}.{previous[1]}: {scores.previous_of(previous).format()}")
    groups = get_args(experiments.Group)
    for group in groups if previous else groups[:-1]:
        with _timed(f"Loss on the second copy without heads ({group}), nats per token"):
            removal = experiments.loss_without_group(card, group, draws)
            print(f"  {', '.join(f'{layer}.{head}' for layer, head in removal.heads)}")
            rise, controls = removal.increase, removal.control_losses
            print(f"  {removal.with_all.mean():.2f} -> {removal.without.mean():.2f}", end="; ")
            print(f"rise {format_interval(rise.mean, rise.low, rise.high)} over sequences")
            if len(controls):
                print(
                    f"  {len(controls)} random groups of the same layers: median {np.median(controls):.2f}, "
                    f"{controls.min():.2f} to {controls.max():.2f}; p = {removal.p:.3f}"
                )


def print_first_token(card: ModelCard) -> None:
    """Print how many heads give more than half of their attention to the first token."""
    heads = card.layers * card.heads
    unchanged = None
    for variant in get_args(experiments.FirstTokens):
        with _timed(f"Attention to the first token, {variant}"):
            found = experiments.attention_to_first_token(card, variant)
            unchanged = found if unchanged is None else unchanged
            print(f"  heads above one half: {found.resting_heads().format(0)} of {heads}", end="")
            both = int((found.is_resting() & unchanged.is_resting()).sum())
            print(f", {both} of them also in unchanged sentences; {len(found.shares)} texts")
            print(f"  mean share {found.mean_share().format()}; uniform attention {found.uniform.mean():.2f}")
            if norm := found.value_norm():
                print(f"  norm of its value vector, relative to the others: {norm.format()}")


def print_answers(card: ModelCard) -> None:
    """Print at which depth answers appear in the logit lens."""
    with _timed("Logit lens: where the answer appears"):
        found = experiments.depth_of_answers(card)
        print(f"  {len(PROMPTS)} prompts, {found.single} with an answer of one token, {len(found.prompts)} answered")
        settled = found.median_settled_depth().format(0)
        print(f"  most probable from depth {settled} of {found.layers} on (median over prompts)")
        print(f"  from a tenth to a half of the highest probability in {found.median_rise().format(0)} layers (median)")
        for depth in sorted({0, found.layers // 2, *range(found.layers - 6, found.layers + 1)}):
            if depth >= 0:
                print(
                    f"  depth {depth}: median rank {np.median(found.ranks[depth]):,.0f} (other answers of its kind "
                    f"{np.nanmedian(found.other_ranks[depth]):,.0f}), median p "
                    f"{np.median(found.probabilities[depth]):.3f}"
                )


def print_patching(card: ModelCard) -> None:
    """Print how much of the answer single states restore, over pairs of prompts about capitals."""
    opened = experiments.opened_model(card)
    known = {prompt.text for prompt in experiments.depth_of_answers(card).prompts}
    prompts = [found for found in single_token_prompts(opened.tokenizer) if found[0].text in known]
    capitals = [(ids, answer) for prompt, ids, answer in prompts if prompt.kind == "capital"]
    pairs = [
        (clean, changed)
        for clean, changed in zip(capitals, [*capitals[1:], capitals[0]], strict=True)
        if len(clean[0]) == len(changed[0])
    ]
    with _timed(f"Patching: {len(pairs)} pairs of prompts about capitals with equally many tokens"):
        found = [
            patch_states(opened.module, clean, changed, answer=answer, contrast=other)
            for (clean, answer), (changed, other) in pairs
        ]
        for depth in range(0, opened.model.layout.layers + 1, 3):
            country, last = (
                estimate(np.array([each.share(each.residual)[depth, position] for each in found]))
                for position in (0, -1)
            )
            print(f"  residual stream, depth {depth}: the country {country.format()}, the last token {last.format()}")
        heads = np.array([each.share(each.heads) for each in found])
        chosen, others = heads[::2], heads[1::2]  # one half of the pairs chooses the head, the other one measures it
        layer, head = np.unravel_index(chosen.mean(axis=0).argmax(), heads.shape[1:])
        print(f"  head {layer}.{head}: {estimate(others[:, layer, head]).format()} on {len(others)} other pairs")
        controls = np.delete(others[:, layer].mean(axis=0), head)
        print(f"  other heads of its layer: {controls.min():.2f} to {controls.max():.2f} (means)")


def print_senses(card: ModelCard) -> None:
    """Print how often the nearest occurrence of a word has the same sense."""
    words = len({each.word for each in AMBIGUOUS})
    with _timed(f"Senses: {words} words in two senses, {len(AMBIGUOUS)} sentences"):
        found = experiments.neighbours_by_sense(card)
        print(f"  by depth: {', '.join(each.format() for each in found.by_depth())}; chance {found.chance:.2f}")
    with _timed(f"Senses: {RANDOM_NETWORKS} random networks"):
        random = [experiments.neighbours_by_sense(card, seed).by_depth() for seed in range(RANDOM_NETWORKS)]
        values = [each.value for estimates in random for each in estimates]
        print(f"  all depths: {min(values):.2f} to {max(values):.2f}")


def print_coreference(card: ModelCard) -> None:
    """Print whether a head finds what “it” means."""
    with _timed(f"“it”: {len(PRONOUN_PAIRS)} pairs of sentences, attention to the right noun in both"):
        found: Coreference = experiments.meaning_of_it(card)
        by_chance = found.best_by_chance()
        layer, head = found.best_head
        print(f"  query: {found.query}; best head {layer}.{head}: {found.best_share().format()} of the pairs")
        low, high = np.quantile(by_chance, (0.025, 0.975))
        print(f"  best head by chance: {format_interval(float(by_chance.mean()), low, high)}; p = {found.p():.2f}")


def _folder(given: Path | None, need: Need) -> Path:
    if given is not None:
        return given
    if not (cards := suitable_models(need)):
        raise InvalidSetting(how_to_get(need))
    return Path(cards[0].folder)


def main(
    language_model: Annotated[Path | None, typer.Option(help="Folder of a language model.")] = None,
    encoder: Annotated[Path | None, typer.Option(help="Folder of an encoder.")] = None,
    draws: Annotated[int, typer.Option(help="Random groups of heads.")] = 20,
) -> None:
    """Print the figures of both models."""
    torch.set_num_threads(1)
    card = measure_loading(_folder(language_model, "language model"))
    print_induction(card, draws)
    print_first_token(card)
    print_answers(card)
    print_patching(card)
    print_coreference(card)
    del card
    card = measure_loading(_folder(encoder, "encoder"))
    print_senses(card)
    print_first_token(card)
    print_coreference(card)


if __name__ == "__main__":
    typer.run(main)
