"""The formulas of a block as the shown model has them, and one number of its forward pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import ui
from explorer.number_format import format_number

_NORM_FORMULAS = {
    "layer": (r"\frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + 10^{-5}}} \cdot g", r" + b"),
    "rms": (r"\frac{x}{\sqrt{\mathrm{mean}(x^2) + 10^{-5}}} \cdot g", ""),
}


def formulas_section(model: object, cross: bool) -> None:
    """Draw the formulas of the block, of cross-attention if there is any, and of the norm.

    model: the configuration of a Transformer. Where it names no norm, the model has the LayerNorm after each part.
    """
    norm, norm_first = getattr(model, "norm", "layer"), getattr(model, "norm_place", "post") == "pre"
    ui.explanation(
        "Each part of a block reads the residual stream and adds its output to it; nothing is overwritten. So there is "
        "a direct path from the tokens to the prediction, and one for the gradient in the backward pass."
    )
    st.latex(block_formula(norm_first, norm != "none"))
    ui.explanation(norm_placement_text(norm_first, norm != "none"))
    if cross:
        st.latex(
            r"\begin{aligned} \mathrm{Cross}(y, x) &= \mathrm{Attention}(Q, K, V) \\"
            r" Q &= y W_Q, \quad K = x W_K, \quad V = x W_V \end{aligned}"
        )
        ui.explanation(
            "In the cross-attention the queries come from the generated text (y). Keys and values come from the output "
            "of the encoder for the source (x), which is computed only once."
        )
    if norm != "none":
        st.latex(norm_formula(norm, biased=getattr(model, "biases", True)))


def norm_formula(norm: str, biased: bool) -> str:
    """Return a norm ("layer" or "rms") in LaTeX. RMSNorm never has a bias."""
    formula, bias = _NORM_FORMULAS[norm]
    return r"\mathrm{Norm}(x) = " + formula + (bias if biased else "")


def block_formula(norm_first: bool, normed: bool) -> str:
    """Return the two steps of a block in LaTeX."""
    norm = r"\mathrm{Norm}" if normed else ""
    steps = []
    for part in (r"\mathrm{Attention}", r"\mathrm{FFN}"):
        inside = f"{norm}(x)" if normed and norm_first else "x"
        total = f"x + {part}({inside})"
        steps.append(rf"x &\leftarrow {norm}({total})" if normed and not norm_first else rf"x &\leftarrow {total}")
    return r"\begin{aligned} " + r" \\ ".join(steps) + r" \end{aligned}"


def norm_placement_text(norm_first: bool, normed: bool) -> str:
    """Say what the placement of the norms means."""
    if not normed:
        return "This model has no norms, so nothing limits the size of the residual stream."
    if norm_first:
        return (
            "This model has its norms before each part, as in GPT-2 (Radford et al. 2019): the stream itself is "
            "never normalized, only the input of each part; a last norm comes before the output layer."
        )
    return (
        "This model has its norms after each sum, as in Vaswani et al. (2017): every norm brings the residual stream "
        "back to the same size."
    )


def norm_example_text(
    is_layer_norm: bool, token: str, x: Float[ndarray, " width"], weights: Sequence[float], after: float
) -> str:
    """Say how the norm computes the first number of a token's vector `x`; `weights`: gain and, if it has one, bias."""
    kind, size = ("variance", x.var()) if is_layer_norm else ("mean square", np.square(x).mean())
    mean = f"a mean of {format_number(float(x.mean()), 3)} and " * is_layer_norm
    gain, *biases = (format_number(each, 3) for each in weights)
    bias = "".join(f" and the bias {each}" for each in biases)
    return (
        f"At the first norm of this block the numbers of “{token}” have {mean}a {kind} of "
        f"{format_number(float(size), 3)}. With the gain {gain}{bias} its number 0 changes from "
        f"{format_number(float(x[0]), 3)} to {format_number(after, 3)}."
    )
