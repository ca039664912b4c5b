"""DAUB: Algorithm 1 of the paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.bounds import UpperBound, value
from pydaub.algorithm.proof import prove
from pydaub.algorithm.strategies.base import UNKNOWN_SCORES
from pydaub.algorithm.strategies.bounded import BOUND, BOUND_PARAMETERS, bound_settings, make_bound
from pydaub.algorithm.strategies.ranking import Ranking
from pydaub.algorithm.strategies.steerable import BOOSTED, Steerable
from pydaub.records import Allocation, Failure, Outcome, score_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.algorithm.proof import Proof
    from pydaub.algorithm.schedule import Schedule
    from pydaub.records import Scores

BOOTSTRAP: Final = 3  # Alg. 1: b, b r and b r^2


class Daub(Steerable):
    """Data Allocation using Upper Bounds.

    Every learner first gets the three smallest sizes. Then the learner with the highest bound gets its next size, again
    and again, until one has had all rows; that one is selected. A learner with a lower bound waits; none is dropped.
    Ties go to the learner listed first. If the three smallest sizes already reach the full size, the best validation
    score there wins.

    A learner that a person boosted to all rows competes there with its score instead of a bound, and is selected once
    no other learner has a higher bound.

    Parameters
    ----------
    learners
        Names of the learners, all different.
    schedule
        Sizes that may be allocated.
    bound
        "slope" (the paper's), "line", "isotonic", "concave", "spline", "hoeffding", "bernstein", a name that an
        installed package adds, or any callable `(curve, full_size) -> float`.
    train_bound
        Whether the training score caps the bound. False is the paper's variant "no f^T". None stands for True, but for
        False with "hoeffding" and "bernstein", whose probability does not cover such a cap.
    non_increasing_bound
        Whether a learner's bound may never rise.
    scores
        What the scores are. The bounds "hoeffding" and "bernstein" need the number of validation rows.
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
        self._bootstrap = self.schedule.sizes[:BOOTSTRAP]
        self._bootstrapping = Ranking()  # learners that have not had these sizes yet, in their order
        for position in range(len(self.learners)):
            self._bootstrapping.push(0.0, position)
        self._waiting = Ranking()  # by priority; the learner of the outstanding allocation is not in it
        self._reached: str | None = None  # the learner that got all rows by its bound

    def forecast(self) -> Iterator[Allocation]:
        """Yield the rest of the bootstrap, then the next sizes of the learners with the highest bounds."""
        asked = next(iter(self.outstanding), None)
        for _, position in self._bootstrapping:
            learner = self.learners[position]
            had = self._curves[learner].sizes[-1:] or (0,)
            last = asked.size if asked and asked.learner == learner else had[0]
            yield from (Allocation(learner, size) for size in self._bootstrap if size > last)
        if self.winner is None:
            own = self._bounds.get(asked.learner) if asked else None
            yield from self._leaders(self._waiting, own)

    def priority(self, learner: str) -> float | None:
        """Return the learner's bound; at the full size, its score."""
        self._check_known(learner)
        if self._has_all_rows(learner):
            return self._curves[learner].measurements[-1].valid_score
        return self._bounds.get(learner)

    def proof(self) -> Proof | None:
        """Return what is proved of the learners that did not fail."""
        running = {name: curve for name, curve in self._curves.items() if name not in self._failures}
        return prove(self._bound, running, self.schedule)

    def _ranked_reason(self) -> str:
        asked = next(iter(self.outstanding), None)
        if asked is None or asked.size <= self._bootstrap[-1]:
            return f"every learner starts with the {len(self._bootstrap)} smallest sizes"
        own, following = float(self._bounds[asked.learner]), self._waiting.first
        if following is None:
            return f"its bound {score_text(own)} is the only one left"
        most, position = following
        after = f"{self.learners[position]} follows with {score_text(float(most))}"
        return f"its bound {score_text(own)} is the highest; {after}"

    @property
    def settings(self) -> dict[str, Any]:
        """Plain JSON values; two strategies with the same settings ask the same."""
        return {**super().settings, **self._bound_settings}

    def _choose(self) -> Allocation | None:
        if first := self._bootstrapping.first:
            learner = self.learners[first[1]]
            return Allocation(learner, self._bootstrap[len(self._curves[learner].sizes)])
        if not self._waiting:
            return None
        learner = self.learners[self._waiting.pop()]  # Alg. 1: j <- argmax u_i
        return Allocation(learner, self._next_size[self._curves[learner].sizes[-1]])

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner, size, last = allocation.learner, allocation.size, self._bootstrap[-1]
        position, failed = self._position[learner], isinstance(outcome, Failure)
        if not failed and size >= last:  # Alg. 1: UpdateBound
            bound = value(self._bound, self._curves[learner], self.schedule.full_size)
            if math.isfinite(drop := self._bounds.get(learner, bound) - bound):
                self._key_drops += max(drop, 0.0)
                self._key_drop_count += size > last
            self._bounds[learner] = bound
        if failed or size >= last:
            self._bootstrapping.discard(position)
        if not failed and size == self.schedule.full_size and self._why != BOOSTED:
            self._reached = learner
        elif not failed:
            self._enter(learner)

    def _enter(self, learner: str) -> None:
        position = self._position[learner]
        if len(self._curves[learner].sizes) < len(self._bootstrap):
            self._bootstrapping.push(0.0, position)
        elif (priority := self.priority(learner)) is not None:
            self._waiting.push(priority, position)

    def _reopen(self) -> None:
        """Let the learners that have all rows compete with their scores, instead of the race being over."""
        if self._reached is not None:
            self._reached = None
            for other in self._at_full:
                self._enter(other)

    def _leave(self, learner: str) -> None:
        if learner == self._reached:
            self._reopen()
        self._bootstrapping.discard(self._position[learner])
        self._waiting.discard(self._position[learner])

    def _done(self) -> bool:
        if self._bootstrapping:
            return False
        first = self._waiting.first
        return self._reached is not None or (first is not None and self._has_all_rows(self.learners[first[1]]))
