"""What learners of families have gained from more rows, and so what others may expect."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.outlook import FLAT_DEVIATION, MOST_REDUCTION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.strategies.groups import Groups

LEAST: Final = 3  # learners of its own family, or families, that tell what a learner may expect
MANY: Final = 20  # learners that tell it well
# What is assumed before it is known, and counts as much as `ASSUMED` observations: the standard deviation of gains
# within a family, as a share of the mean gain (at least `SMALLEST_GAIN` per doubling), and between families, per
# doubling.
WITHIN, BETWEEN, ASSUMED, SMALLEST_GAIN = 0.3, 0.1, 2, 0.02

Gain = tuple[float, float, int]  # mean and standard deviation of the log-error reduction over so many steps


class Relatives:
    """The learners of families and spaces that have an outcome.

    Learners of one family gain alike from more rows, and those of different families less so. So a learner expects what
    its family has gained, or, where few of its family have got so far, something between that and the mean of all
    families.

    Parameters
    ----------
    groups
        The families and spaces.
    curves
        What was measured, by name.
    """

    def __init__(self, groups: Groups, curves: Mapping[str, Curve]) -> None:
        self._groups, self._curves = groups, curves
        self._members: dict[str, list[str]] = {}  # by family or space
        self._gains: dict[tuple[int, int, float], dict[str, list[float]]] = {}  # cache, until there is a new outcome

    def join(self, learner: str) -> Iterator[str]:
        """Take up a learner's new outcome, and yield the learners that may expect something else because of it."""
        family, size = self._groups.of(learner), self._curves[learner].sizes[-1]
        if family is None:
            return
        self._gains.clear()
        members = self._members.setdefault(family, [])
        if learner not in members:
            members.append(learner)
        smaller = {
            each: [*filter(lambda name: self._size(name) < size, names)] for each, names in self._members.items()
        }
        others = sum(map(len, self._members.values())) - sum(map(len, smaller.values()))
        for each, names in smaller.items():
            count = len(members) - len(names) if each == family else others
            if count <= MANY or count % MANY == 0:
                yield from names

    def _size(self, learner: str) -> int:
        return self._curves[learner].sizes[-1]

    def expected(self, learner: str, ahead: Sequence[int], top: float, chance: float) -> Gain | None:
        """Return what a learner may gain by its next steps, as far as enough others have made them.

        Parameters
        ----------
        learner
            Its name; it has an outcome.
        ahead
            The sizes that it has not had, in ascending order.
        top
            Best possible score.
        chance
            By how much logarithms of errors differ by chance.
        """
        family = self._groups.of(learner)
        if family is None:
            return None
        start = self._size(learner)
        for count in range(len(ahead), 0, -1):
            gains = self._gained(start, ahead[count - 1], top)
            if max(len(gains), len(gains.get(family, ()))) >= LEAST:
                doublings = math.log2(ahead[count - 1] / start)
                return *pooled_gain(gains, family, doublings, chance), count
        return None

    def _gained(self, start: int, end: int, top: float) -> dict[str, list[float]]:
        """Return the log-error reductions from one size to another, by family."""
        key = (start, end, top)
        if key not in self._gains:
            found = {family: [*self._reductions(names, *key)] for family, names in self._members.items()}
            self._gains[key] = {family: gains for family, gains in found.items() if gains}
        return self._gains[key]

    def _reductions(self, names: Sequence[str], start: int, end: int, top: float) -> Iterator[float]:
        for name in names:
            curve = self._curves[name]
            errors = {
                size: top - point.valid_score for size, point in zip(curve.sizes, curve.measurements, strict=True)
            }
            before, after = errors.get(start, 0.0), errors.get(end, 0.0)
            if before > 0 and after > 0:
                yield math.log(before / after)


def pooled_gain(
    gains: Mapping[str, Sequence[float]], family: str, doublings: float, chance: float
) -> tuple[float, float]:
    """Return mean and standard deviation of what a learner of a family may gain.

    The model has random effects: the mean gain of a family deviates from that of all families, and the gain of a
    learner from that of its family.

    Parameters
    ----------
    gains
        What learners have gained, by family.
    family
        The learner's own.
    doublings
        Over how many doublings of the rows.
    chance
        By how much gains differ by chance.
    """
    means = {name: fmean(some) for name, some in gains.items()}
    overall = fmean(means.values())
    within = sum((gain - means[name]) ** 2 for name, some in gains.items() for gain in some)
    within += ASSUMED * (WITHIN * max(abs(overall), SMALLEST_GAIN * doublings)) ** 2
    within /= ASSUMED + sum(len(some) - 1 for some in gains.values())
    within = max(within - chance**2, (FLAT_DEVIATION / 2) ** 2)
    between = ASSUMED * (BETWEEN * doublings) ** 2 + sum((mean - overall) ** 2 for mean in means.values())
    between /= ASSUMED + len(means) - 1
    own = len(gains.get(family, ())) * between
    known = own / (own + within)  # how much of the family's deviation is known
    mean = overall + known * (means.get(family, overall) - overall)
    variance = within + (1 - known) * between * (1 + (1 - known) / len(means))
    return mean, min(math.sqrt(variance), MOST_REDUCTION)
