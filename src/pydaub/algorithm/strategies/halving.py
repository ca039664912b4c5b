"""Successive halving on rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies.rounds import Rounds

if TYPE_CHECKING:
    from pydaub.algorithm.strategies.ranking import Ranking


class Halving(Rounds):
    """Each round keeps the best learners in proportion to the sizes: three times the rows, a third of the learners.

    So every round costs about as many rows as the previous one (Jamieson and Talwalkar, 2016). The schedule's ratio is
    known elsewhere as eta or factor; 3 is the usual value. Numbers of learners are rounded up.

    Parameters
    ----------
    learners, schedule
        As for `Strategy`.
    """

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        next_size = self._next_size[self._size]
        return -(-len(measured) * self._size // next_size), -math.inf
