"""The nodes of a Ray cluster with the verbs of a `Nursery`: `begin` an evaluation, `wait` for one to end, `close`.

Ray places the evaluations, each of which declares a CPU and its memory, and uses nodes that join. What is lost with a
node or a worker is sent out again from here, so many times: Ray itself would try for ever what is killed for want of
memory. Rows go to a node once (`station.py`), never with an evaluation, and into Ray's store only if a node asks.
"""

from __future__ import annotations

import secrets
import socket
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pydaub.engines.cluster.node import CHUNK, IDENTITY, Crate, clear, evaluate_there, installed
from pydaub.errors import ClusterLost, InputError, one_line
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Ended
from pydaub.records import Allocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.isolation.nursery import Limits

RETRIES: Final = 3  # how often an evaluation is tried again when its node or worker is lost
LOOK_SECONDS: Final = 1.0  # how often nodes are counted
PATIENCE: Final = 60.0  # seconds for a first node with a free CPU
SILENCE: Final = 30.0  # seconds for a head that does not answer: after 60 Ray would end this process without a word
SHARE: Final = 0.8  # of a node's memory, that its evaluations may use together
KEPT: Final = "What was measured is kept: the run can be resumed."
# By the names of Ray's errors, what was lost with an evaluation.
LOSSES: Final = {
    "WorkerCrashedError": "its Ray worker was killed",
    "NodeDiedError": "its node was lost",
    "ObjectLostError": "its rows or its answer were lost with a node",
    "OwnerDiedError": "its rows or its answer were lost with a node",
    "OutOfMemoryError": "its node had no memory left, and Ray killed it",
    "TaskCancelledError": "somebody cancelled it on the cluster",
}


def _evaluate_on_node(*arguments: Any, **options: Any) -> dict[str, Any]:  # noqa: ANN401  # as of `evaluate_there`
    import ray  # noqa: PLC0415

    return {**evaluate_there(*arguments, **options), "node": ray.get_runtime_context().get_node_id()}


@dataclass
class _Sent:
    """An evaluation that is out on the cluster."""

    key: int
    arguments: dict[str, Any]
    limits: Limits
    again: bool
    lost: int = 0  # how often

    @property
    def allocation(self) -> Allocation:
        return Allocation(self.arguments["learner"], self.arguments["size"])


class Fleet:
    """What runs evaluations on the nodes of the cluster that this process is connected to.

    `ours` says that the connection was made for this run, and ends with it.
    """

    def __init__(self, folder: Path, modules: tuple[str, ...], *, ours: bool) -> None:
        import ray  # noqa: PLC0415  # an extra, and a second

        self._ray, self._ours = ray, ours
        self._folder, self._modules = folder, modules
        here = ray.get_runtime_context()
        self._head, self._node = here.gcs_address, here.get_node_id()
        self._silent_since: float | None = None
        self._crate: Crate | None = None
        self._remote = ray.remote(_evaluate_on_node)
        self._running: dict[Any, _Sent] = {}  # by Ray's handle
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
        due = now - self._counted_at >= LOOK_SECONDS and self._ray.is_initialized()  # asked for nodes, Ray would start
        if due and self._answers(now):  # else it would wait for an answer, and end the process
            nodes = self._nodes()
            if not any(node["NodeID"] == self._node for node in nodes):
                raise ClusterLost(f"The node of this process must live, got one that Ray has given up. {KEPT}")
            found = sum(self._room(node["Resources"]) for node in nodes)
            self._found = max(1, found)  # without a node, Ray keeps an evaluation until there is one
            self._counted_at = now
        return self._found

    def _answers(self, now: float) -> bool:
        """Whether the cluster's head is there; that it is not is an error if it lasts."""
        host, _, port = self._head.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), LOOK_SECONDS).close()
        except OSError as error:
            if self._silent_since is None:
                self._silent_since = now
            if now - self._silent_since >= SILENCE:
                raise ClusterLost(
                    f"The cluster's head must answer at {self._head}, got {one_line(error)} for {SILENCE:.0f} s. {KEPT}"
                ) from None
            return False
        self._silent_since = None
        return True

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
        """Hand an evaluation to Ray and return its key."""
        self._keys += 1
        self._send(_Sent(self._keys, dict(arguments), limits, again))
        return self._keys

    def _send(self, sent: _Sent) -> None:
        """Hand it to Ray, perhaps once more. Ray's own dashboard shows it by learner and size."""
        allocation = sent.allocation
        task = self._remote.options(
            name=f"{allocation.learner} {allocation.size:,}",
            num_cpus=1,
            memory=sent.limits.memory,
            max_retries=0,  # with any other number, those for want of memory have no end
            scheduling_strategy="SPREAD",
        )
        files = self._bench(sent).pack(allocation)
        self._running[task.remote(self._packed(), sent.arguments, sent.limits, files, again=sent.again)] = sent

    def _bench(self, sent: _Sent) -> Workbench:
        return Workbench(self._folder, tuple(sent.arguments["learners"]))

    def _packed(self) -> Crate:
        """Return what every node needs; without the rows, until a node says that it does not see them."""
        if self._crate is None:
            identity = secrets.token_hex(8)
            (self._folder / IDENTITY).write_text(identity)
            path = tuple(place or str(Path.cwd()) for place in sys.path)
            self._crate = Crate(identity, str(self._folder), {}, self._modules, path, installed(), self._ray.get)
        return self._crate

    def _store_rows(self) -> None:
        """Put the rows into Ray's store, from which a node fetches them once."""
        crate = self._packed()
        if crate.files:
            return
        paths = [
            self._folder / "task.pkl",
            *sorted(path for path in (self._folder / "data").rglob("*") if path.is_file()),
        ]
        try:
            files = {str(path.relative_to(self._folder)): self._put(path) for path in paths}
        except self._ray.exceptions.RayError as error:
            raise ClusterLost(
                f"Ray's store must have room for the rows, got {one_line(error)}. Give it more, or have every node see"
                f" {self._folder} at the same path. {KEPT}"
            ) from None
        self._crate = replace(crate, files=files)

    def _put(self, path: Path) -> list[Any]:
        size = path.stat().st_size  # as arrays, which Ray shares between processes without a copy
        return [self._ray.put(np.fromfile(path, np.uint8, CHUNK, offset=start)) for start in range(0, size, CHUNK)]

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return the next evaluation that has ended, or None after so many seconds, or when there is room for more."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = LOOK_SECONDS if deadline is None else min(max(deadline - time.monotonic(), 0.0), LOOK_SECONDS)
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=left, fetch_local=False)
            if ready and (ended := self._ended(ready[0])) is not None:
                return ended
            if self._count() > self.told or (deadline is not None and time.monotonic() >= deadline):
                return None

    def _ended(self, ref: Any) -> Ended | None:  # noqa: ANN401  # Ray's handle
        """Return how an evaluation ended; None where it was sent out once more."""
        sent = self._running.pop(ref)
        try:
            told = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            return self._lost(sent, error)
        if "ended" not in told:  # that node needs the rows
            self._store_rows()
            self._send(sent)
            return None
        if told["away"]:
            self._away.add(told["node"])
            self._bench(sent).unpack(told["files"])
        return Ended(**{**told["ended"], "key": sent.key})

    def _lost(self, sent: _Sent, error: Exception) -> Ended | None:
        """Send out again what was lost, or give it up; whatever would befall every evaluation alike ends the run."""
        errors = self._ray.exceptions
        cause = error
        if isinstance(error, errors.RayTaskError):  # our own code on a node, not the learner's
            cause = error.cause
            if isinstance(cause, InputError):
                raise cause from None
            if not isinstance(cause, errors.ObjectLostError):  # rows
                raise ClusterLost(f"Every node must be able to evaluate, got {one_line(cause)}. {KEPT}") from error
        if isinstance(cause, errors.RuntimeEnvSetupError | errors.TaskUnschedulableError | errors.LocalRayletDiedError):
            raise ClusterLost(f"Ray must be able to begin an evaluation, got {one_line(cause)}. {KEPT}") from None
        sent.lost += 1
        if sent.lost <= RETRIES:
            self._send(sent)
            return None
        status = "memory" if isinstance(cause, errors.OutOfMemoryError) else "crash"
        names = [kind.__name__ for kind in type(cause).__mro__]
        words = next((LOSSES[name] for name in names if name in LOSSES), f"it was lost ({one_line(cause)})")
        return Ended(sent.key, status, None, f"{words}; it was tried {sent.lost} times", 0.0, 0.0)

    def cancel(self, key: int) -> None:
        """End an evaluation, of which nothing more is told."""
        for ref in [ref for ref, sent in self._running.items() if sent.key == key]:
            del self._running[ref]
            self._ray.cancel(ref)

    def close(self) -> None:
        """End every evaluation, take away the copies of the rows, and leave the cluster if it was not ours before."""
        if not self._ray.is_initialized():
            return
        cancelled = bool(self._running)
        for sent in list(self._running.values()):
            self.cancel(sent.key)
        if self._crate is not None:
            (self._folder / IDENTITY).unlink(missing_ok=True)
            if (self._away or cancelled) and self._silent_since is None:
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
