"""Recipes: how to build a built-in learner once the columns of the data are known."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pydaub.learners.base import Learner
from pydaub.learners.encoding import How, encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.data.schema import Schema
    from pydaub.learners.base import Estimator

# The extra of pydaub that installs each optional package.
EXTRAS: Final = {"catboost": "boost", "imodels": "rules", "lightgbm": "boost", "xgboost": "boost"}
TWO: Final = 2


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
    numbers
        Whether the estimator takes a numeric matrix only.
    """

    name: str
    description: str
    how: How
    make: Callable[[], Estimator]
    package: str = ""
    dense: bool = False
    two: bool = False
    needs: Callable[[], str] | None = None
    numbers: bool = False

    def obstacle(self, schema: Schema) -> str:
        """Return why this learner cannot be used here or on such rows, and what to do; empty if it can."""
        if self.package and find_spec(self.package) is None:
            return f"{self.package} is not installed. Install pydaub[{EXTRAS[self.package]}]."
        if self.dense and schema.form == "sparse":
            return "it cannot take sparse rows. Leave it out."
        if self.numbers and schema.form != "matrix":
            return f"it takes a numeric matrix only, and this data is a {schema.form}. Leave it out."
        if self.two and len(schema.classes) > TWO:
            return f"it is for two classes and there are {len(schema.classes)}. Leave it out."
        return self.needs() if self.needs else ""

    def learner(self, schema: Schema) -> Learner:
        """Build the learner for rows of this schema."""
        return Learner(self.name, encoded(self.make(), schema, self.how), self.description)


def optional(package: str, name: str, **settings: object) -> Callable[[], Estimator]:
    """Return a factory of an estimator that imports its package only when it is called."""
    return lambda: getattr(import_module(package), name)(**settings)
