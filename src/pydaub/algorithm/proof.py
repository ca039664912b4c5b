"""Who is proved to be worse, where bounds hold with a stated probability (docs/theory.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydaub.algorithm.bounds import NonIncreasing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.algorithm.bounds import UpperBound
    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.schedule import Schedule


@runtime_checkable
class SureBound(Protocol):
    """A bound that holds with a stated probability, for all learners and sizes together.

    Attributes
    ----------
    confidence
        The probability.
    looks
        Number of scores for which it holds: learners times sizes.
    """

    confidence: float
    looks: int

    def __call__(self, curve: Curve, full_size: int, /) -> float:
        """Return the most that the learner can have at the full size."""

    def at_least(self, curve: Curve, /) -> float:
        """Return the least that the learner has at the full size, of a curve that never falls."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is proved of learners at the full size, if their true curves never fall and have diminishing returns.

    Attributes
    ----------
    confidence
        Probability with which all of it holds.
    best
        The learner that is proved to have most.
    at_least
        The least that it has.
    at_most
        The most that each other measured learner can have.
    """

    confidence: float
    best: str
    at_least: float
    at_most: Mapping[str, float]

    @property
    def worse(self) -> dict[str, float]:
        """The learners that are ruled out, and the most that each can have: less than the best surely has."""
        return {name: most for name, most in self.at_most.items() if most < self.at_least}

    def to_json(self) -> dict[str, Any]:
        """Return the proof as plain JSON values."""
        return {
            "confidence": self.confidence,
            "best": self.best,
            "at_least": self.at_least,
            "at_most": dict(self.at_most),
            "worse": sorted(self.worse),
        }


def prove(bound: UpperBound, curves: Mapping[str, Curve], schedule: Schedule) -> Proof | None:
    """Return what a bound proves of learners with these curves.

    None if it states no probability, if nothing was measured, or if there are more learners than it was made for.
    """
    inner = bound.bound if isinstance(bound, NonIncreasing) else bound
    measured = {name: curve for name, curve in curves.items() if curve.sizes}
    if not isinstance(inner, SureBound) or not measured or len(curves) * len(schedule.sizes) > inner.looks:
        return None
    ends = {name: inner.at_least(curve) for name, curve in measured.items()}
    best = max(ends, key=ends.__getitem__)
    others = {name: inner(curve, schedule.full_size) for name, curve in measured.items() if name != best}
    return Proof(inner.confidence, best, ends[best], others)
