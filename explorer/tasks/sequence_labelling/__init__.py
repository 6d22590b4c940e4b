"""Tasks whose models predict a label at every position of a row (aligned many-to-many).

Each task has two files because its configuration must be importable without torch: `NAME.py` holds the settings, the
vocabulary and the labels; `NAME_rows.py` draws training batches (`batch`) and evaluates a model (`evaluate`). The
training objective finds the second file by the name of the first. `explorer/tasks/recall.py` and
`explorer/tasks/recall_rows.py` are separate for the same reason.
"""
