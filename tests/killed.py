"""Everything that a run writes by itself, in a process that is killed at each of these writes in turn.

    python tests/killed.py FOLDER

Prints how many writes there are. Whatever was written before the kill can be read afterwards, every file is whole or
not there, and the same work done again ends as if nothing had happened.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np

from injected.sitecustomize import Injection, inject
from pydaub.dashboard.address import Record
from pydaub.data import Prepared, prepare
from pydaub.events import Evaluated, Event, Selected, Submitted
from pydaub.records import Allocation, Measurement
from pydaub.runs.journal import Journal, read
from pydaub.runs.notes import keep_notes, notes
from pydaub.runs.steering import Mailbox
from pydaub.within import Folder

SETTINGS = {"strategy": "daub"}
TEXTS = ("first", "second " * 1000)
EVENTS: list[Event] = [
    *(
        event
        for size in (10, 20, 40)
        for event in (
            Submitted(Allocation("tree", size)),
            Evaluated(Allocation("tree", size), Measurement(1.0, size / 100, 0.5), float(size)),
        )
    ),
    Selected("tree", 41.0),
]
ROWS = np.arange(300.0).reshape(100, 3)


def journal(folder: Path) -> None:
    """Go on from wherever an earlier process was killed."""
    with Journal(folder / "journal.jsonl", SETTINGS) as kept:
        for event in EVENTS[len(kept.events) - 1 :]:
            kept.append(event, sync=not isinstance(event, Submitted))


def check_journal(folder: Path, *, done: bool) -> None:
    path = folder / "journal.jsonl"
    events = read(path)[1:] if path.exists() and path.stat().st_size else []
    assert events == EVENTS[: len(events)]
    assert not done or events == EVENTS


def files(folder: Path) -> None:
    """Write a file twice, and notes over those before."""
    for text in TEXTS:
        Folder(folder).write("result.json", text.encode(), durable=True)
        keep_notes(folder, text, notes(folder))


def check_files(folder: Path, *, done: bool) -> None:
    for name in ("result.json", "notes.txt"):
        held = (folder / name).read_text() if (folder / name).exists() else None
        assert held in ({TEXTS[1]} if done else {None, *TEXTS})


def letters(folder: Path) -> None:
    """Send a command, carry it out and answer it; keep the address of a page."""
    mailbox = Mailbox(folder / "steering")
    mailbox.send("pause")
    for key in mailbox.take():
        mailbox.answer(key)
    record = Record(folder)
    record.keep("http://127.0.0.1:1234/", 1234)
    record.close()


def check_letters(folder: Path, *, done: bool) -> None:
    assert {given.command for given in Mailbox(folder / "steering").take().values()} <= {"pause"}
    record = Record(folder)
    record.close()
    assert record.port in ({1234} if done else {0, 1234})


def rows(folder: Path) -> None:
    """Save prepared rows, unless that has been done."""
    if not (folder / "data").exists():
        prepare(ROWS, [place % 2 for place in range(100)]).save(folder / "data")


def check_rows(folder: Path, *, done: bool) -> None:
    if done or (folder / "data").exists():
        assert Prepared.open(folder / "data", checked=True).full_size


WORK: list[tuple[Callable[[Path], None], Callable[..., None]]] = [
    (journal, check_journal),
    (files, check_files),
    (letters, check_letters),
    (rows, check_rows),
]


def killed_at(number: int, work: Callable[[Path], None], folder: Path) -> bool:
    """Do the work in a process that is killed at this write; return whether it came to that."""
    child = os.fork()
    if not child:
        try:
            inject(Injection("kill", str(folder), "main", number, f"{folder}.marker"))
            work(folder)
        except BaseException as error:  # noqa: BLE001  # the parent reports it
            sys.stderr.write(f"{work.__name__}, write {number}: {error!r}\n")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in {0, signal.SIGKILL}, f"{work.__name__}, write {number}: status {status}"
    return status != 0


def main(place: Path) -> None:
    """Kill at each write of each kind of work."""
    kills = 0
    for work, check in WORK:
        for number in count(1):
            folder = place / f"{work.__name__}-{number}"
            folder.mkdir()
            was_killed = killed_at(number, work, folder)
            try:
                check(folder, done=not was_killed)
                work(folder)
                check(folder, done=True)
            except BaseException:
                sys.stderr.write(f"{work.__name__}, killed at write {number}:\n")
                raise
            shutil.rmtree(folder)
            if not was_killed:
                break
            kills += 1
    print(kills)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
