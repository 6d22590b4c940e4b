"""Why a block is built as it is: its formulas, as the model on the screen has them, with a number of this forward."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.ui.page import explanation, plain

_LAWS = {
    "layernorm": (r"\frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + 10^{-5}}} \cdot g", r" + b"),
    "rmsnorm": (r"\frac{x}{\sqrt{\mathrm{mean}(x^2) + 10^{-5}}} \cdot g", ""),
}


@dataclass(frozen=True)
class Normal:
    """One number at the first norm of the block: the first one of its first token."""

    kind: str  # "layernorm", "rmsnorm"
    biased: bool
    token: str
    number: float
    mean: float
    square: float  # what stands under the root, without the 1e-5: variance, or mean square
    gain: float
    bias: float
    after: float


def why_section(norm_first: bool, cross: bool, normal: Normal | None) -> None:
    """The whole section."""
    st.header("Why", anchor=False)
    explanation(
        "A block writes nothing over what it gets: each part reads the stream, and what it finds is added. So the way "
        "from the tokens to the answer is open from the first step of training on, and so is the way back for the "
        "gradient."
    )
    st.latex(formula(norm_first, normal is not None))
    explanation(reason(norm_first, normal is not None))
    if cross:
        st.latex(
            r"\begin{aligned} \mathrm{Cross}(y, x) &= \mathrm{Attention}(Q, K, V) \\"
            r" Q &= y W_Q, \quad K = x W_K, \quad V = x W_V \end{aligned}"
        )
        explanation(
            "In the cross-attention only the queries come from what was written so far (y). Keys and values come from "
            "what the encoder made of the source (x): that is computed once, however many tokens are written."
        )
    if normal is not None:
        law, bias = _LAWS[normal.kind]
        st.latex(r"\mathrm{Norm}(x) = " + law + (bias if normal.biased else ""))
        explanation(plain(example(normal)))


def formula(norm_first: bool, normed: bool) -> str:
    """The two steps of a block."""
    norm = r"\mathrm{Norm}" if normed else ""
    steps = []
    for part in (r"\mathrm{Attention}", r"\mathrm{FFN}"):
        inside = f"{norm}(x)" if normed and norm_first else "x"
        total = f"x + {part}({inside})"
        steps.append(rf"x &\leftarrow {norm}({total})" if normed and not norm_first else rf"x &\leftarrow {total}")
    return r"\begin{aligned} " + r" \\ ".join(steps) + r" \end{aligned}"


def reason(norm_first: bool, normed: bool) -> str:
    """What the place of the norms means."""
    if not normed:
        return "This model has no norms: nothing holds the size of the stream."
    if norm_first:
        return (
            "This model has its norms before each part, as models are built now: the stream itself is never divided, "
            "only what the parts read of it, and one last norm stands before the readout."
        )
    return (
        "This model has its norms after each sum, as in 2017: the stream is brought back to the same size at every "
        "step, and what the residual carries passes through every norm on its way up."
    )


def example(one: Normal) -> str:
    """The formula with its numbers."""
    kind = "variance" if one.kind == "layernorm" else "mean square"
    mean = f"a mean of {_n(one.mean)} and " if one.kind == "layernorm" else ""
    bias = f" and the bias {_n(one.bias)}" if one.biased else ""
    return (
        f"At the first norm of this block the numbers of “{one.token}” have {mean}a {kind} of {_n(one.square)}. With "
        f"the gain {_n(one.gain)}{bias} its number 0 turns from {_n(one.number)} into {_n(one.after)}."
    )


def _n(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
