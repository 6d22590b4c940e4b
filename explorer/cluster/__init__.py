"""Several machines: trainings in a Ray cluster, and runs in object storage. The core does not know this package."""
