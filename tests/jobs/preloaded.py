"""What each process of `shared_server.py` needs and what takes long to import; it is forked from one that has it.

Nothing here may import `explorer.database`, which gives each process another id.
"""

import alembic.command
import psycopg
import pyarrow.parquet
import sqlalchemy.orm
import torch

from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

__all__ = ["alembic", "psycopg", "pyarrow", "sqlalchemy"]
torch.set_num_threads(1)
record_run(with_settings(default_config("negation", "rnn"), {"epochs": 1, "replicas": 2}))  # imports torch's compiler
