"""Widgets that show and change the state of a page."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from inspect import signature
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import streamlit as st

from explorer.catalogue import TASKS
from explorer.errors import shorten
from explorer.models.settings import field_label
from explorer.training.config import Optimiser, RunConfig
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.open_experiment import AnyExperiment, OpenExperiment
from explorer.ui.state.session import ExperimentSession, PageSession, State, change

_Option = TypeVar("_Option")
_VERSIONS = "lineage.versions"  # by key of a widget: its version, its value, and the labels of its options
_DRAWN = "lineage.drawn_widgets"  # the keys of the widgets that were drawn
_FIELD = object()  # the widget shows the value of the field
_MARKDOWN_OPTIONS = (st.pills, st.segmented_control, st.radio)  # whose options Streamlit reads as Markdown
_ARGUMENTS = {"low": "min_value", "high": "max_value", "longest": "max_chars"}  # of a widget, by name in `setting`


def bind_widget(
    session: PageSession[State],
    name: str,
    draw: Callable[..., Any],
    *,
    key: str = "",
    shown: object = _FIELD,
    update: Callable[[State, Any], State] | None = None,
    redraw: tuple[str, ...] = (),
    **more: Any,
) -> None:
    """Draw a widget that shows a field of the state and changes it.

    name: name of the field; with `update`, any name is possible.
    draw: the function of Streamlit that draws the widget, as `st.number_input`. The label, the limits, the options and
        the help come from the declaration of the field (see `fields.setting`).
    key: key of the widget; by default the session's prefix and the name.
    shown: the value that the widget shows, if it is not that of the field.
    update: returns the new state for the old state and the new value, if more than the field changes.
    redraw: names of the only fragments that show the value (see `session.fragment`); the widget must be in one of them.
    more: `label`, `low`, `high`, `step`, `options` and `longest` if they differ from the declaration, and further
        arguments of `draw`.

    If the visitor deselects the only selected option, nothing changes. Nor does a value change anything that is not
    among the options: Streamlit returns the label of an option that the widget no longer has.

    A browser whose connection was lost may continue on a server that does not know the page. What the visitor has
    changed meanwhile arrives there as the first value of the widget, and changes the state as well.
    """
    state = session.state
    declared: Mapping[str, Any] = {each.name: each.metadata for each in dataclasses.fields(state)}.get(name, {})
    value = _as_list(getattr(state, name) if shown is _FIELD else shown)
    key = key or _widget_key(session, name)
    arguments = _widget_arguments(draw, declared, more, state)
    options = list(arguments.get("options", ()))
    labels = [str(arguments.get("format_func", str)(option)) for option in options]
    # Streamlit refuses a longer text without a word; here it is cut, which the page says.
    longest = arguments.pop("max_chars", None)

    def with_value(state: State, new: Any) -> State:
        chosen = new if isinstance(new, list) else [new]
        if new is None or (options and not all(each in options for each in chosen)):
            return state
        if isinstance(new, str) and longest is not None and len(new) > longest:
            session.problems += (
                f"Only the first {longest:,} characters of your text are read; the other {len(new) - longest:,} were "
                f"left out: “{shorten(new[longest:])}”.",
            )
            new = new[:longest]
        new = tuple(new) if isinstance(new, list) else new
        return update(state, new) if update else state.with_field(name, new)

    bound = _bind(session, key, value, labels, with_value, redraw)
    draw(**arguments, **_initial_value(draw, value, arguments), **bound)
    _take_first_value(bound, value)


def draw_examples(
    session: PageSession[State],
    name: str,
    label: str,
    text: str,
    examples: Collection[str],
    update: Callable[[State, Any], State],
    **more: Any,
) -> None:
    """Draw example texts as buttons; `text` is the one that is selected, if it is among them. See `bind_widget`.

    examples: the texts, or a mapping of them to what the buttons say.
    label: for screen readers only.
    """
    more |= {"label": label, "options": examples, "label_visibility": "collapsed"}
    bind_widget(session, name, st.pills, shown=text if text in examples else None, update=update, **more)


def draw_choice(
    draw: Callable[..., Any], label: str, options: Mapping[_Option, str], *, key: str, **more: Any
) -> _Option:
    """Draw a choice among options with labels that is no part of a state; return what is chosen, or else the default.

    Streamlit returns the label of an option that a widget had in an earlier run, so the labels belong to its version.
    """
    name = _version_of(key, None, list(options.values()))
    chosen: _Option = draw(label, list(options), format_func=options.__getitem__, key=name, **more)
    default: _Option = more.get("default", next(iter(options)))
    return chosen if chosen in options else default


def _take_first_value(bound: Mapping[str, Any], value: Any) -> None:
    """Change the state if the widget has another value when it is drawn for the first time in a session.

    bound: what binds the widget to the state (see `_bind`).
    value: what the widget should show.
    """
    drawn: set[str] = st.session_state.setdefault(_DRAWN, set())
    if bound["key"] in drawn:
        return
    first = _as_list(st.session_state.get(bound["key"], value))
    drawn.add(bound["key"])  # only now, because the next event may interrupt a run at every use of the session state
    if first != value:
        bound["on_change"]()


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _widget_arguments(
    draw: Callable[..., Any], declared: Mapping[str, Any], more: Mapping[str, Any], state: object
) -> dict[str, Any]:
    """Return the arguments of a widget function: those of the field's declaration that it accepts, and `more`."""
    accepted = _parameters(draw)
    arguments = {_ARGUMENTS.get(name, name): value for name, value in declared.items()}
    arguments = {name: value for name, value in arguments.items() if name in accepted}
    arguments |= {_ARGUMENTS.get(name, name): value for name, value in more.items()}
    if callable(high := arguments.get("max_value")):
        arguments["max_value"] = high(state)
    if isinstance(options := arguments.get("options"), Mapping):
        arguments = {"format_func": options.__getitem__} | arguments | {"options": list(options)}
    if draw in _MARKDOWN_OPTIONS:
        name_option = arguments.get("format_func", str)
        arguments["format_func"] = lambda option: escape_markdown(str(name_option(option)))
    if "wrap" in accepted:
        arguments["wrap"] = True  # in a row Streamlit would cut the options that do not fit
    if declared and "selection_mode" in accepted and arguments.get("selection_mode") != "multi":
        arguments["required"] = True
    return arguments


def _initial_value(draw: Callable[..., Any], value: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the argument that sets what a widget shows at first.

    A later value comes with a new version of the widget (see `_bind`). A value that is written to Streamlit's session
    state instead reaches the browser once, and is lost if the widget is in a popover that is not open.
    """
    accepted = _parameters(draw)
    if "index" in accepted:
        return {"index": None if value is None else list(arguments["options"]).index(value)}
    return {"default": value} if "default" in accepted else {"value": value}


def _widget_key(session: PageSession[Any], name: str) -> str:
    return f"{session.prefix}.{name}" if session.prefix else name


@cache
def _parameters(draw: Callable[..., Any]) -> frozenset[str]:
    return frozenset(signature(draw).parameters)


def _bind(
    session: PageSession[State],
    key: str,
    value: object,
    labels: list[str],
    update: Callable[[State, Any], State],
    redraw: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the arguments that bind a widget to the state: its key, and the function that is called after a change.

    A browser sends the values of all widgets with every event, also those that it has not received yet. The key of the
    widget therefore contains a version, which grows whenever something else than the widget changes its value, or the
    labels of its options: what a browser still sends for an older version concerns no widget any more.
    """
    name = _version_of(key, value, labels)
    versions = st.session_state[_VERSIONS]
    version = versions[key][0]

    def apply_value() -> None:
        if versions[key][0] == version:
            new = st.session_state[name]
            versions[key] = version, new, labels
            change(session, lambda state: update(state, new), redraw)

    return {"key": name, "on_change": apply_value}


def _version_of(key: str, value: object, labels: list[str]) -> str:
    """Return the key of the version of a widget that shows this value and these labels of options."""
    versions: dict[str, tuple[int, object, list[str]]] = st.session_state.setdefault(_VERSIONS, {})
    version, *shown = versions.get(key, (0, value, labels))
    version += shown != [value, labels]
    versions[key] = version, value, labels
    return f"{key}--v{version}" if version else key


def original_key(key: str) -> str:
    """Return the key of a widget without its version."""
    return re.sub(r"--v[0-9]+$", "", key)


def reset_button(
    session: PageSession[State], name: str = "reset", update: Callable[[State], State] = lambda state: state.reset()
) -> None:
    """Draw the button that restores the default settings while they are changed; `update` returns the default state."""
    if session.state == update(session.state):
        return
    st.button(
        "Back to the defaults",
        icon=":material/undo:",
        on_click=partial(change, session, update),
        key=_widget_key(session, name),
    )


def setting_widget(
    session: ExperimentSession[AnyExperiment],
    name: str,
    *,
    model: str | None = None,
    section: str = "",
    **more: Any,
) -> None:
    """Draw the widget of one setting, with type, label, limits and help from the field of its settings class.

    name: field name of the setting.
    model: the model that the setting belongs to; None for a setting that all models share.
    section: first part of the widget's key, for a setting with several widgets.
    more: further arguments of the widget.
    """
    settings_class = _settings_class(session.experiment, name, model)
    declared = next(f for f in dataclasses.fields(settings_class) if f.name == name)
    about = declared.metadata
    hint = get_type_hints(settings_class)[name]
    value = session.experiment.value(name, model)

    def with_value(lab: AnyExperiment, new: Any) -> AnyExperiment:
        return lab.with_own(model, **{name: new}) if model else lab.with_shared(**{name: new})

    key = f"{section}.{model or 'shared'}.{name}"
    draw: Callable[..., Any] = st.number_input
    limits: dict[str, Any] = {"low": about.get("low"), "high": about.get("high")}
    if get_origin(hint) is Literal:
        draw, limits = st.selectbox, {"options": get_args(hint)}
    elif hint is bool:
        draw, limits = st.toggle, {}
    elif hint is int:
        limits = {name: int(value) for name, value in limits.items()} | {"step": 1}
    elif about["high"] == 1 and about["low"] == 0:
        draw, limits = st.slider, {"low": 0.0, "high": 1.0, "step": 0.05}
    else:
        limits = {name: float(value) for name, value in limits.items()} | {"step": value / 2 or 0.1, "format": "%g"}
    bind_widget(
        session,
        name,
        draw,
        key=key,
        shown=value,
        update=with_value,
        label=field_label(declared),
        help=about["help"],
        **limits,
        **more,
    )


def _settings_class(lab: OpenExperiment, name: str, model: str | None) -> type[Any]:
    task = TASKS[lab.TASK].config
    kinds = [type(lab.config(model).model), Optimiser, RunConfig, task] if model else [task, RunConfig]
    return next(kind for kind in kinds if name in {f.name for f in dataclasses.fields(kind)})
