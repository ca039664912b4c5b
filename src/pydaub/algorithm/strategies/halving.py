"""Successive halving on rows, as people use it today."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies.rounds import Rounds

if TYPE_CHECKING:
    from pydaub.algorithm.strategies.base import Ranking


class Halving(Rounds):
    """Each round keeps the best in proportion as the sizes grow: three times the rows, a third of the learners.

    So every round costs about as many rows as the one before (Jamieson and Talwalkar, 2016), and the schedule's
    ratio is what others call eta or factor: 3 is the usual one. Numbers are rounded up.
    """

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        next_size = self._next_size[self._size]
        return -(-len(measured) * self._size // next_size), -math.inf
