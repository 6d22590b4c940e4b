"""Figures of tasks that turn one sequence into another."""
