"""Find and enter a Ray cluster, and open an engine on it: `fleet.py` sends evaluations out, `node.py` runs them."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pydaub.engines.cluster.fleet import Fleet, reach
from pydaub.engines.processes import IsolatedEngine, preload
from pydaub.errors import InputError, one_line
from pydaub.isolation.nursery import NO_LIMITS
from pydaub.records import from_one

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub.evaluation.evaluate import Task
    from pydaub.isolation.nursery import Limits

LOCAL: Final = "local"  # the address that starts a new cluster on this machine
REACH_SECONDS: Final = 5.0
# By default Ray listens on all interfaces and requires no token. With the last of these set to 0, Ray keeps a loopback
# address as it is, instead of replacing it with the machine's own.
ON_LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
GUARDED: Final = {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0", ON_LOOPBACK: "0"}
LOOPBACK: Final = "127.0.0.1"
IF_REFUSED: Final = (
    "If the cluster requires a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the same value as there."
)

_own_head: str | None = None  # the address of the cluster that this process has started
_entered = False  # whether `connect` has made the connection


def check_ray() -> None:
    """Raise InputError if Ray is not installed."""
    if find_spec("ray") is None:
        raise InputError(
            "The engine `ray` needs Ray. Install it with `pip install 'pydaub[ray]'`, here and on every node."
        )


def connect(address: str | None, workers: int | None = None) -> bool:
    """Connect to a cluster; return False if this process was connected to it before.

    Without an address this is the cluster that runs on this machine. The address "local" starts a new one, which
    listens on loopback only, requires a token and sends no usage statistics. An existing connection is used, unless
    the address is that of another cluster.
    """
    global _own_head, _entered  # noqa: PLW0603  # a process has only one connection to Ray, too
    check_ray()
    if address is not None and (not isinstance(address, str) or not address or "://" in address):
        raise InputError(
            f"`address` must be that of a cluster's head, as in host:6379, or {LOCAL!r}, got {address!r}. The Ray"
            " client (ray://) is not supported: start the run on a node of the cluster."
        )
    if address == LOCAL and "ray" not in sys.modules:
        os.environ.update({**GUARDED, "RAY_AUTH_TOKEN": secrets.token_hex(32)})
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray  # noqa: PLC0415  # an optional dependency, which takes a second to import

    if ray.is_initialized():
        _check_same(address, ray.get_runtime_context().gcs_address, ray.util.get_node_ip_address())
        return False
    _check_reachable(address, ray.util.get_node_ip_address())
    _entered = True
    if address == LOCAL:
        _own_head = _start_own(workers)
        return True
    try:
        ray.init(address=address or "auto", log_to_driver=False, logging_level="ERROR")
    except ray.exceptions.AuthenticationError:
        raise InputError(f"The cluster refused this process because it sent no valid token. {IF_REFUSED}") from None
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise InputError(
            f"`address` must be that of a running Ray cluster, got {address or 'none, and none runs here'}:"
            f" {one_line(error)}. {IF_REFUSED} Start a cluster with `ray start --head`, or let pydaub start one with"
            f" the address {LOCAL!r}."
        ) from None
    return True


def disconnect() -> None:
    """Leave the cluster, if `connect` has entered it."""
    if _entered:
        import ray  # noqa: PLC0415  # as above

        ray.shutdown()


def _start_own(workers: int | None) -> str:
    """Start a cluster on loopback and return the address of its head."""
    import ray  # noqa: PLC0415  # as above

    if any(os.environ.get(name) != value for name, value in GUARDED.items()):
        raise InputError(
            f"`address` {LOCAL!r} must be used before Ray is imported: now Ray would listen on all interfaces."
            " Start Ray yourself, or set " + ", ".join(f"{name}={value}" for name, value in GUARDED.items()) + "."
        )
    ray.init(address=LOCAL, num_cpus=workers, log_to_driver=False, logging_level="ERROR")
    if any(node["NodeManagerAddress"] != LOOPBACK for node in ray.nodes()):
        ray.shutdown()
        raise InputError("The Ray cluster that was started does not listen on loopback only. Start Ray yourself.")
    return str(ray.get_runtime_context().gcs_address)


def _check_same(address: str | None, head: str, machine: str) -> None:
    """Refuse an address other than that of the `head` to which this process is connected from this `machine`."""
    if address in {None, "auto"} or (address == LOCAL and head == _own_head):
        return
    if address == LOCAL or not _endpoints(str(address), machine) & _endpoints(head, machine):
        raise InputError(
            f"`address` must be that of the cluster to which this process is connected, {head}, got {address!r}. Leave"
            " it out to use that one, or call `ray.shutdown()` before."
        )


def _endpoints(address: str, machine: str) -> set[tuple[str, str]]:
    """Return the IP addresses and the port of an address; like Ray, count loopback as the machine's own address."""
    host, _, port = address.rpartition(":")
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), None)}
    except OSError:  # the name cannot be resolved
        found = {host}
    return {(machine if number.startswith("127.") or number == "::1" else number, port) for number in found}


def _check_reachable(address: str | None, machine: str) -> None:
    """Refuse an address that nothing listens on: Ray would retry for two minutes and then kill the process."""
    if address in {None, LOCAL, "auto"}:
        return
    host, _, port = str(address).rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(f"`address` must be that of a running Ray cluster, as in host:6379, got {address!r}.")
    try:
        reach(str(address), REACH_SECONDS)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"`address` must be that of a running Ray cluster, as in host:6379, got {address!r}: {one_line(error)}."
        ) from None
    on_loopback = (LOOPBACK, port) in _endpoints(str(address), LOOPBACK)
    if not on_loopback or os.environ.get(ON_LOOPBACK) == GUARDED[ON_LOOPBACK]:
        return
    try:
        reach(f"{machine}:{port}", REACH_SECONDS)
    except OSError:
        raise InputError(
            f"`address` must be reachable as {machine}:{port}, with which Ray replaces {host}, but nothing listens"
            f" there. If the cluster listens on loopback only, set {ON_LOOPBACK}=0 before Ray is imported."
        ) from None


class RayEngine(IsolatedEngine):
    """An engine on all CPUs of a cluster, or on at most `workers` of them; see `IsolatedEngine`.

    Without a memory limit, each evaluation gets a share of the memory of the smallest node.
    """

    def __init__(
        self,
        task: Task,
        folder: Path,
        limits: Limits = NO_LIMITS,
        *,
        address: str | None = None,
        workers: int | None = None,
    ) -> None:
        most = None if workers is None else from_one(workers, "workers")
        ours = connect(address, most)
        fleet = Fleet(folder.resolve(), tuple(preload(task)), ours=ours, most=most)
        try:
            fleet.open(limits.memory)
        except BaseException:
            fleet.close()
            raise
        super().__init__(task, folder, limits, fleet, fleet.slots, gpus=fleet.gpus)
