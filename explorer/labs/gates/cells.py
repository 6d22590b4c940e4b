"""The component with the two cells, their formulas with its gate values, and trained networks by gate bias."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import streamlit as st
from jaxtyping import Bool
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.experiments.recall import SOLVED, VARIANTS
from explorer.labs.gates.findings import (
    Outcomes,
    gate_init_comparison,
    gate_init_finding,
    initial_gate,
    number_latex,
    product_latex,
)
from explorer.labs.gates.state import PRESETS, STEPS, GatesState, apply_event

_KEY = "cell"
_component = ui.register("gates_by_hand")


def apply_pending_event(state: GatesState) -> GatesState:
    """Return the state after the visitor's last change in the component."""
    message = ui.pop_event(_KEY, "set")
    return state if message is None else apply_event(state, message)


def _component_state(state: GatesState) -> dict[str, object]:
    """Return the state as the component takes it: the traces by gate, and the other fields."""
    own = {name: value for name, value in asdict(state).items() if name not in state.traces}
    return {"lanes": state.traces, **own}


def draw_component(state: GatesState) -> None:
    """Draw both cells; the data is described in `labs/gates/components/gates_by_hand/view.js`."""
    data = {
        **_component_state(state),
        "usual": _component_state(replace(GatesState(), show=state.show)),
        "presets": [{"name": each.name, "lanes": dict(each.traces), "at": each.at} for each in PRESETS],
        "file": "gates-by-hand",
    }
    _component(data=data, key=_KEY, **ui.event_callbacks(_KEY, "set"))


def formulas_section(state: GatesState) -> None:
    """Draw the gradient along the cell state as a product of the gate values."""
    ui.explanation(
        "The cell state of an LSTM is only multiplied by f from step to step. So the derivative of the last cell state "
        "with respect to an earlier one is the product of all values of f between them. In a GRU it is that of z:"
    )
    steps = (
        ("f", "c", r"c_t = f_t\, c_{t-1} + i_t\, g_t"),
        ("z", "h", r"h_t = z_t\, h_{t-1} + (1 - z_t)\, n_t"),
    )
    for gate, held, step in steps:
        first, values = state.first_write_step(gate), state.gates_after_write(gate)
        derivative = (
            rf"\frac{{\partial {held}_{{50}}}}{{\partial {held}_{{{first}}}}} = \prod_{{t={first + 1}}}^{{50}} {gate}_t"
        )
        numbers = f"{product_latex(values)} = {number_latex(math.prod(values))}"
        st.latex(rf"\begin{{gathered}} {step} \\ \Rightarrow\quad {derivative} \\ = {numbers} \end{{gathered}}")
    ui.explanation(
        "A plain RNN multiplies by its weight and by the slope of tanh at every step, and that slope is below 1 where "
        "its state is not 0:"
    )
    st.latex(
        r"\begin{gathered} h_t = \tanh(w\, h_{t-1} + x_t) \\ \Rightarrow\quad "
        r"\frac{\partial h_{50}}{\partial h_s} = \prod_{t=s+1}^{50} w\,(1 - h_t^2) \end{gathered}"
    )
    ui.explanation(
        "These are the direct paths. In a trained cell the gates and the candidate also depend on the state, so "
        "gradient flows through them too. The gates that you set here do not depend on the state; u is the one weight "
        "from the state to the candidate:"
    )
    st.latex(
        r"\begin{gathered} \frac{\partial c_t}{\partial c_{t-1}} = f_t + i_t (1 - g_t^2)\, u \cdot \\ "
        r"o_{t-1} (1 - \tanh^2 c_{t-1}) \\[6pt] "
        r"\frac{\partial h_t}{\partial h_{t-1}} = z_t + (1 - z_t)(1 - n_t^2)\, r_t\, u \end{gathered}"
    )


def gate_init_outcomes(model: str) -> dict[float, Bool[ndarray, " seeds"]]:
    """Return which seeds of the stored runs of one architecture solve the task, by bias; the default is around 0."""
    initializations = {0.0: "usual", 1.0: "forget-1", 3.0: "forget-3"}
    configs = {f"{bias}": VARIANTS[f"{model}-{name}"].config(length=STEPS) for bias, name in initializations.items()}
    results = {bias: view.result for bias, view in ui.run_views(configs, set()).items() if ui.is_finished(view)}
    return {
        float(bias): result.last("accuracy") >= SOLVED
        for bias, result in results.items()
        if result and "accuracy" in result.metrics
    }


def trained_nets_section() -> None:
    """Draw how many trained networks remember, by the value at which their gates were initialized."""
    ui.draw_now(trained_nets_view, {MODELS[model].title: gate_init_outcomes(model) for model in ("lstm", "gru")})
    st.page_link("memory.py", label="How long does a network remember?", icon=":material/arrow_forward:")


def trained_nets_view(document: ui.Document, outcomes: Outcomes) -> None:
    """Write the finding, the table of the seeds that remember, and a comparison of the biases of each network."""
    document.finding(gate_init_finding(outcomes, STEPS))
    document.text("In a trained network the gates are computed from the input. Their bias decides how open they begin.")
    biases = sorted({bias for by_bias in outcomes.values() for bias in by_bias})
    columns = {"name": charts.Column("network", "model")} | {
        f"{bias:g}": charts.Column(initial_gate(bias), "number", wrap=True) for bias in biases
    }
    rows = [
        {"name": charts.Cell(title, f"--m-{title.lower()}")}
        | {f"{bias:g}": f"{each.sum()} of {len(each)}" for bias, each in by_bias.items()}
        for title, by_bias in outcomes.items()
        if biases
    ]
    label = "Seeds that recall the first symbol, by network and initial gate value"
    caption = (
        f"Seeds that name the first of {STEPS} symbols, by the initial value of the forget gate (LSTM) or the update "
        "gate (GRU)."
    )
    document.table("gates-trained", charts.Table(columns, rows, label, caption))
    for title, by_bias in outcomes.items():
        document.text(gate_init_comparison(by_bias, title))
