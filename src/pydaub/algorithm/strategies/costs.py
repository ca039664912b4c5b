"""What trainings cost: measured seconds and what follows from them for larger samples, or declared costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.forecast import LARGEST_ERROR
from pydaub.algorithm.seconds import USUAL_GROWTH, Growth, seconds_ahead
from pydaub.errors import InputError
from pydaub.records import Outcome, Scores, number

if TYPE_CHECKING:
    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.strategies.groups import Groups
    from pydaub.records import Allocation

MEASURED: Final = "measured"
USUAL_COST: Final = (1e-5, 1.1)  # of a learner without a declared cost: seconds a row, and their growth
# An evaluation is ended when it takes longer than `OVERRUN` times its forecast plus `GRACE` seconds. Its next forecast
# is then at least `OVERRUN` times the time that it took.
OVERRUN, GRACE = 4.0, 1.0
EXPONENTS: Final = (0.5, 3.0)  # limits of a declared exponent
FIRST_SECONDS: Final = 20.0  # without a forecast; the next try may take OVERRUN times as long


class Costs:
    """The costs of learners, measured or declared.

    Parameters
    ----------
    costs
        "measured", or a factor and an exponent for each learner or group, by name.
    growths
        How measured costs grow, by name of the learner or group, for those that are not as usual; as `Growth`.
    curves
        What has been measured of each learner; the strategy adds to it.
    groups
        Which learners are of one kind.
    scores
        On how many rows scores are measured.
    full_size
        Number of all rows.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # made in one place
        self,
        costs: str | Mapping[str, Sequence[float]],
        growths: Mapping[str, Sequence[float]],
        curves: Mapping[str, Curve],
        groups: Groups,
        scores: Scores,
        full_size: int,
    ) -> None:
        self._declared = None if costs == MEASURED else _checked_costs(costs)
        self._growths = _checked_growths(growths)
        self._curves, self._groups, self._scores, self._full_size = curves, groups, scores, full_size
        self._ended: dict[str, tuple[int, float]] = {}  # size and seconds of evaluations that were ended at their limit

    @property
    def measured(self) -> bool:
        """Whether they are measured; otherwise they are declared."""
        return self._declared is None

    @property
    def settings(self) -> dict[str, object]:
        """Plain JSON values, from which the same costs can be made."""
        growths = {name: list(growth) for name, growth in self._growths.items()}
        return {"costs": MEASURED if self._declared is None else self._declared, "growths": growths}

    def growth(self, learner: str) -> Growth:
        """Return how a learner, or its group, grows."""
        return self._growths.get(learner, self._growths.get(self._groups.of(learner) or "", USUAL_GROWTH))

    def of(self, learner: str, size: int) -> float:
        """Return what a training is expected to cost, or its declared cost."""
        group = self._groups.of(learner) or ""
        if self._declared is not None:
            factor, exponent = self._declared.get(learner, self._declared.get(group, [*USUAL_COST]))
            return float(factor * size**exponent)
        curve, rows = self._curves[learner], self._scores.rows
        scored = curve.measurements[-1].scored
        if scored is not None and size < self._full_size:
            rows = max(scored, size) if rows is None else min(rows, max(scored, size))
        points = list(zip(curve.sizes, curve.measurements, strict=True))
        growth = self.growth(learner)
        ratios = self._ratios(learner, size)
        found = curve.measurements[-1].own_seconds * median(ratios) if ratios else 0.0
        found = found or seconds_ahead(points, size, growth, rows)
        ended_at, took = self._ended.get(learner, (size, 0.0))
        return max(found, OVERRUN * took * size / ended_at) if ended_at <= size else found

    def whole(self, learner: str) -> tuple[float, float]:
        """Return what the last evaluation of a learner took, and what one with all rows is expected to take.

        Encoding and metrics are part of it, though they are not the learner's own.
        """
        size, last = self._curves[learner].sizes[-1], self._curves[learner].measurements[-1]
        if not self.measured:
            return self.of(learner, size), self.of(learner, self._full_size)
        return last.seconds, last.seconds - last.own_seconds + self.of(learner, self._full_size)

    def paid(self, allocation: Allocation, outcome: Outcome) -> float:
        """Return what an evaluation has cost."""
        return outcome.own_seconds if self.measured else self.of(allocation.learner, allocation.size)

    def paid_for(self, learner: str) -> float:
        """Return what a learner has cost so far."""
        curve = self._curves[learner]
        if self.measured:
            return sum(point.own_seconds for point in curve.measurements)
        return sum(self.of(learner, size) for size in curve.sizes)

    def first_limit(self, learner: str) -> float | None:
        """Return the seconds after which a first evaluation is ended, which has no forecast; None for no limit."""
        if not self.measured:
            return None
        return max(FIRST_SECONDS, OVERRUN * self.lost(learner))

    def lost(self, learner: str) -> float:
        """Return the seconds of the learner's evaluation that was ended last; 0 if none was."""
        return self._ended.get(learner, (0, 0.0))[1]

    def ended(self, allocation: Allocation, seconds: float) -> None:
        """Note that an evaluation was ended at its limit."""
        self._ended[allocation.learner] = (allocation.size, seconds)

    def _ratios(self, learner: str, size: int) -> list[float]:
        """Return how many times as much relatives have cost at a size as at the learner's."""
        group, start = self._groups.of(learner), self._curves[learner].sizes[-1]
        found = []
        for name in self._groups.started(group) if group else ():
            curve = self._curves[name]
            times = {each: point.own_seconds for each, point in zip(curve.sizes, curve.measurements, strict=True)}
            if times.get(start) and size in times:
                found.append(times[size] / times[start])
        return found


def _checked_growths(growths: Mapping[str, Sequence[float]]) -> dict[str, Growth]:
    found = {}
    for name, growth in growths.items():
        if not isinstance(growth, tuple | list) or len(growth) > len(Growth._fields):
            raise InputError(f"`growths` must be up to {len(Growth._fields)} numbers, got {growth!r} for {name!r}.")
        found[name] = Growth(*(number(value, "growths") for value in growth))
    return found


def _checked_costs(costs: object) -> dict[str, list[float]]:
    wanted = '"measured", or a factor and an exponent for each learner'
    if not isinstance(costs, Mapping):
        raise InputError(f"`costs` must be {wanted}, got {costs!r}.")
    found = {}
    for name, cost in costs.items():
        if not isinstance(cost, Sequence) or len(cost) != len(USUAL_COST):
            raise InputError(f"`costs` must be {wanted}, got {cost!r} for {name!r}.")
        found[name] = [number(value, "costs") for value in cost]
        if not (0 < found[name][0] < LARGEST_ERROR and EXPONENTS[0] <= found[name][1] <= EXPONENTS[1]):
            limits = " to ".join(map(str, EXPONENTS))
            raise InputError(f"`costs` must be a positive factor and an exponent from {limits}, got {cost!r}.")
    return found
