"""What every engine offers to the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pydaub.records import Allocation, Outcome


class Engine(Protocol):
    """Where does it run?

    Laws: every submit is answered by one collect, unless it was refused; what a learner does wrong is a `Failure`,
    never an exception; nothing survives `close`.
    """

    @property
    def free(self) -> int:
        """How many more allocations may be submitted now."""

    @property
    def clock(self) -> float:
        """Seconds since the engine was opened, real or virtual."""

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        """Begin an evaluation, or raise RefusedAllocation, with no effect, where it cannot be evaluated.

        A guess, which nobody has asked for yet, may be refused for any reason.
        """

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Wait for one of the evaluations that were begun; None where none ended in so many seconds of the clock."""

    def cancel(self, allocation: Allocation) -> None:
        """End an evaluation that was begun; no outcome of it is collected. It may have ended already."""

    def close(self) -> None:
        """End whatever still runs."""
