"""What a run did, as a value; and what training everything would cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from pydaub.algorithm.seconds import evaluation_ahead
from pydaub.records import Allocation, Failure, Measurement, score_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydaub.algorithm.seconds import Growth
    from pydaub.records import Outcome


@dataclass(frozen=True, slots=True)
class Step:
    """An allocation, its outcome, and the learner's bound once that was known."""

    allocation: Allocation
    outcome: Outcome
    bound: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What a run did.

    Attributes
    ----------
    selected
        The selected learner. If the run stopped early, the learner with the best validation score so far; None if
        nothing was measured or every learner failed.
    full_size
        The number of training rows.
    steps
        The allocations that were asked for, in order, with their outcomes. If the run stopped before it was done, then
        those with all rows that were evaluated ahead: they count when the learner is chosen.
    failures
        The learners that failed, and why.
    wall_seconds
        Duration of the run on the engine's clock.
    speculated
        The other outcomes that were evaluated ahead and never asked for.
    abandoned
        How many evaluations were still running at the end.
    resumed
        How many outcomes the journal held when this process started.
    selected_size
        The size with which the selected learner reached its score.
    stopped
        Why the run ended before its strategy was done; None if it did not.
    """

    selected: str | None
    full_size: int
    steps: tuple[Step, ...]
    failures: Mapping[str, Failure]
    wall_seconds: float
    speculated: Mapping[Allocation, Outcome] = field(default_factory=dict)
    abandoned: int = 0
    resumed: int = 0
    selected_size: int | None = None
    stopped: str | None = None

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return f"<p>{'<br>'.join(map(escape, self._lines()))}</p>"

    def _lines(self) -> tuple[str, str]:
        """Return who was selected, and what that cost."""
        learners = {step.allocation.learner for step in self.steps}
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        cost = f"{len(learners):,} learners{failed}: {len(self.steps):,} trainings, {self.seconds:,.1f} s of training."
        if self.selected is None or self.selected_size is None or self.valid_score is None:
            return f"Nothing is selected: {self.stopped or 'every learner failed'}.", cost
        does = "is selected" if self.stopped is None else f"was the best so far ({self.stopped})"
        rows = f"{'all ' * (self.selected_size == self.full_size)}{self.selected_size:,} rows"
        return f"{self.selected} {does}: score {score_text(self.valid_score)} with {rows}.", cost

    @property
    def rows(self) -> int:
        """Number of rows in all these allocations."""
        return sum(step.allocation.size for step in self.steps)

    @property
    def seconds(self) -> float:
        """Training time of all these allocations."""
        return sum((step.outcome.seconds for step in self.steps), start=0.0)

    @property
    def valid_score(self) -> float | None:
        """The selected learner's validation score."""
        return None if self.measured is None else self.measured.valid_score

    @property
    def measured(self) -> Measurement | None:
        """The measurement for which the learner was selected."""
        if self.selected is None or self.selected_size is None:
            return None
        chosen = Allocation(self.selected, self.selected_size)
        asked = (step.outcome for step in reversed(self.steps) if step.allocation == chosen)
        outcome = next(asked, self.speculated.get(chosen))
        return outcome if isinstance(outcome, Measurement) else None


def projected_seconds(
    outcomes: Iterable[tuple[Allocation, Outcome]],
    growths: Mapping[str, Growth],
    full_size: int,
    rows: int | None = None,
) -> float | None:
    """Return about how long training every learner on all rows would take; None if one was never tried.

    `growths` says how the cost of each learner grows; a learner's times are extrapolated accordingly. What an
    evaluation took besides fitting and scoring counts as measured with the most rows. A learner that failed counts with
    the time it took until then. `rows` is the number of validation rows.
    """
    times: dict[str, list[tuple[int, Measurement]]] = {}
    failed: dict[str, float] = {}
    for allocation, outcome in outcomes:
        if isinstance(outcome, Measurement):
            times.setdefault(allocation.learner, []).append((allocation.size, outcome))
        elif isinstance(outcome, Failure):
            failed[allocation.learner] = outcome.seconds
    if not {*times, *failed} >= {*growths}:
        return None
    points = {name: sorted(each, key=lambda point: point[0]) for name, each in times.items()}
    return sum(
        failed[name] if name in failed else evaluation_ahead(points[name], full_size, growth, rows)
        for name, growth in growths.items()
    )
