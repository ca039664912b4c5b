"""What is refused before a cluster is entered."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faulty
from pydaub import InputError
from pydaub.data import prepare
from pydaub.engines.cluster.ray import RayEngine, _check_reachable, check_ray, connect
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.learners import Learner

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'pydaub[ray]'")


@pytest.mark.parametrize("address", ["ray://somewhere:10001", "", 5])
def test_an_address_that_ray_cannot_use_is_refused(address: Any) -> None:
    with pytest.raises(InputError, match=r"`address` must be that of a cluster's head, .* start the run on a node"):
        connect(address)


def test_an_address_that_nothing_listens_on_is_refused() -> None:
    with pytest.raises(InputError, match="`address` must be that of a running Ray cluster"):
        _check_reachable("127.0.0.1:1", "127.0.0.1")
    for address in ("garbage", "host:", ":6379", "host:port"):
        with pytest.raises(InputError, match=rf"as in host:6379, got '{address}'\.$"):
            _check_reachable(address, "127.0.0.1")


def test_bad_parameters_are_refused_before_connecting(tmp_path: Path) -> None:
    data = prepare(np.zeros((50, 1)), np.arange(50) % 2)
    task = Task(data, {"it": Learner("it", faulty.Learner())})
    for workers in (0, -1, "two"):
        with pytest.raises(InputError, match="`workers` must be"):
            RayEngine(task, tmp_path, workers=workers)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="`learner_timeout` must be"):
        RayEngine(task, tmp_path, Limits(-1.0))


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydaub.engines.cluster.ray.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'pydaub\[ray\]'"):
        check_ray()
