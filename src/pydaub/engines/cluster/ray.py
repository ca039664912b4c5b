"""Evaluations on a Ray cluster: the same children under the same limits as on one machine, wherever there is room.

It is an adapter, no scheduler: here is how a cluster is found and entered, `fleet.py` sends evaluations to it, and Ray
places them.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pydaub.engines.cluster.fleet import Fleet
from pydaub.engines.processes import NO_LIMITS, ProcessEngine, check_limits, preload
from pydaub.errors import InputError, one_line
from pydaub.records import whole

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub.evaluation.evaluate import Task
    from pydaub.isolation.nursery import Limits

LOCAL: Final = "local"  # the address that asks for a Ray of our own
REACH_SECONDS: Final = 5.0
# Ray's own start listens on all interfaces and asks nobody for a token. The last one is Ray's name for "one machine".
ON_LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # unless it is 0, Ray takes the machine's address for loopback
GUARDED: Final = {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0", ON_LOOPBACK: "0"}
LOOPBACK: Final = "127.0.0.1"
IF_ASKED: Final = "If it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here as there."

_own_head: str | None = None  # the address of the Ray that we have started, if we have


def check_ray() -> None:
    """Say what to install where there is no Ray."""
    if find_spec("ray") is None:
        raise InputError("The engine `ray` needs Ray. `pip install 'pydaub[ray]'` does it, here and on every node.")


def connect(address: str | None, workers: int | None = None) -> bool:
    """Connect to a cluster, the one that runs here unless an address is given; return whether that was not so before.

    With the address "local" a Ray of our own is started: on loopback only, asking for a token, reporting to nobody. A
    connection that this process has is used, unless an address is given that is another's.
    """
    global _own_head  # noqa: PLW0603  # Ray's connection is one for a process, too
    check_ray()
    if address is not None and (not isinstance(address, str) or not address or "://" in address):
        raise InputError(
            f"`address` must be that of a cluster's head, as in host:6379, or {LOCAL!r}, got {address!r}. Ray's client"
            " (ray://) will not do: start the run on a node of the cluster."
        )
    if address == LOCAL and "ray" not in sys.modules:
        os.environ.update({**GUARDED, "RAY_AUTH_TOKEN": secrets.token_hex(32)})
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray  # noqa: PLC0415  # an extra, and a second

    if ray.is_initialized():
        _check_same(address, ray.get_runtime_context().gcs_address, ray.util.get_node_ip_address())
        return False
    _check_reachable(address, ray.util.get_node_ip_address())
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address != LOCAL:
        try:
            ray.init(address=address or "auto", **quiet)
        except ray.exceptions.AuthenticationError:
            raise InputError(f"The cluster must know this process by its token, got none. {IF_ASKED}") from None
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise InputError(
                f"`address` must be that of a running Ray cluster, got {address or 'none, and none runs here'}:"
                f" {one_line(error)}. {IF_ASKED} Start a cluster with `ray start --head`, or ask for our own with"
                f" {LOCAL!r}."
            ) from None
        return True
    if any(os.environ.get(name) != value for name, value in GUARDED.items()):
        raise InputError(
            f"`address` {LOCAL!r} must be asked for before Ray is imported: it would listen on all interfaces."
            " Start Ray yourself, or set " + ", ".join(f"{name}={value}" for name, value in GUARDED.items()) + "."
        )
    ray.init(address=LOCAL, num_cpus=workers, **quiet)
    if any(node["NodeManagerAddress"] != LOOPBACK for node in ray.nodes()):
        ray.shutdown()
        raise InputError("A Ray of our own must listen on loopback only, got one that does not. Start Ray yourself.")
    _own_head = ray.get_runtime_context().gcs_address
    return True


def _check_same(address: str | None, head: str, machine: str) -> None:
    """Refuse an address other than that of the `head` to which this process is connected from this `machine`."""
    if address in {None, "auto"} or (address == LOCAL and head == _own_head):
        return
    if address == LOCAL or not _ends(str(address), machine) & _ends(head, machine):
        raise InputError(
            f"`address` must be that of the cluster to which this process is connected, {head}, got {address!r}. Leave"
            " it out to use that one, or call `ray.shutdown()` before."
        )


def _ends(address: str, machine: str) -> set[tuple[str, str]]:
    """Return the numbers behind an address. Ray takes loopback for the machine's own: they count as one."""
    host, _, port = address.rpartition(":")
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), None)}
    except OSError:  # a name that nobody knows here
        found = {host}
    return {(machine if number.startswith("127.") or number == "::1" else number, port) for number in found}


def _check_reachable(address: str | None, machine: str) -> None:
    """Refuse an address where nobody listens: Ray would try for two minutes, and then end the process."""
    if address in {None, LOCAL, "auto"}:
        return
    host, _, port = str(address).rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(f"`address` must be that of a running Ray cluster, as in host:6379, got {address!r}.")
    try:
        _knock(host, port)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"`address` must be that of a running Ray cluster, as in host:6379, got {address!r}: {one_line(error)}."
        ) from None
    if (LOOPBACK, port) not in _ends(str(address), LOOPBACK) or os.environ.get(ON_LOOPBACK) == GUARDED[ON_LOOPBACK]:
        return
    try:
        _knock(machine, port)
    except OSError:
        raise InputError(
            f"`address` must be reachable as {machine}:{port}, for which Ray takes {host}, got nobody there. If the"
            f" cluster is on loopback alone, set {ON_LOOPBACK}=0 before Ray is imported."
        ) from None


def _knock(host: str, port: str) -> None:
    socket.create_connection((host, int(port)), timeout=REACH_SECONDS).close()


class RayEngine(ProcessEngine):
    """An engine of all CPUs of a cluster, or of at most `workers`; otherwise as `ProcessEngine`.

    Where no memory limit is given, an evaluation may use its share of the smallest node's memory.
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
        check_limits(limits)
        if workers is not None and whole(workers, "workers") < 1:
            raise InputError(f"`workers` must be at least 1, got {workers}.")
        self._most = workers
        ours = connect(address, workers)
        self._fleet = fleet = Fleet(folder.resolve(), tuple(preload(task)), ours=ours)
        try:
            fleet.wait_for_a_node()
            limits = limits if limits.memory is not None else replace(limits, memory=fleet.share())
            fleet.memory = limits.memory
            fleet.check_room()
        except BaseException:
            fleet.close()
            raise
        self._open(task, folder, limits, fleet)

    @property
    def slots(self) -> int:
        """How many evaluations the cluster has room for just now."""
        return self._fleet.slots if self._most is None else min(self._most, self._fleet.slots)

    def _is_full(self) -> bool:
        """Whether there was no room when that was last asked: a node may have been lost since, and Ray waits."""
        room = self._fleet.told if self._most is None else min(self._most, self._fleet.told)
        return len(self._running) + len(self._failed) >= room
