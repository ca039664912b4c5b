"""Look outcomes up in recorded learning curves, with a virtual clock and any number of virtual workers."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from pydaub.engines.recorded import Table
from pydaub.errors import InputError, ProtocolError
from pydaub.records import Postponed, from_one

if TYPE_CHECKING:
    from pydaub.records import Allocation, Outcome


class TableEngine:
    """An engine that looks outcomes up in a table and advances a virtual clock.

    An evaluation takes as many virtual seconds as were recorded. Outcomes are collected in the order in which the
    evaluations end; those that end at the same moment, in the order of submission.

    Parameters
    ----------
    table
        The recorded outcomes.
    workers
        How many evaluations run at the same virtual time.
    limits
        Whether an evaluation ends at the limit of its allocation, as in a process.
    """

    def __init__(self, table: Table, workers: int = 1, *, limits: bool = False) -> None:
        if not isinstance(table, Table):
            raise InputError(f"`table` must be a Table, got {table!r}.")
        self._table, self._workers, self._limits = table, from_one(workers, "workers"), limits
        self._running: list[tuple[float, int, Allocation, Outcome]] = []
        self._submitted = 0
        self._clock = 0.0

    @property
    def free(self) -> int:
        """How many virtual workers are idle."""
        return self._workers - len(self._running)

    @property
    def clock(self) -> float:
        """Virtual seconds since the engine was opened."""
        return self._clock

    def spreads(self, allocation: Allocation) -> bool:  # noqa: ARG002  # the same for all
        """Return False: what was recorded takes as long as it took."""
        return False

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:  # noqa: ARG002  # guesses are accepted
        """Begin a virtual evaluation; refuse an allocation that was not recorded."""
        if not self.free:
            raise ProtocolError(f"`submit` must wait for a free worker: all {self._workers} are busy.")
        outcome = self._table[allocation]
        if self._limits and allocation.limit is not None and outcome.seconds > allocation.limit:
            outcome = Postponed(allocation.limit)
        self._submitted += 1
        heapq.heappush(self._running, (self._clock + outcome.seconds, self._submitted, allocation, outcome))

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Advance the clock to the end of the next evaluation, but by at most `timeout` virtual seconds."""
        if not self._running:
            raise ProtocolError("`collect` must follow a `submit`: nothing is running.")
        if timeout is not None and self._running[0][0] > self._clock + max(timeout, 0.0):
            self._clock += max(timeout, 0.0)
            return None
        self._clock, _, allocation, outcome = heapq.heappop(self._running)
        return allocation, outcome

    def cancel(self, allocation: Allocation) -> None:
        """Cancel an evaluation."""
        self._running = [entry for entry in self._running if entry[2] != allocation]
        heapq.heapify(self._running)

    def close(self) -> None:
        """Cancel all evaluations."""
        self._running.clear()
