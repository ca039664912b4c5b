"""Evaluate with a function of the user's own, in this process, one allocation after the other."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydaub.errors import ProtocolError, is_of_learner, one_line
from pydaub.records import Allocation, Failure, Measurement, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable


class SerialEngine:
    """An engine that calls a function for each allocation.

    Parameters
    ----------
    evaluate
        Trains the learner of the allocation on the first `size` rows and returns a `Measurement` or a `Failure`. An
        exception, even SystemExit, or any other return value becomes a `Failure` of the kind "error".

    Examples
    --------
    >>> engine = SerialEngine(lambda allocation: Measurement(1.0, 1 / 0, seconds=1.0))
    >>> engine.submit(Allocation("tree", 500))
    >>> engine.collect()[1].message
    'ZeroDivisionError: division by zero'
    """

    def __init__(self, evaluate: Callable[[Allocation], Outcome]) -> None:
        self._evaluate = evaluate
        self._waiting: Allocation | None = None
        self._start = time.monotonic()

    @property
    def free(self) -> int:
        """1, or 0 while an allocation waits to be collected."""
        return int(self._waiting is None)

    @property
    def clock(self) -> float:
        """Seconds since the engine was created."""
        return time.monotonic() - self._start

    def spreads(self, allocation: Allocation) -> bool:  # noqa: ARG002  # the same for all
        """Return False: there are no other workers."""
        return False

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:  # noqa: ARG002  # guesses are accepted
        """Remember an allocation, which `collect` will evaluate."""
        if self._waiting is not None:
            raise ProtocolError(f"`submit` must wait until {self._waiting} has been collected.")
        self._waiting = allocation

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Evaluate the allocation and return its outcome.

        An evaluation in this process cannot be interrupted, so it may take longer than `timeout`. If `timeout` is 0 or
        less, it is not begun.
        """
        if self._waiting is None:
            raise ProtocolError("`collect` must follow a `submit`: nothing is running.")
        if timeout is not None and timeout <= 0:
            return None
        allocation = self._waiting
        began = time.monotonic()
        try:
            answer: object = self._evaluate(allocation)
        except BaseException as error:
            if not is_of_learner(error):
                raise
            answer = Failure("error", one_line(error), time.monotonic() - began)
        if not isinstance(answer, Measurement | Failure):
            message = f"a Measurement or a Failure must be returned, got {answer!r}"
            answer = Failure("error", message, time.monotonic() - began)
        self._waiting = None
        return allocation, answer

    def cancel(self, allocation: Allocation) -> None:
        """Forget an allocation that waits to be collected."""
        if self._waiting == allocation:
            self._waiting = None

    def close(self) -> None:
        """Forget the allocation that waits to be collected."""
        self._waiting = None
