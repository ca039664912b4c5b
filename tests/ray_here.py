"""A real Ray cluster of several nodes on this machine, on loopback only; what needs it is skipped where Ray is not."""

from __future__ import annotations

import atexit
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import pytest

from faults import wait_until
from pydaub.engines.cluster.ray import GUARDED

APART = "PYDAUB_RAY_TESTS"  # set in the process that runs them: to 1 if it runs them all
MISSING = find_spec("ray") is None
needs_ray = [
    pytest.mark.skipif(MISSING, reason="needs Ray: pip install 'pydaub[ray]'"),
    # Ray takes over the signals by which a JVM in the same process, WEKA's, finds its own faults.
    pytest.mark.skipif(
        APART not in os.environ, reason="Ray has a process of its own: test_ray_apart.py, and make test-ray for all"
    ),
]
STORE = 100_000_000  # bytes; Ray would take a third of the memory

_TOKEN = secrets.token_hex(32)  # one for a process: Ray reads it once
_nodes: list[Any] = []
_head: Any = None


def cluster(nodes: int) -> list[Any]:
    """Return that many nodes with a CPU each; the first call starts the cluster, which ends with the tests."""
    global _head  # noqa: PLW0603  # half a minute: one for all tests of a process
    if _head is None:
        os.environ.update({**GUARDED, "RAY_AUTH_TOKEN": _TOKEN})
        from ray.cluster_utils import Cluster  # noqa: PLC0415  # after the environment, which it reads once

        shown = os.environ[APART] == "1"  # one of all the tests asks Ray's dashboard
        head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": shown, "dashboard_port": 0}
        _head = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        atexit.register(end)
    while len(_nodes) < nodes:
        _nodes.append(add())
    while len(_nodes) > nodes:
        _head.remove_node(_nodes.pop(), allow_graceful=True)
    ray = connected()
    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == nodes + 1)  # and the head
    return _nodes


def add(**options: Any) -> Any:
    """Return one more node, which is not one of those that `cluster` counts: `remove` it."""
    return _patiently(lambda: _head.add_node(num_cpus=1, object_store_memory=STORE, **options))


def _patiently(start: Callable[[], Any]) -> Any:
    """Start something of Ray's, which gives up after half a minute: too early on a busy machine."""
    for _ in range(3):
        with suppress(Exception):  # of no kind of its own
            return start()
    return start()


def remove(node: Any) -> None:
    _head.remove_node(node, allow_graceful=True)


def address() -> str:
    return str(_head.address)


def lose_the_head() -> None:
    """End the process that knows the cluster; what is left of it goes with `end`."""
    for process in _head.head_node.all_processes["gcs_server"]:
        process.process.kill()
        process.process.wait()


def connected() -> Any:
    """Return Ray, connected to the cluster."""
    import ray  # noqa: PLC0415  # as above

    if not ray.is_initialized():
        ray.init(address=_head.address, log_to_driver=False, logging_level="ERROR")
    return ray


def kill(node: Any) -> None:
    """End a node as a failing machine does, without a word to anybody."""
    _nodes.remove(node)
    _head.remove_node(node, allow_graceful=False)


def end() -> None:
    """End the cluster; the next call of `cluster` starts another."""
    global _head  # noqa: PLW0603  # as above
    import ray  # noqa: PLC0415  # as above

    ray.shutdown()
    if _head is not None:
        _head.shutdown()
        _head = None
        _nodes.clear()
