"""Tasks whose models predict a label at every position of a row (aligned many-to-many).

Each file has the settings of a task, its vocabulary and its labels, draws training batches (`batch`) and evaluates a
model (`evaluate`). torch is imported when the first batch is drawn, because forms and URLs need only the settings.
"""
