"""The block diagram: the model, the text that it reads, and its tensors on their way to the browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer import ui
from explorer.catalogue import model_row, page_title, task_row
from explorer.errors import InvalidSetting, LineageError
from explorer.inspection.attention import alignment
from explorer.inspection.transformer import block
from explorer.labs.block import findings
from explorer.labs.block.findings import PART_NAMES, Contribution
from explorer.labs.block.formulas import norm_example_text
from explorer.labs.block.state import KINDS, MAX_TOKENS, TASKS_AND_MODELS, BlockState
from explorer.model.run_model import RunModel
from explorer.number_format import format_units
from explorer.tasks.negation import CLASSES
from explorer.tasks.seq2seq.config import BOS, source_ids, source_vocabulary, target_vocabulary
from explorer.ui.training import model_input, stored_models
from explorer.ui.wording import visible_whitespace
from explorer.web.results import pack, register_arrays

HEIGHT = 900
_KEY = "block"


@dataclass(frozen=True, eq=False)
class BlockReading:
    """The tensors of one forward pass, as the page and the browser need them."""

    opened: block.BlockDiagram
    token_names: Mapping[str, list[str]]  # of the tokens, by the rows and columns of the flows
    content: bytes
    notes: tuple[str, ...]  # what of the text was changed or left out


def select_model(session: ui.PageSession[BlockState]) -> RunModel | None:
    """Return the selected run, or None with a message if there is no run of this kind and name."""
    state = session.state
    try:
        stored = stored_models.find_run(state.run)
        task, model = task_row(stored.config.task), model_row(stored.config.model).name
        tasks, models = TASKS_AND_MODELS[state.kind]
        if task.name not in tasks or model not in models:
            raise InvalidSetting(
                f"Run {stored.name} is not an {KINDS[state.kind].lower()} that this page can show. Choose another "
                f"model; this run is on the page {page_title(task.page)}."
            )
    except LineageError as error:
        session.problems += (str(error),)
        return None
    layers, seeds = _layer_count(stored), stored.config.replicas
    if state.layer > layers:
        session.problems += (
            f"This model has {format_units(layers, 'block')}, so there is no block {state.layer}; its last is shown.",
        )
        session.state = state = replace(state, layer=layers)
    if state.seed >= seeds:
        session.problems += (f"This run has no seed {state.seed}, counted from 0; what is shown is its first.",)
        session.state = replace(state, seed=0)
    return stored


def _layer_count(stored: RunModel) -> int:
    return int(getattr(stored.config.model, "layers", 1))


def controls(session: ui.PageSession[BlockState], stored: RunModel | None) -> None:
    """Draw the text, the kind of model, and the settings: model, seed and block."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if stored:
            example = stored.example_texts[0]
            ui.bind_widget(
                session,
                "say",
                st.text_input,
                shown=state.say or example,
                update=lambda s, text: s.with_text(text, example),
                width=280,
            )
        ui.bind_widget(session, "kind", st.segmented_control, update=BlockState.with_kind)
        with st.popover("Settings", icon=":material/tune:"):
            _settings(session, stored)
        ui.reset_button(session, "fresh")
    ui.show_problems(stored.describe_unread(state.say or None) if stored else [])


def _settings(session: ui.PageSession[BlockState], stored: RunModel | None) -> None:
    state = session.state
    titles = stored_models.model_titles(*TASKS_AND_MODELS[state.kind], selected=(state.run,))
    ui.bind_widget(
        session, "model", st.selectbox, shown=state.run, update=BlockState.with_model, options=titles, width=240
    )
    if stored and stored.config.replicas > 1:
        ui.bind_widget(session, "seed", st.selectbox, options=dict(enumerate(map(str, stored.config.seeds))), width=90)
    if stored and (count := _layer_count(stored)) > 1:
        ui.bind_widget(session, "layer", st.number_input, label=f"Block, 1 to {count}", high=count, width=120)


def block_section(session: ui.PageSession[BlockState], stored: RunModel) -> None:
    """Draw the diagram, the finding above it, and the observations below."""
    state = session.state
    text = stored.text_or_example(state.say or None)
    ui.show(
        "block",
        ui.Call(read_block, stored, state.seed, text, state.layer),
        block_view,
        state,
        stored,
        waiting="The model is reading …",
        height=HEIGHT,
        pool="quick",
        events={_KEY: ("set",)},
        on_event=lambda: ui.apply_component_event(session, _KEY),
    )


def read_block(stored: RunModel, seed: int, text: str, layer: int) -> BlockReading:
    """Run the model on a text and collect the tensors of one block. Raises LineageError."""
    ids, target, names, notes = _tokenize(stored, seed, text)
    opened = block.block_diagram(stored.module(seed), ids, layer - 1, target)
    arrays = {f"flow:{name}": flow.values for name, flow in opened.flows.items()}
    closed = {name for box in opened.boxes if box.kind == "blocks" for name in box.parameters}
    arrays |= {f"weight:{name}": values for name, values in opened.parameters.items() if name not in closed}
    content = pack({name: values.astype(np.float32) for name, values in arrays.items()})
    return BlockReading(opened, names, content, notes)


def _tokenize(
    stored: RunModel, seed: int, text: str
) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, list[str]], tuple[str, ...]]:
    """Return the source ids, the target ids (decoder input), token names by axis, and what was left out."""
    if task_row(stored.config.task).name in TASKS_AND_MODELS["both"][0]:
        task = stored.config.task
        ids = source_ids(task, text)  # type: ignore[arg-type]  # its task translates
        bos, model = len(target_vocabulary(task)) - 2, stored.module(seed)  # type: ignore[arg-type]
        target = (bos, *alignment.align(model, task, ids).target[:-1])  # type: ignore[arg-type]
        sources, targets = source_vocabulary(task), target_vocabulary(task)  # type: ignore[arg-type]
        names = {
            "source": [visible_whitespace(sources[i]) for i in ids],
            "target": [visible_whitespace(targets[i]) for i in target],
            "answers": list(targets),
        }
        assert targets[bos] == BOS
        return ids, target, names, ()
    opened = stored.tokenize(text)
    ids = opened.ids[:MAX_TOKENS]
    left_out = len(opened.ids) - len(ids)
    room = f"The diagram has room for {MAX_TOKENS} tokens; the other {left_out:,} tokens of the text are left out."
    answers = (
        list(CLASSES) if stored.tokenizer is None else [visible_whitespace(token) for token in stored.tokenizer.tokens]
    )
    tokens = [visible_whitespace(token) for token in opened.tokens[:MAX_TOKENS]]
    names = {"text": tokens, "first": tokens[:1], "answers": answers}
    return ids, (), names, (*model_input.input_notes(stored, opened), *([room] if left_out else []))


# ---- observations


def _vector_norms(flow: block.Flow) -> ndarray:
    lengths: ndarray = np.linalg.norm(flow.values, axis=-1)
    return lengths


def _contributions(opened: block.BlockDiagram) -> list[Contribution]:
    parts = []
    for box in opened.boxes:
        if box.kind != "sum":
            continue
        half = box.name.split(".")[0] if box.name.startswith(("encoder.", "decoder.")) else ""
        total = opened.flows[box.flows[-1]]
        part = box.name.removeprefix(f"{half}.").removesuffix("_sum")
        stream, added = (opened.flows[name] for name in total.ins)
        assert part in PART_NAMES
        parts.append(Contribution(part, half, _vector_norms(stream), _vector_norms(added), _vector_norms(total)))
    return parts


def _norm_sentences(opened: block.BlockDiagram, tokens: Mapping[str, list[str]]) -> list[str]:
    """Return what the first norm of the block does, and how it computes a number; nothing for a model without norms."""
    norm = next((opened.flows[box.flows[-1]] for box in opened.boxes if box.name.endswith("_norm")), None)
    if norm is None:
        return []
    x, weights = opened.flows[norm.ins[0]].values, [float(opened.parameters[name][0]) for name in norm.parameters]
    before, after = (values.var(axis=-1) for values in (x, norm.values))
    token, number = tokens[norm.rows][0], float(norm.values[0, 0])
    return [
        findings.norm_text(before, after, bool(np.ptp(after) > 1e-3 or abs(after[0] - 1) > 1e-3)),
        norm_example_text(norm.made == "layernorm", token, x[0], weights, number),
    ]


def _parameter_counts(opened: block.BlockDiagram) -> dict[str, int]:
    kinds = {"feedforward layers": (".expand.", ".contract."), "attention": (".attention.", ".cross.")}
    return {
        kind: sum(v.size for name, v in opened.parameters.items() if any(mark in name for mark in marks))
        for kind, marks in kinds.items()
    }


def block_view(document: ui.Document, reading: BlockReading, state: BlockState, stored: RunModel) -> None:
    """Write which part changes the stream most, the diagram of the block, and numbers of its forward pass."""
    opened = reading.opened
    parts = _contributions(opened)
    if state.open and state.open not in opened.flows:
        document.problems(
            [f"This block has no “{state.open[:40]}”; the embedding is shown. Open another box or arrow."]
        )
    document.finding(findings.largest_contribution_finding(parts, state.layer, opened.layers))
    document.text(" ".join(reading.notes))
    document.component("block_diagram", _component_data(reading, stored, state), _KEY)
    document.caption(
        "Dashed boxes: other blocks. Heat map: one row per token; brown is negative, teal positive, blue a share from "
        "0 to 1. A masked pair has no tile."
    )
    sentences = [
        findings.contributions_text(parts),
        *_norm_sentences(opened, reading.token_names),
        findings.parameter_share_text(_parameter_counts(opened), opened.total_parameters),
    ]
    observations = "\n".join(f"- {ui.escape_markdown(sentence)}" for sentence in sentences)
    document.markdown(f"**In numbers**\n\n{observations}")


def _component_data(reading: BlockReading, stored: RunModel, state: BlockState) -> dict[str, object]:
    opened = reading.opened
    flow_fields = ("title", "made", "ins", "parameters", "tap", "rows", "columns", "offset", "same")
    return {
        "boxes": [{**vars(box), "count": opened.count_parameters(box)} for box in opened.boxes],
        "arrows": [vars(arrow) for arrow in opened.arrows],
        "flows": {name: {each: getattr(flow, each) for each in flow_fields} for name, flow in opened.flows.items()},
        "parameters": {name: list(values.shape) for name, values in opened.parameters.items()},
        "names": dict(reading.token_names),
        "total": opened.total_parameters,
        "address": register_arrays(reading.content, sources=stored.cache_key),
        "chosen": state.component_state,
        "usual": next(box.flows[-1] for box in opened.boxes if box.name.endswith("embedding")),
        "title": f"Block {state.layer} of {stored.title}",
        "file": f"block-{stored.name}-{state.layer}",
    }
