"""What learners of families have gained from more rows, and so what others may expect."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.outlook import FLAT_DEVIATION, MOST_REDUCTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.strategies.groups import Groups

LEAST: Final = 3  # learners of its own family, or families, that tell what a learner may expect
MANY: Final = 60  # outcomes that tell it well: from then on, one more changes little
# What is assumed before it is known, and counts as much as `ASSUMED` observations: the standard deviation of gains
# within a family, as a share of the mean gain (at least `SMALLEST_GAIN` per doubling), and between families, per
# doubling.
WITHIN, BETWEEN, ASSUMED, SMALLEST_GAIN = 0.3, 0.1, 2, 0.02


class Relatives:
    """The learners of families and spaces that have had more than the first size.

    Learners of one family gain alike from more rows, and those of different families less so. So a learner expects what
    its family has gained, or, where few of its family have had all rows, something between that and the mean of all
    families.

    Parameters
    ----------
    groups
        The families and spaces.
    curves
        What was measured, by name.
    full_size
        The number of all rows.
    """

    def __init__(self, groups: Groups, curves: Mapping[str, Curve], full_size: int) -> None:
        self._groups, self._curves, self._full_size = groups, curves, full_size
        self._members: dict[str, dict[str, None]] = {}  # by family or space, as ordered sets
        self._outcomes = 0
        self._gains: dict[tuple[int, float], dict[str, list[float]]] = {}  # by size and best possible score; a cache

    def join(self, learner: str) -> bool:
        """Take up a learner's new outcome, and return whether the others should be looked at again because of it."""
        family = self._groups.of(learner)
        if family is None or len(self._curves[learner].sizes) == 1:
            return False
        self._gains.clear()
        self._members.setdefault(family, {})[learner] = None
        self._outcomes += 1
        return self._outcomes <= MANY or self._outcomes % MANY == 0

    def expected(self, learner: str, top: float, chance: float) -> tuple[float, float] | None:
        """Return mean and standard deviation of the log-error reduction that a learner may expect from all rows.

        It is None as long as too few others have had all rows. What they gain on the way tells less: on some data sets
        errors fall faster and faster.

        Parameters
        ----------
        learner
            Its name; it has an outcome.
        top
            Best possible score.
        chance
            By how much logarithms of errors differ by chance.
        """
        family, start = self._groups.of(learner), self._curves[learner].sizes[-1]
        if family is None:
            return None
        gains = self._gained(start, top)
        if max(len(gains), len(gains.get(family, ()))) < LEAST:
            return None
        return pooled_gain(gains, family, math.log2(self._full_size / start), chance)

    def _gained(self, start: int, top: float) -> dict[str, list[float]]:
        """Return the log-error reductions from a size to all rows, by family."""
        if (start, top) not in self._gains:
            found = {family: [*self._reductions(names, start, top)] for family, names in self._members.items()}
            self._gains[start, top] = {family: gains for family, gains in found.items() if gains}
        return self._gains[start, top]

    def _reductions(self, names: Iterable[str], start: int, top: float) -> Iterator[float]:
        for curve in (self._curves[name] for name in names):
            if start in curve.sizes and curve.sizes[-1] == self._full_size:
                before = top - curve.measurements[curve.sizes.index(start)].valid_score
                after = top - curve.measurements[-1].valid_score
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
