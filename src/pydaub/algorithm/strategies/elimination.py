"""Round-based elimination by bounds: the simpler alternative that the paper's Remark argues against."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pydaub.algorithm.bounds import value
from pydaub.algorithm.proof import prove
from pydaub.algorithm.strategies.base import UNKNOWN_SCORES
from pydaub.algorithm.strategies.bounded import BOUND, BOUND_PARAMETERS, bound_settings, make_bound
from pydaub.algorithm.strategies.daub import BOOTSTRAP
from pydaub.algorithm.strategies.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydaub.algorithm.bounds import UpperBound
    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.proof import Proof
    from pydaub.algorithm.schedule import Schedule
    from pydaub.algorithm.strategies.ranking import Ranking
    from pydaub.records import Scores


class Elimination(Rounds):
    """In each round every active learner gets the next size; learners that cannot reach the best are eliminated.

    Learner j is eliminated when its bound u_j(n) is below f_i(n) for some learner i. As in DAUB, bounds exist from the
    third size on. Every active learner pays for every round, which is why DAUB costs less (the paper's Remark).

    Parameters
    ----------
    learners, schedule, bound, train_bound, non_increasing_bound, scores
        As for `Daub`.
    """

    parameters = BOUND_PARAMETERS
    needs_scores = True
    needs_train_scores = True

    def __init__(  # noqa: PLR0913  # its parameters
        self,
        learners: Iterable[str],
        schedule: Schedule,
        bound: str | UpperBound = BOUND.default,
        *,
        train_bound: bool | None = None,
        non_increasing_bound: bool = False,
        scores: Scores = UNKNOWN_SCORES,
    ) -> None:
        super().__init__(learners, schedule)
        self._bound = make_bound(
            bound,
            train_bound=train_bound,
            non_increasing_bound=non_increasing_bound,
            scores=scores,
            looks=len(self.learners) * len(self.schedule.sizes),
        )
        self._bound_settings = bound_settings(bound, self._bound, train_bound=train_bound, scores=scores)
        self._lead = -math.inf  # the best f_i(n) of this round

    def proof(self) -> Proof | None:
        """Return what is proved of the learners that did not fail."""
        running = {name: curve for name, curve in self._curves.items() if name not in self._failures}
        return prove(self._bound, running, self.schedule)

    @property
    def settings(self) -> dict[str, Any]:
        """Plain JSON values; two strategies with the same settings ask the same."""
        return {**super().settings, **self._bound_settings}

    def _key(self, curve: Curve) -> float:
        score, key = curve.valid[-1], math.inf
        if len(curve.sizes) >= BOOTSTRAP:
            self._bounds[curve.learner] = value(self._bound, curve, self.schedule.full_size)
            # A learner level with the best stays, even where a low training score caps its bound below that.
            key = max(self._bounds[curve.learner], score)
        self._lead = max(self._lead, score)
        return key

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        floor, self._lead = self._lead, -math.inf
        return len(measured), floor
