"""The results of a sweep: a table of its trials, and what may be said about the best ones.

The rule for a winner, in words: the best trials of a search are partly the luckiest ones, so their values do not say
how good they are (Cawley and Talbot 2010, "On Over-fitting in Model Selection and Subsequent Selection Bias in
Performance Evaluation"). Therefore the finalists are trained again with new seeds, the same ones for all, and only
these are compared (`inspection/verdicts.py`: Student's t test of pairs of seeds, or Welch's where the data differ,
corrected if there are more than two finalists). There is a winner if the best of them is significantly better than
every other; otherwise one cannot tell.
"""

from __future__ import annotations

import math

from explorer.inspection.compare import is_paired
from explorer.inspection.verdicts import BestComparison, compare_with_best
from explorer.lazy_libraries import pd
from explorer.sweeps.controller import Plan, TrialStatus
from explorer.sweeps.space import Sweep, Trial
from explorer.training.config import key


def results_table(sweep: Sweep, plan: Plan) -> pd.DataFrame:
    """Return a row for each trial, in the order of `ranked`, with the columns of `explorer.SweepResults.table`."""
    confirmed = {status.trial.number: status for status in plan.finalists}
    rows = [_row(sweep, status, confirmed.get(status.trial.number)) for status in ranked(sweep, plan)]
    return pd.DataFrame(rows)


def ranked(sweep: Sweep, plan: Plan) -> list[TrialStatus]:
    """Return the trials, the best first: those that went furthest, then by the mean of the metric."""
    sign = 1 if sweep.lower_is_better else -1
    confirmed = [status for status in plan.finalists if status.state == "finished"]
    confirmed.sort(key=lambda status: (sign * status.mean, status.trial.number))
    order = {status.trial.number: place for place, status in enumerate(confirmed)}

    def rank(status: TrialStatus) -> tuple[float, ...]:
        mean = sign * status.mean if math.isfinite(status.mean) else math.inf
        reached = status.step if math.isfinite(mean) else -1
        return order.get(status.trial.number, len(order)), -reached, mean, status.trial.number

    return sorted(plan.trials, key=rank)


def compare_finalists(sweep: Sweep, plan: Plan) -> BestComparison | None:
    """Return the best finalist, by the label of its trial, and its comparison with every other.

    None before the confirmation is finished, and without one.
    """
    if not plan.finished or any(status.state != "finished" for status in plan.finalists):
        return None
    values = {status.trial.label: status.values for status in plan.finalists}
    configs = [status.trial.config for status in plan.finalists]
    paired = all(is_paired(configs[0], other) for other in configs[1:])
    return compare_with_best(values, paired, higher=not sweep.lower_is_better)


def winner(sweep: Sweep, plan: Plan) -> Trial | None:
    """Return the trial that is significantly better than all other finalists with new seeds; None if one cannot tell.

    Its configuration is that of the search, not that of the confirmation.
    """
    found = compare_finalists(sweep, plan)
    if found is None or any(judgement.verdict != "different" for judgement in found.others.values()):
        return None
    return next(status.trial for status in plan.trials if status.trial.label == found.best)


def best_trial(sweep: Sweep, plan: Plan) -> Trial | None:
    """Return the trial that is best on average: by the new seeds if there are any, otherwise by those of the search.

    The difference from the second may be noise; `winner` says whether it is. None before any trial has a value.
    """
    best = next(iter(ranked(sweep, plan)), None)
    return best.trial if best and math.isfinite(best.mean) else None


def _row(sweep: Sweep, status: TrialStatus, confirmed: TrialStatus | None) -> dict[str, object]:
    values = status.values
    known = len(values) > 0
    return {
        "trial": status.trial.number,
        **dict(status.trial.settings),
        "state": status.state,
        "step": status.step,
        sweep.metric: status.mean,
        "lowest": float(values.min()) if known else math.nan,
        "highest": float(values.max()) if known else math.nan,
        "sd": float(values.std(ddof=1)) if len(values) > 1 and math.isfinite(status.mean) else math.nan,
        "parameters": status.run.parameters,
        "seconds": status.run.seconds,
        "confirmed": confirmed.mean if confirmed and confirmed.state == "finished" else math.nan,
        "run": status.trial.key,
        "confirmation": key(confirmed.trial.config) if confirmed else "",
    }
