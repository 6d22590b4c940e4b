"""The model of the page on the block: which there are, what it reads, and its tensors on their way to the browser."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.catalogue import page_title, task_row
from explorer.errors import InvalidSetting, LineageError
from explorer.tasks.negation import CLASSES
from explorer.ui import at_hand, attention_views, packed
from explorer.ui import block_findings as findings
from explorer.ui.at_hand import AtHand
from explorer.ui.block import KINDS, LONGEST, OFFERED, TOKENS, Block
from explorer.ui.block_findings import PARTS, Added
from explorer.ui.block_why import Normal, why_section
from explorer.ui.components import ears, heard, register
from explorer.ui.findings import visible
from explorer.ui.page import explanation, plain, problems
from explorer.ui.session import PageSession, bound, write_address
from explorer.ui.slowly import latest
from explorer.ui.translation import EXAMPLES

if TYPE_CHECKING:
    from explorer.inspection.block import Flow, Opened

HEIGHT = 900
_KEY = "block"
_block = register(_KEY)


@dataclass(frozen=True, eq=False)
class Shown:
    """A forward that is opened, as the page and the browser need it."""

    opened: Opened
    names: Mapping[str, list[str]]  # of the tokens, by the rows and columns of the flows
    content: bytes
    cut: int  # tokens of the text that were left out
    finding: str
    notice: tuple[str, ...]
    normal: Normal | None


def chosen(session: PageSession[Block]) -> AtHand | None:
    """The run that is opened; None, with a sentence, if there is none of this kind by that name."""
    state = session.state
    try:
        hand = at_hand.find(state.run)
        task, model = task_row(hand.config.task), hand.row.name
        tasks, models = OFFERED[state.kind]
        if task.name not in tasks or model not in models:
            raise InvalidSetting(
                f"Run {hand.name} is no {KINDS[state.kind].lower()} that can be opened here. Choose one above; what it "
                f"learned is on the page {page_title(task.page)}."
            )
    except LineageError as error:
        session.problems += (str(error),)
        return None
    layers, seeds = layers_of(hand), hand.config.replicas
    if state.layer > layers:
        session.problems += (
            f"This model has {_blocks(layers)}, so there is no block {state.layer}; its last is shown.",
        )
        session.state = state = replace(state, layer=layers)
    if state.seed >= seeds:
        session.problems += (f"This run has no seed {state.seed}, counted from 0; what is shown is its first.",)
        session.state = replace(state, seed=0)
    return hand


def _blocks(count: int) -> str:
    return "one block" if count == 1 else f"{count} blocks"


def layers_of(hand: AtHand) -> int:
    return int(getattr(hand.config.model, "layers", 1))


def examples(hand: AtHand) -> tuple[str, ...]:
    """Texts worth a look."""
    return EXAMPLES.get(task_row(hand.config.task).name) or attention_views.examples(hand)


def choices(session: PageSession[Block], hand: AtHand | None) -> None:
    """Which half, which model, which block of it, and what it reads."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "block.kind", state.kind, lambda s, kind: s.of_kind(kind))
        st.segmented_control("The block of", list(KINDS), format_func=KINDS.__getitem__, required=True, **ties)
        titles = at_hand.offered(*OFFERED[state.kind])
        titles = {**({} if state.run in titles else {state.run: state.run}), **titles}
        ties = bound(session, "block.model", state.run, lambda s, name: s.of_model(name))
        st.selectbox("Model", list(titles), format_func=titles.__getitem__, width=240, **ties)
        if hand and hand.config.replicas > 1:
            ties = bound(session, "block.seed", state.seed, lambda s, seed: replace(s, seed=seed))
            seeds = hand.config.seeds
            st.selectbox("Seed", list(range(len(seeds))), format_func=lambda i: f"{seeds[i]}", width=90, **ties)
        if hand and layers_of(hand) > 1:
            ties = bound(session, "block.layer", state.layer, lambda s, layer: replace(s, layer=layer))
            st.number_input(f"Block, 1 to {layers_of(hand)}", 1, layers_of(hand), step=1, width=120, **ties)
        if hand:
            usual = examples(hand)[0]
            ties = bound(session, "block.say", state.say or usual, lambda s, text: s.saying(text, usual))
            st.text_input("What it reads", width=240, max_chars=LONGEST, **ties)
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda _: Block()),
            disabled=state == Block(),
            key="block.fresh",
        )


def hear(session: PageSession[Block]) -> None:
    """Take in what was opened. The instrument stands in a part of the page that is drawn alone after a gesture."""
    said, before = heard(_KEY, "set"), session.state
    if said is not None:
        session.change(lambda state: state.opened_as(said))
        write_address(session)
    if session.state != before:
        st.rerun()


def model_part(session: PageSession[Block], hand: AtHand) -> None:
    """The diagram, with the finding above it and what to notice below."""
    state = session.state
    text = state.say or examples(hand)[0]
    key: tuple[Hashable, ...] = ("block", *hand.stamp, state.seed, text, state.layer)

    def wanted() -> Mapping[str, tuple[tuple[Hashable, ...], partial[Shown]]]:
        hear(session)
        return {hand.name: (key, partial(shown, hand, state.seed, text, state.layer))}

    latest(
        "block", wanted, lambda found, old: _draw(session, hand, found), "The model is reading …", HEIGHT, pool="quick"
    )


def shown(hand: AtHand, seed: int, text: str, layer: int) -> Shown:
    """One forward, opened. Raises LineageError."""
    from explorer.inspection.block import open_block

    ids, target, names, cut = _read(hand, seed, text)
    found = open_block(hand.model(seed), ids, layer - 1, target)
    arrays = {f"flow:{name}": flow.values for name, flow in found.flows.items()}
    closed = {name for box in found.boxes if box.kind == "blocks" for name in box.parameters}
    arrays |= {f"weight:{name}": values for name, values in found.parameters.items() if name not in closed}
    parts = _added(found)
    notice = [findings.parts_words(parts), *_norm_words(found), findings.parameter_words(_counts(found), found.total)]
    return Shown(
        found,
        names,
        packed.pack({name: values.astype(np.float32) for name, values in arrays.items()}),
        cut,
        findings.finding(parts, layer, found.layers, f"run {hand.name}, seed {hand.config.seeds[seed]}"),
        tuple(notice),
        _normal(found, names),
    )


def _read(hand: AtHand, seed: int, text: str) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, list[str]], int]:
    """Ids of what is read and of what was written, names of the tokens, and how many were left out."""
    from explorer.tasks.translation import BOS, source_tokens, spelled, target_tokens

    if task_row(hand.config.task).name in OFFERED["both"][0]:
        from explorer.inspection.alignment import align

        task = hand.config.task
        ids = spelled(task, text)  # type: ignore[arg-type]  # its task translates
        bos, model = len(target_tokens(task)) - 2, hand.model(seed)  # type: ignore[arg-type]
        target = (bos, *align(model, task, ids).target[:-1])  # type: ignore[arg-type]
        sources, targets = source_tokens(task), target_tokens(task)  # type: ignore[arg-type]
        names = {
            "source": [visible(sources[i]) for i in ids],
            "target": [visible(targets[i]) for i in target],
            "answers": list(targets),
        }
        assert targets[bos] == BOS
        return ids, target, names, 0
    from explorer.inspection.attention import read

    found = read(hand.config, hand.tokenizer, text)
    ids = found.ids[:TOKENS]
    answers = list(CLASSES) if hand.tokenizer is None else [visible(token) for token in hand.tokenizer.tokens]
    tokens = [visible(token) for token in found.tokens[:TOKENS]]
    names = {"text": tokens, "first": tokens[:1], "answers": answers}
    return ids, (), names, len(found.ids) - len(ids)


# ---- what is said of it


def _half(name: str) -> str:
    return name.split(".")[0] if name.startswith(("encoder.", "decoder.")) else ""


def _lengths(flow: Flow) -> ndarray:
    lengths: ndarray = np.linalg.norm(flow.values, axis=-1)
    return lengths


def _added(found: Opened) -> list[Added]:
    """What each part of the opened blocks adds."""
    parts = []
    for box in found.boxes:
        if box.kind != "sum":
            continue
        half, total = _half(box.name), found.flows[box.flows[-1]]
        part = box.name.removeprefix(f"{half}.").removesuffix("_sum")
        stream, added = (found.flows[name] for name in total.ins)
        assert part in PARTS
        parts.append(Added(part, half, _lengths(stream), _lengths(added), _lengths(total)))
    return parts


def first_norm(found: Opened) -> Flow | None:
    """What leaves the first norm of the block; None for a model without norms."""
    names = [box.flows[-1] for box in found.boxes if box.name.endswith("_norm")]
    return found.flows[names[0]] if names else None


def _norm_words(found: Opened) -> list[str]:
    norm = first_norm(found)
    if norm is None:
        return []
    before, after = (flow.values.var(axis=-1) for flow in (found.flows[norm.ins[0]], norm))
    return [findings.norm_words(before, after, bool(np.ptp(after) > 1e-3 or abs(after[0] - 1) > 1e-3))]


def _normal(found: Opened, tokens: Mapping[str, list[str]]) -> Normal | None:
    """One number at the first norm of the block; None for a model without norms."""
    norm = first_norm(found)
    if norm is None:
        return None
    x, values = found.flows[norm.ins[0]].values[0], [found.parameters[name] for name in norm.parameters]
    layer = norm.made == "layernorm"
    return Normal(
        norm.made,
        len(values) > 1,
        tokens[norm.rows][0],
        float(x[0]),
        float(x.mean()) if layer else 0.0,
        float(x.var() if layer else np.square(x).mean()),
        float(values[0][0]),
        float(values[1][0]) if len(values) > 1 else 0.0,
        float(norm.values[0, 0]),
    )


def _counts(found: Opened) -> dict[str, int]:
    """Parameters of all blocks, by what they are for."""
    kinds = {"feedforward layers": (".expand.", ".contract."), "attention": (".attention.", ".cross.")}
    return {
        kind: sum(v.size for name, v in found.parameters.items() if any(mark in name for mark in marks))
        for kind, marks in kinds.items()
    }


def _draw(session: PageSession[Block], hand: AtHand, every: Mapping[str, Shown]) -> None:
    made, state = every.get(hand.name), session.state
    if made is None:
        return
    found = made.opened
    usual = next(name for name in reversed(list(found.flows)) if name.endswith(".weights"))
    if state.open and state.open not in found.flows:
        problems(
            [f"This block has no “{state.open[:40]}”; its attention weights are shown. Open anything in the diagram."]
        )
    st.subheader(plain(made.finding), anchor=False)
    if made.cut:
        st.caption(
            f"The diagram has room for {TOKENS} tokens: the model reads these, and {made.cut:,} more are left out."
        )
    _block(data=_data(made, hand, state, usual), key=_KEY, **ears(_KEY, "set"))
    st.caption(
        "Open any arrow or box: dashed boxes are blocks that are closed. A heat map has a token in each row; brown is "
        "below zero, teal above, blue an amount from 0 to 1; what a mask hides has no tile."
    )
    st.header("What to notice", anchor=False)
    explanation("\n".join(f"- {plain(sentence)}" for sentence in made.notice))
    why_section(found.norm_first, state.kind == "both", made.normal)


def _kept(state: Block) -> dict[str, object]:
    """What a visitor has opened, and the number that is read there."""
    return {name: getattr(state, name) for name in ("open", "token", "unit", "head")}


def _cell(found: Opened, usual: str) -> dict[str, object]:
    """Before anybody opened anything: of the tokens in the second half, the one that looks hardest at another one."""
    weights = found.flows[usual].values
    away = np.where(np.eye(*weights.shape[-2:]) == 1, -1.0, weights)
    away[:, : weights.shape[-2] // 2] = -1.0
    head, token, unit = map(int, np.unravel_index(away.argmax(), away.shape))
    return {"open": "", "token": token, "unit": unit, "head": head}


def _data(made: Shown, hand: AtHand, state: Block, usual: str) -> dict[str, object]:
    found = made.opened
    about = ("title", "made", "ins", "parameters", "tap", "rows", "columns", "offset", "same")
    return {
        "boxes": [{**vars(box), "count": found.count(box)} for box in found.boxes],
        "arrows": [vars(arrow) for arrow in found.arrows],
        "flows": {name: {each: getattr(flow, each) for each in about} for name, flow in found.flows.items()},
        "parameters": {name: list(values.shape) for name, values in found.parameters.items()},
        "names": dict(made.names),
        "total": found.total,
        "address": packed.offer(made.content, of=hand.stamp),
        "chosen": _cell(found, usual) if state == replace(state, open="", token=0, unit=0, head=0) else _kept(state),
        "usual": usual,
        "title": f"Block {state.layer} of {hand.title}",
        "file": f"block-{hand.name}-{state.layer}",
    }
