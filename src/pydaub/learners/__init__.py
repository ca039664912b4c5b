"""What is trained? One file, one answer; `portfolio` understands what people write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError
from pydaub.learners.base import Learner, Portfolio
from pydaub.learners.encoding import encoded
from pydaub.learners.own import combinations, from_file, listed
from pydaub.learners.recipe import Recipe
from pydaub.learners.sklearn import classification, recipes, regression
from pydaub.learners.weka.table import WEKA

if TYPE_CHECKING:
    from pydaub.data.schema import Schema

__all__ = [
    "PAPER",
    "Learner",
    "Portfolio",
    "Recipe",
    "classification",
    "combinations",
    "encoded",
    "from_file",
    "listed",
    "passed_over",
    "portfolio",
    "recipes",
    "regression",
]

DEFAULT: Final = "sklearn"
PAPER: Final = "weka"


def portfolio(spec: Any, schema: Schema) -> Portfolio:  # noqa: ANN401  # text, a list of items, or what `listed` takes
    """Return the learners that `spec` names, in its order, each once.

    `spec` is text with commas or a list. An item is `sklearn` (the default portfolio), `weka` (the paper's), a
    learner's name, a pattern such as `forest-*`, a Python file, or one of these with a minus in front, which takes
    learners out again: out of the default portfolio where nothing was named before. A list may hold learners and
    (name, estimator) pairs too. Optional packages are imported only for the learners that are left.

    >>> from pydaub.data.schema import Schema
    >>> list(portfolio("knn-*, -knn-1, tree", Schema("matrix", "classification", 2, classes=(0, 1))))
    ['knn-5', 'knn-10', 'knn-25', 'tree']
    """
    if isinstance(spec, str):
        items: list[Any] = [item.strip() for item in spec.split(",") if item.strip()]
    elif isinstance(spec, Path):
        items = [spec]
    elif isinstance(spec, Mapping) or not isinstance(spec, Iterable) or hasattr(spec, "fit"):
        return listed(spec)
    else:
        items = list(spec)
    chosen = _chosen(items, schema)
    if not chosen:
        raise InputError(
            f"`learners` must name at least one learner, got {spec!r}. Write sklearn for the default ones."
        )
    return {name: item.learner(schema) if isinstance(item, Recipe) else item for name, item in chosen.items()}


def _chosen(items: list[Any], schema: Schema) -> dict[str, Recipe | Learner]:
    chosen: dict[str, Recipe | Learner] = {}
    for index, item in enumerate(items):
        if isinstance(item, str) and item.startswith("-"):
            chosen = chosen or ({} if index else _usable(recipes(schema), schema))
            for name in _matching(item[1:], chosen):
                del chosen[name]
            continue
        if _is_file(item) and item in items[:index]:
            continue  # its learners would be new ones of the same names
        for name, found in _meant(item, schema).items():
            if chosen.setdefault(name, found) is not found:
                raise InputError(f"Each learner must have a name of its own, got {name!r} twice. Rename one.")
    return chosen


def _meant(item: Any, schema: Schema) -> Mapping[str, Recipe | Learner]:  # noqa: ANN401  # the same
    if _is_file(item):
        return from_file(item, schema)
    if not isinstance(item, str):
        return listed([item])
    found = _named(item, schema)
    usable = _usable(found, schema)
    if not usable or item in found:
        reasons = [reason for recipe in found.values() if (reason := recipe.obstacle(schema))]
        if reasons:
            raise InputError(f"`learners` must be such as can be used, got {item!r}, but {reasons[0]}")
    return usable


def _named(item: str, schema: Schema) -> dict[str, Recipe]:
    """Return the recipes that an item means, those that cannot be used included. WEKA's all begin with its name."""
    if not item.startswith(PAPER):
        known = recipes(schema)
        return known if item == DEFAULT else {name: known[name] for name in _matching(item, known)}
    if schema.task != "classification":
        raise InputError(f"`learners` must be for a {schema.task}, got {item!r}. WEKA's are classifiers.")
    known = {recipe.name: recipe for recipe in WEKA}
    return known if item == PAPER else {name: known[name] for name in _matching(item, known)}


def passed_over(spec: str, schema: Schema) -> dict[str, str]:
    """Return the learners that text means and that cannot be used here or on such rows, and why."""
    found: dict[str, str] = {}
    for item in (part.strip() for part in spec.split(",") if part.strip()):
        if item.startswith("-"):
            found = {name: reason for name, reason in found.items() if not fnmatchcase(name, item[1:])}
        elif not _is_file(item):
            found |= {name: recipe.obstacle(schema) for name, recipe in _named(item, schema).items()}
    return {name: reason for name, reason in found.items() if reason}


def _is_file(item: object) -> bool:
    return isinstance(item, Path) or (isinstance(item, str) and item.endswith(".py"))


def _usable(known: Mapping[str, Recipe], schema: Schema) -> dict[str, Recipe | Learner]:
    return {name: recipe for name, recipe in known.items() if not recipe.obstacle(schema)}


def _matching(item: str, names: Iterable[str]) -> list[str]:
    """Return the names that an item means: itself, or those that its pattern matches."""
    names = list(names)
    found = [item] if item in names else [name for name in names if fnmatchcase(name, item)]
    if not found:
        near = get_close_matches(item, [*names, DEFAULT, PAPER], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`pydaub learners` lists them."
        raise InputError(f"`learners` must name learners, sklearn, weka, or a Python file, got {item!r}. {hint}")
    return found
