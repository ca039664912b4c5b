"""The command in this process and in one of its own, and small data to run it on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import jsonschema
import numpy as np
import pandas as pd

from pydaub.cli import main

CHEAP = "tree,knn-5,naive-bayes-gaussian,logistic"
PATIENCE = 120  # seconds; nothing is measured by it
LAST_LOOK = 0.02
SCHEMA = json.loads((files("pydaub.cli") / "schema.json").read_text())


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        return dict(json.loads(self.out))


class Finished(NamedTuple):
    """A run that has ended: its folder, what it ran on, and what the command said."""

    folder: Path
    data: Path
    done: Done


def call(*arguments: object) -> Done:
    """Run the command in this process, as off a terminal of no known width."""
    out, err = StringIO(), StringIO()
    before = signal.getsignal(signal.SIGTERM)
    try:
        with patch.dict(os.environ), redirect_stdout(out), redirect_stderr(err):
            os.environ.pop("COLUMNS", None)
            main([str(argument) for argument in arguments])
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0
    finally:
        signal.signal(signal.SIGTERM, before)
    check_json(arguments, out.getvalue())
    return Done(code, out.getvalue(), err.getvalue())


def check_json(arguments: Sequence[object], out: str) -> None:
    """Check what a command has printed with --json against the schema: a law of every test that uses it."""
    if "--json" in arguments and out:
        jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{arguments[0]}"}).validate(strictly_parsed(out))


def strictly_parsed(text: str) -> Any:
    """Parse JSON as other languages do, which know neither NaN nor Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def refused(*arguments: object) -> str:
    """Run a command that must be refused with one line, exit code 2 and nothing on stdout; return the line."""
    done = call(*arguments)
    assert (done.code, done.out) == (2, ""), done
    last = done.err.splitlines()[-1]
    assert last.startswith("pydaub: ")
    assert "Traceback" not in done.err
    return last


@contextmanager
def started(*arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a process of its own, and end it at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pydaub", *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(LAST_LOOK)


def descendants(pid: int) -> set[int]:
    """Return the processes that a process has started, and those that these have."""
    found: set[int] = set()
    for path in Path("/proc").glob(f"{pid}/task/*/children"):
        for child in map(int, path.read_text().split()):
            found |= {child, *descendants(child)}
    return found


def alive(pids: set[int]) -> set[int]:
    def state(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return "gone"

    return {pid for pid in pids if state(pid) not in {"gone", "Z", "X"}}


def sequence(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return what a run asked for, and what came of it, without the clock."""
    keys = ("learner", "size", "train_score", "valid_score", "bound")
    return [tuple(step[key] for key in keys) for step in result["allocations"]]


def numbers(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """Return four columns of numbers and a label that depends on three of them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4))
    frame = pd.DataFrame(values, columns=list("abcd"))
    noise = 0.3 * rng.normal(size=rows)
    frame["label"] = np.where(values[:, 0] + values[:, 1] * values[:, 2] + noise > 0, "yes", "no")
    return frame


def mixed(rows: int = 300) -> pd.DataFrame:
    """Return a column of each kind, and several targets."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=rows)
    town = rng.choice(["Rome", "Oslo", "Bonn"], rows)
    good = x + (town == "Rome") > 0.3
    animals = rng.choice(["fox", "bear", "owl"], rows)
    return pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + rows),
            "x": x,
            "holes": np.where(rng.random(rows) < 0.1, np.nan, x + rng.normal(size=rows)),
            "zip": rng.choice([10115, 20095, 80331], rows),
            "town": pd.Series(town).mask(rng.random(rows) < 0.05),
            "member": rng.choice(["yes", "no"], rows),
            "day": pd.date_range("2020-01-01", periods=rows).strftime("%Y-%m-%d"),
            "story": [f"once upon a time {animal} number {i} came" for i, animal in enumerate(animals)],
            "same": "k",
            "family": np.arange(rows) // 4,
            "label": np.where(good, "gut", "schlecht"),
            "flag": good,
            "price": 3 * x + 0.1 * rng.normal(size=rows),
            "stars": np.clip(np.round(2 * x + 5), 0, 9).astype(int),
        }
    )


def written(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame in the format of the path's name."""
    if path.name.endswith(".parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment without what a person may have said of their terminal."""
    said = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    return {**{name: value for name, value in os.environ.items() if name not in said}, **more}


def gated(path: Path, gate: Path, rows: int) -> Path:
    """Write learners of which one waits, from so many rows on, as long as the gate is there."""
    path.write_text(
        f"""
import time
from pathlib import Path
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier


class Gated(DecisionTreeClassifier):
    def fit(self, X, y, **more):
        while len(X) >= {rows} and Path({str(gate)!r}).exists():
            time.sleep(0.02)
        return super().fit(X, y, **more)


learners = [("bayes", GaussianNB()), ("gated", Gated()), ("near", KNeighborsClassifier()), ("far", Gated(max_depth=2))]
"""
    )
    return path


def evaluated(folder: Path) -> int:
    """Return how many outcomes a run's journal has."""
    path = folder / "journal.jsonl"
    return path.read_text().count('"kind":"evaluated"') if path.exists() else 0
