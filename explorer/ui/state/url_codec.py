"""URL parameters of a page: one for each field of its state that is not the default.

The state is a dataclass, whose fields are declared with `fields.setting`. The settings of an `OpenExperiment` are
parameters as well: `p_not=0.5` for all models, `rnn.hidden=12` for one. All parameters are validated: an invalid one is
reported in one sentence and the rest is kept.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import pydantic

from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.training.config import default_config
from explorer.ui.state.fields import PageState
from explorer.ui.state.open_experiment import AnyExperiment, OpenExperiment

State = TypeVar("State")
AnyPage = TypeVar("AnyPage", bound=PageState)
_MAX_LENGTH = 600  # characters of one parameter
_BASES = ("run", "setup")  # parameters of `OpenExperiment.of_url`


def write(state: object) -> dict[str, str]:
    """Return the fields that differ from the defaults as URL parameters, and the settings of an open experiment."""
    if not isinstance(state, OpenExperiment):
        return _write_page_state(state)
    defaults = state.url_defaults
    params = state.url_base_params
    params |= _write_fields(state, defaults, (name for name in _parameters(type(state)) if name not in _BASES))
    for name in {**state.shared, **defaults.shared}:
        if state.value(name) != defaults.value(name):
            params[name] = str(_to_lower(state.value(name)))
    for model in {**state.own, **defaults.own}:
        base_settings = defaults.own_settings_of(model) if defaults.is_url_base_of(model) else {}
        for name in {**state.own.get(model, {}), **base_settings}:
            if not base_settings or state.value(name, model) != defaults.value(name, model):
                params[f"{model}.{name}"] = str(_to_lower(state.value(name, model)))
    return params


def _write_page_state(state: object) -> dict[str, str]:
    kind = type(state)
    base, names = _url_base(kind), _parameters(kind)
    params = _write_fields(state, base, names)
    if params == _write_fields(kind(), base, names):
        return {}
    return params or dict(list(_write_fields(state, kind(), names).items())[:1])  # one is enough for `_url_base`


def _url_base(kind: type[State]) -> State:
    base: State = getattr(kind, "url_base", kind)()
    return base


def read(kind: type[State], params: Mapping[str, str], visitor_id: str = "") -> tuple[State, tuple[str, ...]]:
    """Return the state of these URL parameters, and a message for each parameter that is invalid.

    kind: the dataclass of the state.
    params: the URL parameters of the page.
    visitor_id: the visitor whose runs an open experiment may show, besides public ones.
    """
    if issubclass(kind, OpenExperiment):
        return _read_experiment(kind, params, visitor_id)
    values: dict[str, object] = {}
    problems = _attempt(params, lambda name, text: values.update({name: _parse_field(kind, name, text)}))
    state = dataclasses.replace(_url_base(kind), **values) if values else kind()  # type: ignore[type-var]
    return state, tuple(problems)


def apply_message(state: AnyPage, message: object) -> AnyPage:
    """Return the state after a message of a component: its `COMPONENT_FIELDS` as a JSON object, or as its text.

    An invalid message changes nothing. An empty text stands for the default of a field.
    """
    try:
        content = message if isinstance(message, dict) else json.loads(str(message))
        values = {name: content[name] for name in state.COMPONENT_FIELDS if name in content}
    except (ValueError, TypeError):
        return state
    fields = {n: ",".join(map(str, v)) if isinstance(v, list) else str(_to_lower(v)) for n, v in values.items()}
    new, problems = read(type(state), {name: text for name, text in fields.items() if values[name] != ""})
    return state if problems else dataclasses.replace(state, **{name: getattr(new, name) for name in fields})


def _attempt(params: Mapping[str, str], apply: Callable[[str, str], object]) -> list[str]:
    """Apply each parameter; return the messages of those that are invalid."""
    problems = []
    for name, text in params.items():
        try:
            apply(name, text)
        except LineageError as error:
            problems.append(str(error))
    return problems


def _parameters(kind: type[Any]) -> dict[str, Mapping[str, Any]]:
    return {f.name: f.metadata for f in dataclasses.fields(kind) if f.metadata.get("in_url", True)}


def _write_fields(state: Any, defaults: Any, names: Iterable[str]) -> dict[str, str]:
    """Return the fields whose value is not the default; a text that is too long for a URL is left out."""
    declared = _parameters(type(state))
    changed = {name: getattr(state, name) for name in names if getattr(state, name) != getattr(defaults, name)}
    texts = {name: _to_url_text(value) for name, value in changed.items()}
    return {name: text for name, text in texts.items() if len(text) <= declared[name].get("longest", _MAX_LENGTH)}


def _parse_field(kind: type[Any], name: str, text: str) -> object:
    """Return the value of a field. Raises InvalidSetting."""
    declared = _parameters(kind)
    if name not in declared:
        raise InvalidSetting(f"This page has no “{shorten(name)}”; that part of the address was left out.")
    return _parse_value(name, text, typing.get_type_hints(kind)[name], declared[name])


def _parse_value(name: str, text: str, hint: Any, about: Mapping[str, Any]) -> object:
    if any(get_origin(part) is tuple for part in (hint, *get_args(hint))):
        parts: object = tuple(part for part in text[: about.get("longest", _MAX_LENGTH)].split(",") if part)
    else:
        parts = text
    limits = pydantic.Field(ge=about.get("low"), le=about.get("high"))
    try:
        value: object = pydantic.TypeAdapter(typing.Annotated[hint, limits]).validate_python(parts)
    except pydantic.ValidationError:
        raise InvalidSetting(
            f"{shorten(name)} = {shorten(text)} is not possible. Give {_describe_valid(hint, about)}."
        ) from None
    if "check" in about:
        about["check"](value)
    return value


def _describe_valid(hint: Any, about: Mapping[str, Any]) -> str:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if bool in kinds:
        return "true or false"
    if any(get_origin(kind) is tuple and int in get_args(kind) for kind in (hint, *kinds)):
        return "whole numbers with commas between"
    if float in kinds or int in kinds:
        low, high = (f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in (about.get("low", 0), about.get("high", 0)))
        return f"a number from {low} to {high}" if "low" in about else "a number"
    return "text"


def _to_lower(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _to_url_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(_to_lower(value))


def _read_experiment(
    kind: type[AnyExperiment], params: Mapping[str, str], visitor_id: str
) -> tuple[AnyExperiment, tuple[str, ...]]:
    """Return the state around the requested run, with the settings of the URL, then with its models and views."""
    state, problems = kind(), []
    try:
        state = kind.of_url(params, visitor_id)
    except LineageError as error:
        problems.append(str(error))
    settings = {name: text for name, text in params.items() if kind.owner(name)}
    state, more_problems = _apply_valid_settings(state, settings)

    def apply(name: str, text: str) -> None:
        nonlocal state
        state = _apply_view(state, name, text)

    bases = {name for name in _BASES if name in _parameters(kind)}
    views = {name: text for name, text in params.items() if name not in bases and name not in settings}
    problems += more_problems + _attempt(views, apply)
    return state, tuple(problems)


def _apply_valid_settings(state: AnyExperiment, settings: Mapping[str, str]) -> tuple[AnyExperiment, list[str]]:
    """Apply all settings at once, because some are valid only together; if that fails, by model, then one by one."""
    try:
        return _apply_settings(state, settings), []
    except LineageError as error:
        if len(settings) == 1:
            return state, [str(error)]
    owners = list(dict.fromkeys(map(state.owner, settings)))
    groups = [{n: v for n, v in settings.items() if state.owner(n) == owner} for owner in owners]
    if len(groups) == 1:
        groups = [{name: value} for name, value in settings.items()]
    problems = []
    for group in groups:
        state, more_problems = _apply_valid_settings(state, group)
        problems += more_problems
    return state, problems


def _apply_settings(state: AnyExperiment, settings: Mapping[str, str]) -> AnyExperiment:
    """Return the state with these settings of the URL applied together. Raises InvalidSetting."""
    shared = {name: value for name, value in settings.items() if state.owner(name) == "shared"}
    own: dict[str, dict[str, object]] = {model: dict(values) for model, values in state.own.items()}
    for name, value in settings.items():
        model, _, setting = name.rpartition(".")
        if model:
            around = state.own_settings_of(model) if state.is_url_base_of(model) else {}
            own.setdefault(model, dict(around))[setting] = value
    return state.with_settings({**state.shared, **shared}, own)


def _apply_view(state: AnyExperiment, name: str, text: str) -> AnyExperiment:
    """Return the state with one URL parameter applied that is not a setting. Raises InvalidSetting."""
    if name == "models":
        chosen = [part for part in text.split(",") if part]
        for part in chosen:
            default_config(state.TASK, part)
        return state.with_models(chosen)
    about = _parameters(type(state)).get(name, {})
    if callable(high := about.get("high")):
        if text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= high(state):
            return state.with_field(name, int(text))
        raise InvalidSetting(f"{name} = {shorten(text)} is not possible. Give a whole number from 0 to {high(state)}.")
    if options := about.get("options"):
        if text in options:
            return state.with_field(name, text)
        raise InvalidSetting(f"{name} = {shorten(text)} is not possible. Give {' or '.join(options)}.")
    return state.with_field(name, _parse_field(type(state), name, text))
