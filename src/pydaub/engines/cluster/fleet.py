"""What a `Nursery` is on one machine, for the nodes of a Ray cluster: begin an evaluation, wait for one to end, close.

Each evaluation reserves a CPU and its memory, and a GPU if its learner uses one; Ray chooses the node, and uses nodes
that join. Evaluations that are lost with a node or a worker are retried from here a few times: Ray itself would retry
forever those that are killed for lack of memory. A node that does not see the run's folder copies the rows from this
one, once (`node.py`); they are never sent with an evaluation.
"""

from __future__ import annotations

import math
import secrets
import socket
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines.cluster.node import IDENTITY, KEPT, Crate, clear, evaluate_there, installed, parts_from
from pydaub.engines.registry import MEMORY_SHARE
from pydaub.errors import ClusterLost, InputError, one_line
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Ended
from pydaub.records import Allocation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydaub.isolation.nursery import Limits

RETRIES: Final = 3  # of an evaluation whose node or worker is lost
LOOK_SECONDS: Final = 1.0  # how often the nodes are counted
PATIENCE: Final = 60.0  # seconds to wait for the first node with a free CPU
SILENCE: Final = 30.0  # seconds to wait for a head that does not answer; after 60 s Ray would kill this process
# What was lost with an evaluation, by the name of Ray's error.
LOSSES: Final = {
    "WorkerCrashedError": "its Ray worker was killed",
    "NodeDiedError": "its node was lost",
    "ObjectLostError": "its rows or its answer were lost with a node",
    "OwnerDiedError": "its rows or its answer were lost with a node",
    "OutOfMemoryError": "Ray killed it because its node ran out of memory",
    "TaskCancelledError": "it was cancelled on the cluster",
}


@dataclass
class _Sent:
    """An evaluation that was sent to the cluster."""

    key: int
    arguments: dict[str, Any]
    limits: Limits
    reusable: bool
    losses: int = 0  # how often it was lost with a node or a worker


class Fleet:
    """Runs evaluations on the nodes of the cluster to which this process is connected, at most `most` at a time.

    `ours` says that the connection was made for this run; then closing the fleet disconnects.
    """

    def __init__(self, folder: Path, modules: tuple[str, ...], *, ours: bool, most: int | None = None) -> None:
        import ray  # noqa: PLC0415  # an optional dependency, which takes a second to import

        self._ray, self._ours, self._most = ray, ours, most
        self._folder, self._modules = folder, modules
        self._bench = Workbench(folder)
        here = ray.get_runtime_context()
        self._head, self._node = here.gcs_address, here.get_node_id()
        self._silent_since: float | None = None
        self._crate: Crate | None = None
        self._remote = ray.remote(evaluate_there)
        self._running: dict[Any, _Sent] = {}  # by Ray's object reference
        self._keys = 0
        self._counted_at, self._counted = -LOOK_SECONDS, 0
        self._reported = 0  # the last number that `slots` returned
        self._copied = False  # whether a node has a copy of the rows
        self._memory: int | None = None  # that each evaluation reserves
        self.gpus: tuple[str, ...] = ()  # as many as the cluster had at first; Ray chooses which one an evaluation gets

    def open(self, memory: int | None) -> None:
        """Wait for a node, and choose the memory of each evaluation: by default, a CPU's share of the smallest node."""
        deadline = time.monotonic() + PATIENCE
        while not (nodes := [node["Resources"] for node in self._nodes() if node["Resources"].get("CPU", 0) >= 1]):
            if time.monotonic() > deadline:  # a cluster may still be starting
                raise InputError(f"The cluster must have a node with a CPU, got none within {PATIENCE:.0f} s.")
            time.sleep(0.2)
        shares = (int(MEMORY_SHARE * each["memory"] / int(each["CPU"])) for each in nodes if "memory" in each)
        self._memory = min(shares, default=None) if memory is None else memory
        if self._memory and not any(map(self._room, nodes)):
            most = max(each.get("memory", 0) for each in nodes)
            raise InputError(
                f"`learner_memory` must fit on a node of the cluster, which has {most / 1e9:,.1f} GB at most, got"
                f" {self._memory / 1e9:,.1f} GB."
            )
        self.gpus = tuple(map(str, range(sum(map(self._gpu_room, nodes)))))

    def slots(self) -> int:
        """Return how many evaluations there is room for, by the CPUs and the memory of the living nodes."""
        self._reported = self._count()
        return self._reported

    def _count(self) -> int:
        now = time.monotonic()
        due = now - self._counted_at >= LOOK_SECONDS and self._ray.is_initialized()  # `ray.nodes` would start a cluster
        if due and self._head_answers(now):  # else `ray.nodes` would wait for it and kill this process
            nodes = self._nodes()
            if not any(node["NodeID"] == self._node for node in nodes):
                raise ClusterLost(f"Ray has marked this node as dead. Restart it, or run elsewhere. {KEPT}")
            found = max(1, sum(self._room(node["Resources"]) for node in nodes))  # without nodes, Ray queues the call
            self._counted = found if self._most is None else min(found, self._most)
            self._counted_at = now
            if not any(self._gpu_room(node["Resources"]) for node in nodes):
                self._do_without_gpu()
        return self._counted

    def _head_answers(self, now: float) -> bool:
        """Return whether the cluster's head can be reached; raise ClusterLost if it could not be for some time."""
        try:
            reach(self._head, LOOK_SECONDS)
        except OSError as error:
            if self._silent_since is None:
                self._silent_since = now
            if now - self._silent_since >= SILENCE:
                raise ClusterLost(
                    f"The cluster's head at {self._head} did not answer for {SILENCE:.0f} s: {one_line(error)}. {KEPT}"
                ) from None
            return False
        self._silent_since = None
        return True

    def _room(self, resources: Mapping[str, float]) -> int:
        by_memory = int(resources.get("memory", 0) // self._memory) if self._memory else sys.maxsize
        return min(int(resources.get("CPU", 0)), by_memory)

    def _gpu_room(self, resources: Mapping[str, float]) -> int:
        return min(int(resources.get("GPU", 0)), self._room(resources))

    def _do_without_gpu(self) -> None:
        """Send evaluations that wait for a GPU to a CPU: the last node with one was lost."""
        for ref in [ref for ref, sent in self._running.items() if sent.arguments.get("gpu")]:
            sent = self._running.pop(ref)
            self._ray.cancel(ref)
            self._send(replace(sent, arguments={**sent.arguments, "gpu": ""}))

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def begin(
        self,
        arguments: Mapping[str, Any],
        limits: Limits,
        *,
        reusable: bool = False,
        preload: Sequence[str] = (),  # noqa: ARG002  # the servers of the nodes have imported it already
    ) -> int:
        """Send an evaluation to the cluster and return its key."""
        self._keys += 1
        self._send(_Sent(self._keys, dict(arguments), replace(limits, memory=self._memory), reusable))
        return self._keys

    def _send(self, sent: _Sent) -> None:
        """Send an evaluation, or send it again. Ray's dashboard shows it by its learner and size."""
        allocation = Allocation(sent.arguments["learner"], sent.arguments["size"])
        task = self._remote.options(
            name=f"{allocation.learner} {allocation.size:,}",
            num_cpus=1,
            num_gpus=1 if sent.arguments.get("gpu") else 0,
            memory=sent.limits.memory,
            max_retries=0,  # with any other number, Ray retries forever what it kills for lack of memory
            scheduling_strategy="SPREAD",
        )
        files = self._bench.pack(allocation)
        ref = task.remote(self._packed(), sent.arguments, sent.limits, files, reusable=sent.reusable)
        self._running[ref] = sent

    def _packed(self) -> Crate:
        """Return what every node needs to work in the run's folder, or in a copy of it."""
        if self._crate is None:
            identity = secrets.token_hex(8)
            (self._folder / IDENTITY).write_text(identity)
            path = tuple(place or str(Path.cwd()) for place in sys.path)
            data = sorted(path for path in (self._folder / "data").rglob("*") if path.is_file())
            files = {
                str(path.relative_to(self._folder)): path.stat().st_size for path in (self._folder / "task.pkl", *data)
            }
            parts = parts_from(self._node)
            self._crate = Crate(identity, str(self._folder), files, self._modules, path, installed(), parts)
        return self._crate

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return the next evaluation that has ended; None after `timeout` seconds, or if there is room for more."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left = min(max(deadline - time.monotonic(), 0.0), LOOK_SECONDS)
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=left, fetch_local=False)
            if ready and (ended := self._ended(ready[0])) is not None:
                return ended
            if self._count() > self._reported or time.monotonic() >= deadline:
                return None

    def _ended(self, ref: Any) -> Ended | None:  # noqa: ANN401  # Ray's object reference
        """Return how an evaluation ended, or None if it was sent again because it was lost."""
        sent = self._running.pop(ref)
        try:
            answer = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            sent.losses += 1
            cause = loss(error)
            if sent.losses > RETRIES:
                return given_up(sent.key, cause, sent.losses)
            self._send(sent)
            return None
        if answer["away"]:
            self._copied = True
            self._bench.unpack(answer["files"])
        ended = Ended(**{**answer["ended"], "key": sent.key})
        return replace(ended, losses=ended.losses + sent.losses)

    def cancel(self, key: int) -> None:
        """Stop an evaluation; `wait` never returns it."""
        for ref in [ref for ref, sent in self._running.items() if sent.key == key]:
            del self._running[ref]
            self._ray.cancel(ref)

    def close(self) -> None:
        """Stop every evaluation, delete the copies of the rows, and disconnect if the connection was made for this."""
        if not self._ray.is_initialized():
            return
        cancelled = bool(self._running)
        for sent in list(self._running.values()):
            self.cancel(sent.key)
        if self._crate is not None:
            (self._folder / IDENTITY).unlink(missing_ok=True)
            if (self._copied or cancelled) and self._silent_since is None:
                self._clear_copies(self._crate.identity)
            self._crate = None
        if self._ours:
            self._ray.shutdown()

    def _clear_copies(self, identity: str) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415  # as Ray itself

        clearing = self._ray.remote(clear)
        done = [
            clearing.options(
                num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ).remote(identity)
            for node in self._nodes()
        ]
        if done:
            self._ray.wait(done, num_returns=len(done), timeout=10)


def reach(address: str, seconds: float) -> None:
    """Raise OSError if nothing listens at an address, or if it does not answer within some seconds."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), seconds).close()


def loss(error: Exception) -> Exception:
    """Return why Ray lost an evaluation; raise an error if every other evaluation would fail in the same way."""
    from ray import exceptions  # noqa: PLC0415  # an optional dependency

    cause = error
    if isinstance(error, exceptions.RayTaskError):  # raised by our own code on a node, not by the learner
        cause = error.cause
        if isinstance(cause, InputError | ClusterLost):
            raise cause from None
        if not any(kind.__name__ in LOSSES for kind in type(cause).__mro__):  # else lost while rows were copied
            raise ClusterLost(f"A node could not evaluate: {one_line(cause)}. {KEPT}") from error
    if isinstance(
        cause,
        exceptions.RuntimeEnvSetupError | exceptions.TaskUnschedulableError | exceptions.LocalRayletDiedError,
    ):
        raise ClusterLost(f"Ray could not start an evaluation: {one_line(cause)}. {KEPT}") from None
    return cause


def given_up(key: int, cause: Exception, losses: int) -> Ended:
    """Return how an evaluation ended that was lost too often."""
    names = [kind.__name__ for kind in type(cause).__mro__]
    words = next((LOSSES[name] for name in names if name in LOSSES), f"it was lost ({one_line(cause)})")
    status = "memory" if "OutOfMemoryError" in names else "crash"
    return Ended(key, status, None, f"{words}; it was tried {losses} times", 0.0, 0.0, losses - 1)
