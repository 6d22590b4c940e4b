"""Paper experiments measured again: their runs, controls, findings and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from explorer import ui
from explorer.experiments.paper_experiments import EXPERIMENTS, Experiment, ExperimentPanel, Trial
from explorer.jobs.service import service
from explorer.labs.text import experiment_findings as findings
from explorer.labs.text.experiment_charts import MEASURES, curve_panels, end_panels, results_table
from explorer.labs.text.experiment_findings import Outcome
from explorer.number_format import format_duration
from explorer.training.config import RunConfig, key
from explorer.ui.state.visitor import current_visitor
from explorer.ui.wording import count_seeds
from explorer.web.operations import warmup


def experiments_section(selected: str, select: Callable[[str], None]) -> None:
    """Draw the section. `selected` is the name of an experiment; `select` is called with another one."""
    experiment = EXPERIMENTS.get(selected) or next(iter(EXPERIMENTS.values()))
    request = ui.TrainRequest.for_section("experiments")
    ui.explanation(
        "Four claims of papers, measured again with small models on characters of Tiny Shakespeare, with three or "
        "eight seeds. Shown as measured, whether confirmed or not."
    )
    _experiment_picker(experiment, request, select)
    views = request.views(experiment_configs(experiment))
    outcomes = load_outcomes(experiment, views)
    st.subheader(experiment.question, anchor=False)
    st.markdown(f"The paper: {ui.escape_markdown(experiment.claim)}")
    ui.headline(findings.experiment_headline(experiment, outcomes))
    ui.paragraph(findings.experiment_finding(experiment, outcomes))
    _controls(experiment, views, request)
    left, right = st.columns([3, 2], gap="large")
    with left:
        ui.draw_now(ends_view, experiment, outcomes)
    with right:
        st.markdown(experiment.description)
        st.latex(experiment.formula)
        st.markdown(f"[{ui.escape_markdown(experiment.paper)}]({experiment.link})")
    _curves(experiment, request)
    ui.draw_now(lambda document: document.table("experiment-table", results_table(experiment, outcomes)))


def experiment_configs(experiment: Experiment) -> dict[str, RunConfig]:
    """Return the configurations of all runs by the name of the trial."""
    return {trial.name: trial.config for trial in experiment.trials}


def load_outcomes(experiment: Experiment, views: Mapping[str, ui.RunView]) -> dict[str, Outcome]:
    """Return the outcome of every run that has ended, by the name of its trial."""
    outcomes = {}
    for trial in experiment.trials:
        view = views[trial.name]
        diverged = _has_diverged(view)
        curves = view.curves if diverged else view.result
        if curves is not None and (made := findings.compute_outcome(trial, curves, diverged)):
            outcomes[trial.name] = made
    return outcomes


def _has_diverged(view: ui.RunView) -> bool:
    if view.job and view.job.done:
        return view.job.state == "diverged"
    return bool(not view.stored and view.stopped and view.stopped.card.state == "diverged")


# ---- what can be pressed


def _experiment_picker(experiment: Experiment, request: ui.TrainRequest, select: Callable[[str], None]) -> None:
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


def _controls(experiment: Experiment, views: Mapping[str, ui.RunView], request: ui.TrainRequest) -> None:
    """Draw the Train or Stop button, the cost, and links to the Compare page."""
    ui.show_problems(request.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        ui.draw_train_controls(request, experiment_configs(experiment), keys=("experiment.run", "experiment.stop"))
        ui.caption(_cost(experiment, views))
        for part in experiment.panels:
            _compare_link(part, [trial for trial in experiment.trials if trial.panel == part], views)


def _cost(experiment: Experiment, views: Mapping[str, ui.RunView]) -> str:
    """Return how many trainings these are, and how long they take."""
    text = f"{len(views)} trainings of {count_seeds(experiment.trials[0].config.replicas)}"
    if not warmup.is_ready():
        return f"{text}."
    seconds = service.estimate_seconds([view.config for view in views.values()], current_visitor().id)
    return f"{text}, about {format_duration(seconds)}."


def _compare_link(part: ExperimentPanel, trials: list[Trial], views: Mapping[str, ui.RunView]) -> None:
    keys = [key(trial.config) for trial in trials if views[trial.name].curves or views[trial.name].stored]
    st.page_link(
        "compare.py",
        label=f"Compare: {part.title}" if part.title else "Compare these runs",
        query_params={"runs": ",".join(keys), "y": "val_loss_part"},
        icon=":material/stacked_line_chart:",
        disabled=not keys,
    )


# ---- what is seen


def ends_view(document: ui.Document, experiment: Experiment, outcomes: Mapping[str, Outcome]) -> None:
    """Write the final loss of every run over the values of the setting."""
    panels = end_panels(experiment, outcomes)
    document.figures("experiment-ends", panels, height=300, columns=len(panels))
    document.caption(
        "Bits per character on all held-out text at the end; lower is better. A dot for each of "
        f"{count_seeds(experiment.trials[0].config.replicas)}, the line through their means."
    )


def _curves(experiment: Experiment, request: ui.TrainRequest) -> None:
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
    ui.draw_learning_chart(
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
