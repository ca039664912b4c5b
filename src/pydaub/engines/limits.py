"""What each evaluation may use: threads and memory on this machine, and limits that a user sets."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydaub.errors import InputError
from pydaub.isolation.nursery import Limits
from pydaub.records import whole

NO_LIMITS: Final = Limits()
MEMORY_SHARE: Final = 0.8  # of a machine's memory, for all evaluations on it together
MOST: Final = 1e18  # seconds or bytes; the system cannot represent larger limits


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_each(workers: int) -> int:
    """Return how many threads each of these workers may use, so that together they do not exceed the cores."""
    return max(1, cores() // workers)


def memory_each(workers: int) -> int | None:
    """Return how many bytes each of these workers may use by default; None if the system does not say."""
    available = available_memory()
    return None if available is None else int(MEMORY_SHARE * available) // workers


def available_memory() -> int | None:
    """Return how many bytes are available, to the system or within a container's limit; None if neither says."""
    found = []
    with suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # the file does not exist, or says "max"
            found.append(int(Path(path).read_text()))
    return min(found, default=None)


def check_workers(workers: object) -> int:
    """Return the number of workers, or raise InputError if it is not a whole number from 1."""
    if (number := whole(workers, "workers")) < 1:
        raise InputError(f"`workers` must be at least 1, got {workers}.")
    return number


def check_limits(limits: Limits) -> None:
    """Raise InputError if the limits are not positive numbers."""
    given: dict[str, object] = {"learner_timeout": limits.seconds, "learner_memory": limits.memory}
    for name, limit in given.items():
        unit = "seconds" if name == "learner_timeout" else "bytes"
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit < MOST):
            raise InputError(
                f"`{name}` must be a number of {unit}, more than 0 and less than {MOST:g}, got {limit!r}."
                " Leave it out for no limit."
            )
