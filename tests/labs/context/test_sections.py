from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from benchmarks.language_models import SAME_CONTEXT
from explorer.inspection.language.context_cost import LENGTHS, ContextCosts, StepCost
from explorer.inspection.language.context_use import ContextUse
from explorer.labs.context.context_cost import context_cost_finding, cost_formulas
from explorer.labs.context.context_use import (
    BestNgram,
    MeasuredNetwork,
    SameContextTable,
    context_finding,
    is_measured_text,
    read_table,
    same_context_caption,
    same_context_finding,
)
from explorer.models.configs import NgramTextConfig
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.ui.training.run_view import RunView
from tests.labs.text.small_runs import (
    SMALL,
    has_figures,
    make_weights_nan,
    open_section,
    page_prose,
    run_until,
    small_views,
)
from tests.pages.screen import assert_no_errors, component_data, table
from tests.words import assert_mentions


def context_use(enough: int, limit: int | None = None, count: int = 5) -> ContextUse:
    """Return the result of a model that gains from up to `enough` tokens of context."""
    contexts = np.array([1, 2, 4, 8, 16])[:count]
    gain = np.where(contexts < enough, 0.5, 0.0)
    losses = np.linspace(3, 2, count)[None]
    return ContextUse(contexts, 100, losses, np.full(count, 0.01), gain, np.full(count, 0.01), limit)


def test_the_finding_names_the_context_that_each_model_uses(snapshot: SnapshotAssertion) -> None:
    limited = {"n-gram": context_use(8, limit=5), "Feedforward": context_use(4, limit=8)}
    worse = replace(context_use(1), losses=np.array([[3, 2.1, 2.5, 2.5, 2.55]]), gain=np.array([0, -0.4, 0, 0, 0]))
    assert [
        context_finding(limited | {"LSTM": context_use(16), "Transformer": context_use(16)}),
        context_finding({"RNN": context_use(1)}),
        context_finding({"n-gram": worse, "RNN": context_use(16)}),
        context_finding({"RNN": context_use(1, count=1)}),
    ] == snapshot


N = np.array(LENGTHS, float)
LEVEL = np.full(len(LENGTHS), 0.1)


def costs(seconds: np.ndarray, memory: np.ndarray) -> ContextCosts:
    return ContextCosts((StepCost("gru", False, seconds, memory),), 1.0)


def test_the_finding_states_the_cost_of_long_rows(snapshot: SnapshotAssertion) -> None:
    times = {"feedforward": LEVEL, "rnn": 0.1 * N**0.5, "transformer": 0.1 * N**0.1}
    steps = [StepCost(model, False, seconds, 1e7 * np.ones(7)) for model, seconds in times.items()]
    outlier = np.where(N == 1_024, 0.15, LEVEL)
    assert [
        context_cost_finding(ContextCosts((*steps, StepCost("transformer", True, 0.001 * N, 1e5 * N)), 9.0)),
        context_cost_finding(costs(LEVEL, LEVEL)),
        context_cost_finding(costs(N, N)),
        context_cost_finding(costs(LEVEL * np.nan, LEVEL * np.nan)),
        context_cost_finding(costs(np.where(N > 256, np.nan, N), LEVEL)),
        context_cost_finding(costs(outlier, LEVEL)),  # all points count
        context_cost_finding(costs(LEVEL, outlier)),  # bytes are exact
    ] == snapshot


def test_the_formula_has_the_numbers_of_these_sizes_and_of_the_measurement(snapshot: SnapshotAssertion) -> None:
    rnn, transformer = default_config("text", "rnn"), default_config("text", "transformer")
    fused, explicit = (
        StepCost("transformer", False, LEVEL, LEVEL),
        StepCost("transformer", True, LEVEL, LEVEL + 65_536 * N),
    )
    both = ContextCosts((fused, explicit), 1.0)
    assert [
        cost_formulas([rnn, transformer], both),
        cost_formulas([rnn], both),
        cost_formulas([transformer], ContextCosts((fused,), 1.0)),
    ] == snapshot


USE = "explorer.labs.context.context_use:context_section"
COST = "explorer.labs.context.context_cost:context_cost_section"


def test_context_use_is_drawn_for_every_model_with_weights() -> None:
    views = small_views(*SMALL)
    views["rnn"] = RunView(with_settings(default_config("text", "rnn"), {"corpus": "brackets"}), None, None)
    at = run_until(open_section(USE, views), has_figures)
    (panel,) = component_data(at, "plot_frame")[0]["figures"]
    assert [track["title"] for track in panel["tracks"]] == ["n-gram", "Feedforward", "Transformer"]
    assert panel["plot"]["data"][2]["x"] == [1, 2, 4, 8, 16]
    assert_mentions(page_prose(at), "Left out: GRU, trained with the state carried")
    assert "Without a finished run: RNN" in page_prose(at)
    at = open_section(USE, small_views("gru", train=False))
    assert not has_figures(at) and "trained" in page_prose(at)


@pytest.mark.parametrize("damaged", [False, True])
def test_a_model_without_numbers_or_with_damaged_weights_is_reported_and_the_others_are_drawn(damaged: bool) -> None:
    views = small_views("ngram", "transformer")
    stored = views["transformer"].stored
    assert stored
    if damaged:
        for file in (stored.folder / "snapshots").glob("*"):
            file.write_bytes(b"nothing")
    else:
        make_weights_nan(views["transformer"])
    at = run_until(open_section(USE, views), has_figures)
    assert [track["title"] for track in component_data(at, "plot_frame")[0]["figures"][0]["tracks"]] == ["n-gram"]
    statement = "cannot be read" if damaged else "diverged … no numbers … left out … Transformer (one)"
    assert_mentions(page_prose(at), statement)


def test_costs_are_measured_on_request_with_the_sizes_of_the_selected_models(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[list[str]] = []

    def measured(configs: dict[str, RunConfig]) -> ContextCosts:
        requested.append(list(configs))
        steps = (StepCost("gru", False, 0.1 * N, 0.1 * N), StepCost("transformer", True, 0.1 * N, 0.1 * N))
        return ContextCosts(steps, 3.21)

    monkeypatch.setattr("explorer.inspection.language.context_cost.measure_context_costs", measured)
    views = small_views("ngram", "gru", "transformer", train=False)
    at = open_section(COST, views)
    assert not requested and not has_figures(at)
    assert [button.label for button in at.button] == ["Measure on this server"]
    at.button[0].click()
    at = run_until(at, lambda at: has_figures(at) and at.latex)
    assert requested == [["gru", "transformer"]]
    time_, memory = component_data(at, "plot_frame")[0]["figures"]
    assert [track["title"] for track in time_["tracks"]] == ["GRU", "Transformer, explicit"]
    assert memory["title"] == "Memory kept for the backward pass, MB"
    assert_mentions(page_prose(at), "from 128 tokens … GRU 1.00 … Transformer (explicit) 1.00")
    assert "What is missing" not in page_prose(at)
    assert "measured in 3.2 s on this server" in page_prose(at) and len(at.latex) == 2
    assert [button.label for button in at.button] == ["Measure again"]
    at = open_section(COST, small_views("gru", train=False))
    assert [button.label for button in at.button] == ["Measure on this server"], "of other models"
    assert "An n-gram takes no training steps" in page_prose(open_section(COST, small_views("ngram", train=False)))


def test_every_request_measures_again_and_visitors_see_their_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []

    def measured(configs: dict[str, RunConfig]) -> ContextCosts:
        threads.append(threading.current_thread().name)
        return replace(costs(0.1 * N, 0.1 * N), seconds=float(len(threads)))

    monkeypatch.setattr("explorer.inspection.language.context_cost.measure_context_costs", measured)
    views = small_views("gru", train=False)
    visitors = [open_section(COST, views), open_section(COST, views)]
    for turn in range(3):  # the first measures again in the end
        at = visitors[turn % 2]
        at.button[0].click()
        run_until(at, lambda at, turn=turn: f"measured in {turn + 1}.0 s" in page_prose(at))  # type: ignore[misc]
    assert "measured in 2.0 s" in page_prose(visitors[1].run()), "later measurements of others change nothing"
    assert all(name.startswith("timing") for name in threads), "timings run on threads of their own"


@pytest.mark.parametrize(
    ("run", "context"), [("text-best-seeds", "128"), ("text-transformer", "64"), ("text-gru", "reading on")]
)
def test_the_losses_of_networks_are_those_of_the_included_runs(run: str, context: str) -> None:
    measured, card = read_table().networks[run], store.find(run).card
    assert measured.parameters == card.parameters
    assert measured.losses[context] == pytest.approx(card.metrics["val_loss"].values, abs=1e-5)


def test_the_loss_of_the_ngram_is_that_of_the_included_run() -> None:
    best, run = read_table().ngrams["64"], store.find("text-ngram-modified")
    assert run.config.model == NgramTextConfig(best.n, "modified_kneser_ney")
    assert best.loss == pytest.approx(run.card.metrics["val_loss"].mean, abs=1e-5)


def test_the_file_has_every_cell_that_the_benchmark_computes() -> None:
    stored = read_table()
    assert {name: tuple(each.losses) for name, each in stored.networks.items()} == SAME_CONTEXT
    assert set(stored.ngrams) == {context for contexts in SAME_CONTEXT.values() for context in contexts}


def test_sentences_on_the_same_context(snapshot: SnapshotAssertion) -> None:
    ngrams = {"16": BestNgram("stupid_backoff", 6, 1.7), "64": BestNgram("kneser_ney", 5, 1.6)}
    losses = {
        "below": {"16": (1.6, 1.69), "64": (1.5, 1.59)},
        "above": {"64": (1.61, 1.7)},
        "mixed": {"16": (1.6, 1.69), "64": (1.59, 1.61)},
    }
    stored = SameContextTable(
        ngrams, {name: MeasuredNetwork("gru", i, each) for i, (name, each) in enumerate(losses.items(), 11)}
    )
    assert [same_context_finding(stored), same_context_caption(stored)] == snapshot(name="finding says where all seeds")
    at = assert_no_errors(open_section("explorer.labs.context.context_use:same_context_section"))
    (row,) = (row for row in table(at, "text-same-context") if row["context"]["text"] == "blocks of 64")
    stored = read_table()
    losses = stored.networks["text-best-seeds"].losses["64"]
    assert [row["ngram"]["text"], row["text-best-seeds"]["text"]] == snapshot(
        name="section shows lowest and highest seed"
    )


def test_the_table_belongs_to_one_text_and_its_characters() -> None:
    task = TextConfig()
    assert is_measured_text(task) and is_measured_text(replace(task, context=32))
    assert not is_measured_text(replace(task, tokenizer="bpe"))
    assert not is_measured_text(replace(task, corpus="brackets"))
    assert not is_measured_text(replace(task, held_out=0.2))
