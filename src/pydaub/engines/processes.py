"""Evaluate in several processes on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydaub.engines.isolated import IsolatedEngine, preload
from pydaub.engines.limits import NO_LIMITS, check_limits, check_workers
from pydaub.engines.worker import EVALUATE
from pydaub.isolation.nursery import Nursery

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub.evaluation.evaluate import Task
    from pydaub.isolation.nursery import Limits


class ProcessEngine(IsolatedEngine):
    """An engine with `workers` processes on this machine; see `IsolatedEngine`."""

    def __init__(self, task: Task, workers: int, folder: Path, limits: Limits = NO_LIMITS) -> None:
        count = check_workers(workers)
        check_limits(limits)
        super().__init__(task, folder, limits, Nursery(EVALUATE, preload(task)), lambda: count)
