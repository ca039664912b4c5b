"""A real Ray cluster of several nodes on this machine, which listens on loopback only.

Tests of Ray are skipped if Ray is not installed. `pytest --slow ray` runs them in a process of their own, because Ray
replaces the signal handlers that a JVM in the same process, as in the tests of WEKA, needs.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from faults import wait_until
from pydaub.engines.cluster.ray import GUARDED

needs_ray = [
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'pydaub[ray]'"),
    pytest.mark.slow("ray"),
]
STORE = 100_000_000  # bytes; by default Ray takes a third of the memory
MEMORY = 1 << 30  # bytes that each node has for evaluations

_TOKEN = secrets.token_hex(32)  # one for this process, because Ray reads it only once
_nodes: list[Any] = []
_head: Any = None


def cluster(nodes: int) -> list[Any]:
    """Return that many nodes with a CPU each. The first call starts the cluster, which ends with the tests."""
    global _head  # noqa: PLW0603  # it takes half a minute to start: one for all tests of a process
    if _head is None:
        _head = _patiently(_started)
        atexit.register(end)
    while len(_nodes) < nodes:
        _nodes.append(add())
    while len(_nodes) > nodes:
        _head.remove_node(_nodes.pop(), allow_graceful=True)
    ray = connected()
    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == nodes + 1)  # and the head
    return _nodes


def _started() -> Any:
    """Return a cluster that is started by the guide's recipe, with a head that has other resources."""
    guide = (Path(__file__).parents[1] / "docs" / "guide.md").read_text()
    ((settings, start),) = re.findall(
        r"^```py\n(.*?)(^from ray.*?^cluster = .*?)$", guide, flags=re.MULTILINE | re.DOTALL
    )
    head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": True, "dashboard_port": 0}
    names: dict[str, Any] = {}
    for part, theirs, ours in ((settings, "a long random text", _TOKEN), (start, '{"num_cpus": 1}', repr(head))):
        assert theirs in part
        exec(part.replace(theirs, ours), names)  # noqa: S102  # our own page
        # By default, Ray runs its workers with niceness 15: beside other tests they would hardly run.
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        assert GUARDED.items() <= os.environ.items(), "or it would listen on all interfaces"
    return names["cluster"]


def add(**options: Any) -> Any:
    """Return one more node, which `cluster` does not count; `remove` it afterwards."""
    wanted = {"num_cpus": 1, "object_store_memory": STORE, "memory": MEMORY, **options}
    return _patiently(lambda: _head.add_node(**wanted))


def _patiently(start: Callable[[], Any]) -> Any:
    """Start something of Ray's; retry, because Ray gives up after half a minute, too early on a busy machine."""
    for _ in range(3):
        with suppress(Exception):  # Ray has no class of its own for it
            return start()
    return start()


def remove(node: Any) -> None:
    _head.remove_node(node, allow_graceful=True)


def address() -> str:
    return str(_head.address)


def lose_the_head() -> None:
    """Kill the head's main process; `end` removes the rest of the cluster."""
    for process in _head.head_node.all_processes["gcs_server"]:
        process.process.kill()
        process.process.wait()


def connected() -> Any:
    """Return the module `ray`, connected to the cluster."""
    import ray  # noqa: PLC0415  # after setting the environment, which it reads once

    if not ray.is_initialized():
        ray.init(address=_head.address, log_to_driver=False, logging_level="ERROR")
    return ray


def kill(node: Any) -> None:
    """Kill a node as if its machine had failed, without notifying the cluster."""
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
