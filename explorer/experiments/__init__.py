"""Lists of configurations: the presets, the runs that ship with the program, and the experiments of the pages.

Start at `pretraining.py` (the shipped runs by name) and `presets.py` (named configurations).
"""
