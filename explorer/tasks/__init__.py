"""The tasks: their configurations and the data that models learn from.

Start at the configuration of a task: `negation.py`, `recall.py`, `string.py`, `text/config.py`, `seq2seq/config.py` and
`sequence_labelling/config.py`.
"""
