"""An engine that times and limits evaluations by CPU time, which other work on the machine hardly changes."""

from __future__ import annotations

import math
import os
import resource
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines import worker
from pydaub.engines.processes import NOTE, IsolatedEngine
from pydaub.engines.registry import PRELOAD
from pydaub.errors import InputError
from pydaub.isolation.nursery import Limits, Nursery
from pydaub.records import Allocation, Failure, Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub.evaluation.evaluate import Task
    from pydaub.isolation.child import Answer

VARIABLE: Final = "EXPERIMENT_CPU_SECONDS"  # the limit, for the workers
ENDED: Final = f"ended by {signal.SIGXCPU.name}"  # how the message of a worker begins that the system ended


class CpuEngine(IsolatedEngine):
    """An engine like `ProcessEngine`, but with times and time limit in CPU seconds of the evaluation.

    The system ends a worker at its limit, also within C or Java. It does not count processes that a learner starts;
    those of the portfolios start none. There is no limit of wall-clock time: a machine that stands still for hours must
    not make a learner fail.
    """

    def __init__(self, task: Task, workers: int, folder: Path, seconds: float | None, memory: int) -> None:
        if resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY:
            raise InputError("The CPU time of processes must not be limited. Run this where `ulimit -Ht` is unlimited.")
        os.environ[VARIABLE] = "" if seconds is None else str(seconds)
        self._seconds = seconds
        nursery = Nursery(f"{__name__}:work_at", PRELOAD)
        nursery.note(folder.resolve() / NOTE)
        super().__init__(task, folder, Limits(None, memory), nursery, lambda: workers)

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Wait until an evaluation has ended; one that reached the limit counts with it."""
        collected = super().collect(timeout)
        if collected is None or self._seconds is None:
            return collected
        allocation, outcome = collected
        if isinstance(outcome, Failure):
            exceeded = outcome.message.startswith(ENDED)  # if much memory was in use, as a lack of it
        else:
            exceeded = outcome.seconds > self._seconds  # the system's limit is in whole seconds
        if exceeded:
            outcome = Failure("timeout", f"longer than {self._seconds:g} s of CPU time", self._seconds)
        return allocation, outcome


def work_at(**arguments: Any) -> Answer:  # noqa: ANN401  # plain values
    """Evaluate a learner in a worker process; count the CPU time of all its threads, Java's compiler included."""
    began, unlimited = time.process_time(), resource.RLIM_INFINITY
    if limit := os.environ[VARIABLE]:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began + float(limit)), unlimited))
    try:
        answer = worker.work_at(**arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (unlimited, unlimited))  # the next learner in this process starts anew
    if "seconds" not in answer.value:
        return answer
    return replace(answer, value={**answer.value, "seconds": time.process_time() - began})
