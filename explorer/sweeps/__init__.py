"""Sweeps: which values of some settings work best? Many trainings of one model on one task, compared fairly.

Start at `space.py` (what a sweep tries), `controller.py` (which training comes next, and which is given up) and
`results.py` (the table, and when there is a winner). `stored.py` keeps sweeps in the database, and `driver.py` carries
them out with the job service. `python -m benchmarks.sweeps` measures what halving saves.
"""
