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
from pydaub.isolation.nursery import Limits, Nursery
from pydaub.records import Allocation, Failure, Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub.evaluation.evaluate import Task
    from pydaub.isolation.child import Answer

VARIABLE: Final = "EXPERIMENT_CPU_SECONDS"  # the limit, for the workers


class CpuEngine(IsolatedEngine):
    """An engine like `ProcessEngine`, but with times and time limit in CPU seconds of the evaluation.

    The system ends a worker at its limit, also within C or Java. There is no limit of wall-clock time: a machine that
    stands still for hours must not make a learner fail.
    """

    def __init__(self, task: Task, workers: int, folder: Path, seconds: float | None, memory: int) -> None:
        os.environ[VARIABLE] = "" if seconds is None else str(seconds)
        self._seconds = seconds
        nursery = Nursery(f"{__name__}:work_at", PRELOAD)
        nursery.note(folder.resolve() / NOTE)
        super().__init__(task, folder, Limits(None, memory), nursery, lambda: workers)

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Wait until an evaluation has ended; one that reached the limit counts with it."""
        collected = super().collect(timeout)
        if collected and self._seconds and isinstance(failure := collected[1], Failure):
            if signal.SIGXCPU.name in failure.message:
                failure = Failure("timeout", f"longer than {self._seconds:g} s of CPU time", self._seconds)
            return collected[0], failure
        return collected


def work_at(**arguments: Any) -> Answer:  # noqa: ANN401  # plain values
    """Evaluate a learner in a worker process; count the CPU time of all its threads, Java's compiler included."""
    began = time.process_time()
    if limit := os.environ[VARIABLE]:
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began + float(limit)), most))
    answer = worker.work_at(**arguments)
    if "seconds" not in answer.value:
        return answer
    return replace(answer, value={**answer.value, "seconds": time.process_time() - began})
