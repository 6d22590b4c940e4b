"""The task of the negation page: its settings, samples and grammar."""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.labs.negation.results_tables import class_cell
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.tasks.negation import VOCABULARY
from explorer.ui import wording
from explorer.ui.components.table import draw_table
from explorer.ui.state.widgets import setting_widget


def task_section(session: NegationSession) -> None:
    """Draw the settings of the task, the first training sentences, and every sentence of the grammar."""
    st.header("The task", anchor=False)
    task = negation_task(session.experiment.task)
    controls, samples, grammar = st.columns([3, 4, 6], gap="large")
    with controls:
        setting_widget(session, "p_not", "Probability of “not”", section="task")
        setting_widget(session, "train_size", "Training sentences", section="task")
        setting_widget(session, "test_size", "Test sentences", section="task")
        setting_widget(session, "data_seed", "Seed of the sentences", section="task")
        setting_widget(session, "fresh_data", "Fresh sentences for every seed", section="task")
        setting_widget(session, "max_nots", "Most “not”s in a sentence", section="task")
        setting_widget(session, "held_out", "Held out with “not”", section="task")
    with samples:
        drawn = task.sample("train", session.experiment.value("seed"))
        draw_table(
            [
                {"key": "text", "label": "drawn for training", "kind": "text", "align": "left"},
                {"key": "label", "label": "", "kind": "verdict", "align": "left"},
            ],
            [
                {
                    "cells": {
                        "text": {"text": task.sentences[s].text},
                        "label": class_cell(task.labels[s]),
                    }
                }
                for s in drawn[:10]
            ],
            key="negation-samples",
            label="The first ten training sentences",
            caption=f"The first ten of {len(drawn):,}.",
        )
    with grammar:
        count = np.bincount(drawn, minlength=len(task.sentences))
        draw_table(
            [
                {"key": "text", "label": f"all {wording.number_word(len(task.sentences))} sentences", "kind": "text"},
                {"key": "label", "label": "", "kind": "verdict", "align": "left"},
                {"key": "p", "label": "probability", "kind": "number", "align": "right"},
                {"key": "n", "label": "drawn", "kind": "number", "align": "right"},
            ],
            [
                {
                    "rule": i > 0 and s.nots == 0,
                    "cells": {
                        "text": {"text": s.text},
                        "label": class_cell(s.label),
                        "p": {"text": f"{s.probability:.3f}"},
                        "n": {"text": f"{count[i]:,}"},
                    },
                }
                for i, s in enumerate(task.sentences)
            ],
            key="negation-grammar",
            label="Every sentence of the grammar",
            caption=f"Its words: {', '.join(VOCABULARY.words)}. The last two occur in no sentence.",
        )
