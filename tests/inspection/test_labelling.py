from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import EmptySentence, InvalidSetting, SentenceTooLong, UnknownWords
from explorer.inspection.labelling import answers, inside, row_of
from explorer.inspection.opening import open_model
from explorer.seeds import generator
from explorer.tasks.agreement import AgreementConfig
from explorer.tasks.agreement_rows import clauses
from explorer.tasks.agreement_rows import rows_of as agreement_rows
from explorer.tasks.echo import EchoConfig
from explorer.tasks.echo_rows import fresh as fresh_echo
from explorer.tasks.gist import GistConfig
from explorer.tasks.gloss import GlossConfig
from explorer.tasks.gloss_rows import rows_of as gloss_rows
from explorer.tasks.labelling import LabellingConfig
from explorer.tasks.meanings_rows import fresh_sentences
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.place import PlaceConfig
from explorer.tasks.place_rows import fresh as fresh_places
from explorer.tasks.tale import TaleConfig
from explorer.training.store import find


def label(task: LabellingConfig, wanted: int | None) -> str | None:
    return None if wanted is None else task.labels[wanted]


@pytest.mark.parametrize("again", ["copy", "reverse"])
def test_digits_are_the_row_that_training_draws(again: str) -> None:
    task = EchoConfig(again=again)  # type: ignore[arg-type]
    drawn = fresh_echo(task, [5], 1)
    row = row_of(task, " ".join(task.vocabulary[id] for id in drawn.ids[0, :5]))
    assert list(row.ids) == drawn.ids[0].tolist() and list(row.asked) == drawn.counted[0].tolist()
    assert list(row.wanted[5:]) == drawn.wanted[0, 5:].tolist() and row.wanted[:5] == (None,) * 5


def test_an_echo_that_somebody_began_is_read_as_it_was_typed() -> None:
    row = row_of(EchoConfig(), "407|5")
    assert row.ids == (4, 0, 7, 10, 5) and row.wanted == (None, None, None, 4, 0)


def test_places_and_sentences_are_those_that_training_draws() -> None:
    place = PlaceConfig(period=3)
    drawn = fresh_places(place, 7)
    row = row_of(place, "".join(map(str, drawn.ids[0].tolist())))
    assert list(row.ids) == drawn.ids[0].tolist() and list(row.wanted) == drawn.wanted[0].tolist()
    for said in fresh_sentences(20, ambiguous=True):
        rows, row = gloss_rows([said]), row_of(GlossConfig(), " ".join(said.words))
        assert list(row.ids) == rows.ids[0].tolist() and list(row.wanted) == rows.wanted[0].tolist()
    for clause in clauses(generator(3, "asked"), 20):
        drawn, row = agreement_rows(AgreementConfig(), [clause]), row_of(AgreementConfig(), " ".join(clause.words))
        length = len(clause.words)
        assert list(row.ids) == drawn.ids[0, :length].tolist() and list(row.asked) == drawn.counted[0, :length].tolist()
        right = [wanted for wanted in row.wanted if wanted is not None]
        assert right == drawn.wanted[0, :length][drawn.counted[0, :length]].tolist()


def test_what_the_row_does_not_tell_is_not_judged() -> None:
    task = GlossConfig()
    for text in ("the bank is here", "the bank is near the loan and the water"):
        assert row_of(task, text).wanted[1] is None
    assert label(task, row_of(task, "by the water a bank").wanted[4]) == "bank (river)"
    assert set(row_of(GistConfig(), "the ___ is near the loan").wanted) == {None}
    assert row_of(GistConfig(), "the _").ids[1] == len(GistConfig().vocabulary) - 2
    row = row_of(TaleConfig(), "The owl")
    assert row.wanted == (*row.ids[1:], None) and all(row.asked)
    assert label(AgreementConfig(), row_of(AgreementConfig(), "the queens near the king").wanted[-1]) == "are"


@pytest.mark.parametrize(
    ("task", "text", "kind", "words"),
    [
        (NoiseConfig(), "ab3", InvalidSetting, "“3” is no sign of this task"),
        (NoiseConfig(), " ", InvalidSetting, "The text is empty"),
        (NoiseConfig(), "ab" * 7, InvalidSetting, "has 14 tokens; this model is asked about at most 12"),
        (TaleConfig(), "no!", InvalidSetting, "“!” is no sign of this task. It has a, b"),
        (EchoConfig(), "1" * 21, InvalidSetting, "21 digits are too many"),
        (EchoConfig(), "|", InvalidSetting, "no digit to be said again"),
        (EchoConfig(), "12|12", InvalidSetting, "at most 1 of them"),
        (PlaceConfig(), "1x", InvalidSetting, "“x”"),
        (GlossConfig(), "the bank sleeps", UnknownWords, "“sleeps”"),
        (GlossConfig(), "...", EmptySentence, "no word"),
        (GlossConfig(), "bank " * 41, SentenceTooLong, "41 words"),
        (GistConfig(), "the _ _", InvalidSetting, "More than one word is hidden"),
        (AgreementConfig(), "near is the king", InvalidSetting, "No noun stands before the verb"),
        (AgreementConfig(), "the king " + "near the queen " * 4, InvalidSetting, "has 14 tokens"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(
    task: LabellingConfig, text: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as refused:
        row_of(task, text)
    assert words in str(refused.value)


def test_a_model_without_a_mask_reads_off_what_one_with_it_cannot_know() -> None:
    right = {}
    for name in ("noise-open", "noise-causal"):
        run = find(name)
        task = run.config.on(NoiseConfig)
        found = answers(open_model(run), task, row_of(task, "qbdgacpelfhm"))
        assert found[-1].right is None and all(0 < each.probability <= 1 for each in found)
        right[name] = sum(each.right is True for each in found)
    assert right["noise-open"] >= 10 and right["noise-causal"] <= 3


def test_the_inside_of_a_row_is_masked_as_the_model_is_and_a_net_has_states() -> None:
    for name, hidden in (("noise-causal", True), ("noise-open", False)):
        found = inside(open_model(find(name)).alone(0), (0, 1, 2, 3))
        assert found.weights is not None
        assert (
            bool(np.isnan(found.weights[:, :, 0, 1:]).all()) == hidden and not np.isnan(found.weights[..., 3, :]).any()
        )
        assert np.allclose(np.nansum(found.weights, axis=-1), 1, atol=1e-5)
    found = inside(open_model(find("place-turns-gru")).alone(0), (0, 1, 2, 3))
    assert found.weights is None and found.states.shape[0] == 4 and "embedded" in found.taps
    assert inside(open_model(find("gloss-alone")).alone(0), (0, 1)).weights is None
