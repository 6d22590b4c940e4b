"""What takes long to import: each `JobServer` is forked from a process that has imported this."""

import torch

import tests.jobs.shared_server
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

__all__ = ["tests"]
torch.set_num_threads(1)
record_run(with_settings(default_config("negation", "rnn"), {"epochs": 1, "replicas": 2}))  # imports torch's compiler
