"""Round-based elimination by bounds: the simpler alternative that the paper's Remark argues against."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pydaub.algorithm.bounds import check_bound, described, value
from pydaub.algorithm.strategies.daub import BOOTSTRAP, PAPER_BOUND
from pydaub.algorithm.strategies.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydaub.algorithm.bounds import UpperBound
    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.schedule import Schedule
    from pydaub.algorithm.strategies.base import Ranking


class Elimination(Rounds):
    """In each round all active learners get the next size; who cannot reach the round's best is dropped.

    Learner j is dropped when its bound u_j(n) is below f_i(n) for some learner i that is ahead of it. As with DAUB,
    bounds exist from the third size on. Every learner that is still active pays for every round, which is why DAUB's
    suspending needs less (the paper's Remark).
    """

    def __init__(self, learners: Iterable[str], schedule: Schedule, bound: UpperBound = PAPER_BOUND) -> None:
        super().__init__(learners, schedule)
        check_bound(bound)
        self._bound = bound
        self._lead = -math.inf  # the best f_i(n) of this round

    @property
    def settings(self) -> dict[str, Any]:
        """What makes two strategies ask the same, in plain JSON values."""
        return {**super().settings, "bound": described(self._bound)}

    def _key(self, curve: Curve) -> float:
        score, key = curve.valid[-1], math.inf
        if len(curve.sizes) >= BOOTSTRAP:
            self._bounds[curve.learner] = value(self._bound, curve, self.schedule.full_size)
            # Who is level with the best stays, even where a low training score caps its bound below that.
            key = max(self._bounds[curve.learner], score)
        self._lead = max(self._lead, score)
        return key

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        floor, self._lead = self._lead, -math.inf
        return len(measured), floor
