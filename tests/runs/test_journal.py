from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import (
    Allocation,
    Asked,
    Evaluated,
    Failure,
    InputError,
    Journal,
    JournalDamaged,
    JournalError,
    JournalLocked,
    JournalMismatch,
    Measurement,
    Selected,
    Started,
)
from pydaub.events import Event
from pydaub.runs.journal import read

SETTINGS = {"strategy": "daub", "sizes": [1, 2, 4], "nested": {"a": None}}
A = Allocation("tree „ü“ \n", 2)
EVENTS: list[Event] = [
    Asked(A, None),
    Evaluated(A, Measurement(0.9, 0.1 + 0.2, 1.5), 1.5),
    Asked(A, 0.75),
    Evaluated(A, Failure("crash", "x" * 50, 0.5), 2.0),
    Selected("tree", 2.5),
]


def written(path: Path) -> bytes:
    with Journal(path, SETTINGS) as journal:
        for event in EVENTS:
            journal.append(event)
    return path.read_bytes()


def without_checksums(content: bytes) -> bytes:
    """Return a journal as it was written before lines had checksums."""
    return re.sub(rb',"crc":"[0-9a-f]{8}"\}', b"}", content)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    content = written(path)
    assert read(path) == [Started(SETTINGS), *EVENTS]
    assert read(path, only_first=True) == [Started(SETTINGS)]
    with Journal(path, SETTINGS) as journal:
        assert journal.events == [Started(SETTINGS), *EVENTS]
    assert path.read_bytes() == content, "opening a whole journal changes nothing"
    assert json.loads(content.splitlines()[0])["format"] == 1


def test_cut_at_any_byte_the_next_open_finds_every_complete_event(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    content = written(path)
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        complete = [Started(SETTINGS), *EVENTS][: max(content[:length].count(b"\n"), 1)]
        with Journal(path, SETTINGS) as journal:
            assert journal.events == complete
            journal.append(Selected("later", 3.0))
        assert read(path) == [*complete, Selected("later", 3.0)]


def test_a_reader_does_not_mind_a_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    content = written(path)
    path.write_bytes(content[:-3])
    assert read(path) == [Started(SETTINGS), *EVENTS[:-1]]
    assert path.read_bytes() == content[:-3], "only the writer cuts"


def test_events_of_unknown_kinds_are_skipped_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    content = without_checksums(written(path)) + b'{"kind":"from the future","x":1}\n'
    path.write_bytes(content)
    with Journal(path, SETTINGS) as journal:
        assert journal.events == [Started(SETTINGS), *EVENTS]
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"hello", JournalError, r"exists and is not a journal of pydaub. Choose another path"),
        (b"a,b\n1,2\n", JournalError, r"exists and is not a journal of pydaub"),
        (b"{}", JournalError, r"exists and is not a journal of pydaub"),
        (b'{"journal":"pydaub","format":2,"kind":"?"}\n', JournalError, r"must be of journal format 1, got 2"),
        (b'{"journal":"pydaub","format":2,"kind":"?"}', JournalError, r"must be of journal format 1, got 2"),
        (b'{"journal":"pydaub","format":true,"kind":"?"}', JournalError, r"must be of journal format 1, got true"),
        (b'{"journal":"pydaub","format":1,"x":1}\n', JournalDamaged, r"Line 1 of .* is damaged: it is not an event"),
        (b'{"journal":"pydaub","format":1,"kind":"begun","precious":1}\n', JournalDamaged, r"begins with its settings"),
        (b'{"journal":"pydaub","format":1,"kind":"started","settings":[1]}\n', JournalDamaged, r"Line 1"),
        (b'{"journal":"pydaub","format":1,"kind":"started","settings":{"x":1}}\n', JournalMismatch, r"other settings"),
    ],
)
def test_a_file_that_is_no_journal_of_this_run_is_left_alone(
    tmp_path: Path, content: bytes, kind: type[JournalError], message: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(kind, match=message):
        Journal(path, SETTINGS)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"",
        b"5",
        b"[]",
        b"{}",
        b'{"kind":"evaluated"}',
        b'{"kind":"asked","learner":"a","size":"x","bound":null}',
        b"[" * 100_000,
        b'{"kind":"selected","learner":5}',
        b'{"kind":"asked","learner":"a","size":1,"bound":"x"}',
        b'{"kind":"evaluated","learner":"a","size":1,"train_score":1,"valid_score":1%s,"seconds":1,"clock":1}'
        % (b"0" * 400),
        b'{"kind":"evaluated","learner":"a","size":1,"train_score":1,"valid_score":"x","seconds":1,"clock":1}',
        b'{"kind":"evaluated","learner":"a","size":1,"train_score":1,"valid_score":1,"seconds":1,"clock":"x"}',
    ],
)
def test_a_complete_line_that_is_no_event_is_said_and_left_alone(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "run.jsonl"
    lines = without_checksums(written(path)).splitlines(keepends=True)
    content = b"".join([*lines[:2], line + b"\n", *lines[2:]])
    path.write_bytes(content)
    with pytest.raises(JournalDamaged, match=r"Line 3 of .*run.jsonl is damaged: it is not an event .*head -n 2"):
        Journal(path, SETTINGS)
    with pytest.raises(JournalDamaged, match="Line 3"):
        read(path)
    assert path.read_bytes() == content


def test_a_journal_without_checksums_is_continued_with_them(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    content = without_checksums(written(path))
    path.write_bytes(content)
    with Journal(path, SETTINGS) as journal:
        journal.append(Selected("later", 3.0), Selected("last", 4.0))
    assert read(path) == [Started(SETTINGS), *EVENTS, Selected("later", 3.0), Selected("last", 4.0)]
    assert path.read_bytes().startswith(content)
    assert path.read_bytes().count(b'"crc"') == 2


def test_a_lost_moved_or_doubled_line_is_noticed(tmp_path: Path) -> None:
    """Each checksum covers the one before it."""
    path = tmp_path / "run.jsonl"
    lines = written(path).splitlines(keepends=True)
    for place in range(1, len(lines) - 1):
        before, line, after = lines[:place], lines[place], lines[place + 1 :]
        for changed in (before + after, [*before, after[0], line, *after[1:]], [*before, line, line, *after]):
            path.write_bytes(b"".join(changed))
            with pytest.raises(JournalDamaged, match=r"is damaged: it does not match its checksum"):
                read(path)
    path.write_bytes(b"".join([*lines[:3], without_checksums(lines[3]), *lines[4:]]))
    with pytest.raises(JournalDamaged, match=r"Line 4 of .* is damaged: its checksum is missing"):
        read(path)


def refused_or_unchanged(path: Path, content: bytes, place: int, bit: int, events: list[Event]) -> None:
    """Check that a journal with one flipped bit is refused, or read as before."""
    flipped = bytearray(content)
    flipped[place] ^= 1 << bit
    path.write_bytes(flipped)
    with suppress(JournalError):
        assert read(path) == events, f"bit {bit} of byte {place}"


def test_every_flipped_bit_is_noticed_or_harmless(tmp_path: Path) -> None:
    """In every third byte: all of them take ten seconds."""
    path = tmp_path / "run.jsonl"
    content = written(path)
    for place in range(0, len(content), 3):
        for bit in range(8):
            refused_or_unchanged(path, content, place, bit, [Started(SETTINGS), *EVENTS])


@pytest.mark.parametrize("name", ["daub", "frugal"])
def test_a_flipped_bit_of_a_real_journal_is_noticed_or_harmless(name: str, tmp_path: Path) -> None:
    events = read(Path(__file__).with_name("journals") / f"{name}.jsonl")
    path = tmp_path / "run.jsonl"
    assert isinstance(events[0], Started)
    with Journal(path, events[0].settings, events[0].versions) as journal:
        journal.append(*events[1:])
    content = path.read_bytes()

    @given(st.integers(0, len(content) - 1), st.integers(0, 7))
    def check(place: int, bit: int) -> None:
        refused_or_unchanged(path, content, place, bit, events)

    check()


def test_other_settings_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    content = written(path)
    with pytest.raises(JournalMismatch, match=r"other settings: extra, sizes\. Give the same settings"):
        Journal(path, {**SETTINGS, "sizes": [1], "extra": True})
    assert path.read_bytes() == content


def test_settings_must_be_plain(tmp_path: Path) -> None:
    for nonsense in ({"x": object()}, {"x": float("nan")}, 5):
        settings: Any = nonsense
        with pytest.raises(InputError, match=r"`settings` must be plain JSON values, got"):
            Journal(tmp_path / "run.jsonl", settings)
    assert not (tmp_path / "run.jsonl").exists()


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"Cannot write the journal .*: Is a directory"):
        Journal(tmp_path, SETTINGS)
    with pytest.raises(JournalError, match=r"Cannot write the journal .*: No such file or directory"):
        Journal(tmp_path / "no" / "run.jsonl", SETTINGS)
    for nonsense in (None, 5, ["x"]):
        path: Any = nonsense
        with pytest.raises(InputError, match=r"`path` must be the path of a file, got"):
            Journal(path, SETTINGS)
    with pytest.raises(JournalError, match=r"Cannot write the journal .*: embedded null byte"):
        Journal("a\0b", SETTINGS)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for odd in (fifo, Path("/dev/null"), Path("/dev/full")):
        with pytest.raises(JournalError, match=r"must be a regular file"):
            Journal(odd, SETTINGS)
        with pytest.raises(JournalError, match=r"must be a regular file"):
            read(odd)
    with pytest.raises(JournalError, match=r"Cannot read the journal .*: No such file or directory"):
        read(tmp_path / "nowhere")


def test_one_writer_at_a_time_and_none_left_locked_out_by_a_kill(tmp_path: Path) -> None:
    """The lock is the kernel's: another process is refused, and a kill -9 of the holder frees it."""
    path = tmp_path / "run.jsonl"
    code = f"""
        import time
        from pydaub import Journal
        journal = Journal({str(path)!r}, {SETTINGS!r})
        print("locked", flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(JournalLocked, match=r"Another process is writing"):
            Journal(path, SETTINGS)
        assert read(path) == [Started(SETTINGS)], "reading needs no lock"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with Journal(path, SETTINGS) as journal:
        assert journal.events == [Started(SETTINGS)]


def test_the_lock_holds_within_a_process_too(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Journal(path, SETTINGS), pytest.raises(JournalLocked):
        Journal(path, SETTINGS)
    Journal(path, SETTINGS).close()


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    """The kernel refuses in the middle of a line; the journal stays whole and says so."""
    path = tmp_path / "run.jsonl"
    code = f"""
        import resource, signal
        from pydaub import Journal, JournalError, Selected
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with Journal({str(path)!r}, {SETTINGS!r}) as journal:
            journal.append(Selected("fits", 1.0))
            limit = journal.path.stat().st_size + 10
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                journal.append(Selected("does not fit", 1.0))
            except JournalError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=60
    )
    assert "run.jsonl: File too large" in done.stdout
    assert path.read_bytes().endswith(b'"}\n')
    assert read(path) == [Started(SETTINGS), Selected("fits", 1.0)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the test finds out by /proc which file was synced")
def test_the_name_of_a_new_journal_is_on_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(Path(f"/proc/self/fd/{descriptor}").readlink()))
    written(tmp_path / "run.jsonl")
    assert synced == [tmp_path]


def test_outcomes_are_on_the_disk_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    with Journal(tmp_path / "run.jsonl", SETTINGS) as journal:
        for event in EVENTS:
            journal.append(event)
            assert synced[-1] == journal.path.stat().st_size
        journal.append(Asked(A, None), sync=False)
        assert synced[-1] < journal.path.stat().st_size
