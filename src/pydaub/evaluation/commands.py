"""Train a learner that is a command: call it, follow it, and understand its answer."""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydaub.data.formats.base import what_is_there
from pydaub.data.rowfiles import RowFiles, every_file, train_file, valid_file
from pydaub.evaluation.calling import Called, Refused, called
from pydaub.evaluation.evaluate import rows_scored, seed_of
from pydaub.evaluation.workbench import ROWS, UNSAFE
from pydaub.isolation.child import mentions_memory
from pydaub.isolation.nursery import BEFORE, CHANGED, ENVIRONMENT, MARKER, OWN
from pydaub.learners.commands import PLACES, Command
from pydaub.records import REFUSED, Allocation, Failure, Measurement, Outcome, outcome_from_json, outcome_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.evaluation.evaluate import Task
    from pydaub.evaluation.workbench import Workbench

RESULT: Final = "result.json"  # the answer of a command
LOG: Final = "output.txt"  # what it prints
DONE: Final = "measured.json"  # what was understood, once it has ended
AGAIN: Final = 75  # exit code: try again later
PAUSE, LONGEST_PAUSE = 10.0, 600.0  # seconds before the first and before later tries
TRIES: Final = 10
MOST_ANSWER: Final = 1 << 20  # bytes
THREADS: Final = tuple(name for name in ENVIRONMENT if name.endswith("_THREADS"))
FIELDS: Final = (*("score", "train_score", "seconds", "rows_scored", "metrics", "model", "refused", "retry_after"),)


@dataclass(frozen=True)
class Call:
    """Everything that one call of a command is given.

    `seconds` is its time limit, `gpus` are those that it may use, and `everything` says that it gets the validation
    rows to train on too.
    """

    task: Task
    allocation: Allocation
    bench: Workbench
    threads: int = 1
    seconds: float | None = None
    gpus: str = ""
    everything: bool = False

    @property
    def command(self) -> Command:
        """The command."""
        found = self.task.learners[self.allocation.learner].estimator
        assert isinstance(found, Command)  # noqa: S101  # the caller has looked
        return found

    @property
    def scored(self) -> int | None:
        """The number of validation rows; None for all of them."""
        if isinstance(self.task.data, RowFiles):
            return None
        return rows_scored(self.task, self.allocation.size)

    def values(self, folder: Path) -> dict[str, str]:
        """Return what its placeholders stand for."""
        data, place, size = self.task.data, self.bench.folder / ROWS, self.allocation.size
        rows = every_file(data, place) if self.everything else train_file(data, size, place)
        most = size if self.everything else size - 1
        before = before_it(self.bench, self.allocation, most) if self.task.reuse else None
        found: dict[str, object] = {
            "learner": self.allocation.learner,
            "size": data.full_size + data.valid_size if self.everything else size,
            "full_size": data.full_size,
            "seed": seed_of(self.task, self.allocation),
            "rows": rows or "",
            "validation": ("" if self.everything else valid_file(data, self.scored, place)) or "",
            "folder": folder,
            "from": before or "",
            "threads": self.threads,
            "deadline": "" if self.seconds is None else int(time.time() + self.seconds),
            "result": folder / RESULT,
        }
        return {name: str(found[name]) for name in PLACES}

    def environment(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the command: that of the person who started the run, and what it is given."""
        ours = {name for name in os.environ if name.startswith(OWN) and not MARKER.fullmatch(name)}
        kept = {name: value for name, value in os.environ.items() if name not in (*CHANGED, *ours)}
        before: dict[str, str] = json.loads(os.environ.get(BEFORE, "{}"))
        threads = dict.fromkeys(THREADS, values["threads"])
        given = {f"{OWN}{name.upper()}": value for name, value in values.items()}
        return {**kept, **before, **threads, **given, "CUDA_VISIBLE_DEVICES": self.gpus}


class Trained(NamedTuple):
    """What a command has left: its model, the folder of that call, and its answer."""

    model: Path
    folder: Path
    answer: dict[str, Any]


def evaluated(call: Call) -> Outcome:
    """Call a command and return what came of it; one that was measured before is not called again."""
    folder = call.bench.place(call.allocation)
    identity = f"{call.command.words!r} {call.command.score} {call.task.data.fingerprint} {call.task.seed}"
    if (known := _known(folder, identity)) is not None:
        return known
    began = time.perf_counter()
    try:
        outcome, answer = _trained(call, folder)
        model = _model(answer, folder)
    except Refused as refusal:
        return Failure(refusal.kind, str(refusal), time.perf_counter() - began)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)  # it may have removed its own folder
        about = {"identity": identity, "outcome": outcome_to_json(outcome), "model": str(model), "answer": answer}
        partial = folder / f".{DONE}"
        partial.write_text(json.dumps(about), encoding="utf-8")
        partial.replace(folder / DONE)
    return outcome


def before_it(bench: Workbench, allocation: Allocation, most: int) -> Path | None:
    """Return the folder of the largest size of a learner that was measured, of those up to `most`."""
    found = (path for path in bench.place(allocation).parent.glob(f"*/{DONE}") if path.parent.name.isdecimal())
    smaller = [path.parent for path in found if int(path.parent.name) <= most]
    return max(smaller, key=lambda path: int(path.name), default=None)


def trained(folder: Path) -> Trained | None:
    """Return what a call has left in its folder; None if it was not measured."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        about = json.loads((folder / DONE).read_text(encoding="utf-8"))
        return Trained(Path(about["model"]), folder, dict(about["answer"]))
    return None


def _known(folder: Path, identity: str) -> Outcome | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        about = json.loads((folder / DONE).read_text(encoding="utf-8"))
        if about["identity"] == identity:
            return outcome_from_json(about["outcome"])
    return None


def _trained(call: Call, folder: Path) -> tuple[Measurement, dict[str, Any]]:
    """Call a command until it does not ask to be called again; return its measurement and its answer."""
    folder.mkdir(parents=True, exist_ok=True)
    gpus = (f"gpu-{UNSAFE.sub('-', gpu)}" for gpu in filter(None, call.gpus.split(",")))
    with ExitStack() as stack:
        # One that was told to end may use the folder and a GPU for some more seconds.
        for path in (folder.with_name(f".{folder.name}.lock"), *(folder.parents[1] / f".{gpu}.lock" for gpu in gpus)):
            lock = stack.enter_context(path.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        pause = PAUSE
        for tried in range(TRIES):
            values = call.values(folder)
            _remove(Path(values["result"]))
            began = time.perf_counter()
            done = called(call.command.filled(values), call.command.folder, call.environment(values), folder / LOG)
            seconds = time.perf_counter() - began
            if done.code != AGAIN:
                measured, answer = _understood(call, done, folder, seconds)
                again = {"tried_again": tried} if tried else {}
                return replace(measured, metrics={**measured.metrics, **again}), answer
            wished: Any = _answer(done, folder, quiet=True).get("retry_after")
            time.sleep(min(wished if _is_number(wished) and wished >= 0 else pause, LONGEST_PAUSE))
            pause = min(2 * pause, LONGEST_PAUSE)
    raise Refused("error", f"it asked {TRIES} times to be tried again later (exit code {AGAIN}): {done.last_words}")


def _understood(call: Call, done: Called, folder: Path, seconds: float) -> tuple[Measurement, dict[str, Any]]:
    """Return what an answer says; raise Refused where there is none, or it cannot be understood."""
    answer = _answer(done, folder, quiet=done.code != 0)
    if isinstance(reason := answer.get("refused"), str):
        raise Refused(REFUSED, reason[:500] or "without a reason")
    if done.code != 0:
        starved = mentions_memory(done.tail)
        raise Refused("memory" if starved else done.kind, f"{done.how}: {done.last_words}")
    if "score" not in answer:
        raise Refused("error", f"its answer must have a `score`, got {json.dumps(answer)[:200]}")
    sign, data = call.command.sign, call.task.data
    score, train = _number(answer, "score"), _number(answer, "train_score", optional=True)
    own, rows = _number(answer, "seconds", optional=True), answer.get("rows_scored")
    metrics = answer.get("metrics", {})
    if not isinstance(metrics, dict) or not all(_is_number(value) for value in metrics.values()):
        raise Refused("error", f"`metrics` must be numbers by name, got {str(metrics)[:200]}")
    if own is not None and own < 0:
        raise Refused("error", f"`seconds` must not be negative, got {own}")
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise Refused("error", f"`rows_scored` must be a number of rows, got {rows!r}")
    scored = rows if rows is not None else call.scored
    measurement = Measurement(
        None if train is None else sign * train,
        sign * score,
        seconds,
        metrics,
        fitting=own,
        scoring=None if own is None else 0.0,
        scored=None if scored == data.valid_size else scored,
    )
    return measurement, answer


def _model(answer: Mapping[str, Any], folder: Path) -> Path:
    given = answer.get("model", "")
    if not isinstance(given, str):
        raise Refused("error", f"`model` must be a path, got {given!r}")
    found = folder / given
    if given and not found.exists():
        raise Refused("error", f"`model` must be a path that exists, got {given!r}")
    return found


def _answer(done: Called, folder: Path, *, quiet: bool) -> dict[str, Any]:
    """Return the answer: of its file or, without one, of the last line of its standard output.

    If `quiet`, one that cannot be understood is empty.
    """
    file, text, where = folder / RESULT, done.last_line, "the last line of its output"
    try:
        if os.path.lexists(file):
            where = "PYDAUB_RESULT"
            if file.is_symlink() or not file.is_file():
                raise Refused("error", f"{where} must be a file, got {_what(file)}")  # noqa: TRY301
            if file.stat().st_size > MOST_ANSWER:
                raise Refused("error", f"its answer in {where} must be at most {MOST_ANSWER:,} bytes")  # noqa: TRY301
            text = file.read_text(encoding="utf-8")
        found = json.loads(text)
        if not isinstance(found, dict):
            raise TypeError(text)  # noqa: TRY301
    except (OSError, ValueError, TypeError, RecursionError):
        if quiet:
            return {}
        got = f"got {text.strip()[:200]!r}" if text.strip() else "got nothing"
        said = f"; it printed: {done.last_words}" if done.last_words and where == "PYDAUB_RESULT" else ""
        raise Refused("error", f'{where} must be a JSON object such as {{"score": 0.9}}, {got}{said}') from None
    except Refused:
        if quiet:
            return {}
        raise
    return found


def _what(path: Path) -> str:
    return "a link" if path.is_symlink() else what_is_there(path)


def _remove(path: Path) -> None:
    """Remove what an earlier call has left in the place of its answer."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _number(answer: Mapping[str, Any], name: str, *, optional: bool = False) -> Any:  # None only where that may be
    value: Any = answer.get(name)
    if optional and value is None:
        return None
    if not _is_number(value):
        raise Refused("error", f"`{name}` must be a finite number, got {value!r}")
    return float(value)


def _is_number(value: Any) -> bool:
    with suppress(OverflowError):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(float(value))
    return False
