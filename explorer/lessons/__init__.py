"""Lessons: short sequences of predictions over the pages, written as data and answered by measurements."""
