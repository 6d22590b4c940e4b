"""Every page's state and its URL: addresses that were shared open the same state, and what is written is read again."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, get_args, get_origin
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from syrupy.assertion import SnapshotAssertion

from explorer.errors import LineageError
from explorer.labs.runs.state import RunsState
from explorer.run_store import store
from explorer.ui.classroom.share_form import ShareForm
from explorer.ui.state.experiment_state import VariantComparison
from explorer.ui.state.open_experiment import OpenExperiment
from explorer.ui.state.page_states import STATES
from explorer.ui.state.url_codec import read, write

KINDS: dict[str, type[Any]] = {page: resolve_name(path) for page, path in STATES.items()}
KINDS |= {"runs": RunsState, "lessons": ShareForm}
RECORDED = json.loads((Path(__file__).parent / "addresses.json").read_text())


def open_address(kind: type[Any], params: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the address that a page writes after it was opened with these parameters, and its messages."""
    state, problems = read(kind, params)
    if isinstance(state, VariantComparison):
        state, more_problems = state.open_run()
        problems = (*problems, *more_problems)
        assert state.configs and state.variants
    return write(state), problems


DEFAULTS = {  # of pages that open with another state now: the recorded one and that of today, where it was recorded
    "attention": ({"model": "text-through-training"},),
    "tokens": ({"tokenizer": "bpe"}, {"tokenizer": "bytes"}),
    "word-vectors": ({"corpus": "grammar"}, {"corpus": "tinyshakespeare"}),
}


@pytest.mark.parametrize("page", RECORDED["pages"])  # a page without records is newer
def test_recorded_addresses_open_the_same_state(page: str) -> None:
    """The file was recorded by `make_addresses.py` of commit 52ba472, which also has the code of that time.

    Since then the negation page shows two more models if its address names none, and a Transformer with eight heads if
    its address names no setting of the Transformer.
    """
    assert len(RECORDED["pages"][page]) > 120
    for address, canonical, *messages in RECORDED["pages"][page]:
        params = dict(parse_qsl(address, keep_blank_values=True))
        expected = params if canonical == 0 else dict(parse_qsl(canonical, keep_blank_values=True))
        written, problems = open_address(KINDS[page], params)
        if (store.PRETRAINED / store.EARLIER / params.get("run", "-")).is_dir():  # it was one of the default runs
            continue
        recorded = [RECORDED["messages"][i] for i in messages]
        if page == "negation":  # its default Transformer has eight heads, so the address may choose one of them
            recorded = [message for message in recorded if not message.startswith("head =")]
            problems = tuple(problem for problem in problems if not problem.startswith("head ="))
            written.pop("head", None)
            if written.get("transformer.start") == "0.1":  # the released defaults, which used to be the default
                assert any(name.startswith("transformer.") for name in params), address
                del written["transformer.start"]
        if written.get("run") == params.get("run") and "run" not in expected:  # it was a default run of its page
            written.pop("run", None)
        if page == "negation":  # an address that names a setting of a model has the released number of epochs
            written = {name: text for name, text in written.items() if name in expected or name[-7:] != ".epochs"}
        if page == "induction" and written.get("who") == "two,one":  # which used to be the default
            del written["who"]
        if page in ("positions", "masks"):  # whose models have eight seeds by default, which used to be three
            written.pop("seeds", None)
            expected.pop("seeds", None)
        defaults = DEFAULTS.get(page, ())
        written, expected = ({} if each in defaults else each for each in (written, expected))
        problems, recorded = tuple(map(_without_names, problems)), [_without_names(message) for message in recorded]
        added = [problem for problem in problems if problem not in recorded]
        assert (written, [problem for problem in problems if problem in recorded]) == (expected, recorded), address
        # That code was silent about models that a page does not have if it had another one or could not show the run.
        assert all(re.match("There is no “.*” on this page", problem) for problem in added), address


def _without_names(message: str) -> str:
    """Return a message without its list of what there is, which depends on the models and tasks of today."""
    return re.sub(r"(There is|Give one of|Nearest:) \w+(, \w+)*\.", "…", message)


def _values(kind: type[Any], name: str, hint: Any, about: Any) -> SearchStrategy[Any]:
    """Return values of a field that are possible and short enough for a URL."""
    default = st.just(next(f.default for f in dataclasses.fields(kind) if f.name == name))
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if hint is bool:
        return st.booleans()
    if type(None) in get_args(hint):
        return st.none() | _values(kind, name, get_args(hint)[0], about)
    if hint is int and "low" in about:
        return st.integers(about["low"], about["high"]).filter(lambda v: _is_accepted(about, v)) | default
    if hint in (int, float) and "options" in about:
        return st.sampled_from(list(about["options"]))
    if hint is float:
        return st.floats(about["low"], about["high"]).map(lambda v: float(f"{v:.6g}"))
    texts: Iterable[str] = about.get("options", ()) if hint is str else ()
    if texts:
        return st.sampled_from(list(texts))
    if get_origin(hint) is tuple and get_args(hint)[0] is str and "check" not in about:
        item = st.text(st.characters(exclude_characters=",", codec="utf-8"), min_size=1, max_size=9)
        return st.lists(item, max_size=5).map(tuple)
    if hint is str and "check" not in about:
        return st.text(max_size=min(about.get("longest", 100), 100)) | default
    return default


def _is_accepted(about: Any, value: object) -> bool:
    try:
        about.get("check", lambda _: None)(value)
    except LineageError:
        return False
    return True


def _states(kind: type[Any]) -> SearchStrategy[Any]:
    hints = typing.get_type_hints(kind)
    in_url = [f for f in dataclasses.fields(kind) if f.metadata.get("in_url", True)]  # the others are not written
    fields = {f.name: _values(kind, f.name, hints[f.name], f.metadata) for f in in_url}
    return st.fixed_dictionaries({}, optional=fields).map(lambda values: kind(**values))


FLAT = {page: kind for page, kind in KINDS.items() if not issubclass(kind, OpenExperiment)}


@settings(deadline=None, max_examples=10)
@pytest.mark.parametrize("page", FLAT)
@given(data=st.data())
def test_a_state_is_read_as_it_was_written(page: str, data: st.DataObject) -> None:
    """States of open experiments are in `test_open_experiment.py`."""
    state = data.draw(_states(FLAT[page]))
    assert read(FLAT[page], dict(parse_qsl(urlencode(write(state)), keep_blank_values=True))) == (state, ())


@settings(deadline=None, max_examples=10)
@pytest.mark.parametrize("page", RECORDED["pages"])
@given(data=st.data())
def test_an_opened_address_stays_as_it_is(page: str, data: st.DataObject) -> None:
    """A page opened with the address that it wrote writes the same address, without a message."""
    drawn = data.draw(st.lists(st.sampled_from(RECORDED["pages"][page]), min_size=1, max_size=3))
    merged = {name: text for address, *_ in drawn for name, text in parse_qsl(address, keep_blank_values=True)}
    written, _ = open_address(KINDS[page], merged)
    assert open_address(KINDS[page], written) == (written, ())


INVALID = {
    "attention": ("head=3", "off=1&flat=0.1,x&layer=first&at=-1&view=cube&sort=beauty&unmasked=x&walk=7&patch=head.1"),
    "block": ("token=2", f"kind=middle&layer=0&head=x&say={'x' * 201}&arrow=1"),
    "compare": (
        "log_x=true&runs=aaaaaaaaaaaa,bbbbbbbbbbbb",
        "x=epochs&y=f1&log_y=perhaps&colour=red&__class__=x&rising=true&target=nan&target=inf&target=-1&target=2e6"
        "&target=x&smooth=nan&smooth=1&smooth=0.995&smooth=-0.1&smooth=much",
    ),
    "depth": ("start=zero", f"cut=3&heads=16&layers=25&norm=batch&say={'x' * 201}&first=-1&residual=maybe&mask=1"),
    "induction": ("seeds=2", "off=x&without=nothing"),
    "negation": (
        "say=human destroy nature&train_size=900&rnn.width=9&feedforward.epochs=3",
        "p_not=2&max_nots=many&held_out=human&fresh_data=perhaps&replicas=33&rnn.hidden=-3&transformer.heads=3"
        "&lstm.epochs=0&gru.learning_rate=nan&rnn.seed=1&rnn.window=1&colour=red&models=rnn,markov&metric=f1&look=8"
        "&layer=1&head=x&run=nonsense",
    ),
    "perplexity": ("stride=2", "tokens=char,letters&vocabulary=501"),
    "scaled-attention": (
        "draw=3",
        f"q=1,nan&k=1,x&v=1e9&q={','.join('1' * 37)}&at=scores.1&at=q.0.0&padding=9&width=7&mask=both&wide=0"
        f"&words={'a ' * 41}",
    ),
    "sentences": ("task=gist", "word=dog&layers=7&layer=-5"),
    "studio": (
        "seed=3",
        "t=warm&t=2.5&t=nan&top_k=-1&top_p=1.5&greedy=maybe&models=,&models=a,b,c,d&path=1,-2&path=a&tokens=5"
        f"&path={','.join('1' * 121)}&length=1e9x&prompt={'x' * 2_001}&nonsense=1",
    ),
    "text": (
        "gru.width=32",
        "unit=nats&along=epoch&tokenizer=morse&split=pairs&corpus=own&experiment=cold fusion&gru.hidden=1e9"
        "&ngram.hidden=3&ngram.n=9&giving=true",
    ),
    "tokens": (
        "tokenizer=word",
        "corpus=bible&text=../etc&vocabulary=1&vocabulary=99999&vocabulary=many&context=17&rows=columns&batches=<b>"
        "&nonsense=1",
    ),
}


@pytest.mark.parametrize("page", INVALID)
def test_an_invalid_parameter_is_reported_and_the_others_are_kept(page: str, snapshot: SnapshotAssertion) -> None:
    kept, invalid = (parse_qsl(address, keep_blank_values=True) for address in INVALID[page])
    expected, _ = read(KINDS[page], dict(kept))
    assert write(expected) == dict(kept)
    messages: list[str] = []
    for parameter in invalid:
        state, problems = read(KINDS[page], dict([*kept, parameter]))
        assert state == expected and len(problems) == 1, parameter
        messages += problems
    assert messages == snapshot


COMPARISONS = [page for page, kind in KINDS.items() if issubclass(kind, VariantComparison)]


@pytest.mark.parametrize("given", ["nobody", "", ",", "\u202e", "a,b"])
@pytest.mark.parametrize("page", COMPARISONS)
def test_an_address_that_names_no_possible_model_opens_the_page(page: str, given: str) -> None:
    written, problems = open_address(KINDS[page], {"who": given, "seeds": "2"})
    assert written == {"seeds": "2"} and len(problems) == 1
    assert problems[0].isprintable() and "“”" not in problems[0]
    assert given != "nobody" or "nobody" in problems[0]


@pytest.mark.parametrize("page", ["masks", "positions", "scaled-attention"])
def test_an_impossible_model_beside_a_possible_one_is_reported(page: str) -> None:
    name = KINDS[page]().who[0]
    written, problems = open_address(KINDS[page], {"who": f"{name},nobody"})
    assert written == {"who": name} and len(problems) == 1 and "“nobody”" in problems[0]


def test_a_value_too_long_for_a_url_is_not_written() -> None:
    assert write(RunsState(text="a" * 601, whose="mine")) == {"whose": "mine"}
    assert write(RunsState(runs=tuple("abcdefghijkl" for _ in range(60)))) == {}


HOSTILE = (
    "",
    " ",
    "0",
    "-1",
    "nan",
    "inf",
    "1e999",
    "9" * 5_000,
    "0x10",
    "1_000",
    "٣",
    "½",
    "true",
    "None",
    "[]",
    "{}",
)
HOSTILE += (
    ",",
    "," * 500,
    "1," * 300,
    "a," * 5_000,
    "x" * 100_000,
    "\x00\x1b[31m",
    "\r\nA: b",
    "\u202e",
    "\ufeff",
    "🙂",
)
HOSTILE += ("<script>", "[x](javascript:alert(1))", "$$\\frac{1}{0}$$", "%", "../../etc/passwd", "x.y.z", ".", "f" * 64)
HOSTILE += ("\u202e", "\ufeff", "🙂", "own", "__class__", "rnn", "rnn,rnn,rnn", "rnn.hidden", "(" * 2_000, "not " * 700)


@settings(deadline=None, max_examples=20)
@pytest.mark.parametrize("page", [page for page in KINDS if page != "negation"])
@given(data=st.data())
def test_any_url_gives_a_state_and_short_messages(page: str, data: st.DataObject) -> None:
    """URLs of the negation page are in `test_open_experiment.py`."""
    recorded = {name for address, *_ in RECORDED["pages"].get(page, ()) for name, _ in parse_qsl(address)}
    names = sorted(recorded | {field.name for field in dataclasses.fields(KINDS[page])})
    texts = st.sampled_from(HOSTILE) | st.text()
    params = data.draw(st.dictionaries(st.sampled_from(names) | st.text(), texts, max_size=8))
    _, problems = open_address(KINDS[page], params)
    assert len(problems) <= len(params)
    assert all(len(problem) < 400 and problem.isprintable() for problem in problems)
