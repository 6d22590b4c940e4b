"""The database of a server: the index of runs, and what several servers share."""
