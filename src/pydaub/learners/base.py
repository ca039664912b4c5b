"""A learner: an unfitted estimator with a name. A portfolio: learners by name, in order."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydaub.errors import InputError

# scikit-learn has no types of its own.
Estimator: TypeAlias = Any  # has fit, predict, get_params and set_params
Labels: TypeAlias = Any  # y
RandomState: TypeAlias = Any  # None, a number or numpy's RandomState
Rows: TypeAlias = Any  # X: an array, a sparse matrix or a data frame of any library


@dataclass(frozen=True, slots=True)
class Learner:
    """An unfitted scikit-learn estimator or pipeline, the name it has in a run, and a line on what it is."""

    name: str
    estimator: Estimator
    description: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"`name` of a learner must be text, got {self.name!r}. Name each learner.")
        if not isinstance(self.description, str):
            raise InputError(f"`description` of learner {self.name!r} must be text, got {self.description!r}.")
        if inspect.isclass(self.estimator):
            kind = self.estimator.__name__
            raise InputError(f"Learner {self.name!r} must be an estimator, got the class {kind}. Write {kind}().")
        lacking = [verb for verb in ("fit", "predict", "get_params") if not hasattr(self.estimator, verb)]
        if lacking:
            got = f"{type(self.estimator).__name__} without `{'`, `'.join(lacking)}`"
            raise InputError(f"Learner {self.name!r} must be a scikit-learn estimator, got {got}.")


Portfolio: TypeAlias = dict[str, Learner]  # the order breaks ties: cheap and simple learners first
