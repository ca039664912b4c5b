"""All learners on a small sample, then the best one on everything: the shortcut that the paper warns about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies.rounds import Rounds

if TYPE_CHECKING:
    from pydaub.algorithm.strategies.ranking import Ranking


class Subset(Rounds):
    """Every learner gets the schedule's first size; the best validation score there gets all rows and wins.

    Cheap, and arbitrarily wrong where curves cross after that size.

    Parameters
    ----------
    learners, schedule
        As for `Strategy`.
    """

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({sizes[0], sizes[-1]}))

    def _cut(self, measured: Ranking) -> tuple[int, float]:  # noqa: ARG002  # required by the signature
        return 1, -math.inf
