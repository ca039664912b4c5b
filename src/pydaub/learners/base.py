"""A learner is an unfitted estimator with a name; a portfolio is an ordered dict of learners by name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydaub.errors import InputError

# scikit-learn has no type annotations.
Estimator: TypeAlias = Any  # has fit, predict, get_params and set_params
Labels: TypeAlias = Any  # y
RandomState: TypeAlias = Any  # None, an integer or a numpy RandomState
Rows: TypeAlias = Any  # X: an array, a sparse matrix or a data frame of any library


@dataclass(frozen=True, slots=True)
class Learner:
    """An unfitted estimator with the name it has in a run.

    Parameters
    ----------
    name
        Name of the learner in the run, the journal and the results.
    estimator
        Unfitted scikit-learn estimator or pipeline.
    description
        One line for people who choose among learners.

    Raises
    ------
    InputError
        If the name is empty, or if `estimator` is a class or lacks `fit`, `predict` or `get_params`.
    """

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
        missing = [method for method in ("fit", "predict", "get_params") if not hasattr(self.estimator, method)]
        if missing:
            got = f"{type(self.estimator).__name__} without `{'`, `'.join(missing)}`"
            raise InputError(f"Learner {self.name!r} must be a scikit-learn estimator, got {got}.")


Portfolio: TypeAlias = dict[str, Learner]  # the order breaks ties, so cheap and simple learners come first
