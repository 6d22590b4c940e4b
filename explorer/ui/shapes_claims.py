"""Three sentences that are often said, each with a small experiment and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.comparison import PER_RUN, Line
from explorer.figures.shapes import by_place
from explorer.tasks.place import PlaceConfig
from explorer.training import shapes_runs
from explorer.training.record import Curves, Record
from explorer.training.shapes_runs import COUNTERS, RULES, Rule
from explorer.training.store import StoredRun
from explorer.ui import shapes_findings as findings
from explorer.ui import tagged, training_controls
from explorer.ui.components import Panel, frame, table, tracks
from explorer.ui.findings import power
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.shapes import Shapes
from explorer.ui.shapes_findings import Counted, Kept
from explorer.ui.shapes_race import Race, Racer, race_part
from explorer.ui.slowly import each_eventually, eventually

if TYPE_CHECKING:
    from explorer.inspection.agreeing import Heads

HEIGHT = 260
_CLIPS = {"clipped": 1.0, "free": 0.0}
_CLIP_WORDS = {"clipped": "clipped at 1", "free": "not clipped"}
_RULE_HELP = {
    "turns": "Random digits. At every second place the answer is the digit itself, at the others its successor.",
    "places": "Random digits. At each of twenty places another number is to be added; then it begins anew.",
}
_WHAT = {"verb": "the verb (agreement)", "pronoun": "the pronoun (coreference)"}


def claims_section(session: PageSession[Shapes]) -> None:
    """All three."""
    st.header("Three things people say", anchor=False)
    _clipping()
    _places()
    _heads(session)


# ---- clipping


def _clipping() -> None:
    st.markdown("##### “Gradient clipping cures vanishing gradients.”")
    explanation(
        "An RNN with the usual start learns to name the first of 50 random symbols, once with gradients shortened to "
        "a length of 1, once without. Clipping multiplies a long gradient by a number below one. What has vanished it "
        "cannot make longer."
    )
    race = _clipping_race()
    lanes = race.lanes()
    kept = {name: lane.kept for name, lane in lanes.items() if lane.kept is not None}
    if len(kept) == len(lanes):
        each_eventually(
            "shapes-clipping",
            {name: (("shapes-clipping", *lanes[name].stamp), partial(_of_clipping, kept[name])) for name in kept},
            _clipping_table,
            "The two nets are asked for their gradients …",
            HEIGHT,
        )
    else:
        empty_panel("One of the two runs is not there yet: run it below.", HEIGHT)
    race_part(race, lanes)


def _clipping_race() -> Race:
    row = MODELS["rnn"]
    drawn = [("clipped", "clipped", "solid"), ("free", "not clipped", "6px,4px")]
    racers = tuple(Racer(name, "accuracy", words, f"the RNN {words}", row.colour, dash) for name, words, dash in drawn)
    return Race(
        "clipping",
        {name: shapes_runs.clipping(clip) for name, clip in _CLIPS.items()},
        {"The first of 50 symbols": racers},
        "Share of fresh sequences whose first symbol is named; guessing is right half the time. Line: mean of eight "
        "seeds. Band: lowest to highest.",
    )


def _kept(lanes: Mapping[str, Lane]) -> dict[str, StoredRun | Record]:
    return {name: lane.kept for name, lane in lanes.items() if lane.kept is not None}


def _of_clipping(kept: StoredRun | Record) -> Kept:
    from explorer.inspection.gradients import along_sequence
    from explorer.inspection.opening import open_model

    norms = along_sequence(open_model(kept))
    return Kept(kept.curves.last("accuracy"), norms[:, 0] / np.maximum(norms[:, -1], 1e-300))


def _clipping_table(found: Mapping[str, Kept]) -> None:
    if len(found) < len(_CLIPS):
        return
    st.subheader(plain(findings.clipping_verdict(found["clipped"], found["free"])), anchor=False)
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "RNN", "kind": "model", "align": "left"},
        {"key": "right", "label": "right on fresh sequences", "kind": "strip", "align": "left", "range": [0.0, 1.0]},
        {"key": "reach", "label": "first symbol’s gradient over the last one’s", "kind": "number", "align": "right"},
    ]
    rows = [
        {
            "cells": {
                "name": {"text": _CLIP_WORDS[name], "colour": MODELS["rnn"].colour},
                "right": {
                    "text": f"{int((each.accuracy >= findings.LEARNED).sum())} of {len(each.accuracy)} seeds learn it",
                    "values": [round(float(v), 4) for v in each.accuracy],
                },
                "reach": {"text": power(float(np.median(each.reach)))},
            }
        }
        for name, each in found.items()
    ]
    table(
        columns,
        rows,
        key="shapes-clipping",
        label="An RNN with and without clipping",
        caption="A dot for each seed; guessing is right half the time. Gradients: after training, middle of the seeds.",
    )


# ---- rules that depend on the place


def _places() -> None:
    st.markdown("##### “Weights that are shared over time cannot learn what depends on the position.”")
    explanation(
        "The inputs are random digits and say nothing of where they stand. Two nets that do the same at every step "
        "learn two such rules, and beside them a Transformer with a learned vector for every place."
    )
    race = _place_race()
    lanes = race.lanes()
    found = {rule.words: _counted(rule, lanes) for rule in RULES}
    if any(found.values()):
        _told_of_places(found, lanes)
    else:
        empty_panel("No run yet: run them below.", HEIGHT)
    race_part(race, lanes)


def _place_race() -> Race:
    rows = [MODELS[model] for model in COUNTERS]
    return Race(
        "place",
        {f"{rule.name}-{model}": shapes_runs.place(rule, model) for rule in RULES for model in COUNTERS},
        {
            rule.title: tuple(
                Racer(f"{rule.name}-{row.name}", "accuracy", row.title, f"the {row.title}", row.colour, row.dash)
                for row in rows
            )
            for rule in RULES
        },
        "Share of right answers on fresh rows of the trained length. Line: mean of five seeds. Band: lowest to "
        "highest.",
    )


def _told_of_places(found: Mapping[str, Sequence[Counted]], lanes: Mapping[str, Lane]) -> None:
    st.subheader(plain(findings.place_verdict(found)), anchor=False)
    drawn = [_place_panel(rule, tuple((m, lanes[f"{rule.name}-{m}"].result) for m in COUNTERS)) for rule in RULES]
    frame(drawn, key="shapes-place", height=HEIGHT, narrow_height=220, columns=2)
    for rule in RULES:
        st.caption(f"**{rule.title}.** {_RULE_HELP[rule.name]}")
    told = findings.beyond_finding(found)
    st.caption(f"{told} Line: middle of the seeds. Band: lowest to highest. Dashed: the last place of the training.")


def _counted(rule: Rule, lanes: Mapping[str, Lane]) -> list[Counted]:
    found = []
    for model in COUNTERS:
        lane = lanes[f"{rule.name}-{model}"]
        if lane.result is None or not training_controls.finished(lane):
            continue
        by_place, length = lane.result.answers["by_place"][-1], lane.config.on(PlaceConfig).length
        right, beyond = by_place[:, :length].mean(axis=1), by_place[:, length:].mean(axis=1)
        found.append(Counted(f"the {MODELS[model].title}", model != "transformer", right, beyond))
    return found


@lru_cache(maxsize=16)
def _place_panel(rule: Rule, drawn: tuple[tuple[str, Curves | None], ...]) -> Panel:
    trained = shapes_runs.place(rule, "rnn").on(PlaceConfig).length
    lines, told = [], []
    for model, curves in drawn:
        row, values = MODELS[model], tagged.parts(curves, "by_place")
        if values is None:
            continue
        x = np.arange(1, values.shape[1] + 1, dtype=float)
        middle = np.median(values, axis=0)
        lines.append(
            Line(row.title, row.title, row.colour, row.dash, x, middle, values.min(axis=0), values.max(axis=0))
        )
        told.append(
            f"{row.title} {np.median(values[:, :trained].mean(axis=1)):.2f}, at the last place {middle[-1]:.2f}"
        )
    return Panel(
        f"place-{rule.name}",
        by_place(lines, trained),
        alt=f"{rule.title}: share of right answers by place. In the training {'; '.join(told)}.",
        title=f"{rule.title}: right answers, place by place",
        tracks=tracks([(line.title, line.colour) for line in lines], per_line=PER_RUN),
    )


# ---- heads


def _heads(session: PageSession[Shapes]) -> None:
    st.markdown("##### “One head follows agreement, another one coreference.”")
    explanation(
        "“The king near the queens … proud of …”: a small Transformer says “is” or “are”, and at the end “himself”, "
        "“herself” or “themselves”. It is asked where the noun before the verb would mislead it, and each of its "
        "heads is switched off in turn (its share of the mix is set to zero)."
    )
    what = session.state.agreeing
    ties = bound(session, "shapes.agreeing", what, lambda s, v: replace(s, agreeing=v))
    st.segmented_control("It has to say", list(_WHAT), format_func=_WHAT.__getitem__, required=True, **ties)
    race = _agreement_race()
    lanes = race.lanes()
    kept = lanes["heads"].kept
    if kept is None:
        empty_panel("No run yet: run it below.", 420)
    else:
        eventually(
            "shapes-heads",
            ("shapes-heads", *lanes["heads"].stamp, what),
            partial(_of_heads, kept, what),
            partial(_heads_table, what),
            "Every head of every seed is switched off in turn …",
            420,
        )
    race_part(race, lanes)


def _agreement_race() -> Race:
    row = MODELS["transformer"]
    drawn = [("verb", "verb", "solid"), ("pronoun", "pronoun", "6px,4px")]
    racers = tuple(Racer("heads", metric, words, f"the {words}", row.colour, dash) for metric, words, dash in drawn)
    return Race(
        "agreement",
        {"heads": shapes_runs.agreement()},
        {"Where the noun before the verb misleads": racers},
        "Share of right answers on fresh sentences. Line: mean of five seeds. Band: lowest to highest.",
    )


def _of_heads(kept: StoredRun | Record, what: str) -> Heads:
    from explorer.inspection.agreeing import heads
    from explorer.inspection.opening import open_model

    return heads(open_model(kept), what)


def _heads_table(what: str, found: Heads) -> None:
    st.subheader(plain(findings.heads_verdict(what, found.whole, found.subject, found.without)), anchor=False)
    layers, heads = found.subject.shape[1:]
    strips = {
        "subject": "looks at the subject",
        "nearest": "at the noun before the verb",
        "without": "right without it",
    }
    columns: list[dict[str, object]] = [{"key": "name", "label": "head", "kind": "model", "align": "left"}]
    columns += [
        {"key": key, "label": label, "kind": "strip", "align": "left", "range": [0.0, 1.0]}
        for key, label in strips.items()
    ]
    rows = []
    for layer in range(layers):
        for head in range(heads):
            colour = MODELS["transformer"].colour
            cells: dict[str, object] = {"name": {"text": f"layer {layer + 1}, head {head + 1}", "colour": colour}}
            for key in strips:
                values = getattr(found, key)[:, layer, head]
                cells[key] = {"text": f"{np.median(values):.2f}", "values": [round(float(v), 4) for v in values]}
            rows.append({"cells": cells})
    table(
        columns,
        rows,
        key="shapes-heads",
        label="What each head does, a row a head",
        caption=f"A dot for each of {len(found.whole)} seeds, and their middle; heads of one number in different seeds "
        "have nothing in common but the number. Looks: share of the attention at the place that answers. With all "
        f"heads the lowest seed is right in {found.whole.min():.0%}.",
    )
