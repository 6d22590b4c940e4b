from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from explorer.catalogue import models_of
from explorer.errors import TextError
from explorer.inspection import reach as module
from explorer.inspection.reach import Reach, reach
from explorer.models.ngram import Ngram
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import text_data
from explorer.training.building import build
from explorer.training.config import RunConfig, changed, default
from explorer.training.scoring import loss_over

SIZES: dict[str, dict[str, object]] = {
    "ngram": {"n": 3},
    "feedforward": {"width": 4, "hidden": 9, "window": 3, "batch_norm": True, "dropout": 0.3},
    "rnn": {"width": 4, "hidden": 9, "layers": 2, "dropout": 0.3},
    "lstm": {"width": 4, "hidden": 9},
    "gru": {"width": 4, "hidden": 9},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12, "dropout": 0.3, "model.start": "usual"},
}
BRACKETS: dict[str, object] = {"corpus": "brackets", "size": 3_000, "context": 11}
TEXTS: dict[str, dict[str, object]] = {
    "blocks": BRACKETS,
    "windows": {**BRACKETS, "split": "windows"},
    "lines": {"corpus": "repeats", "size": 3_000, "context": 40, "rows": "sentences", "split": "sentences"},
    "pairs": {"corpus": "repeats", "size": 3_000, "context": 40, "rows": "sentences", "split": "pairs"},
    "prefixes": {"corpus": "repeats", "size": 3_000, "context": 40, "rows": "prefixes", "split": "pairs"},
    "words": {"corpus": "repeats", "size": 5_000, "context": 9, "tokenizer": "word", "vocabulary": 40},
    "bpe": {"corpus": "repeats", "size": 5_000, "context": 9, "tokenizer": "bpe", "vocabulary": 60},
}


def run(model: str, text: dict[str, object] = BRACKETS, **changes: Any) -> RunConfig:
    return changed(default("text", model), {**text, **SIZES[model], **changes})


def ready(config: RunConfig) -> nn.Module:
    """A model that says something, trained or not."""
    model = build(config)
    if isinstance(model, Ngram):
        model.fit(*text_data(config.on(TextConfig)).whole_training())
    return model.eval().requires_grad_(False)


def asked(config: RunConfig) -> Reach:
    return reach(ready(config), config)


@pytest.mark.parametrize(
    ("model", "text"),
    [(model, text) for model in models_of("text") for text in TEXTS if (model, text) != ("ngram", "prefixes")],
)
def test_the_losses_of_all_places_together_are_the_loss_over_the_held_out_rows(model: str, text: str) -> None:
    config = run(model, TEXTS[text])
    made, data = ready(config), text_data(config.on(TextConfig))
    found = reach(made, config)
    assert found.whole and found.targets.sum() == data.held_out_targets
    mean = (found.losses * found.targets).sum(axis=1) / found.targets.sum()
    assert mean == pytest.approx(loss_over(made, data.held_out()).numpy(), rel=1e-6)
    assert (found.error >= 0).all() and found.error.max() > 0


@pytest.mark.parametrize("model", [name for name in models_of("text") if name != "ngram"])
def test_seeds_are_asked_side_by_side(model: str) -> None:
    config = run(model, replicas=3)
    made = ready(config)
    found = reach(made, config)
    mean = (found.losses * found.targets).sum(axis=1) / found.targets.sum()
    expected = loss_over(made, text_data(config.on(TextConfig)).held_out(), 3)
    assert mean == pytest.approx(expected.numpy(), rel=1e-6)
    alone = [asked(replace(config, seed=seed, replicas=1)) for seed in range(3)]
    for seed, one in enumerate(alone):
        assert found.losses[seed] == pytest.approx(one.losses[0], rel=1e-4)
    assert found.mean == pytest.approx(np.mean([one.losses[0] for one in alone], axis=0), rel=1e-4)


@pytest.mark.parametrize("model", models_of("text"))
def test_a_bin_holds_the_places_that_its_number_of_tokens_says(model: str) -> None:
    config = run(model)
    made = ready(config)
    sums: dict[int, list[float]] = {}
    for batch in text_data(config.on(TextConfig)).held_out(rows=1):  # row by row, target by target
        logits = made(batch.ids).log_softmax(dim=-1)
        for t in range(batch.ids.shape[1]):
            if batch.mask is None or batch.mask[0, t]:
                sums.setdefault(t + 1, []).append(-float(logits[0, t, batch.targets[0, t]]))
    found = reach(made, config)
    assert found.last.tolist() == [1, 2, 3, 4, 6, 8, 11]
    groups = [[1], [2], [3], [4], [5, 6], [7, 8], [9, 10, 11]]
    expected = [float(np.mean([loss for place in group for loss in sums[place]])) for group in groups]
    assert found.losses[0] == pytest.approx(expected, rel=1e-4)
    assert found.targets.tolist() == [sum(len(sums[place]) for place in group) for group in groups]


def test_a_prefix_is_counted_by_its_tokens_and_not_by_its_padding() -> None:
    lines, prefixes = asked(run("gru", TEXTS["pairs"])), asked(run("gru", TEXTS["prefixes"]))
    assert prefixes.last.tolist() == lines.last.tolist() and len(lines.last) > 5
    assert prefixes.targets.tolist() == lines.targets.tolist()


class Remembers(nn.Module):
    """Knows how `abca abca …` goes on, but only once it has read so many tokens."""

    NEXT: ClassVar = {"ab": "c", "bc": "a", "ca": " ", "a ": "a", " a": "b"}

    def __init__(self, config: RunConfig, needs: int) -> None:
        super().__init__()
        self.tokens = text_data(config.on(TextConfig)).tokenizer.tokens
        self.needs, self.readout = needs, nn.Identity()

    def features(self, ids: torch.Tensor) -> tuple[torch.Tensor, tuple[()]]:
        logits = torch.zeros(*ids.shape, len(self.tokens))
        for row, read in zip(logits, ids.tolist(), strict=True):
            text = "".join(self.tokens[id] for id in read)
            for place in range(max(self.needs, 2) - 1, len(text)):
                following = self.NEXT.get(text[place - 1 : place + 1])
                if following:
                    row[place, self.tokens.index(following)] = 5
        return logits, ()


@pytest.mark.parametrize(("needs", "bin"), [(2, 2), (4, 4), (13, 16), (17, 24), (25, 32)])
def test_the_tokens_that_a_model_needs_are_found(needs: int, bin: int) -> None:
    config = run("transformer", {"corpus": "toy", "size": 20_000, "context": 32})
    found = reach(Remembers(config, needs), config)
    assert found.enough == bin
    assert found.gains_to_the_end == (bin == 32)
    at = int(np.searchsorted(found.last, needs))
    assert found.mean[at] - found.mean[-1] == pytest.approx(0, abs=0.01)
    assert found.mean[0] - found.mean[-1] == pytest.approx(1.36, abs=0.1)


def test_an_ngram_that_sees_one_token_has_no_use_for_more() -> None:
    toy: dict[str, object] = {"corpus": "toy", "size": 20_000, "context": 32}
    longer, shorter = asked(run("ngram", toy, n=6)), asked(run("ngram", toy, n=2))
    assert (longer.limit, shorter.limit) == (5, 1)
    assert (longer.enough, shorter.enough) == (5, 1)
    assert longer.mean[0] - longer.mean[-1] > 0.5
    assert shorter.mean[0] - shorter.mean[-1] == pytest.approx(0, abs=0.05)


def test_limits_are_what_a_model_can_see_of_a_row() -> None:
    found = {name: asked(run(name)).limit for name in models_of("text")}
    assert found == {"ngram": 2, "feedforward": 3, "rnn": None, "lstm": None, "gru": None, "transformer": None}
    assert asked(run("feedforward", window=11)).limit is None
    assert asked(run("ngram", n=1)).limit == 0


def made_of(gain: list[float], error: float = 0.001, limit: int | None = None) -> Reach:
    bins = len(gain)
    last, losses = np.array([1, 2, 4, 8, 16])[:bins], np.linspace(3, 2, bins)[None]
    return Reach(last, np.full(bins, 100), losses, np.full(bins, error), np.array(gain), np.full(bins, error), limit)


def test_enough_is_where_the_last_real_gain_leads() -> None:
    assert made_of([0.9, 0.4, 0.2, 0.1, 0]).enough == 16
    assert made_of([0.9, 0.4, 0.2, 0.1, 0]).gains_to_the_end
    assert made_of([0.9, 0.4, 0.003, 0.002, 0]).enough == 4, "a trifle"
    assert made_of([0.9, 0.4, 0.2, 0.1, 0], error=0.1).enough == 4, "chance"
    assert made_of([0.9, 0.001, 0.2, 0.001, 0]).enough == 8
    assert made_of([0.0, 0.0, 0.0, 0.0, 0]).enough == 1
    assert made_of([0.9, 0.4, 0.2, 0.1, 0], limit=5).enough == 5, "beyond what it can see there is only chance"
    assert not made_of([0.9, 0.4, 0.2, 0.1, 0], limit=5).gains_to_the_end
    assert made_of([0.0], limit=0).enough == 1


def test_who_does_worse_with_more_tokens_is_told() -> None:
    found = asked(run("ngram", {"corpus": "brackets", "size": 100_000, "context": 64}, n=6))
    assert found.suffers and found.mean.argmin() == 1 and found.mean[-1] > found.mean[1] + 0.1
    assert not asked(run("ngram", {"corpus": "repeats", "size": 20_000, "context": 64}, n=6)).suffers
    losses = np.array([[3, 2, 2.5, 2.5, 2.5]])
    curve = replace(made_of([0.5, -0.5, 0, 0, 0]), losses=losses)
    assert curve.suffers
    assert not replace(curve, gain_error=np.full(5, 0.3)).suffers, "chance"


def test_errors_and_gains_come_from_whole_rows() -> None:
    # Four rows of three places; the first place is a bin, the other two are one.
    surprise = np.array([[4.0, 2, 2], [6, 1, 1], [5, 3, 3], [5, 2, 2]])
    bins, rows = np.tile([0, 1, 1], 4), np.repeat(np.arange(4), 3)
    found = module._binned(surprise.reshape(1, -1), bins, rows, np.array([1, 3]))
    assert found.losses.tolist() == [[5, 2]]
    assert found.error == pytest.approx([surprise[:, 0].std() / 2, surprise[:, 1].std() / 2])
    assert found.gain == pytest.approx([3, 0])
    assert found.gain_error == pytest.approx([(surprise[:, 0] - surprise[:, 1]).std() / 2, 0])


def test_seeds_that_diverged_are_left_out_and_counted() -> None:
    config = run("transformer", replicas=3)
    made = ready(config)
    made.get_parameter("readout.weight")[1] = math.nan
    found = reach(made, config)
    assert (found.losses.shape, found.diverged) == ((2, 7), 1)
    assert np.isfinite(found.mean).all() and np.isfinite(found.error).all()
    made.get_parameter("readout.weight")[:] = math.nan
    none = reach(made, config)
    assert (none.losses.shape, none.diverged) == ((0, 7), 3)
    assert np.isnan(none.mean).all() and none.enough == 1


def test_of_a_long_text_an_evenly_spread_part_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run("rnn", TEXTS["prefixes"] | {"size": 20_000})
    whole = asked(config)
    monkeypatch.setattr(module, "MOST_READ", 1 + whole.targets.sum() * 40 // 3)
    part = asked(config)
    assert whole.whole and not part.whole
    third = [b for i, b in enumerate(text_data(config.on(TextConfig)).held_out(rows=64)) if i % 3 == 0]
    assert part.targets.sum() == sum(len(batch.ids) for batch in third)
    mean = (part.losses * part.targets).sum(axis=1) / part.targets.sum()
    assert mean == pytest.approx(loss_over(ready(config), third).numpy(), rel=1e-6)
    assert part.last.tolist() == whole.last.tolist()


def test_small_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run("lstm")
    whole = asked(config)
    monkeypatch.setattr(module, "_MOST_LOGITS", 400)
    assert asked(config).losses == pytest.approx(whole.losses, rel=1e-5)


def test_rows_of_one_token_have_one_place() -> None:
    found = asked(run("gru", context=1))
    assert found.last.tolist() == [1] and found.enough == 1 and not found.gains_to_the_end


def test_a_text_that_is_too_short_for_its_context_is_a_sentence() -> None:
    config = run("gru")
    own = TextConfig(corpus="own", text=corpora.keep("only twenty letters and no more"), context=64)
    with pytest.raises(TextError, match="rows of this context"):
        reach(ready(config), replace(config, task=own))


def test_asking_twice_says_the_same_in_spite_of_dropout() -> None:
    config = run("feedforward")
    made = ready(config)
    before = {name: value.clone() for name, value in made.state_dict().items()}
    assert np.array_equal(reach(made, config).losses, reach(made, config).losses)
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())
