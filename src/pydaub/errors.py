"""Everything that pydaub raises on purpose.

::

    PydaubError
    ├── InputError (also a ValueError)        what a person gave does not hold; nothing has been done yet
    │   └── RefusedAllocation                 an engine cannot evaluate this allocation
    ├── ProtocolError (also a RuntimeError)   ask and tell were called out of turn
    ├── AllLearnersFailed (also a ValueError) no learner is left; lists the failures, grouped
    ├── NothingMeasured                       the time limit passed before there was a first measurement
    ├── FitFailed                             the selected learner could not be fitted once more
    ├── ClusterLost                           the cluster no longer does its part; the run can be resumed
    └── JournalError                          the record of a run cannot be used; it is left as it was
        ├── JournalLocked                     another process is writing it
        ├── JournalDamaged                    a complete line in it is no event
        └── JournalMismatch                   it belongs to another run

Messages have a grammar: what must hold, what was got, what to do.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Reason(Protocol):
    """What is told of a failure: `records.Failure`, which stands above this file."""

    @property
    def kind(self) -> str:
        """One of a few words."""

    @property
    def message(self) -> str:
        """What the learner said."""


def one_line(error: BaseException) -> str:
    """Return an error of foreign code as one line, not endless; even what it says of itself may fail."""
    try:
        lines = str(error).strip().splitlines() or [""]
    except Exception:  # noqa: BLE001  # its own __str__ may raise anything
        lines = ["(its message cannot be told)"]
    return f"{type(error).__name__}: {lines[0]}"[:500]


class PydaubError(Exception):
    """The root of the tree."""


class InputError(PydaubError, ValueError):
    """What a person gave does not hold."""


class RefusedAllocation(InputError):
    """An engine cannot evaluate this allocation; submitting it had no effect."""


class ProtocolError(PydaubError, RuntimeError):
    """`ask` and `tell` were called out of turn."""


class AllLearnersFailed(PydaubError, ValueError):
    """No learner is left to train.

    `failures` holds each learner's failure; the message groups the learners that failed in the same way. Raised
    by `run`, `result` is what the run has done up to then.
    """

    def __init__(self, failures: Mapping[str, Reason]) -> None:
        self.failures = dict(failures)
        self.result: Any = None  # a run puts here what it has done
        count = len(self.failures)
        summary = f"All {count} learners failed" if count > 1 else "The only learner failed"
        super().__init__(f"{summary}: {'; '.join(grouped(self.failures))}.")

    def __reduce__(self) -> tuple[type[AllLearnersFailed], tuple[dict[str, Reason]]]:
        return type(self), (self.failures,)  # it is made of the failures, not of the message


class NothingMeasured(PydaubError):
    """The time limit passed before any learner had been measured. `result` is what the run has done up to then."""

    def __init__(self, result: Any = None) -> None:  # noqa: ANN401  # a `Result`, which stands above this file
        self.result = result
        super().__init__("`time_limit` must leave time for at least one measurement. Resume the run with a longer one.")


class FitFailed(PydaubError):
    """The selected learner could not be fitted once more, and was not kept."""


class ClusterLost(PydaubError):
    """The cluster no longer does its part. What was measured is kept: the run can be resumed."""


class JournalError(PydaubError):
    """The record of a run cannot be used. It is left as it was."""


class JournalLocked(JournalError):
    """Another process is writing this journal."""


class JournalDamaged(JournalError):
    """A complete line of the journal is no event."""


class JournalMismatch(JournalError):
    """The journal belongs to another run."""


def grouped(failures: Mapping[str, Reason], shown: int = 5) -> list[str]:
    """Return one line for each way of failing, the most frequent first, naming the first few learners."""
    ways: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for learner, failure in failures.items():
        ways[failure.kind, failure.message].append(learner)
    return [
        f"{len(learners)} x {kind}{f' ({message})' if message else ''}: {', '.join(learners[:shown])}"
        + (f" and {len(learners) - shown} more" if len(learners) > shown else "")
        for (kind, message), learners in sorted(ways.items(), key=lambda way: -len(way[1]))
    ]
