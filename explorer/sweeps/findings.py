"""Sentences about a sweep, for pages, the terminal and notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from explorer.catalogue import task_row
from explorer.experiments.run_names import setting_label
from explorer.inspection.verdicts import MAXIMUM_SEEDS, Judgement, MeanDifference
from explorer.number_format import format_duration, format_scientific
from explorer.sweeps.controller import Plan, TrialStatus, best_trials
from explorer.sweeps.results import best_trial, compare_finalists
from explorer.sweeps.space import CONFIRMATION_SEEDS, Sweep, trials

_ORDER = ("waiting", "running", "at", "given", "finished", "diverged", "failed")  # of states, by their first word


def describe_sweep(sweep: Sweep) -> str:
    """Return the name of a sweep: “RNN, Negation: learning rate × width, 12 trials of 3 seeds (k3jx)”."""
    settings = " × ".join(setting_label(name, sweep.base) for name in sweep.names)
    seeds = f"{sweep.base.replicas} seed{'s' * (sweep.base.replicas > 1)}"
    title = f"{sweep.base.title}, {task_row(sweep.base.task).title}: {settings}"
    return f"{title}, {len(trials(sweep))} trials of {seeds} ({sweep.key[:4]})"


def progress_sentence(sweep: Sweep, plan: Plan) -> str:
    """Return how many trials are in each state: “24 trials: 8 finished, 16 given up.”"""
    counts = Counter(describe_state(sweep, status) for status in plan.trials)
    parts = [f"{counts[state]} {state}" for state in sorted(counts, key=lambda state: _ORDER.index(state.split()[0]))]
    sentence = f"{len(plan.trials)} trials: {', '.join(parts)}."
    if plan.finalists and not plan.finished:
        sentence += f" The best {len(plan.finalists)} are trained again with {CONFIRMATION_SEEDS} new seeds."
    return sentence


def describe_state(sweep: Sweep, status: TrialStatus) -> str:
    """Return the state of a trial in words: “at step 32” if it waits there until the others have got as far."""
    waits = status.state == "finished" and status.step in sweep.rungs
    return f"at step {status.step:,}" if waits else status.state


def result_finding(sweep: Sweep, plan: Plan) -> str:
    """Return which trial is best, or that one cannot tell.

    Before a sweep is finished, only trials that were compared at the same step, or at their end, are called better.
    """
    if not plan.finished:
        return f"The search is not finished. {_best_so_far(sweep, plan)}".strip()
    best = best_trial(sweep, plan)
    if best is None:
        problems = dict.fromkeys(status.run.problem for status in plan.trials if status.state == "failed")
        reason = " ".join(filter(None, problems)) or "all of them diverged or failed. Try smaller learning rates."
        return f"No trial has a result: {reason}"
    found = compare_finalists(sweep, plan)
    if found is None:
        return f"Best on average: {best.label}; whether it is better than the next ones is not tested."
    if worse := found.with_verdict("different"):
        unclear = [name for name in found.others if name not in worse]
        if not unclear:
            return f"Best: {found.best}."
    names = " or ".join([found.best, *(name for name in found.others if name not in worse)])
    if all(judgement.verdict == "identical" for judgement in found.others.values()):
        return f"The same result with new seeds: {names.replace(' or ', ' and ')}."
    return f"Cannot tell which is best: {names}."


def _best_so_far(sweep: Sweep, plan: Plan) -> str:
    compared = [status for status in plan.trials if status.state == "finished"]
    if len(compared) < 2:
        return ""
    (best,) = best_trials(sweep, compared, 1)
    step = compared[0].step
    where = f"at step {step:,}" if step in sweep.rungs else "trained to the end"
    return f"Best of {len(compared)} trials {where}: {best.label}."


def result_details(sweep: Sweep, plan: Plan) -> str:
    """Return the numbers behind `result_finding`; empty if nothing was tested."""
    found = compare_finalists(sweep, plan)
    if found is None:
        return ""
    means = {status.trial.label: format_measured(status.mean) for status in plan.finalists}
    others = [
        f"{means[name]} for {name} ({_interval(judgement)}: {_verdict(judgement)})"
        for name, judgement in found.others.items()
    ]
    return (
        f"With {CONFIRMATION_SEEDS} new seeds the mean {sweep.metric.replace('_', ' ')} is {means[found.best]} for "
        f"{found.best} and {' and '.join(others)}."
    )


def rule_sentences(sweep: Sweep, *others: Sweep) -> str:
    """Return how the trials of this sweep are compared and when there is a winner, in plain words.

    others: sweeps of other models with the same space, whose trials may be compared after other numbers of steps
    """
    count, metric = len(trials(sweep)), sweep.metric.replace("_", " ")
    seeds = f"{sweep.base.replicas} seed{'s' * (sweep.base.replicas > 1)}"
    sentences = [f"Each of the {count} trials trains {seeds}; compared is the mean {metric} over the seeds."]
    if sweep.rungs:
        sentences.append(
            f"After {_rung_words((sweep, *others))} only the best one in {sweep.halving} goes on (successive halving, "
            "Jamieson and Talwalkar 2016); a good setting that learns slowly at first may be lost."
        )
    if sweep.finalists:
        has_same_data = len({trial.config.task for trial in trials(sweep)}) == 1
        test = "t test of pairs of seeds" if has_same_data else "Welch's t test"
        corrected = ", corrected for the number of comparisons" if sweep.finalists > 2 else ""
        sentences.append(
            f"The best of many are partly the luckiest, so the best {sweep.finalists} are trained again with "
            f"{CONFIRMATION_SEEDS} new seeds, and only these decide: there is a winner if it is significantly better "
            f"than every other of them ({test}, 5 %{corrected})."
        )
    return " ".join(sentences)


def _rung_words(sweeps: Sequence[Sweep]) -> str:
    """Return “32 and 102 of 325 steps”, and the models if these differ: “32 of 96 steps (RNN) or 40 of 120 (GRU)”."""
    models: dict[str, list[str]] = {}
    for sweep in sweeps:
        *first, last = (f"{step:,}" for step in sweep.rungs)
        steps = f"{', '.join(first)} and {last}" if first else last
        models.setdefault(f"{steps} of {sweep.base.steps:,} steps", []).append(sweep.base.title)
    if len(models) == 1:
        return next(iter(models))
    return " or ".join(f"{steps} ({', '.join(titles)})" for steps, titles in models.items())


def estimate_sentence(sweep: Sweep, seconds: float) -> str:
    """Return how long a sweep takes, before it starts."""
    runs = len(trials(sweep)) + sweep.finalists
    return f"{runs} runs, about {format_duration(max(seconds, 0.1))} of training if nothing else trains."


def format_measured(value: float) -> str:
    """Return a measured value with three significant digits, or two and a power of ten if it is below 0.001."""
    if value and abs(value) < 1e-3:
        return format_scientific(value, 2)
    return f"{value:.3g}".replace("-", "−")


def _interval(judgement: Judgement) -> str:
    difference = judgement.difference
    if not isinstance(difference, MeanDifference):
        return "not tested"
    low, high = (format_measured(value) for value in (difference.low, difference.high))
    return f"difference {format_measured(difference.mean)}, 95 % confidence interval {low} to {high}"


def _verdict(judgement: Judgement) -> str:
    """Return the verdict on a difference, and how many seeds would decide if these do not."""
    if judgement.verdict == "different":
        return "significant"
    if judgement.verdict == "identical":
        return "the same in every seed"
    needed = judgement.seeds_needed
    if needed is None:
        return f"within seed noise, more than {MAXIMUM_SEEDS} seeds would be needed"
    return f"within seed noise, about {needed} seeds would probably decide"
