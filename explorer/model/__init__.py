"""One model that can be looked at, a run or a real model: what the pages, the Python API and the command line share."""
