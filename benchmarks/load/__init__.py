"""Load and timing tools: simulated visitors, a timed browser, and killed trainings."""
