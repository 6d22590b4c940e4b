"""The state of the Compare page: which runs are compared, and how their curves are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from explorer.catalogue import TASKS
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.pretraining import shipped_configs
from explorer.inspection.compare import BATCH_LOSS
from explorer.run_store import store
from explorer.training.comparability import lower_is_better
from explorer.training.record import Axis
from explorer.ui.state.fields import PageState, setting

MOST = 8  # runs side by side
MEASURES = {
    "test_accuracy": "accuracy on the test sentences",
    "exact_accuracy": "exact accuracy, over all sentences",
    "train_accuracy": "accuracy on the training sentences",
    "test_loss": "loss on the test sentences, in nats",
    "test_accuracy_reviews": "accuracy on held-out reviews",
    "test_accuracy_reviews_negated": "accuracy on held-out reviews with “not”, “no”, “never”, …",
    "test_accuracy_new_words": "accuracy on composed sentences with new adjectives",
    "test_accuracy_negated": "accuracy on test sentences with “not” or another form that turns the class",
    "test_accuracy_new_forms": "accuracy on composed sentences in new forms",
    "val_error": "share of wrong answers on validation sentences",
    "accuracy": "accuracy on new sequences",
    "exact": "exact match on new sources",
    "sense": "accuracy of word senses on new sentences",
    "synonym": "share of words nearer to the right synonym",
    "loss": "loss on new sequences, in nats",
    "second_copy_loss": "loss on the second copy, in nats",
    "val_loss_part": "loss on held-out text, in nats a token",
    "train_loss": "loss on the training sentences, in nats",
    BATCH_LOSS: "loss of every batch, in nats",
}
TASK_MEASURES = {
    "negation": ("test_accuracy", "exact_accuracy", "train_accuracy", "test_loss", "train_loss", BATCH_LOSS),
    "sentiment": (
        *("test_accuracy_reviews", "test_accuracy_reviews_negated", "test_accuracy_new_words", "test_accuracy_negated"),
        *("test_accuracy_new_forms", "val_error", "test_loss", "train_loss", BATCH_LOSS),
    ),
    "text": ("val_loss_part", "train_loss", BATCH_LOSS),
    "recall": ("accuracy", "loss", BATCH_LOSS),
    "string": ("accuracy", "loss", BATCH_LOSS),
    **dict.fromkeys(("reverse", "copy", "dates", "pairs", "echo"), ("exact", "loss", BATCH_LOSS)),
    **dict.fromkeys(("noise", "tale"), ("loss", BATCH_LOSS)),
    "gloss": ("sense", "loss", BATCH_LOSS),
    "gist": ("synonym", "loss", BATCH_LOSS),
    "place": ("accuracy", "loss", BATCH_LOSS),
    "agreement": ("verb", "pronoun", "loss", BATCH_LOSS),
    "induction": ("accuracy", "second_copy_loss", BATCH_LOSS),
}
AXES: dict[Axis, str] = {"step": "by step", "tokens": "by tokens read", "seconds": "by seconds"}
UNITS: dict[Axis, str] = {"step": "steps", "tokens": "tokens", "seconds": "s"}


def _check_measure(name: object) -> None:
    if name not in MEASURES:
        raise InvalidSetting(f"y = {shorten(name)} is not possible. Give one of {', '.join(MEASURES)}.")


_TUNED = {"negation": "Negation", "recall": "Recall", "text": "Text", "sentiment": "English sentences"}


@dataclass(frozen=True)
class Comparison(PageState):
    """The state of the page; its fields are URL parameters."""

    runs: tuple[str, ...] = setting((), "Runs")
    find: str = setting("", "Find runs", longest=200, in_url=False)  # what the choice of runs is restricted to
    run: str = setting("")  # one more run, as the address of any page may name it
    x: Literal["step", "tokens", "seconds"] = setting("step", "Horizontal axis", options=AXES)
    y: str = setting("test_accuracy", "Measure", options=MEASURES, check=_check_measure)
    smooth: float = setting(
        0.0, "Smoothing", low=0.0, high=0.99, step=0.01, help="Weight of earlier points (moving average)."
    )
    log_x: bool = setting(False, "log x")
    log_y: bool = setting(False, "log y")
    target: float | None = setting(None, low=0.0, high=1e6)
    # The search for good settings: which searches are shown, and the form that starts another one.
    sweeps: tuple[str, ...] = setting((), "Searches that are shown")
    sweep_task: str = setting("negation", "Task", options={name: row.title for name, row in TASKS.items()})
    sweep_models: tuple[str, ...] = setting(("rnn", "transformer"), "Models")
    sweep_space: str = setting("learning_rate=0.001,0.003,0.01,0.03;width=8,16,32", longest=400)
    sweep_search: Literal["grid", "random"] = setting(
        "grid", "Combinations", options={"grid": "all", "random": "random ones"}
    )
    sweep_trials: int = setting(20, "Number", low=2, high=500, help="Random combinations that are tried.")
    sweep_seeds: int = setting(3, "Seeds", low=1, high=8, help="Trained side by side with each combination.")
    sweep_halving: bool = setting(
        True,
        "Give up hopeless settings early",
        help="Successive halving: at some steps only the best third of the combinations goes on.",
    )
    tuned: Literal["negation", "recall", "text", "sentiment"] = setting(
        "negation", "Task", options=_TUNED
    )  # at equal tuning budget

    @property
    def rising(self) -> bool:
        """Whether larger values of the measure are better."""
        return not lower_is_better(self.y)

    @property
    def displayed_runs(self) -> tuple[str, ...]:
        """Keys of the compared runs, or of the default ones."""
        return self.runs or default_runs()

    def with_runs(self, runs: Iterable[str]) -> Comparison:
        """Return the comparison of other runs; the default ones are left out of the URL."""
        chosen = tuple(dict.fromkeys(runs))[-MOST:]
        return replace(self, runs=() if chosen == default_runs() else chosen)


def default_runs() -> tuple[str, ...]:
    """Return the keys of the runs that are compared by default: four on the negation task.

    By step and by second their medians are in another order; one run differs from the first one, one does not, and for
    one eight seeds are too few.
    """
    names = ("gru", "rnn", "transformer-usual-start", "bag_of_words")
    included = shipped_configs()
    stored = [store.find_by_config(included[f"negation-single-{name}"]) for name in names]
    return tuple(run.key for run in stored if run)
