"""The learning curve of one learner, with the paper's monotone regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from pydaub.errors import InputError
from pydaub.records import Measurement, whole


@dataclass(frozen=True, slots=True)
class Curve:
    """Measurements of one learner at strictly increasing sizes.

    Parameters
    ----------
    learner
        Name of the learner.
    sizes
        The sizes it was trained on, strictly increasing.
    measurements
        What was measured at each size. Their `valid_score` is the raw one.

    Attributes
    ----------
    valid
        The corrected validation scores (Alg. 1, TrainLearner). When a new score is below the previous corrected one,
        both become their mean. Only these two points change; the correction does not cascade further back, so `valid`
        may still fall between older points.

    Raises
    ------
    InputError
        If the sizes do not strictly increase from 1 or more, or there are not as many measurements as sizes.

    Examples
    --------
    >>> from pydaub import Measurement
    >>> curve = Curve("tree")
    >>> for size, score in [(500, 0.50), (750, 0.75), (1125, 0.25)]:
    ...     curve = curve.extended(size, Measurement(1.0, score, 0.1))
    >>> curve.valid
    (0.5, 0.5, 0.5)
    >>> [measurement.valid_score for measurement in curve.measurements]
    [0.5, 0.75, 0.25]
    """

    learner: str
    sizes: tuple[int, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    valid: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, tuple | list) or not isinstance(self.measurements, tuple | list):
            raise InputError(
                f"`sizes` and `measurements` must be tuples, got {self.sizes!r} and {self.measurements!r}."
            )
        if not all(isinstance(each, Measurement) for each in self.measurements):
            raise InputError(f"`measurements` must be Measurements, got {self.measurements!r}.")
        if len(self.sizes) != len(self.measurements):
            lengths = f"{len(self.sizes)} and {len(self.measurements)}"
            raise InputError(f"`sizes` and `measurements` must have the same length, got {lengths}.")
        sizes = (0, *(whole(size, "sizes") for size in self.sizes))
        if any(next_size <= size for size, next_size in pairwise(sizes)):
            raise InputError(f"`sizes` of {self.learner!r} must strictly grow from 1 or more, got {self.sizes}.")
        valid: list[float] = []
        for measurement in self.measurements:
            score = measurement.valid_score
            if valid and score < valid[-1]:
                # The signs in the paper's pseudo-code drive the two apart; its text lets them meet in the middle.
                valid[-1] = score = (valid[-1] + score) / 2
            valid.append(score)
        object.__setattr__(self, "valid", tuple(valid))

    def extended(self, size: int, measurement: Measurement) -> Curve:
        """Return a curve with one more point, at a larger size than the last."""
        return Curve(self.learner, (*self.sizes, size), (*self.measurements, measurement))

    def prefix(self, length: int) -> Curve:
        """Return the curve as it was after its first `length` points, without later corrections."""
        return Curve(self.learner, self.sizes[:length], self.measurements[:length])
