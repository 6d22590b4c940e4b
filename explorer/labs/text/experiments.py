"""Paper experiments measured again: their runs, controls, findings and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from explorer.byte_cache import cached
from explorer.experiments.paper_experiments import EXPERIMENTS, Experiment, ExperimentPanel, Trial
from explorer.jobs.cost import estimate_cost
from explorer.labs.text import experiment_findings as findings
from explorer.labs.text.experiment_charts import MEASURES, curve_panels, end_panels, results_table
from explorer.labs.text.experiment_findings import Outcome
from explorer.number_format import format_duration
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import draw_plot_frame
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.training.learning_chart import draw_learning_chart
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls
from explorer.ui.wording import count_seeds
from explorer.web.operations import warmup


def experiments_section(selected: str, select: Callable[[str], None]) -> None:
    """Draw the section. `selected` is the name of an experiment; `select` is called with another one."""
    experiment = EXPERIMENTS.get(selected) or next(iter(EXPERIMENTS.values()))
    request = TrainRequest.for_section("experiments")
    explanation(
        "Four claims of papers, measured again with small models on characters of Tiny Shakespeare, three seeds for "
        "each run. Shown as measured, whether confirmed or not."
    )
    _experiment_picker(experiment, request, select)
    views = request.views(experiment_configs(experiment))
    outcomes = load_outcomes(experiment, views)
    st.subheader(experiment.question, anchor=False)
    st.markdown(f"The paper: {escape_markdown(experiment.claim)}")
    if headline := findings.experiment_headline(experiment, outcomes):
        st.subheader(headline, anchor=False)
    explanation(escape_markdown(findings.experiment_finding(experiment, outcomes)))
    _controls(experiment, views, request)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _final_values(experiment, outcomes)
    with right:
        st.markdown(experiment.description)
        st.latex(experiment.formula)
        st.markdown(f"[{escape_markdown(experiment.paper)}]({experiment.link})")
    _curves(experiment, request)
    results_table(experiment, outcomes)


def experiment_configs(experiment: Experiment) -> dict[str, RunConfig]:
    """Return the configurations of all runs by the name of the trial."""
    return {trial.name: trial.config for trial in experiment.trials}


def load_outcomes(experiment: Experiment, views: Mapping[str, RunView]) -> dict[str, Outcome]:
    """Return the outcome of every run that has ended, by the name of its trial."""
    outcomes = {}
    for trial in experiment.trials:
        view = views[trial.name]
        diverged = _has_diverged(view)
        curves = view.curves if diverged else view.result
        if curves is not None and (made := _outcome(curves, trial, diverged)):
            outcomes[trial.name] = made
    return outcomes


@cached()
def _outcome(curves: Curves, trial: Trial, diverged: bool) -> Outcome | None:
    return findings.compute_outcome(trial, curves, diverged)


def _has_diverged(view: RunView) -> bool:
    """Return whether a run ended because it diverged."""
    if view.job and view.job.done:
        return view.job.state == "diverged"
    return bool(not view.stored and view.stopped and view.stopped.card.state == "diverged")


# ---- what can be pressed


def _experiment_picker(experiment: Experiment, request: TrainRequest, select: Callable[[str], None]) -> None:
    name = "text.experiment"
    st.session_state[name] = experiment.name

    def select_experiment() -> None:
        request.problems = ()
        select(st.session_state[name] or experiment.name)

    st.pills(
        "Experiment",
        list(EXPERIMENTS),
        format_func=lambda each: EXPERIMENTS[each].title,
        key=name,
        on_change=select_experiment,
        label_visibility="collapsed",
        wrap=True,
    )


def _controls(experiment: Experiment, views: Mapping[str, RunView], request: TrainRequest) -> None:
    """Draw the Train or Stop button, the cost, and links to the Compare page."""
    show_problems(request.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_train_controls(request, experiment_configs(experiment), keys=("experiment.run", "experiment.stop"))
        st.caption(_cost(experiment, views))
        for part in experiment.panels:
            _compare_link(part, [trial for trial in experiment.trials if trial.panel == part], views)


def _cost(experiment: Experiment, views: Mapping[str, RunView]) -> str:
    """Return how many trainings these are, and how long they take."""
    text = f"{len(views)} trainings of {count_seeds(experiment.trials[0].config.replicas)}"
    seconds = 0.0
    for view in views.values():
        stored = view.stored or view.stopped
        if stored:
            seconds += stored.card.seconds
        elif warmup.is_ready():
            seconds += estimate_cost(view.config).seconds
    return f"{text}, about {format_duration(seconds)}." if seconds >= 0.1 else f"{text}."


def _compare_link(part: ExperimentPanel, trials: list[Trial], views: Mapping[str, RunView]) -> None:
    keys = [key(trial.config) for trial in trials if views[trial.name].curves or views[trial.name].stored]
    st.page_link(
        "compare.py",
        label=f"Compare: {part.title}" if part.title else "Compare these runs",
        query_params={"runs": ",".join(keys), "y": "val_loss_part"},
        icon=":material/stacked_line_chart:",
        disabled=not keys,
    )


# ---- what is seen


def _final_values(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> None:
    """Draw the final loss of every run over the values of the setting."""
    draw_plot_frame(end_panels(experiment, outcomes), key="experiment-ends", height=300, columns=len(experiment.panels))
    many = experiment.trials[0].config.replicas
    st.caption(
        f"Bits per character on all held-out text at the end; lower is better. A dot for each of {count_seeds(many)}, "
        "the line through their means."
    )


def _curves(experiment: Experiment, request: TrainRequest) -> None:
    """Draw the curves of every run; during training the browser polls for new ones."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown("##### Learning curves")
        look = st.segmented_control(
            "Measure",
            list(MEASURES),
            default="bits",
            format_func=MEASURES.__getitem__,
            key="experiment.look",
            label_visibility="collapsed",
        )
    measure = look or "bits"
    size = experiment.trials[0].config.evaluation_size
    what = (
        f"Bits per character on {size:,} characters of the held-out text."
        if measure == "bits"
        else "Norm of the gradient over all weights before clipping; the scale is logarithmic."
    )
    draw_learning_chart(
        "experiment-curves",
        request,
        experiment_configs(experiment),
        lambda views: curve_panels(experiment, views, measure),
        f"{what} Line: median of the seeds. Band: lowest to highest.",
        run=experiment.name,
        height=210 if len(experiment.conditions) > 1 else 320,
        narrow_height=170 if len(experiment.conditions) > 1 else 260,
        columns=None if len(experiment.panels) == 1 else 3,
    )
