"""Training: the configuration of a run, the training loop, the objectives of the tasks, and recorded curves.

Start at `config.py` (RunConfig and its key), `train.py` (the loop) and `objective.py` (what a task contributes).
"""
