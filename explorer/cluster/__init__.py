"""What several servers need beyond one machine; the core works without it and does not import it."""
