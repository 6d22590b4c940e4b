"""The table of losses in the same context agrees with the included runs, and the sentences follow from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest
from syrupy.assertion import SnapshotAssertion

from benchmarks.language_models import SAME_CONTEXT
from explorer.labs.context import same_context
from explorer.labs.context.same_context import BestNgram, MeasuredNetwork, SameContextTable
from explorer.models.configs import NgramTextConfig
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from tests.pages.screen import assert_no_errors, table


@pytest.mark.parametrize(
    ("run", "context"), [("text-best-seeds", "128"), ("text-transformer", "64"), ("text-gru", "reading on")]
)
def test_the_losses_of_networks_are_those_of_the_included_runs(run: str, context: str) -> None:
    measured, card = same_context.read_table().networks[run], store.find(run).card
    assert measured.parameters == card.parameters
    assert measured.losses[context] == pytest.approx(card.metrics["val_loss"].values, abs=1e-5)


def test_the_loss_of_the_ngram_is_that_of_the_included_run() -> None:
    best, run = same_context.read_table().ngrams["64"], store.find("text-ngram-modified")
    assert run.config.model == NgramTextConfig(best.n, "modified_kneser_ney")
    assert best.loss == pytest.approx(run.card.metrics["val_loss"].mean, abs=1e-5)


def test_the_file_has_every_cell_that_the_benchmark_computes() -> None:
    stored = same_context.read_table()
    assert {name: tuple(each.losses) for name, each in stored.networks.items()} == SAME_CONTEXT
    assert set(stored.ngrams) == {context for contexts in SAME_CONTEXT.values() for context in contexts}


def test_sentences(snapshot: SnapshotAssertion) -> None:
    ngrams = {"16": BestNgram("stupid_backoff", 6, 1.7), "64": BestNgram("kneser_ney", 5, 1.6)}
    losses = {
        "below": {"16": (1.6, 1.69), "64": (1.5, 1.59)},
        "above": {"64": (1.61, 1.7)},
        "mixed": {"16": (1.6, 1.69), "64": (1.59, 1.61)},
    }
    stored = SameContextTable(
        ngrams, {name: MeasuredNetwork("gru", i, each) for i, (name, each) in enumerate(losses.items(), 11)}
    )
    assert [same_context.same_context_finding(stored), same_context.same_context_caption(stored)] == snapshot(
        name="finding says where all seeds"
    )
    at = assert_no_errors(AppTest.from_function(app, default_timeout=60).run())
    (row,) = (row for row in table(at, "text-same-context") if row["context"]["text"] == "blocks of 64")
    stored = same_context.read_table()
    losses = stored.networks["text-best-seeds"].losses["64"]
    assert [row["ngram"]["text"], row["text-best-seeds"]["text"]] == snapshot(
        name="section shows lowest and highest seed"
    )


def test_the_table_belongs_to_one_text_and_its_characters() -> None:
    task = TextConfig()
    assert same_context.is_measured_text(task) and same_context.is_measured_text(replace(task, context=32))
    assert not same_context.is_measured_text(replace(task, tokenizer="bpe"))
    assert not same_context.is_measured_text(replace(task, corpus="brackets"))
    assert not same_context.is_measured_text(replace(task, held_out=0.2))


def app() -> None:
    from explorer.labs.context.same_context import same_context_section

    same_context_section()
