"""The default portfolio: scikit-learn's learners, and those of optional packages that are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydaub.learners.classifiers import CLASSIFIERS
from pydaub.learners.regressors import REGRESSORS

if TYPE_CHECKING:
    from pydaub.data.schema import Schema
    from pydaub.learners.base import Portfolio
    from pydaub.learners.recipe import Recipe


def recipes(schema: Schema) -> dict[str, Recipe]:
    """Return the recipes of the schema's task, those that cannot be used here or on such rows included."""
    table = CLASSIFIERS if schema.task == "classification" else REGRESSORS
    return {recipe.name: recipe for recipe in table}


def classification(schema: Schema) -> Portfolio:
    """Return the classifiers that can learn from such rows, with the preprocessing that they need."""
    return _made(CLASSIFIERS, schema)


def regression(schema: Schema) -> Portfolio:
    """Return the regressors that can learn from such rows, with the preprocessing that they need."""
    return _made(REGRESSORS, schema)


def _made(table: tuple[Recipe, ...], schema: Schema) -> Portfolio:
    return {recipe.name: recipe.learner(schema) for recipe in table if not recipe.obstacle(schema)}
