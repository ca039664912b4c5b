"""A trial of the isolation on this machine: does each limit end the call that exceeds it, and is nothing left?"""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pydaub.isolation.nursery import Limits, Nursery

MB: Final = 1 << 20
MOST: Final = 1 << 30  # bytes that a call takes if nobody ends it
PATIENCE: Final = 15.0  # seconds; a trial takes this long only if it fails
# What should happen, the call, its limits, and how it should end.
TRIALS: Final = (
    ("a call returns its value", "answer", Limits(), "ok"),
    ("a call that takes too long is ended", "sleep", Limits(seconds=0.2), "timeout"),
    ("a call that takes too much memory is ended", "fill", Limits(memory=64 * MB), "memory"),
    ("a call that crashes ends alone", "crash", Limits(), "crash"),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """What should happen, whether it did, and otherwise what happened."""

    trial: str
    ok: bool
    found: str


def act(what: str, path: str = "") -> Any:  # noqa: ANN401  # whatever the call returns
    """Do one of the things that are tried. Runs in a child."""
    if what == "fill":
        return len([b"x" * MB for _ in range(MOST // MB)])
    if what == "crash":
        os.abort()
    if what == "sleep":
        if path:
            Path(path).write_text(f"{os.getpid()}\n")
        time.sleep(2 * PATIENCE)
    return what


def tried() -> list[Tried]:
    """Start children that misbehave, and return what came of each."""
    with TemporaryDirectory(prefix="pydaub-") as place, closing(Nursery(f"{__name__}:act")) as nursery:
        keys = {nursery.begin({"what": what}, limits): (trial, wanted) for trial, what, limits, wanted in TRIALS}
        found: dict[int, Tried] = {}
        deadline = time.monotonic() + PATIENCE
        while len(found) < len(keys) and (ended := nursery.wait(max(deadline - time.monotonic(), 0.0))) is not None:
            trial, wanted = keys[ended.key]
            found[ended.key] = Tried(trial, ended.status == wanted, f"{ended.status} {ended.message}".strip())
        silent = [Tried(trial, ok=False, found="no answer") for key, (trial, _) in keys.items() if key not in found]
        return [*(found[key] for key in sorted(found)), *silent, _killed(nursery, Path(place) / "pid")]


def _killed(nursery: Nursery, path: Path) -> Tried:
    """Close the nursery while a call is running, and look for its process."""
    trial = "no process is left in the end"
    nursery.begin({"what": "sleep", "path": str(path)})
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_text().endswith("\n")):
        if time.monotonic() > deadline:
            return Tried(trial, ok=False, found="the call did not start")
        time.sleep(0.01)
    nursery.close()
    try:
        os.kill(int(path.read_text()), signal.Signals(signal.SIGCONT))
    except ProcessLookupError:
        return Tried(trial, ok=True, found="ended")
    return Tried(trial, ok=False, found="a process goes on")
