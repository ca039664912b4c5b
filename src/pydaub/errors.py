"""Every exception that pydaub raises on purpose.

::

    PydaubError
    ├── InputError (also a ValueError)        bad input; nothing has been done yet
    │   └── RefusedAllocation                 an engine cannot evaluate this allocation
    ├── ProtocolError (also a RuntimeError)   ask and tell were called out of turn
    ├── AllLearnersFailed (also a ValueError) no learner is left; lists the failures, grouped
    ├── NothingMeasured                       the run stopped before its first measurement
    ├── FitFailed                             the selected learner could not be fitted once more
    ├── SavedLearnerError                     a learner cannot be saved or loaded
    ├── FolderTrouble                         the run's folder cannot be used; the run can be resumed
    ├── ClusterLost                           the cluster stopped responding; the run can be resumed
    └── JournalError                          the journal cannot be used; it is left unchanged
        ├── JournalLocked                     another process is writing it
        ├── JournalDamaged                    a complete line in it is not an event
        └── JournalMismatch                   it belongs to another run

A message about bad input says what must hold, what was given, and what to do.
"""

from __future__ import annotations

import errno
import re
import signal
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER: Final = re.compile(r"-?(?:0x[0-9a-f]+|\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?)")
DISK: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # of a disk that is full or fails
KEPT: Final = "What was measured is kept: resume the run once this is mended."
# What to do about messages of scikit-learn that learners of one's own often end with.
ADVICE: Final = {
    "could not convert string": "Text needs an encoder, such as OrdinalEncoder, in a pipeline before such a learner.",
    "contains NaN": "Missing values need a SimpleImputer in a pipeline before such a learner.",
}
TIME_LIMIT: Final = "time limit"  # the reason of a run that its time limit stopped


def one_line(error: BaseException) -> str:
    """Return an exception of foreign code as one short line, even if its `__str__` raises."""
    try:
        lines = str(error).strip().splitlines() or [""]
    except Exception:  # noqa: BLE001  # a foreign __str__ may raise anything
        lines = ["(its message cannot be shown)"]
    return f"{type(error).__name__}: {lines[0]}"[:500] if lines[0] else type(error).__name__


def is_of_learner(error: BaseException) -> bool:
    """Return whether an exception is a learner's own, and not meant for the whole process.

    Trouble with the run's folder is not the learner's, nor is Ctrl-C, nor what a signal handler raises other than an
    Exception: many exit on SIGTERM.
    """
    if isinstance(error, Exception):
        return not isinstance(error, FolderTrouble)
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return False
        trace = trace.tb_next
    return not isinstance(error, KeyboardInterrupt)


class PydaubError(Exception):
    """Base class of all exceptions of pydaub."""


class InputError(PydaubError, ValueError):
    """Bad input. Nothing has been done yet."""


class RefusedAllocation(InputError):
    """An engine cannot evaluate this allocation. Submitting it had no effect."""


class ProtocolError(PydaubError, RuntimeError):
    """`ask` and `tell` were called out of turn."""


class AllLearnersFailed(PydaubError, ValueError):
    """No learner is left to train.

    Attributes
    ----------
    failures
        Each learner's failure. The message groups the learners that failed in the same way.
    result
        What the run did until then, if `run` raised this.
    """

    def __init__(self, failures: Mapping[str, Any]) -> None:  # of `Failure`, which a higher room defines
        self.failures = dict(failures)
        self.result: Any = None  # set by `run`
        count = len(self.failures)
        summary = f"All {count} learners failed" if count > 1 else "The only learner failed"
        said = " ".join(str(failure.message) for failure in self.failures.values())
        advice = "".join(f" {what}" for part, what in ADVICE.items() if part in said)
        super().__init__(f"{summary}: {'; '.join(grouped(self.failures))}.{advice}")

    def __reduce__(self) -> tuple[type[AllLearnersFailed], tuple[dict[str, Any]]]:
        return type(self), (self.failures,)  # the constructor takes the failures, not the message


class NothingMeasured(PydaubError):
    """The run stopped, for this `reason`, before anything was measured. `result` is what it did until then."""

    def __init__(self, reason: str = TIME_LIMIT, result: Any = None) -> None:  # noqa: ANN401  # a `Result`, of a higher room
        self.reason, self.result = reason, result
        if reason == TIME_LIMIT:
            message = "`time_limit` must leave time for at least one measurement. Give a longer one."
        else:
            message = f"The run ended before anything was measured: {reason}."
        super().__init__(message)

    def __reduce__(self) -> tuple[type[NothingMeasured], tuple[str, Any]]:
        return type(self), (self.reason, self.result)


class FitFailed(PydaubError):
    """A learner could not be fitted: the selected one, once more, or any one where `error_score` is "raise"."""


class SavedLearnerError(PydaubError):
    """A learner cannot be saved or loaded."""


class FolderTrouble(PydaubError):
    """The run's folder cannot be read or written. What was measured is kept: the run can be resumed."""


class ClusterLost(PydaubError):
    """The cluster stopped responding. What was measured is kept: the run can be resumed."""


class JournalError(PydaubError):
    """The journal of a run cannot be used. It is left unchanged."""


class JournalLocked(JournalError):
    """Another process is writing this journal."""


class JournalDamaged(JournalError):
    """A complete line of the journal is not an event."""


class JournalMismatch(JournalError):
    """The journal belongs to another run."""


def grouped(failures: Mapping[str, Any], shown: int = 5) -> list[str]:
    """Return a line for each kind of failure, most frequent first, naming the first few learners.

    Messages that differ in numbers alone are one kind, and the first of them is shown.
    """
    ways: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    messages: dict[tuple[str, str], str] = {}
    for learner, failure in failures.items():
        kind = failure.kind, NUMBER.sub("0", failure.message)
        messages.setdefault(kind, failure.message)
        ways[kind].append(learner)
    return [
        f"{len(learners)} x {kind[0]}{f' ({messages[kind]})' if messages[kind] else ''}: {', '.join(learners[:shown])}"
        + (f" and {len(learners) - shown} more" if len(learners) > shown else "")
        for kind, learners in sorted(ways.items(), key=lambda way: -len(way[1]))
    ]
