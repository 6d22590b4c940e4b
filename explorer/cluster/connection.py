"""The Ray cluster that LINEAGE_EXECUTOR names: `ray` for the one on this machine, or `ray://HOST:PORT`."""

from __future__ import annotations

import importlib
import logging
import math
import os
import threading
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError
from explorer.program_files import PACKAGE, VERSION

log = logging.getLogger(__name__)
NAMESPACE = "lineage"  # of the names of actors
_CLIENT_PORT = 10001  # Ray's own default
_OBJECT_STORE_BYTES = 200_000_000  # of a cluster that is started here
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
# Settings that concern pages, or this process only.
_NOT_PASSED_ON = ("LINEAGE_SECRET", "LINEAGE_OPERATOR_PASSWORD", "LINEAGE_METRICS_TOKEN", "LINEAGE_EXECUTOR")
_lock = threading.Lock()


def import_ray(name: str) -> ModuleType:
    """Return the module ray. Raises InvalidSetting without it, or if a cluster elsewhere cannot store runs."""
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise InvalidSetting(
            f"LINEAGE_EXECUTOR = {name} needs the package ray. Install it with pip install 'ray[client]', in the "
            "version of the cluster, or choose another executor: here, processes."
        ) from None
    if name.startswith("ray:") and urlsplit(name).hostname not in _THIS_MACHINE and not environment().run_storage:
        raise InvalidSetting(
            f"LINEAGE_EXECUTOR = {name} needs LINEAGE_RUNS: a folder that this server and the machines of the cluster "
            "see, or an object storage. The cluster stores the runs there."
        )
    return ray


def connect(name: str) -> ModuleType:
    """Connect this process to the cluster, unless it is connected, and return the module ray.

    RAY_ADDRESS can name the cluster of `ray`; one is started, and ends with this process, if this machine has none.
    Raises StoreError if the cluster does not answer, and InvalidSetting if it cannot be used.
    """
    ray = import_ray(name)
    with _lock:
        if ray.is_initialized():
            return ray
        ray.shutdown()  # what is left of a connection that was lost
        options: dict[str, Any] = {"namespace": NAMESPACE, "log_to_driver": False, "configure_logging": False}
        try:
            if name == "ray":
                _connect_here(ray, options)
            else:
                ray.init(name if urlsplit(name).port else f"{name}:{_CLIENT_PORT}", **options)
        except (RuntimeError, ValueError) as error:  # another version of Python or Ray, or a wrong token
            if "Starting Ray client server failed" not in str(error):  # Ray waits for a busy machine for 30 s only
                raise InvalidSetting(f"The Ray cluster {name} cannot be used: {error}") from error
            raise _unreachable(name) from error
        except Exception as error:  # Ray raises no other type if its processes do not start in time
            raise _unreachable(name) from error
    return ray


def _connect_here(ray: ModuleType, options: dict[str, Any]) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to Ray's makers
    try:
        ray.init(os.environ.get("RAY_ADDRESS") or "auto", **options)
    except ConnectionError:
        if os.environ.get("RAY_ADDRESS"):
            raise
        ray.init("local", include_dashboard=False, object_store_memory=_OBJECT_STORE_BYTES, **options)


def disconnect(name: str) -> None:
    """Leave the cluster, whose actors go on."""
    with _lock:
        import_ray(name).shutdown()


def _unreachable(name: str) -> StoreError:
    return StoreError(f"The Ray cluster of LINEAGE_EXECUTOR = {name} does not answer.")


def settings_for_actors() -> dict[str, str]:
    """Return the environment variables of this process that actors take over, unless their machine has its own."""
    settings = environment()
    given = {
        name: value for name, value in os.environ.items() if name.startswith("LINEAGE_") and name not in _NOT_PASSED_ON
    }
    if settings.run_storage:  # a folder of this machine need not exist on the others
        given = {name: value for name, value in given.items() if name not in ("LINEAGE_HOME", "LINEAGE_CACHE")}
    else:
        given["LINEAGE_HOME"] = str(settings.home.resolve())
    if settings.run_storage and "://" not in settings.run_storage:
        given["LINEAGE_RUNS"] = os.path.abspath(settings.run_storage)
    return given


def take_over(settings: Mapping[str, str], version: str) -> None:
    """Take over the settings of a server in the process of an actor. Raises RuntimeError for another version."""
    if version != VERSION:
        raise RuntimeError(
            f"The machines of the Ray cluster have version {VERSION} of this program, the server has {version}. "
            f"Install version {version} on all machines."
        )
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    os.environ["LINEAGE_EXECUTOR"] = "here"


def variables_of_actors(name: str) -> dict[str, str]:
    """Return the environment variables with which the processes of actors start, also those that an actor starts.

    name: LINEAGE_EXECUTOR; the program need not be installed for a cluster on this machine
    """
    variables = {"OMP_WAIT_POLICY": "PASSIVE"}  # threads that wait leave the core to other trainings
    if name == "ray" or urlsplit(name).hostname in _THIS_MACHINE:
        path = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    return variables


def actor_options(name: str, **options: Any) -> dict[str, Any]:
    """Return the options of an actor that all servers find by its name, and that outlives them."""
    return {
        "name": name,
        "namespace": NAMESPACE,
        "lifetime": "detached",
        "get_if_exists": True,
        "max_restarts": -1,
        "max_task_retries": -1,
        **options,
    }


def placement(nodes: Iterable[Mapping[str, Any]], device: str, at_once: int) -> tuple[dict[str, float], str]:
    """Return what one training takes of the machines of a cluster, and the device on which it computes.

    Of the GPUs of its machine a training sees only its own, so the number of `cuda:N` has no meaning; with `auto`,
    trainings compute on GPUs if the cluster has any. All that run at once share the cores and GPUs, at most one core
    each.
    """
    machines = [node["Resources"] for node in nodes if node["Alive"]]
    with_gpus = [each for each in machines if each.get("GPU")]
    if device.startswith("cuda") or (device == "auto" and with_gpus):
        machines, device = with_gpus, "cuda"
    cores, gpus = (sum(each.get(name, 0.0) for each in machines) for name in ("CPU", "GPU"))
    taken = {"num_cpus": min(1.0, _round_down(cores / at_once)) or 1.0}
    if device == "cuda":  # no share spans two GPUs, so the trainings on one GPU are counted
        taken["num_gpus"] = _round_down(1 / math.ceil(at_once / max(gpus, 1.0)))
    return taken, "cpu" if device == "auto" else device


def _round_down(share: float) -> float:
    """Return a share in Ray's units of a ten-thousandth."""
    return math.floor(share * 10_000) / 10_000


def last_line(error: object) -> str:
    """Return the last line of a message of Ray, which names the cause."""
    return str(error).strip().rpartition("\n")[2]
