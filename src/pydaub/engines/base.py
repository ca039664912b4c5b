"""The contracts: what a run needs from every engine, and what a selection also needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from pydaub.errors import FitFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydaub.evaluation.combining import Combination
    from pydaub.learners import Learner
    from pydaub.records import Allocation, Failure, Outcome


class Engine(Protocol):
    """Evaluates allocations.

    Laws: each `submit` is answered by exactly one `collect`, unless it was refused or cancelled; whatever goes wrong
    in a learner is a `Failure`, never an exception; nothing keeps running after `close`.
    """

    @property
    def free(self) -> int:
        """How many more allocations may be submitted now."""

    @property
    def clock(self) -> float:
        """Seconds since the engine was opened, real or virtual."""

    def spreads(self, allocation: Allocation) -> bool:
        """Whether an evaluation takes the cores of all workers that are free when it is submitted.

        So it should not be guessed: it would have to share them with what is asked for, and gain less.
        """

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        """Begin an evaluation.

        An engine that cannot evaluate the allocation raises RefusedAllocation, and nothing has changed. It may refuse
        a `guess`, which the strategy has not asked for yet, for any reason.
        """

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Wait until an evaluation has ended; return None if none ends within `timeout` seconds of the clock."""

    def cancel(self, allocation: Allocation) -> None:
        """Stop an evaluation, whose outcome is then never collected. It may have ended already."""

    def close(self) -> None:
        """Stop all evaluations."""


class TaskEngine(Engine, Protocol):
    """Evaluates the learners of a task, takes in new ones, and returns fitted learners.

    Fitted learners are passed as references that only the engine understands, because they may be in another process.
    They can also be asked for after `close`; whoever does that closes the engine once more.
    """

    def admit(self, name: str, learner: Learner) -> None:
        """Add a learner to the task."""

    def fitted(self, allocation: Allocation, score: float) -> Any | None:  # noqa: ANN401  # a reference
        """Return the fitted learner that got this validation score, or None if it was not kept.

        The engine keeps the best fitted learner of all, and the best one of the full size; several for an ensemble.
        """

    def combine(self, members: Mapping[Allocation, float]) -> Combination | None:
        """Choose an ensemble among fitted learners that got these validation scores, as far as they were kept."""

    def fit(
        self, allocations: Sequence[Allocation], *, with_validation: bool, until: float = math.inf
    ) -> dict[Allocation, Any]:
        """Fit learners once more, optionally on the validation rows too; FitFailed stands for one that fails.

        One that is not ready when the clock is at `until` fails, if the engine can end it.
        """

    def loaded(self, references: Mapping[str, Any]) -> dict[str, Any]:
        """Return fitted learners as objects of this process; raise FitFailed if that is not possible."""

    def handle(self, function: str, references: Mapping[str, Any], **arguments: Any) -> Any:  # noqa: ANN401  # plain values
        """Call a function ("module:name") with fitted learners by name, the prepared rows, and plain values.

        Returns what it returns, a plain value, or a Failure.
        """


def fit_failed(allocation: Allocation, failure: Failure) -> FitFailed:
    """Return the error for a learner that could not be fitted once more."""
    return FitFailed(
        f"{allocation.learner} could not be refitted: {failure.kind}: {failure.message}."
        " Raise the limits, or run without refitting."
    )
