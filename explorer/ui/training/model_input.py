"""What pages share that run a stored model on a text: the texts that fit a model, and the head that is shown."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.catalogue import task_row
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig
from explorer.ui.state.fields import setting

MAX_TEXT_LENGTH = 2_000  # characters of a text
TRANSLATION_EXAMPLES: dict[str, tuple[str, ...]] = {  # source texts by task
    "reverse": ("2718281828", "314159", "00000000", "12345678901234567890", "9876543210987654321098765"),
    "copy": ("2718281828", "314159", "00000000", "12345678901234567890", "9876543210987654321098765"),
    "dates": ("3rd of march 1997", "12/10/2003", "tuesday 4 july 2028", "31 february 1999", "5-nov-55"),
}
SENTENCE_EXAMPLES = ("human not preserve nature", "human preserve nature", "human not destroy nature")
TEXT_EXAMPLES = ("the night and the day", "the night and no day", "Romeo, Romeo, O Romeo", "xqz vrk xqz vrk xqz v")


@dataclass(frozen=True)
class HeadSelection:
    """An attention head of a stored model and the text that it reads: URL parameters that pages on attention share.

    The default head attends to the previous token in most contexts.
    """

    model: str = setting("text-through-training")
    say: str | None = setting(None, longest=MAX_TEXT_LENGTH)  # None: the first of the model's examples
    layer: int = setting(1, low=0, high=63)
    head: int = setting(2, low=0, high=63)


def attention_size(config: RunConfig) -> tuple[int, int]:
    """Return the number of layers and the number of heads in each. Raises InvalidSetting without self-attention."""
    model = config.model
    if not isinstance(model, TransformerEncoderConfig | TransformerTextConfig):
        from explorer.inspection.attention.attend import check_attention

        check_attention(config)
        raise AssertionError("check_attention raises for a model without attention")
    return model.layers, model.heads


def example_texts(config: RunConfig) -> tuple[str, ...]:
    """Return example texts for the task of a run, in pairs that differ in one thing."""
    if isinstance(config.task, TextConfig):
        return TEXT_EXAMPLES
    return TRANSLATION_EXAMPLES.get(task_row(config.task).name, SENTENCE_EXAMPLES)


def text_or_example(config: RunConfig, text: str | None) -> str:
    """Return the visitor's text, or the first example of the task while nothing was typed."""
    return example_texts(config)[0] if text is None else text
