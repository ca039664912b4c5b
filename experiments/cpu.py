"""An engine that times and limits evaluations by CPU time, which other work on the machine hardly changes."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines import worker
from pydaub.engines.processes import NOTE, IsolatedEngine
from pydaub.engines.registry import PRELOAD
from pydaub.isolation.child import Answer
from pydaub.isolation.nursery import Limits, Nursery
from pydaub.records import Failure, outcome_to_json

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub.evaluation.evaluate import Task

VARIABLE: Final = "EXPERIMENT_CPU_SECONDS"  # the limit, for the workers
POLL_SECONDS: Final = 0.2
PATIENCE: Final = 20  # the wall-clock limit is this multiple of the limit in CPU time


class _LimitReached(BaseException):
    """Not an Exception: a learner must not catch it."""


def cpu_engine(task: Task, workers: int, folder: Path, seconds: float | None, memory: int) -> IsolatedEngine:
    """Return an engine like `ProcessEngine`, but with times and time limit in CPU seconds of the evaluation."""
    os.environ[VARIABLE] = "" if seconds is None else str(seconds)
    nursery = Nursery(f"{__name__}:work_at", PRELOAD)
    nursery.note(folder.resolve() / NOTE)
    return IsolatedEngine(task, folder, Limits(seconds and PATIENCE * seconds, memory), nursery, lambda: workers)


def work_at(**arguments: Any) -> Answer:  # noqa: ANN401  # plain values
    """Evaluate a learner in a worker process; count the CPU time of all its threads, Java's compiler included."""
    limit, began = float(os.environ[VARIABLE] or "inf"), time.process_time()
    signal.signal(signal.SIGPROF, _stop)
    ended = threading.Event()
    threading.Thread(target=_watch, args=(began + limit, ended), daemon=True).start()
    try:
        answer = worker.work_at(**arguments)
    except _LimitReached:
        failure = Failure("timeout", f"longer than {limit:g} s of CPU time", time.process_time() - began)
        return Answer(outcome_to_json(failure), reusable=False)
    finally:
        ended.set()
    if "seconds" not in answer.value:
        return answer
    return replace(answer, value={**answer.value, "seconds": time.process_time() - began})


def _watch(until: float, ended: threading.Event) -> None:
    """Interrupt the main thread when the process has used its CPU time.

    A CPU timer of the system would interrupt the thread that is running, which may be Java's.
    """
    while not ended.wait(POLL_SECONDS):
        if time.process_time() > until:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGPROF)
            return


def _stop(*_: object) -> None:
    raise _LimitReached
