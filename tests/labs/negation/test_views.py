"""What the views write, with made results."""

from __future__ import annotations

import numpy as np

from explorer.labs.negation import answers, linear_readout_ceiling, model_internals, results
from explorer.labs.negation.findings import ModelAnswer
from explorer.labs.negation.state import negation_task
from explorer.tasks.negation import NegationConfig
from explorer.ui.document import Document

WORDS = ("human", "not", "preserve", "nature")


def answer(sustain: float) -> ModelAnswer:
    return ModelAnswer("RNN", "--m-rnn", np.array([[1 - sustain, sustain]]), words=WORDS)


def test_the_padding_of_each_model_stands_beside_its_answer_alone() -> None:
    document = Document()
    found = {"rnn/alone": answer(0.1), "rnn/padded": answer(0.9), "gru/alone": answer(0.1)}
    answers.paddings_view(document, found, NegationConfig(), 8)
    finding, table = document.blocks
    assert finding["text"] == "The padding changes the answer of RNN (collapse, then sustain)."
    (row,) = table["data"]["rows"]  # type: ignore[index]
    assert row["cells"]["beside"] == {"text": "sustain 0.90", "tone": "sustain", "wrong": True}
    assert "wrong" not in row["cells"]["alone"]


def test_sentences_that_most_models_get_wrong_come_first() -> None:
    task, document = negation_task(NegationConfig()), Document()
    sentences = task.sentences[:2]
    right = np.array([[np.eye(2)[sentence.label]] for sentence in sentences])
    found = {"rnn": right.copy(), "gru": right}
    found["rnn"][1] = 1 - right[1]
    results.file_view(document, found, sentences, task.classes)
    first, second = document.blocks[0]["data"]["rows"]  # type: ignore[index]
    assert first["cells"]["text"]["text"] == sentences[1].text and first["cells"]["rnn"]["wrong"]
    assert "wrong" not in second["cells"]["rnn"]


def test_with_several_classes_each_word_has_a_bar_for_its_class() -> None:
    weights = np.array([[0.0, 3.0], [1.5, 0.0], [0.0, 0.0]])
    chart = model_internals.weights_chart("Weights", ("a", "b"), weights, ("x", "y", "z"))
    assert chart.names == ["a → y", "b → x"]
    assert chart.groups[0].values.tolist() == [1.5, 3.0]
    two = model_internals.weights_chart("Weights", ("a", "b"), weights[:2], ("x", "y"))
    assert [group.title for group in two.groups] == ["x", "y"]


def test_long_sentences_have_no_numbers_at_their_dots() -> None:
    for count, mode in ((4, "lines+markers+text"), (13, "lines+markers")):
        chart = model_internals.reading_chart(["a"] * count, np.ones(count), "--m-rnn", ("x", "y"), "words")
        assert chart.traces()[0]["mode"] == mode and chart.text == "words"


def test_the_chart_of_the_ceiling_has_both_lines_and_each_seed() -> None:
    chart = linear_readout_ceiling.ceiling_chart(NegationConfig(), 0.8833, 0.8, [0.66, 0.68])
    ceiling, trained, seeds = chart.lines
    assert (ceiling.middle >= trained.middle - 1e-9).all() and seeds.middle.tolist() == [0.66, 0.68]
    assert chart.y.span is not None and chart.y.span[0] < 0.6
