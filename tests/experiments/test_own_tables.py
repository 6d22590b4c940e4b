from __future__ import annotations

from explorer.experiments.own_tables import settings_of_table
from explorer.tasks.text import corpora
from explorer.training.config import default_config, with_settings

TABLE = "text,label\n" + "".join(f"number {i} is {word} indeed,{word}\n" for i in range(10) for word in ("one", "two"))


def test_the_settings_follow_from_the_table_and_the_model() -> None:
    sha = corpora.store_text(TABLE)
    for model, window in (("rnn", None), ("transformer", 7), ("feedforward", 7)):
        default = default_config("negation", model)
        config = with_settings(default, settings_of_table(default, sha))
        assert config.own_text == sha
        assert (config.steps_per_epoch, getattr(config.model, "window", None)) == (1, window)
    english = TABLE.replace(",one\n", ",positive\n").replace(",two\n", ",neg\n")
    added = settings_of_table(default_config("sentiment", "transformer"), corpora.store_text(english))
    assert added == {"task.corpus": "own", "task.text": corpora.store_text(english)}
    longer = corpora.store_text(TABLE + "this is a much longer sentence than all of the others,one\n")
    settings = settings_of_table(default, longer)
    assert settings["window"] == 13
    changed = with_settings(default, {**settings, "train_size": 8, "window": 7})  # named settings have precedence
    assert (changed.task.train_size, changed.model.window) == (8, 7)  # type: ignore[union-attr]
