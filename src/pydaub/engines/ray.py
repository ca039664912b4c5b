"""Evaluations on a Ray cluster: the same children under the same limits as on one machine, wherever there is room.

It is an adapter, no scheduler: Ray places the evaluations, each of which declares a CPU and its memory, tries those of
a lost node again elsewhere, and uses nodes that join. Rows go to a node once (`station.py`), never with an evaluation.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pydaub.engines.processes import NO_LIMITS, ProcessEngine, check_limits, preload
from pydaub.errors import InputError, one_line
from pydaub.nursery import Ended
from pydaub.records import Allocation, whole
from pydaub.station import CHUNK, IDENTITY, Crate, clear, evaluate_there, installed
from pydaub.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.evaluation import Task
    from pydaub.nursery import Limits

LOCAL: Final = "local"  # the address that asks for a Ray of our own
RETRIES: Final = 3  # how often an evaluation is tried again when its node or worker is lost
LOOK_SECONDS: Final = 1.0  # how often nodes are counted
REACH_SECONDS: Final = 5.0
PATIENCE: Final = 60.0  # seconds for a first node with a free CPU
SHARE: Final = 0.8  # of a node's memory, that its evaluations may use together
# Ray's own start listens on all interfaces and asks nobody for a token. The last one is Ray's name for "one machine".
GUARDED: Final = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
LOOPBACK: Final = "127.0.0.1"


def check_ray() -> None:
    """Say what to install where there is no Ray."""
    if find_spec("ray") is None:
        raise InputError("The engine `ray` needs Ray. `pip install 'pydaub[ray]'` does it, here and on every node.")


def connect(address: str | None, workers: int | None = None) -> bool:
    """Connect to a cluster, the one that runs here unless an address is given; return whether that was not so before.

    With the address "local" a Ray of our own is started: on loopback only, asking for a token, reporting to nobody.
    """
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
        return False
    _check_reachable(address)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address != LOCAL:
        try:
            ray.init(address=address or "auto", **quiet)
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise InputError(
                f"`address` must be that of a running Ray cluster, got {address or 'none, and none runs here'}:"
                f" {one_line(error)}. Start one with `ray start --head`, or ask for one of our own with {LOCAL!r}."
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
    return True


def _check_reachable(address: str | None) -> None:
    """Refuse an address where nobody listens: Ray would try for two minutes, and then end the process."""
    if address in {None, LOCAL, "auto"}:
        return
    host, _, port = str(address).rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=REACH_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"`address` must be that of a running Ray cluster, as in host:6379, got {address!r}: {one_line(error)}."
        ) from None


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


def _evaluate_on_node(*arguments: Any, **options: Any) -> dict[str, Any]:  # noqa: ANN401  # as of `evaluate_there`
    import ray  # noqa: PLC0415

    return {**evaluate_there(*arguments, **options), "node": ray.get_runtime_context().get_node_id()}


class Fleet:
    """The nodes of a cluster with the verbs of a `Nursery`: `begin` an evaluation, `wait` for one to end, `close`."""

    def __init__(self, folder: Path, modules: tuple[str, ...], *, ours: bool) -> None:
        import ray  # noqa: PLC0415

        self._ray, self._ours = ray, ours
        self._folder, self._modules = folder, modules
        self._crate: Crate | None = None
        self._remote = ray.remote(_evaluate_on_node)
        self._running: dict[Any, tuple[int, tuple[str, ...]]] = {}  # by Ray's handle: the key, and the learners' names
        self._keys = 0
        self._counted_at, self._found, self.told = -LOOK_SECONDS, 0, 0
        self._away: set[str] = set()  # nodes that have a copy of the rows
        self.memory: int | None = None

    @property
    def slots(self) -> int:
        """How many evaluations there is room for by the CPUs and the memory of the living nodes."""
        self.told = self._count()
        return self.told

    def _count(self) -> int:
        now = time.monotonic()
        if now - self._counted_at >= LOOK_SECONDS and self._ray.is_initialized():  # asked for nodes, Ray would start
            found = sum(self._room(node["Resources"]) for node in self._nodes())
            self._found = max(1, found)  # without a node, Ray keeps an evaluation until there is one
            self._counted_at = now
        return self._found

    def _room(self, resources: Mapping[str, float]) -> int:
        by_memory = int(resources.get("memory", 0) // self.memory) if self.memory else sys.maxsize
        return min(int(resources.get("CPU", 0)), by_memory)

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def wait_for_a_node(self) -> None:
        """Return once there is a CPU; a cluster may still be starting."""
        deadline = time.monotonic() + PATIENCE
        while not any(node["Resources"].get("CPU", 0) >= 1 for node in self._nodes()):
            if time.monotonic() > deadline:
                raise InputError(f"The cluster must have a node with a CPU, got none within {PATIENCE:.0f} s.")
            time.sleep(0.2)

    def check_room(self) -> None:
        """Refuse a memory limit that no node can hold, and count anew by the one that holds."""
        if self.memory and not any(self._room(node["Resources"]) for node in self._nodes()):
            most = max((node["Resources"].get("memory", 0) for node in self._nodes()), default=0)
            raise InputError(
                f"`learner_memory` must fit on a node of the cluster, which has {most / 1e9:,.1f} GB at most, got"
                f" {self.memory / 1e9:,.1f} GB."
            )
        self._counted_at = -LOOK_SECONDS
        self.told = self._count()

    def share(self) -> int | None:
        """Return how many bytes each CPU of the smallest node has for its evaluations."""
        found = [node["Resources"] for node in self._nodes() if node["Resources"].get("CPU", 0) >= 1]
        return min((int(SHARE * each["memory"] / int(each["CPU"])) for each in found if "memory" in each), default=None)

    def begin(self, arguments: Mapping[str, Any], limits: Limits, *, again: bool = False) -> int:
        """Hand an evaluation to Ray and return its key. Ray's own dashboard shows it by learner and size."""
        allocation, learners = Allocation(arguments["learner"], arguments["size"]), tuple(arguments["learners"])
        files = Workbench(self._folder, learners).pack(allocation)
        task = self._remote.options(
            name=f"{allocation.learner} {allocation.size:,}",
            num_cpus=1,
            memory=limits.memory,
            max_retries=RETRIES,
            scheduling_strategy="SPREAD",
        )
        self._keys += 1
        ref = task.remote(self._packed(), dict(arguments), limits, files, again=again)
        self._running[ref] = (self._keys, learners)
        return self._keys

    def _packed(self) -> Crate:
        """Return what every node needs; the rows are in Ray's store, from which a node fetches them once."""
        if self._crate is None:
            identity = secrets.token_hex(8)
            (self._folder / IDENTITY).write_text(identity)
            paths = [
                self._folder / "task.pkl",
                *sorted(path for path in (self._folder / "data").rglob("*") if path.is_file()),
            ]
            files = {str(path.relative_to(self._folder)): self._put(path) for path in paths}
            path = tuple(place or str(Path.cwd()) for place in sys.path)
            self._crate = Crate(identity, str(self._folder), files, self._modules, path, installed(), self._ray.get)
        return self._crate

    def _put(self, path: Path) -> list[Any]:
        size = path.stat().st_size  # as arrays, which Ray shares between processes without a copy
        return [self._ray.put(np.fromfile(path, np.uint8, CHUNK, offset=start)) for start in range(0, size, CHUNK)]

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return the next evaluation that has ended, or None after so many seconds, or when there is room for more."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = LOOK_SECONDS if deadline is None else min(max(deadline - time.monotonic(), 0.0), LOOK_SECONDS)
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=left, fetch_local=False)
            if ready:
                return self._ended(ready[0])
            if (deadline is not None and time.monotonic() >= deadline) or self._count() > self.told:
                return None

    def _ended(self, ref: Any) -> Ended:  # noqa: ANN401  # Ray's handle
        errors = self._ray.exceptions
        key, learners = self._running.pop(ref)
        try:
            told = self._ray.get(ref)
        except errors.RayTaskError as error:  # our own code on a node, not the learner's
            cause = error.cause
            if isinstance(cause, InputError):
                raise cause from None
            raise
        except errors.OutOfMemoryError:
            return Ended(key, "memory", None, "its node had no memory left", 0.0, 0.0)
        except errors.RayError as error:
            words = f"its node or worker was lost {RETRIES + 1} times ({type(error).__name__})"
            return Ended(key, "crash", None, words, 0.0, 0.0)
        if told["away"]:
            self._away.add(told["node"])
            Workbench(self._folder, learners).unpack(told["files"])
        return Ended(**{**told["ended"], "key": key})

    def cancel(self, key: int) -> None:
        """End an evaluation, of which nothing more is told."""
        for ref in [ref for ref, (other, _) in self._running.items() if other == key]:
            del self._running[ref]
            self._ray.cancel(ref)

    def close(self) -> None:
        """End every evaluation, take away the copies of the rows, and leave the cluster if it was not ours before."""
        if not self._ray.is_initialized():
            return
        cancelled = bool(self._running)
        for key, _ in list(self._running.values()):
            self.cancel(key)
        if self._crate is not None:
            (self._folder / IDENTITY).unlink(missing_ok=True)
            if self._away or cancelled:
                self._clear_copies(self._crate.identity)
            self._crate = None
        if self._ours:
            self._ray.shutdown()

    def _clear_copies(self, identity: str) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

        living = {node["NodeID"] for node in self._nodes()}
        clearing = self._ray.remote(clear)
        done = [
            clearing.options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(
                identity
            )
            for node in living
        ]
        if done:
            self._ray.wait(done, num_returns=len(done), timeout=10)
