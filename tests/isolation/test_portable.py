"""The footing for systems without /proc, tried on Linux: the server is told that it is elsewhere, and asks psutil."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults import ENOUGH, MB, alive, pids, wait_until
from pydaub.isolation import portable, proc
from pydaub.isolation.nursery import Limits, Nursery

pytest.importorskip("psutil")
ELSEWHERE = "from pydaub.isolation import proc\nproc.LINUX = False\ndef tell(): return proc.LINUX\n"


@pytest.fixture
def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    (tmp_path / "sitecustomize.py").write_text(ELSEWHERE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # the server's path too
    monkeypatch.setattr(proc, "LINUX", False)
    nursery = Nursery("faults:call")
    yield nursery
    nursery.close()


def test_limits_hold_without_proc(nursery: Nursery) -> None:
    def ending(limits: Limits, **call: object) -> tuple[str, object]:
        nursery.begin(call, limits)
        ended = nursery.wait(ENOUGH)
        assert ended is not None
        return ended.status, ended.value or ended.message

    assert ending(Limits(memory=100 * MB), what="echo", value=3) == ("ok", 3)
    nursery.begin({"what": "told_by", "module": "sitecustomize"})
    ended = nursery.wait(ENOUGH)
    assert ended is not None
    assert ended.value is False, "it was told"
    assert ending(Limits(seconds=0.3), what="forever") == ("timeout", "longer than 0.3 s")
    assert ending(Limits(memory=100 * MB), what="fill_memory") == ("memory", "more than 105 MB")


def test_no_process_outlives_its_nursery_without_proc(nursery: Nursery, tmp_path: Path) -> None:
    """Nobody inherits orphans there; they are found by their environment."""
    path = tmp_path / "others"
    nursery.begin({"what": "start_others", "path": str(path), "apart": True, "stay": True})
    wait_until(lambda: len(pids(path)) == 2)
    nursery.close()
    assert not any(map(alive, pids(path)))


def test_psutil_says_the_same_as_proc() -> None:
    own = os.getpid()
    assert {own, os.getppid()} <= portable.processes()
    assert own in portable.children_of(os.getppid())
    assert portable.children_of(own) == proc.children_of(own)
    assert b"PATH=" in portable.environment(own)
    assert abs(portable.resident(own) - proc.resident(own)) < 50 * MB
    assert portable.available_memory() > 0
    nobody = 2**22 + 1
    assert portable.ended(nobody)
    assert (portable.environment(nobody), portable.children_of(nobody), portable.resident(nobody)) == (b"", set(), 0)
