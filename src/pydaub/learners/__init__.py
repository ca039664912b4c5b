"""What is trained? One file, one answer; `portfolio` understands what people write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydaub.errors import InputError
from pydaub.learners.base import Learner, Portfolio
from pydaub.learners.encoding import encoded
from pydaub.learners.own import combinations, from_file, listed
from pydaub.learners.recipe import Recipe
from pydaub.learners.sklearn import classification, recipes, regression

if TYPE_CHECKING:
    from pydaub.data.schema import Schema

__all__ = [
    "Learner",
    "Portfolio",
    "Recipe",
    "classification",
    "combinations",
    "encoded",
    "from_file",
    "listed",
    "portfolio",
    "recipes",
    "regression",
]


def portfolio(spec: Any, schema: Schema) -> Portfolio:  # noqa: ANN401  # text, a list of items, or what `listed` takes
    """Return the learners that `spec` names, in its order, each once.

    `spec` is text with commas or a list. An item is `sklearn` (the default portfolio), a learner's name, a pattern
    such as `forest-*`, a Python file, or one of these with a minus in front, which takes learners out again: out
    of the default portfolio where nothing was named before. A list may hold learners and (name, estimator) pairs
    too. Optional packages are imported only for the learners that are left.

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
        raise InputError(f"`learners` must name at least one learner, got {spec!r}. Write sklearn for all.")
    return {name: item.learner(schema) if isinstance(item, Recipe) else item for name, item in chosen.items()}


def _chosen(items: list[Any], schema: Schema) -> dict[str, Recipe | Learner]:
    known = recipes(schema)
    chosen: dict[str, Recipe | Learner] = {}
    for index, item in enumerate(items):
        if isinstance(item, str) and item.startswith("-"):
            chosen = chosen or ({} if index else _usable(known, schema))
            for name in _matching(item[1:], chosen):
                del chosen[name]
            continue
        if _is_file(item) and item in items[:index]:
            continue  # its learners would be new ones of the same names
        for name, found in _meant(item, known, schema).items():
            if chosen.setdefault(name, found) is not found:
                raise InputError(f"Each learner must have a name of its own, got {name!r} twice. Rename one.")
    return chosen


def _meant(item: Any, known: dict[str, Recipe], schema: Schema) -> Mapping[str, Recipe | Learner]:  # noqa: ANN401  # the same
    if _is_file(item):
        return from_file(item, schema)
    if not isinstance(item, str):
        return listed([item])
    if item == "sklearn":
        return _usable(known, schema)
    found = {name: known[name] for name in _matching(item, known)}
    if item in found and (obstacle := known[item].obstacle(schema)):
        raise InputError(f"`learners` must be such as can be used, got {item!r}, but {obstacle}")
    return _usable(found, schema)


def _is_file(item: object) -> bool:
    return isinstance(item, Path) or (isinstance(item, str) and item.endswith(".py"))


def _usable(known: Mapping[str, Recipe], schema: Schema) -> dict[str, Recipe | Learner]:
    return {name: recipe for name, recipe in known.items() if not recipe.obstacle(schema)}


def _matching(item: str, names: Iterable[str]) -> list[str]:
    """Return the names that an item means: itself, or those that its pattern matches."""
    names = list(names)
    found = [item] if item in names else [name for name in names if fnmatchcase(name, item)]
    if not found:
        near = get_close_matches(item, [*names, "sklearn"], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`pydaub learners` lists them."
        raise InputError(f"`learners` must name learners, sklearn, or a Python file, got {item!r}. {hint}")
    return found
