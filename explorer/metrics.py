"""What this process counts about itself, for the operator: events that leave no other trace.

`explorer.web.operations.metrics` adds what can be read at the moment of a request, such as the number of running
trainings. No label contains a visitor's id, text or address, or the key of a run, so the number of time series stays
small.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # they would nearly double the number of time series
REGISTRY = CollectorRegistry()

JOBS_ENDED = Counter(
    "lineage_jobs_ended", "Trainings that ended on this server, by their last state.", ["state"], registry=REGISTRY
)
FIRST_EVALUATION = Histogram(
    "lineage_first_evaluation_seconds",
    "Seconds from the submission of a training to its first evaluated step.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800),
    registry=REGISTRY,
)
TRAINING_SECONDS = Counter(
    "lineage_training_seconds", "Seconds that trainings have computed, all seeds of a run together.", registry=REGISTRY
)
REFUSALS = Counter("lineage_rate_limit_refusals", "Actions above a rate limit.", ["action"], registry=REGISTRY)
ERRORS = Counter(
    "lineage_errors",
    "Entries of the log with level ERROR or CRITICAL, by the part of the program and the class of the exception.",
    ["source", "exception"],
    registry=REGISTRY,
)
REQUESTS = Counter(
    "lineage_http_requests",
    "HTTP requests, by the first part of the address and the class of the status (such as 2xx).",
    ["route", "status"],
    registry=REGISTRY,
)
REQUEST_SECONDS = Histogram(
    "lineage_http_request_seconds",
    "Seconds until the answer to an HTTP request begins, by the first part of the address.",
    ["route"],
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10),
    registry=REGISTRY,
)
