"""Figures of stored runs: learning curves, experiments over one setting, sweeps and growth."""
