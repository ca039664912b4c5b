"""All on a small subset, then the best on everything: the shortcut that the paper warns of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies.rounds import Rounds

if TYPE_CHECKING:
    from pydaub.algorithm.strategies.base import Ranking


class Subset(Rounds):
    """Every learner gets the schedule's first size; the best validation score there gets all rows and wins.

    Cheap, and arbitrarily wrong where curves cross after that size.
    """

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({sizes[0], sizes[-1]}))

    def _cut(self, measured: Ranking) -> tuple[int, float]:  # noqa: ARG002  # the round's signature
        return 1, -math.inf
