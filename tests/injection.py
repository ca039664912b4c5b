"""Whole commands with faults: the process is killed, the disk is full or slow, the clock jumps.

    python tests/injection.py [--kinds kill full once slow clock] [--places main worker] [--workers 1 2]
                              [--commands run prepare] [--every 1 | --most 10 | --drawn 5] [--folder FOLDER]

The law: whatever happens, a command ends with a reason and no traceback, and leaves no process behind. Once the fault
is gone, resuming gives the winner, the allocations and the predictions of an undisturbed run, and preparing again gives
the same rows. `tests/contracts/test_injection.py` tries some faults of each kind. This script tries every `--every`-th
operation at which a fault can happen, or `--most` operations of different kinds; all of them take hours.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from cli.commands import call

INJECTED = Path(__file__).with_name("injected")
TRIAL = "PYDAUB_INJECTION_TRIAL"  # in the environment of all processes of a trial
ENOUGH = 120.0  # seconds for a command
LEARNERS = "tree,knn-5,naive-bayes-gaussian,logistic,forest-10"
KINDS = ("kill", "full", "once", "slow", "clock")


class Fault(NamedTuple):
    """A fault.

    `kind` is `kill`, in the middle of a write if it is one; `full`, a full disk from then on; `once`, one operation
    that fails; `slow` and `clock`, from the beginning; or `count`, which only notes what could be disturbed. It happens
    at operation number `at` of the command itself (`place` is main) or of one of its workers.
    """

    kind: str
    at: int = 0
    place: str = "main"


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass
class Trial:
    """A command that is disturbed again and again, and what it gives if it is not."""

    folder: Path
    command: str = "run"
    workers: int = 1
    _numbers: Iterator[int] = field(default_factory=count)
    options = ("--target", "label", "--learners", LEARNERS, "--costs", "declared")

    def __post_init__(self) -> None:
        self.data = self.folder / "rows.csv"
        self.data.write_text(rows())
        out = self._new()
        self.expected = self.facts(out, self._call(out))

    def operations(self, place: str = "main") -> list[tuple[int, str]]:
        """Return what an undisturbed command, or each of its workers, does to its folder, numbered from 1."""
        out = self._new()
        assert self._call(out, Fault("count", place=place)).code == 0
        lines = [line.split(" ", 1) for line in self._marker(out).read_text().splitlines()]
        return [(int(number), what) for number, what in lines]

    def check(self, fault: Fault) -> str:
        """Disturb the command, then let it continue; return how the disturbed one ended."""
        out = self._new()
        disturbed = self._call(out, fault)
        assert disturbed.code in (0, 1, -9), f"{fault}: {disturbed}"
        assert (disturbed.code == -9) == (fault.kind == "kill" and fault.place == "main" and self._marker(out).exists())
        assert "Traceback" not in disturbed.err, f"{fault}: {disturbed.err}"
        assert disturbed.code != 1 or disturbed.err.strip(), f"{fault}: no reason"
        done = disturbed if disturbed.code == 0 else self._call(out)
        assert self.facts(out, done) == self.expected, f"{fault}: {disturbed.code} {disturbed.err}"
        shutil.rmtree(out.parent)
        reason = disturbed.err.strip().splitlines()[-1:] if disturbed.code == 1 else []
        return " ".join([f"{disturbed.code}", *reason])

    def _new(self) -> Path:
        out = self.folder / f"{self.command}-{next(self._numbers)}" / "out"
        out.parent.mkdir()
        return out

    @staticmethod
    def _marker(out: Path) -> Path:
        return out.parent / "marker"

    def _call(self, out: Path, fault: Fault | None = None) -> Ended:
        """Begin the command, or continue it, and check that all of its processes have ended."""
        if self.command == "prepare":
            arguments = ["prepare", self.data, "--target", "label", "--out", out, "--quiet"]
        else:
            again = (out / "run.json").exists()
            begin = ["run", self.data, *self.options, "--out", out]
            arguments = [*(["resume", out] if again else begin), "--jobs", self.workers, "--quiet", "--json"]
        watched = out.parent / "out"  # and what begins with this name
        more = {} if fault is None else faulty(fault, watched, self._marker(out))
        return called(*arguments, more=more)

    def facts(self, out: Path, done: Ended) -> Any:
        """Return what must be the same, whatever happened."""
        assert done.code == 0, done
        if self.command == "prepare":
            assert not out.with_name("out.work").exists()
            return {path.name: path.read_bytes() for path in sorted(out.iterdir())}
        told = json.loads(done.out)
        assert not told["failures"], told["failures"]
        steps = [(step["learner"], step["size"], step["valid_score"], step["bound"]) for step in told["allocations"]]
        assert call("show", out, "--json").json["selected"] == told["selected"]
        assert call("report", out).code == 0
        return told["selected"], steps, call("predict", out, self.data).out


def called(*arguments: object, more: Mapping[str, str] | None = None) -> Ended:
    """Run a command in a process of its own; check that it leaves no other process."""
    token = uuid4().hex
    done = subprocess.run(
        [sys.executable, "-m", "pydaub", *map(str, arguments)],
        env={**os.environ, TRIAL: token, **(more or {})},
        capture_output=True,
        text=True,
        timeout=ENOUGH,
        check=False,
    )
    deadline = time.monotonic() + ENOUGH
    while left := list(processes(token)):
        assert time.monotonic() < deadline, f"processes are left: {left}"
        time.sleep(0.05)
    return Ended(done.returncode, done.stdout, done.stderr)


def faulty(fault: Fault, folder: Path, marker: Path) -> dict[str, str]:
    """Return the environment in which a fault happens."""
    described = {**fault._asdict(), "folder": str(folder), "marker": str(marker)}
    path = os.pathsep.join(filter(None, [str(INJECTED), os.environ.get("PYTHONPATH")]))
    return {"PYDAUB_FAULT": json.dumps(described), "PYTHONPATH": path}


def processes(token: str) -> Iterator[int]:
    """Yield the processes that have a token in their environment; zombies have none."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in path.read_bytes():
                yield int(path.parent.name)
        except OSError:
            continue


def rows(size: int = 500) -> str:
    """Return a CSV file with a label that depends on the columns."""
    lines = ["a,b,c,label"]
    for row in range(size):
        a, b, c = (row * 37 % 101) / 101, (row * 53 % 89) / 89, (row * 71 % 67) / 67
        lines.append(f"{a:.4f},{b:.4f},{c:.4f},{'yes' if a * b + c / 2 + (row % 13) / 40 > 0.55 else 'no'}")
    return "\n".join([*lines, ""])


def representative(operations: list[tuple[int, str]], most: int) -> list[int]:
    """Return the numbers of at most so many operations, of as many kinds as possible."""
    kinds: dict[str, int] = {}
    for number, what in operations:
        kinds.setdefault(re.sub(r"[0-9a-f]{12,}|\d+", "*", what), number)
    found = sorted({*kinds.values()})
    return [found[place * len(found) // most] for place in range(most)] if len(found) > most else found


def main() -> None:
    """Try every fault, and print how the command ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--places", nargs="+", choices=["main", "worker"], default=["main", "worker"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--commands", nargs="+", choices=["run", "prepare"], default=["run", "prepare"])
    parser.add_argument("--every", type=int, default=1, help="try every n-th operation (default: 1, all of them)")
    parser.add_argument("--most", type=int, help="try so many operations of different kinds instead")
    parser.add_argument("--drawn", type=int, help="try so many operations drawn at random instead")
    parser.add_argument("--folder", type=Path, help="folder to work in")
    chosen = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        for command in chosen.commands:
            for workers in chosen.workers if command == "run" else [1]:
                place = Path(folder) / f"{command}-{workers}"
                place.mkdir()
                trial = Trial(place, command, workers)
                for fault in faults(trial, chosen) if chosen.drawn is None else drawn(trial, chosen):
                    try:
                        ended = trial.check(fault)
                    except AssertionError as error:
                        bad += 1
                        ended = f"BROKEN {error}"
                    print(command, workers, *fault, ended, flush=True)
    print(f"{bad} broken")
    sys.exit(bad > 0)


def faults(trial: Trial, chosen: argparse.Namespace) -> Iterator[Fault]:
    """Yield the faults that were asked for."""
    for kind in chosen.kinds:
        if kind in ("slow", "clock"):
            yield Fault(kind)
            continue
        for place in chosen.places if trial.command == "run" else ["main"]:
            found = trial.operations(place)
            numbers = sorted({number for number, _ in found})[:: chosen.every]
            for number in representative(found, chosen.most) if chosen.most else numbers:
                print("#", next(what for each, what in found if each == number))
                yield Fault(kind, number, place)


def drawn(trial: Trial, chosen: argparse.Namespace) -> list[Fault]:
    """Return some faults of all that are possible."""
    places = chosen.places if trial.command == "run" else ["main"]
    at = [(number, place) for place in places for number in sorted({each for each, _ in trial.operations(place)})]
    return [Fault(random.choice(chosen.kinds), *random.choice(at)) for _ in range(chosen.drawn)]


if __name__ == "__main__":
    main()
