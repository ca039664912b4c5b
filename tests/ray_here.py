"""A real Ray cluster of several nodes on this machine, on loopback only; what needs it is skipped where Ray is not."""

from __future__ import annotations

import atexit
import os
import secrets
from importlib.util import find_spec
from typing import Any

import pytest

from faults import wait_until
from pydaub.engines.ray import GUARDED

APART = "PYDAUB_RAY_TESTS"  # set in the process that runs them
MISSING = find_spec("ray") is None
needs_ray = [
    pytest.mark.skipif(MISSING, reason="needs Ray: pip install 'pydaub[ray]'"),
    # Ray takes over the signals by which a JVM in the same process, WEKA's, finds its own faults.
    pytest.mark.skipif(APART not in os.environ, reason="Ray has a process of its own: make test-ray"),
]
STORE = 100_000_000  # bytes; Ray would take a third of the memory

_nodes: list[Any] = []
_head: Any = None


def cluster(nodes: int) -> list[Any]:
    """Return that many nodes with a CPU each; the first call starts the cluster, which ends with the tests."""
    global _head  # noqa: PLW0603  # half a minute: one for all tests of a process
    if _head is None:
        os.environ.update({**GUARDED, "RAY_AUTH_TOKEN": secrets.token_hex(32)})
        from ray.cluster_utils import Cluster  # noqa: PLC0415  # after the environment, which it reads once

        _head = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "object_store_memory": STORE,
                "include_dashboard": True,
                "dashboard_port": 0,
            },
        )
        atexit.register(_end)
    while len(_nodes) < nodes:
        _nodes.append(_head.add_node(num_cpus=1, object_store_memory=STORE))
    while len(_nodes) > nodes:
        _head.remove_node(_nodes.pop(), allow_graceful=True)
    ray = connected()
    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == nodes + 1)  # and the head
    return _nodes


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


def _end() -> None:
    import ray  # noqa: PLC0415  # as above

    ray.shutdown()
    _head.shutdown()
