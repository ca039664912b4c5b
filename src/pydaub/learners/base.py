"""A learner is an unfitted estimator with a name; a recipe builds one once the columns of the data are known."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sklearn.base import clone

from pydaub.errors import InputError, is_of_learner, one_line
from pydaub.learners.encoding import How, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydaub.data.schema import Schema

# scikit-learn has no type annotations.
Estimator: TypeAlias = Any  # has fit, predict, get_params and set_params
Labels: TypeAlias = Any  # y
RandomState: TypeAlias = Any  # None, an integer or a numpy RandomState
Rows: TypeAlias = Any  # X: an array, a sparse matrix or a data frame of any library

# The extra of pydaub that installs each optional package.
EXTRAS: Final = {
    "catboost": "boost",
    "imodels": "rules",
    "lightgbm": "boost",
    "pytabkit": "realmlp",
    "xgboost": "boost",
}
TWO: Final = 2


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
    family
        Common name of learners that differ in their settings only, the most promising first. They gain alike from more
        rows.
    params
        Parameters of the estimator that were chosen for this learner, by a grid or in a space; None if none were
        searched.

    Raises
    ------
    InputError
        If the name is empty, or if `estimator` is a class or lacks `fit`, `predict` or `get_params`.
    """

    name: str
    estimator: Estimator
    description: str = ""
    family: str = ""
    params: Mapping[str, Any] | None = field(default=None, compare=False)

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
        try:
            self.estimator.get_params()
        except BaseException as error:  # code of the user may raise anything
            if not is_of_learner(error):
                raise
            raise InputError(
                f"Learner {self.name!r} must have parameters that can be read, got {one_line(error).rstrip('.')}. Its"
                " `__init__` must name each parameter, without *args, and store it under its own name."
            ) from None


Portfolio: TypeAlias = dict[str, Learner]  # in the order in which they are tried, which also breaks ties


def unknown_parameter(estimator: Estimator, tables: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the first parameter in these tables that the estimator lacks; None if it has them all.

    A table that replaces a part of the estimator may name parameters of the new part.
    """
    known = estimator.get_params()
    for table in tables:
        for name in table:
            if name not in known and not any(str(name).startswith(f"{part}__") for part in table):
                return name
    return None


def with_params(estimator: Estimator, params: Mapping[str, Any]) -> Estimator:
    """Return a copy of an estimator with these parameters, which are copied too: estimators may be among them.

    Raises
    ------
    InputError
        If the estimator refuses a parameter.
    """
    try:
        return clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in params.items()})
    except ValueError as error:
        raise InputError(f"{type(estimator).__name__} must have the parameters that are searched: {error}") from None


@dataclass(frozen=True, slots=True)
class Recipe:
    """A learner that is not built yet: its preprocessing depends on the columns, and importing it may take seconds.

    Parameters
    ----------
    name, description
        As in `Learner`.
    how
        Preprocessing that the estimator needs, as in `encoded`.
    make
        Returns the bare estimator.
    package
        Optional package that the estimator comes from.
    dense
        Whether the estimator refuses sparse rows.
    two
        Whether the estimator handles two classes only.
    needs
        Returns what else is missing on this machine, or an empty string.
    family
        As in `Learner`.
    """

    name: str
    description: str
    how: How
    make: Callable[[], Estimator]
    package: str = ""
    dense: bool = False
    two: bool = False
    needs: Callable[[], str] | None = None
    family: str = ""

    def obstacle(self, schema: Schema) -> str:
        """Return why this learner cannot be used here or on such rows, and what to do; empty if it can."""
        if self.package and find_spec(self.package) is None:
            return f"{self.package} is not installed. Install pydaub[{EXTRAS[self.package]}]."
        if self.dense and schema.form == "sparse":
            return "it cannot take sparse rows. Leave it out."
        if self.two and len(schema.classes) > TWO:
            return f"it is for two classes and there are {len(schema.classes)}. Leave it out."
        return self.needs() if self.needs else ""

    def learner(self, schema: Schema) -> Learner:
        """Build the learner for rows of this schema."""
        return Learner(self.name, encoded(self.make(), schema, self.how), self.description, self.family)


def optional(package: str, name: str, **settings: object) -> Callable[[], Estimator]:
    """Return a factory of an estimator that imports its package only when it is called."""
    return lambda: getattr(import_module(package), name)(**settings)
