"""Tasks with a label at every place: what is drawn, what is wanted, what counts."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter

import pytest
import torch

from explorer.tasks import echo_rows, gist_rows, gloss_rows, noise_rows, tale, tale_rows
from explorer.tasks.echo import EchoConfig
from explorer.tasks.gist import GistConfig
from explorer.tasks.gloss import MEANINGS, GlossConfig, meaning
from explorer.tasks.labelled import Rows, beside, losses, marked, mean_over
from explorer.tasks.labelling import PAD, LabellingConfig
from explorer.tasks.meanings import (
    FRAMES,
    HIDDEN,
    HOMOGRAPHS,
    KNOWN,
    NOUNS,
    SENSES,
    SYNONYMS,
    TYPED,
    WORDS,
    ids_of,
    sentence,
)
from explorer.tasks.meanings_rows import PADDING, fresh_sentences, own_sentences
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.tale import TaleConfig

DRAWN = {
    "noise": (noise_rows, NoiseConfig(symbols=5, length=6), "6f1b1d12"),
    "tale": (tale_rows, TaleConfig(length=12), "f42c0bdc"),
    "echo": (echo_rows, EchoConfig(longest=4, symbols=3), "42dfda15"),
    "reverse": (echo_rows, EchoConfig(shortest=3, longest=3, again="reverse"), "db33e0f7"),
    "gloss": (gloss_rows, GlossConfig(sentences=20), "1d846c70"),
    "gist": (gist_rows, GistConfig(sentences=20), "01f0b93b"),
}


def told(rows: Rows) -> str:
    return "/".join(str(each.tolist()) for each in (rows.ids, rows.wanted, rows.counted.long()))


@pytest.mark.parametrize("name", DRAWN)
def test_rows_are_the_same_for_ever(name: str) -> None:
    module, config, known = DRAWN[name]
    rows = module.batch(config, 3, 1, 7, 4)
    assert hashlib.sha256(told(rows).encode()).hexdigest()[:8] == known


@pytest.mark.parametrize("name", DRAWN)
def test_every_seed_step_and_order_draws_its_own(name: str) -> None:
    module, config, _ = DRAWN[name]
    one = told(module.batch(config, 0, 0, 0, 8))
    assert one == told(module.batch(config, 0, 0, 0, 8))
    for other in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert told(module.batch(config, *other, 8)) != one


@pytest.mark.parametrize("name", DRAWN)
def test_ids_and_labels_fit_what_the_settings_say(name: str) -> None:
    module, config, _ = DRAWN[name]
    rows = module.batch(config, 0, 0, 0, 32)
    assert config.vocabulary[-1] == PAD and len(set(config.vocabulary)) == len(config.vocabulary)
    assert rows.ids.max() < len(config.vocabulary) and rows.wanted.max() < len(config.labels)
    assert rows.ids.shape[-1] <= config.places and rows.counted.any(dim=-1).all()
    assert not rows.counted[rows.ids == len(config.vocabulary) - 1].any() or name == "noise"


def test_noise_wants_the_next_symbol() -> None:
    rows = noise_rows.batch(NoiseConfig(symbols=4, length=9), 0, 0, 0, 400)
    assert torch.equal(rows.ids[:, 1:], rows.wanted[:, :-1]) and rows.counted.all()
    shares = torch.stack([(rows.wanted == symbol).float().mean() for symbol in range(4)])
    assert (shares - 0.25).abs().max() < 0.04


def test_a_tale_leaves_open_what_its_grammar_does() -> None:
    draw = random.Random("a long tale")
    told = [tale.sentence(draw) for _ in range(4_000)]
    mean = sum(map(len, told)) / len(told)
    assert mean == pytest.approx(tale.letters_of_a_sentence(), rel=0.01)
    assert TaleConfig().floor == pytest.approx(tale.open_choices() / mean, rel=0.01)
    # One choice after the other, by how often each was taken.
    words = [each.removesuffix(". ").split() for each in told]
    assert {word for each in words for word in each} == tale.WORDS
    slots = [_shape(each) for each in words]
    surprise = 0.0
    for name in {name for slot in slots for name, _ in slot}:
        taken = Counter(word for slot in slots for one, word in slot if one == name)
        count = sum(taken.values())
        surprise -= sum(n * math.log(n / count) for n in taken.values())
    assert surprise / len(told) == pytest.approx(tale.open_choices(), rel=0.01)


def _shape(words: list[str]) -> list[tuple[str, str]]:
    """The choices behind a sentence: who, with or without a word of its kind, does what to whom, and where."""
    found, left = [], list(words)

    def somebody() -> None:
        assert left.pop(0) == "the"
        kind = left[0] in tale.KINDS
        found.append(("whether of a kind", str(kind)))
        if kind:
            found.append(("kind", left.pop(0)))
        found.append(("being", left.pop(0)))

    somebody()
    found.append(("deed", left.pop(0)))
    somebody()
    found.append(("whether somewhere", str(bool(left))))
    if left:
        side, the, place = left
        assert the == "the"
        found += [("side", side), ("place", place)]
    return found


def test_a_row_of_a_tale_wants_the_next_letter_and_the_asked_tale_is_no_training_tale() -> None:
    rows = tale_rows.batch(TaleConfig(length=30), 2, 0, 0, 50)
    assert torch.equal(rows.ids[:, 1:], rows.wanted[:, :-1]) and rows.counted.all()
    known = "".join(tale.LETTERS[i] for i in tale_rows.tale("told/2").tolist())
    for row in rows.ids.tolist():
        assert "".join(tale.LETTERS[i] for i in row) in known
    assert not torch.equal(tale_rows.tale("told/2")[:200], tale_rows.tale("asked")[:200])


@pytest.mark.parametrize("again", ["copy", "reverse"])
def test_an_echo_wants_the_digits_after_the_separator(again: str) -> None:
    config = EchoConfig(longest=5, again=again)
    rows = echo_rows.batch(config, 0, 0, 0, 50)
    assert set(rows.counted.sum(dim=-1).tolist()) == {1, 2, 3, 4, 5}
    for ids, wanted, counted in zip(rows.ids, rows.wanted, rows.counted, strict=True):
        read = [config.vocabulary[i] for i in ids.tolist()]
        n = read.index("|")
        digits = read[:n] if again == "copy" else read[:n][::-1]
        assert read[n + 1 :] == [*digits[: n - 1], *[PAD] * (len(read) - 2 * n)]
        assert [config.labels[i] for i in wanted[counted].tolist()] == digits
        assert counted.nonzero().flatten().tolist() == list(range(n, 2 * n))


def test_an_echo_of_one_length_has_that_length_and_the_shortest_may_not_be_longer_than_the_longest() -> None:
    rows = echo_rows.batch(EchoConfig(shortest=3, longest=3), 0, 0, 0, 9)
    assert rows.ids.shape == (9, 6) and (rows.counted.sum(dim=-1) == 3).all()
    with pytest.raises(ValueError, match="shortest = 4 is more than longest = 3"):
        EchoConfig(shortest=4, longest=3)


def test_the_language_is_what_it_says() -> None:
    assert len(set(WORDS)) == len(WORDS) and len(FRAMES) == 10
    assert [len(nouns) for nouns in NOUNS.values()] == [8] * 8
    assert sorted(topic for topics in SENSES.values() for topic in topics) == sorted(NOUNS) == sorted(SYNONYMS)
    for frame in FRAMES:
        assert Counter(frame)["X"] == Counter(frame)["A"] == Counter(frame)["B"] == 1
    said = sentence(0, "river", True, "boat", "mud")
    assert " ".join(said.words) == "the bank is near the boat and the mud" and said.place == 1 and said.ambiguous
    assert said.content == (1, 5, 8)


def test_new_cues_never_stand_beside_a_homograph_in_training_and_always_when_they_are_asked_about() -> None:
    new = {noun for nouns in NOUNS.values() for noun in nouns[KNOWN:]}
    own = own_sentences(600, 0)
    beside_homographs = {word for said in own if said.ambiguous for word in said.words}
    assert not new & beside_homographs and new <= {word for said in own for word in said.words}
    assert {said.topic for said in own if said.ambiguous} == set(NOUNS)
    for said in fresh_sentences(100, ambiguous=True, new=True):
        assert len(new & set(said.words)) == 2 and said.ambiguous
    assert not any(new & set(said.words) for said in fresh_sentences(100, ambiguous=True))
    assert not any(said.ambiguous for said in fresh_sentences(100, ambiguous=False))


def test_both_senses_of_a_homograph_stand_in_the_same_frames() -> None:
    places: dict[tuple[str, str], set[int]] = {}
    for said in own_sentences(1_000, 0):
        if said.ambiguous:
            places.setdefault((said.words[said.place], said.topic), set()).add(len(said.words))
    for word in HOMOGRAPHS:
        one, other = (places[word, topic] for topic in SENSES[word])
        assert one == other


def test_gloss_wants_each_word_itself_and_the_sense_of_a_homograph() -> None:
    rows = gloss_rows.rows_of([sentence(0, "river", True, "boat", "mud"), sentence(0, "money", True, "loan", "cash")])
    said = [[MEANINGS[i] for i in row.tolist()] for row in rows.wanted]
    assert (
        said[0] == ["the", "bank (river)", "is", "near", "the", "boat", "and", "the", "mud"]
        and said[1][1] == "bank (money)"
    )
    assert meaning("shore", "river") == MEANINGS.index("shore") and rows.counted.all()


def test_gist_hides_one_word_and_asks_every_place_for_it() -> None:
    said = [sentence(0, "river", True, "boat", "mud"), sentence(2, "dog", False, "bone", "tail")]
    rows = gist_rows.rows_of(said, [1, 0])
    read = [[TYPED.tokens[i] for i in row.tolist()] for row in rows.ids]
    assert read[0] == [*["the", "bank", "is", "near", "the", "<HIDDEN>", "and", "the", "mud"], PAD]
    assert read[1] == ["we", "saw", "the", "<HIDDEN>", "with", "a", "bone", "and", "a", "tail"]
    assert [WORDS[i] for i in rows.wanted[:, 0].tolist()] == ["boat", "woof"]
    assert (rows.wanted == rows.wanted[:, :1]).all()
    assert torch.equal(rows.counted, rows.ids != PADDING) and rows.counted.sum(dim=-1).tolist() == [9, 10]


def test_nearer_counts_vectors_that_lie_beside_the_right_synonym() -> None:
    said = [sentence(0, "river", True, "boat", "mud"), sentence(0, "money", True, "loan", "cash")]
    synonyms = torch.eye(8)[None]
    topics = list(NOUNS)
    right = torch.stack([synonyms[0, topics.index(each.topic)] for each in said])[None]
    wrong = right.flip(1)
    assert gist_rows.nearer(right, synonyms, said).tolist() == [1.0]
    assert gist_rows.nearer(wrong, synonyms, said).tolist() == [0.0]


def test_batches_of_several_seeds_are_filled_up_where_nothing_counts() -> None:
    short, long = (Rows(torch.ones(2, n).long(), torch.ones(2, n).long(), torch.ones(2, n).bool()) for n in (2, 3))
    both = beside([short, long], 9)
    assert both.ids.tolist() == [[[1, 1, 9]] * 2, [[1, 1, 1]] * 2] and both.counted.sum().item() == 10
    assert beside([short], 9) is short


def test_marks_and_means_over_what_counts() -> None:
    rows = Rows(torch.tensor([[0, 1]]), torch.tensor([[1, 0]]), torch.tensor([[True, False]]))

    class Says(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.tensor([[[0.0, 2.0], [0.0, 1.0]]]).expand(*ids.shape, 2)

    right, surprise = marked(Says(), rows, 1)
    assert right.tolist() == [[[True, False]]]
    expected = torch.log1p(torch.tensor(-2.0).exp())
    torch.testing.assert_close(mean_over(surprise, rows.counted), expected[None])
    torch.testing.assert_close(losses(torch.zeros(1, 1, 4), torch.tensor([[3]])), torch.full((1, 1), 4.0).log())


def test_a_typed_word_the_language_has_not_is_met_with_the_nearest() -> None:
    assert TYPED.split("The Bank is near the boat.") == ("the", "bank", "is", "near", "the", "boat")
    with pytest.raises(Exception, match="never saw") as told_off:
        TYPED.split("the banks")
    assert "bank" in told_off.value.nearest["banks"]
    assert HIDDEN not in TYPED.words and ids_of(["a"]) == [TYPED.tokens.index("a")]


def test_settings_without_tokens_are_no_task() -> None:
    for name in ("vocabulary", "labels", "places", "metrics"):
        with pytest.raises(NotImplementedError):
            getattr(LabellingConfig(), name)
