"""Trainings in the background: the scheduler of all visitors' jobs, their limits, and what they cost.

Start at `scheduler.py` (the job service) and `job.py` (one job and its states).
"""
