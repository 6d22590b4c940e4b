"""Teaching lessons: short sequences of predictions, written as YAML and answered by measurements.

Start at `parse.py` (reads `lessons/*.yaml`), `measures.py` (what can be measured) and `grading.py` (the answer).
"""
