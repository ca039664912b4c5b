"""Learners with parameters that are searched: a space, the points in it, and proposals of new points.

A point has a number for each parameter: the position in a list of values, or the quantile of a distribution. So points
can be written into a journal, and mean the same in every run. New points are proposed by Optuna's TPE sampler, near
points that did well and now and then far from them; the first ones are drawn at random.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pydaub.errors import InputError
from pydaub.learners.base import Estimator, Learner, unknown_parameter, with_params

if TYPE_CHECKING:
    from numpy.random import Generator

Point: TypeAlias = dict[str, float]
Table: TypeAlias = Mapping[str, Any]  # lists of values, and distributions, by parameter

BRANCH: Final = "branch"  # of a point: the number of its table, where a space has several
FIRST_DRAWS: Final = 8  # points that are drawn at random before any is proposed
TRIES: Final = 40  # to find a point that is new
INSIDE: Final = (1e-6, 1 - 1e-6)  # quantiles that are used: distributions may reach to infinity


@dataclass(frozen=True, slots=True)
class Space(Learner):
    """A learner whose parameters are searched: new configurations enter a run as long as they are worth their time.

    Parameters
    ----------
    name, estimator, description, family, params
        As for `Learner`.
    parameters
        Dict from parameters of the estimator to lists of values or to distributions of scipy. A list of dicts holds
        alternatives, for parameters that matter only together with certain values of others.
    make
        Returns the estimator with given parameters; None to set them on `estimator`.

    Raises
    ------
    InputError
        If a parameter has neither values nor a distribution, or if the estimator has no such parameter.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.svm import SVC
    >>> space = Space("svm", SVC(), parameters=[{"C": loguniform(0.1, 100)}, {"C": [1, 10], "kernel": ["linear"]}])
    >>> space.settings({"branch": 1, "C": 1, "kernel": 0})
    {'C': 10, 'kernel': 'linear'}
    """

    _: KW_ONLY
    parameters: Table | Sequence[Table]
    make: Callable[[Mapping[str, Any]], Estimator] | None = None

    def __post_init__(self) -> None:
        super(Space, self).__post_init__()  # `slots` makes a new class, which `super()` does not know
        tables = self.tables
        if not tables or not all(isinstance(table, Mapping) and table for table in tables):
            raise InputError(
                f"`parameters` of space {self.name!r} must be a dict of parameters to values or distributions, or a"
                f" list of such dicts, got {self.parameters!r}."
            )
        if self.make is None and (unknown := unknown_parameter(self.estimator, tables)) is not None:
            raise InputError(
                f"Space {self.name!r} must name parameters of {type(self.estimator).__name__}, got {unknown!r}."
                f" It has {', '.join(sorted(self.estimator.get_params()))}."
            )
        for parameter, values in (each for table in tables for each in table.items()):
            if not hasattr(values, "ppf") and not (_is_list(values) and len(values)):
                raise InputError(
                    f"Parameter {parameter!r} of space {self.name!r} must have a list of values or a distribution of"
                    f" scipy, got {values!r}."
                )

    @property
    def tables(self) -> Sequence[Table]:
        """The alternatives."""
        given: Any = self.parameters
        return [given] if isinstance(given, Mapping) else list(given) if isinstance(given, list | tuple) else []

    @property
    def count(self) -> float:
        """How many configurations there are; infinite if a parameter has a continuous distribution."""
        return sum(math.prod(_count(values) for values in table.values()) for table in self.tables)

    def settings(self, point: Mapping[str, float]) -> dict[str, Any]:
        """Return the parameters at a point."""
        table = self.tables[int(point.get(BRANCH, 0))]
        return {name: _value(values, point[name]) for name, values in table.items()}

    def at(self, point: Mapping[str, float], name: str) -> Learner:
        """Return the learner at a point."""
        settings = self.settings(point)
        estimator = self.make(settings) if self.make else with_params(self.estimator, settings)
        return Learner(name, estimator, f"{self.description or self.name}: {in_words(settings)}", params=settings)

    def first(self, count: int, seed: int) -> list[Point]:
        """Return different points at random, or all of them where there are fewer."""
        generator, found, known = np.random.default_rng(seed), list[Point](), list[dict[str, Any]]()
        for _ in range(TRIES * count):
            point = self._drawn(generator)
            if (settings := self.settings(point)) not in known:
                found.append(point)
                known.append(settings)
            if len(found) == min(count, self.count):
                break
        return found

    def _drawn(self, generator: Generator) -> Point:
        branch = int(generator.integers(len(self.tables)))
        point: Point = {BRANCH: branch} if len(self.tables) > 1 else {}
        for name, values in self.tables[branch].items():
            place = generator.uniform(*INSIDE) if hasattr(values, "ppf") else int(generator.integers(len(values)))
            point[name] = place
        return point

    def proposed(self, history: Sequence[tuple[Point, float | None]], seed: int) -> Point:
        """Return a new point, given those that were tried and their scores; None for a score that is not known."""
        known = [self.settings(point) for point, _ in history]
        point, rest = self._sampled(history, seed), np.random.default_rng(seed)
        for _ in range(TRIES * len(known)):
            if self.settings(point) not in known:
                break
            point = self._drawn(rest)
        return point

    def _sampled(self, history: Sequence[tuple[Point, float | None]], seed: int) -> Point:
        """Return what Optuna proposes; the sampler begins anew each time, so that a resumed run proposes the same."""
        check_optuna()
        import optuna  # noqa: PLC0415  # an extra

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that `group` is experimental
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=1, multivariate=True, group=True)
            study = optuna.create_study(direction="maximize", sampler=sampler)
            for point, score in history:
                if score is not None:
                    branch = int(point.get(BRANCH, 0))
                    named = {self._key(name, branch): value for name, value in point.items()}
                    distributions = self._distributions(branch)
                    study.add_trial(optuna.create_trial(params=named, distributions=distributions, value=score))
            return self._suggested(study.ask())

    def _suggested(self, trial: Any) -> Point:  # noqa: ANN401  # of Optuna
        point: Point = {}
        if len(self.tables) > 1:
            point[BRANCH] = trial.suggest_categorical(BRANCH, [*range(len(self.tables))])
        branch = int(point.get(BRANCH, 0))
        for name, values in self.tables[branch].items():
            key = self._key(name, branch)
            if hasattr(values, "ppf"):
                point[name] = trial.suggest_float(key, *INSIDE)
            elif _is_sorted(values):
                point[name] = trial.suggest_int(key, 0, len(values) - 1)
            else:
                point[name] = trial.suggest_categorical(key, [*range(len(values))])
        return point

    def _key(self, name: str, branch: int) -> str:
        """Return Optuna's name of a parameter: another one in each alternative, because its values differ."""
        return name if name == BRANCH else f"{branch} {name}"

    def _distributions(self, branch: int) -> dict[str, Any]:
        """Return the distributions of a point's numbers: places in sorted lists are ordered, in others they are not."""
        from optuna import distributions  # noqa: PLC0415  # an extra

        found: dict[str, Any] = {}
        if len(self.tables) > 1:
            found[BRANCH] = distributions.CategoricalDistribution([*range(len(self.tables))])
        for name, values in self.tables[branch].items():
            key = self._key(name, branch)
            if hasattr(values, "ppf"):
                found[key] = distributions.FloatDistribution(*INSIDE)
            elif _is_sorted(values):
                found[key] = distributions.IntDistribution(0, len(values) - 1)
            else:
                found[key] = distributions.CategoricalDistribution([*range(len(values))])
        return found


def check_optuna() -> None:
    """Raise InputError where Optuna is missing."""
    if find_spec("optuna") is None:
        raise InputError("A space of learners needs Optuna, which is not installed. Install pydaub[spaces].")


def in_words(settings: Mapping[str, Any]) -> str:
    """Return parameters for people.

    >>> in_words({"learner__num_leaves": 31, "learning_rate": 0.0312345})
    'num leaves 31, learning rate 0.0312'
    """
    shown = {name.rpartition("__")[2].replace("_", " "): value for name, value in settings.items()}
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in shown.items()
    )


def _is_list(values: object) -> bool:
    return isinstance(values, list | tuple | np.ndarray | range)


def _is_sorted(values: Any) -> bool:  # noqa: ANN401  # a list
    if not all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        return False
    return all(a < b for a, b in pairwise(values))


def _count(values: Any) -> float:  # noqa: ANN401  # a list or a distribution
    if not hasattr(values, "ppf"):
        return len(values)
    low, high = values.support() if _is_discrete(values) else (0.0, math.inf)
    return high - low + 1


def _is_discrete(values: Any) -> bool:  # noqa: ANN401  # a distribution
    return hasattr(getattr(values, "dist", None), "pmf")


def _value(values: Any, place: float) -> Any:  # noqa: ANN401  # of any type
    if not hasattr(values, "ppf"):
        return values[int(place)]
    found = values.ppf(place)
    return int(found) if _is_discrete(values) else float(found)
