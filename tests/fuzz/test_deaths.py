"""Processes that are killed from outside at random moments: whoever did nothing is never to blame."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from faults import ENOUGH
from fuzz.rule import a_few
from pydaub.isolation.nursery import Ended, Nursery
from pydaub.isolation.proc import children_of

pytestmark = [
    pytest.mark.slow("random"),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc"),
]

kills = st.lists(
    st.tuples(st.sampled_from(["child", "server", "all"]), st.sampled_from([0.0, 0.05, 0.3, 1.0])), max_size=5
)


@a_few(20, least=4)
@given(kills=kills, innocent=st.integers(1, 3), guilty=st.sampled_from([None, None, "kill_others", "kill_server"]))
@example(kills=[("server", 0.05)] * 6, innocent=1, guilty=None)
@example(kills=[("child", 0.3)] * 6, innocent=1, guilty=None)
def test_only_who_kills_is_to_blame(kills: list[tuple[str, float]], innocent: int, guilty: str | None) -> None:
    with TemporaryDirectory() as place, closing(Nursery("faults:call")) as nursery:
        gate = Path(place) / "go"
        keys = {nursery.begin({"what": "until", "path": str(gate)}) for _ in range(innocent)}
        blamed = nursery.begin({"what": guilty}) if guilty else None

        def kill() -> None:
            for victim, pause in kills:
                time.sleep(pause)
                for _ in range(500):  # until there is a child; perhaps none begins
                    server = nursery._process.pid  # noqa: SLF001  # its only name
                    if children_of(server):
                        break
                    time.sleep(0.01)
                children = set(children_of(server))
                for pid in {"child": children, "server": {server}, "all": {*children, server}}[victim]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            gate.touch()

        killer = Thread(target=kill)
        killer.start()
        found: dict[int, Ended] = {}
        while len(found) < innocent + (guilty is not None):
            ended = nursery.wait(ENOUGH)
            assert ended is not None
            found[ended.key] = ended
        killer.join()
        assert {found[key].status for key in keys} == {"ok"}, found
        assert blamed is None or found[blamed].status == "crash"
