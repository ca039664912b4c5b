"""How a learner of the default portfolio is made, once the columns of the data are known."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from pydaub.learners.base import Learner
from pydaub.learners.encoding import How, encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.data.schema import Schema

# The optional packages, and the extra of pydaub that brings each.
EXTRAS: Final = {"catboost": "boost", "imodels": "rules", "lightgbm": "boost", "xgboost": "boost"}
TWO: Final = 2


@dataclass(frozen=True, slots=True)
class Recipe:
    """A learner that is not made yet, since its preprocessing depends on the columns and its import takes seconds.

    `make` returns the bare estimator and `how` is what `encoding.encoded` does to the rows for it. `package` is the
    optional package it comes from; `dense` says that it cannot take sparse rows, `two` that it knows only two classes,
    `numbers` that it takes nothing but numbers. `needs` returns what else is missing on this machine.
    """

    name: str
    description: str
    how: How
    make: Callable[[], Any]
    package: str = ""
    dense: bool = False
    two: bool = False
    needs: Callable[[], str] | None = None
    numbers: bool = False

    def obstacle(self, schema: Schema) -> str:
        """Return why such rows cannot be learnt with it here, and what to do; empty where they can."""
        if self.package and find_spec(self.package) is None:
            return f"{self.package} is not installed. Install pydaub[{EXTRAS[self.package]}]."
        if self.dense and schema.form == "sparse":
            return "it cannot take sparse rows. Leave it out."
        if self.numbers and schema.form != "matrix":
            return f"it takes rows of numbers alone, and these are a {schema.form}. Leave it out."
        if self.two and len(schema.classes) > TWO:
            return f"it is for two classes and there are {len(schema.classes)}. Leave it out."
        return self.needs() if self.needs else ""

    def learner(self, schema: Schema) -> Learner:
        """Return the learner for rows such as these."""
        return Learner(self.name, encoded(self.make(), schema, self.how), self.description)


def optional(package: str, name: str, **settings: object) -> Callable[[], Any]:
    """Return what makes an estimator of an optional package, which is imported only then."""
    return lambda: getattr(import_module(package), name)(**settings)
