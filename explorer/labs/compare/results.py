"""The results of the comparison: which run reaches the target first, final values, step costs, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.errors import LineageError
from explorer.experiments.recall import SOLVED
from explorer.experiments.run_names import flat_settings, setting_label
from explorer.inspection.compare import BATCH_LOSS, first_crossing, is_paired, shared_initial_weights
from explorer.inspection.language.split_leakage import leak_sentence
from explorer.inspection.verdicts import (
    MINIMUM_SEEDS,
    Difference,
    SolvedDifference,
    judge,
    mean_difference,
    solved_difference,
    time_difference,
)
from explorer.labs.compare.comparison import BitsPerByte, ComparedRun, differing_settings, displayed_curves
from explorer.labs.compare.state import AXES, UNITS, Comparison
from explorer.number_format import format_count, format_duration
from explorer.run_store import store
from explorer.tasks.negation import NegationConfig
from explorer.training.comparability import (
    BITS_PER_BYTE,
    comparability,
    comparability_sentence,
    loss_context,
    lower_is_better,
)
from explorer.training.record import Axis
from explorer.ui.budgets import budget_sentence
from explorer.ui.training.learning_chart import describe_machines, machines_of
from explorer.ui.verdict_sentences import SHARED_TEST_SET, describe_judgement
from explorer.ui.wording import capitalize, count_seeds, join_words


def step_cost_section(runs: Sequence[ComparedRun]) -> None:
    """Draw why the three axes may disagree, with the numbers of these runs."""
    for line in cost_formulas(runs):
        st.latex(line)
    ui.explanation(
        ui.escape_markdown(step_cost_finding(runs))
        + " The seconds were measured on the machine that trained each run, without the time that other trainings "
        "took. Training eight seeds together takes little longer than training one, so compare seconds only between "
        "runs with equally many seeds."
    )


def differences_section(runs: Sequence[ComparedRun]) -> None:
    """Draw the settings that differ, and the initial weights that are the same."""
    ui.draw_now(lambda document: document.table("comparison-differences", settings_table(runs)))
    same = shared_initialization(runs)
    if same:
        st.markdown("**Same initial weights.** " + " ".join(same[:6]))
        if len(same) > 6:
            ui.caption(f"And {len(same) - 6} more pairs.")
    else:
        ui.caption("No two of these runs are known to start from the same weights.")


@dataclass(frozen=True)
class TargetReached:
    """When the seeds of a run reach the target."""

    run: ComparedRun
    at: Float[ndarray, " seeds"]  # where the curve of each seed first crosses the target; infinity: not before `end`
    end: float  # of the curve

    @property
    def median(self) -> float:
        """The median over the seeds; infinity if half of them do not reach the target."""
        return float(np.median(self.at)) if len(self.at) else np.inf

    @property
    def seeds(self) -> int:
        """How many seeds reach it."""
        return int(np.isfinite(self.at).sum())

    def describe(self, axis: Axis) -> str:
        """Return the median, or how many seeds reach the target if there is none."""
        some = self.seeds > 0 and np.isinf(self.median)
        return f"{self.seeds} of {len(self.at)} seeds" if some else format_amount(self.median, axis)


def find_target_reached(
    state: Comparison, runs: Sequence[ComparedRun], target: float, axis: Axis
) -> list[TargetReached]:
    """Return when every run reaches the target, on one axis."""
    found = []
    for run, curve in zip(runs, displayed_curves(state, runs, axis), strict=True):
        if curve is None or not len(curve.x):
            found.append(TargetReached(run, np.zeros(0), 0.0))
            continue
        at = first_crossing(curve, target, state.rising)
        found.append(TargetReached(run, np.where(np.isnan(at), np.inf, at), float(curve.x[-1])))
    return found


def target_finding(state: Comparison, runs: Sequence[ComparedRun], target: float) -> str:
    """Return which run reaches the target first: by step, by token and by second; "so far" if one is not finished.

    A run is first if the rank test of its seeds says so against every other run. Runs that cannot be compared are not
    ranked, and not by second if different machines may have trained them.
    """
    if comparability_note(state, runs):
        return "These runs cannot be ranked by this measure."
    so_far = any(run.may_continue for run in runs)
    axes = [axis for axis in AXES if axis != "seconds" or are_seconds_comparable(runs)]
    reached = {axis: find_target_reached(state, runs, target, axis) for axis in axes}
    value = format_value(target, state.rising)
    if not any(each.median < np.inf for each in reached["step"]):
        never = "So far no run reaches" if so_far else "No run reaches"
        return f"{never} {value} (median over seeds). Drag the target to another value."
    axes_of: dict[tuple[int, ...], list[Axis]] = {}
    for axis, first in _first_runs(reached).items():
        axes_of.setdefault(first, []).append(axis)
    firsts, unclear = [], []
    for first, which in axes_of.items():
        amounts = [[reached[axis][i].describe(axis) for axis in which] for i in first]
        medians = [join_words(list(dict.fromkeys(each))) for each in amounts]
        ways = join_words([AXES[axis] for axis in which])
        if len(first) == 1:
            firsts.append(f"{runs[first[0]].name} {ways} ({medians[0]})")
        else:
            *others, last = [runs[i].name for i in first]
            unclear.append(f"{ways}: {', '.join(others)} or {last}")
    sentences = [f"first to reach {value}: {'; '.join(firsts)}."] * bool(firsts)
    sentences += [f"one cannot tell which run is first to reach {value} {'; '.join(unclear)}."] * bool(unclear)
    sentences = [f"So far: {each}" if so_far else capitalize(each) for each in sentences]
    least = min(len(each.at) for each in reached["step"] if len(each.at))
    if len(runs) > 1 and least < MINIMUM_SEEDS:
        sentences.append(f"{capitalize(count_seeds(least))} are too few for a verdict.")
    return " ".join(sentences)


def _first_runs(reached: Mapping[Axis, Sequence[TargetReached]]) -> dict[Axis, tuple[int, ...]]:
    """Return, on each axis, the run with the earliest median, and those that are not significantly or visibly later."""
    firsts = {}
    for axis, each in reached.items():
        pairs = [pair for pair in combinations(range(len(each)), 2) if all(len(each[i].at) for i in pair)]
        differences = [time_difference(each[i].at, each[j].at, min(each[i].end, each[j].end)) for i, j in pairs]
        earlier = {
            (i, j) if judgement.difference.mean > 0 else (j, i)
            for (i, j), judgement in zip(pairs, judge(differences), strict=True)
            if judgement.verdict == "different"
        }
        medians = [format_amount(run.median, axis) for run in each]
        best = min(range(len(each)), key=lambda i: each[i].median)
        firsts[axis] = tuple(
            i for i, run in enumerate(each) if len(run.at) and ((best, i) not in earlier or medians[i] == medians[best])
        )
    return firsts


def comparability_note(state: Comparison, runs: Sequence[ComparedRun]) -> str:
    """Return why the displayed measure of these runs cannot be compared; empty if it can."""
    measured = [run.config for run in runs if run.last(state.y) is not None]
    sentence = comparability_sentence(comparability(measured, state.y))
    return f"{sentence} {leak_sentence(measured)}".strip() if sentence else ""


def are_seconds_comparable(runs: Sequence[ComparedRun]) -> bool:
    """Return whether the runs that are not training name the same kinds of machine, or none of them names any."""
    named = [machines for run in runs if (machines := machines_of(run.view)) is not None]
    return len(set(named)) < 2


def machines_note(runs: Sequence[ComparedRun]) -> str:
    """Return where the runs were trained, if their seconds may differ for this reason or from those of this server."""
    if are_seconds_comparable(runs):
        return describe_machines({run.key: run.view for run in runs})
    trained: dict[str, list[str]] = {}
    for run in runs:
        if (machines := machines_of(run.view)) is not None:
            trained.setdefault(" and ".join(machines) or "a machine that is not known", []).append(run.title)
    places = "; ".join(f"{join_words(titles)} on {machines}" for machines, titles in trained.items())
    return f"Trained: {places}. The machines may differ in speed, so compare steps and tokens, not seconds."


def format_amount(value: float, axis: Axis) -> str:
    """Return a position on an axis with its unit; "never" for infinity and NaN."""
    if not np.isfinite(value):
        return "never"
    if axis != "seconds":
        count = format_count(value)
        return f"{count} {UNITS[axis].removesuffix('s') if count == '1' else UNITS[axis]}"
    return format_duration(value) if value >= 0.1 else f"{1000 * value:.0f} ms"


def step_cost(run: ComparedRun) -> tuple[float, float] | None:
    """Return milliseconds and tokens of a step; None before the first step."""
    curves = run.curves
    if curves is None or not len(curves.losses):
        return None
    steps = len(curves.losses)
    seconds, tokens = curves.seconds[-1] - curves.seconds[0], curves.tokens[-1] - curves.tokens[0]
    return 1000 * float(seconds) / steps, float(tokens) / steps


def cost_formulas(runs: Sequence[ComparedRun]) -> list[str]:
    """Return LaTeX lines: seconds are steps times seconds a step, for the cheapest and the most expensive run."""
    lines = [r"\text{seconds} = \text{steps} \times \text{seconds a step}"]
    costs = sorted(((p[0], run) for run in runs if (p := step_cost(run))), key=lambda pair: pair[0])
    for cost, run in costs[:: max(len(costs) - 1, 1)][:2]:
        steps = len(run.curves.losses) if run.curves else 0
        total, step = rf"{cost * steps / 1000:.2f}\,\text{{s}}", rf"{cost:.2f}\,\text{{ms}}"
        lines.append(rf"{total} = {steps} \times {step}\quad(\text{{run {run.label}}})")
    return lines


def step_cost_finding(runs: Sequence[ComparedRun]) -> str:
    """Return why the three axes may disagree: what a step costs in each run."""
    costs = [(*p, run.name) for run in runs if (p := step_cost(run))]
    if len(costs) < 2:
        return ""
    quick, _, cheap = min(costs, key=lambda each: each[0])
    slow, _, dear = max(costs, key=lambda each: each[0])
    ratio = slow / max(quick, 1e-9)
    first = f"A step of {dear} takes {slow:.2f} ms, a step of {cheap} {quick:.2f} ms: {ratio:.1f} times as long."
    tokens = [each[1] for each in costs]
    if max(tokens) - min(tokens) < 0.02 * max(tokens):
        return f"{first} Every step reads about {np.mean(tokens):,.0f} tokens for each seed, so steps and tokens agree."
    return f"{first} Their steps read from {min(tokens):,.0f} to {max(tokens):,.0f} tokens for each seed."


def compare_final_values(first: ComparedRun, second: ComparedRun, measure: str) -> list[Difference]:
    """Return how the second run ends compared with the first; empty where one has too few seeds.

    By the means of the seeds; an accuracy also by how many seeds reach `SOLVED`, because it may be all or nothing.
    """
    one, other = first.last(measure), second.last(measure)
    if one is None or other is None:
        return []
    mean = mean_difference(np.asarray(one, float), np.asarray(other, float), is_paired(first.config, second.config))
    if mean is None or lower_is_better(measure):
        return [mean] if mean else []
    return [mean, solved_difference(one >= SOLVED, other >= SOLVED)]


def describe_differences(runs: Sequence[ComparedRun], state: Comparison) -> list[str]:
    """Return the differences of every run from the first one with their verdicts, corrected for their number.

    Language models whose tokens differ, but not their contexts, are compared by bits per byte.
    """
    texts, found = ["–"] * len(runs), list[tuple[int, Difference]]()
    for i, run in enumerate(runs[1:], start=1):
        pair = [runs[0].config, run.config]
        measure = next((name for name in (state.y, BITS_PER_BYTE) if not comparability(pair, name)), "")
        if measure != state.y and loss_context(pair[0]) != loss_context(pair[1]):
            measure = ""
        if runs[0].may_continue or run.may_continue:
            texts[i] = "not finished"
        elif not measure:
            texts[i] = "not comparable"
        elif differences := compare_final_values(runs[0], run, measure):
            texts[i] = "bits per byte " * (measure != state.y)
            found += [(i, difference) for difference in differences]
        else:
            texts[i] = "one seed has no interval" if measure == state.y else "not comparable"
    for (i, difference), judgement in zip(found, judge([each for _, each in found]), strict=True):
        words = describe_judgement(judgement, lambda value: _format_signed(value, state.rising))
        if not isinstance(difference, SolvedDifference):
            texts[i] += words
        elif difference.first + difference.second:
            texts[i] += f". {SOLVED:g} or more: {words}"
    return texts


def format_value(value: float, rising: bool) -> str:
    """Return an accuracy with three decimals, a small loss with two significant digits."""
    if rising or abs(value) >= 0.1 or not value:
        return f"{value:.3f}"
    return f"{float(f'{value:.2g}'):.8f}".rstrip("0").rstrip(".")


def _format_signed(value: float, rising: bool) -> str:
    text = format_value(abs(value), rising)
    return text if not float(text) else f"{'−' if value < 0 else '+'}{text}"


def has_shared_test_set(runs: Sequence[ComparedRun], measure: str) -> bool:
    """Return whether all seeds are evaluated on the same data. Of the grammar of negation, every seed draws its own."""
    on_training_data = measure == BATCH_LOSS or measure.startswith("train")
    return not on_training_data and not any(
        isinstance(run.config.task, NegationConfig) and not run.config.own_text for run in runs
    )


def results_table(
    state: Comparison, runs: Sequence[ComparedRun], target: float, bits: BitsPerByte | None = None
) -> charts.Table:
    """Return a row for each run: final value, difference from the first run, cost, and when it reached the target.

    state: which measure is compared
    target: the value that is to be reached
    bits: bits per byte of language models, a further column
    """
    reached = {axis: find_target_reached(state, runs, target, axis) for axis in AXES}
    ends = [last for run in runs if (last := run.last(state.y)) is not None]
    shared = f"{SHARED_TEST_SET} " if has_shared_test_set(runs, state.y) else ""
    budgets = budget_sentence({run.title: run.config for run in runs})
    budgets += " " * bool(budgets)
    final_values = np.concatenate(ends) if ends else np.zeros(1)
    span = (0.5 if state.rising and np.nanmin(final_values) >= 0.5 else 0.0, 1.0)
    if not state.rising:
        span = (0.0, float(f"{max(np.nanmax(final_values), 1e-6):.2g}"))
    rows = []
    for i, (run, difference) in enumerate(zip(runs, describe_differences(runs, state), strict=True)):
        last, cost = run.last(state.y), step_cost(run)
        values = [] if last is None else [float(f"{v:.5g}") for v in last if np.isfinite(v)]
        seeds = reached["step"][i].seeds
        some = f" ({seeds} of {run.config.replicas} seeds)" if 0 < seeds < run.config.replicas else ""
        row: dict[str, charts.Cell | str] = {
            "name": charts.Cell(run.title, run.view.row.colour),
            "end": charts.Cell(_describe_end(run, values, state.rising), values=values),
            "bytes": bits.texts[i] if bits else "",
            "against": difference,
            "price": f"{cost[0]:.2f} ms" if cost else "–",
            "parameters": f"{run.view.parameters:,}" if run.view.parameters else "–",
        }
        for axis, each in reached.items():
            row[axis] = format_amount(each[i].median, axis) + some * (axis == "step")
        rows.append(row)
    columns = {
        "name": charts.Column("", "model", wrap=True),
        "end": charts.Column("at the end", "strip", range=span, wrap=True),
        **({"bytes": charts.Column("bits per byte", "number", minor=True)} if bits else {}),
        "against": charts.Column(f"difference from 1, {runs[0].name if runs else ''}", wrap=True),
        "step": charts.Column(f"steps to {format_value(target, state.rising)}", "number", minor=True),
        "tokens": charts.Column("tokens", "number", minor=True),
        "seconds": charts.Column("time", "number", minor=True),
        "price": charts.Column("time of a step", "number", minor=True),
        "parameters": charts.Column("parameters", "number", minor=True),
    }
    caption = (
        "At the end: the median over the seeds, and a dot for each seed. Difference: of the means, with its 95 "
        "% confidence interval over seeds (Student's t for pairs with equal seeds and data, otherwise Welch's t). "
        + f"Seeds that reach {SOLVED:g} are compared by Fisher's exact test. " * state.rising
        + f"Verdicts are corrected for the number of comparisons (Holm). {shared}{budgets}"
        + ("Bits per byte: over the whole held-out text, at the end. " if bits else "")
        + "Target: the median over the seeds of when each first reaches it, and how many do. A run is called first if "
        "its seeds are earlier than those of every other run (Wilcoxon's exact rank test, corrected for the pairs of "
        "an axis; seeds that have not reached it when the shorter run ends count as equally late)."
    )
    return charts.Table(columns, rows, "Results of each run", caption)


def _describe_end(run: ComparedRun, values: Sequence[float], rising: bool) -> str:
    """Return the median of the last values, with the step they are from if the training is not finished."""
    if not values:
        return "–"
    text = format_value(float(np.median(values)), rising)
    return f"{text} at step {run.curves.step:,}" if run.may_continue and run.curves else text


def settings_table(runs: Sequence[ComparedRun]) -> charts.Table:
    """Return the settings in which the runs differ; a label is that of the first run which has the setting."""
    labels = {name: setting_label(name, run.config) for run in reversed(runs) for name in flat_settings(run.config)}
    columns = {"name": charts.Column("setting", wrap=True)} | {
        run.key: charts.Column(run.title, colour=run.view.row.colour, wrap=True) for run in runs
    }
    rows = [
        {"name": labels.get(name, name)} | {run.key: value for run, value in zip(runs, values, strict=True)}
        for name, values in differing_settings(runs).items()
    ]
    return charts.Table(columns, rows, "Settings in which the runs differ", "All other settings are the same.")


@cached(key=lambda run: run.cache_key)
def _initial_weights(run: store.StoredRun) -> dict[str, ndarray]:
    return run.weights(0)


def shared_initialization(runs: Sequence[ComparedRun]) -> list[str]:
    """Return, for each pair of runs, which of their initial weights are the same."""
    sentences = []
    for i, one in enumerate(runs):
        for other in runs[i + 1 :]:
            pair = [run.view.stored for run in (one, other)]
            if one.config.seeds != other.config.seeds or not all(run and 0 in run.snapshot_steps() for run in pair):
                continue
            try:
                weights = [_initial_weights(run) for run in pair if run]
            except LineageError:
                continue
            shared, count = shared_initial_weights(*weights)
            if shared:
                what = "all their weights" if len(shared) == count else join_words([f"`{name}`" for name in shared])
                sentences.append(f"{one.title} and {other.title} have the same initial values of {what}.")
    return sentences
