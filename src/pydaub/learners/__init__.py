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
from pydaub.learners.streaming import STREAMED_CLASSIFIERS, STREAMED_REGRESSORS
from pydaub.learners.weka.table import WEKA

if TYPE_CHECKING:
    from pydaub.data.schema import Schema

__all__ = [
    "PAPER",
    "Learner",
    "Portfolio",
    "Recipe",
    "built_in",
    "classification",
    "combinations",
    "encoded",
    "from_file",
    "listed",
    "portfolio",
    "recipes",
    "regression",
]

DEFAULT: Final = "sklearn"
PAPER: Final = "weka"
STREAMING: Final = "streaming"


def portfolio(
    spec: Any,  # noqa: ANN401  # text, a list of items, or what `listed` takes
    schema: Schema,
    left_out: dict[str, str] | None = None,
) -> Portfolio:
    """Return the learners that `spec` names, in its order, each once.

    `spec` is text with commas or a list. An item is `sklearn` (the default portfolio), `weka` (the paper's),
    `streaming` (those that see a block of rows at a time, for samples larger than memory), a learner's name, a pattern
    such as `forest-*`, a Python file, or one of these with a minus in front, which takes learners out again: out of the
    default portfolio where nothing was named before. A list may hold learners and (name, estimator) pairs too. Optional
    packages are imported only for the learners that are left. `left_out`, if given, is filled with those that are meant
    and cannot be used here or on such rows, and why.

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
    chosen, lacking = _chosen(items, schema)
    if left_out is not None:
        left_out.update(lacking)
    if not chosen:
        why = (
            f"but {next(iter(lacking.values()))}"
            if lacking
            else "which names none. Write sklearn for the default ones."
        )
        raise InputError(f"`learners` must name at least one learner that can be used, got {spec!r}, {why}")
    return {name: item.learner(schema) if isinstance(item, Recipe) else item for name, item in chosen.items()}


def built_in(name: str, schema: Schema) -> Learner:
    """Return the learner of exactly this name out of the built-in portfolios: never a file or a pattern."""
    known = recipes(schema) | _streaming(schema)
    known |= {recipe.name: recipe for recipe in WEKA} if schema.task == "classification" else {}
    if name not in known:
        near = get_close_matches(name, known, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`pydaub learners` lists them."
        raise InputError(f"`learner` must be of the portfolios sklearn, weka or streaming, got {name!r}. {hint}")
    if reason := known[name].obstacle(schema):
        raise InputError(f"`learner` must be one that can be used, got {name!r}, but {reason}")
    return known[name].learner(schema)


def _chosen(items: list[Any], schema: Schema) -> tuple[dict[str, Recipe | Learner], dict[str, str]]:
    """Return those that are meant and can be used, and those that are meant and cannot, with the reasons."""
    chosen: dict[str, Recipe | Learner] = {}
    lacking: dict[str, str] = {}
    for index, item in enumerate(items):
        if isinstance(item, str) and item.startswith("-"):
            if not index:
                chosen, lacking = _divided(recipes(schema), schema)
            out = [name for name in (*chosen, *lacking) if fnmatchcase(name, item[1:])]
            if not out:
                raise InputError(
                    f"`learners` must name what to take out behind it, got {item!r}, which nothing matches."
                )
            for name in out:
                chosen.pop(name, None)
                lacking.pop(name, None)
            continue
        if _is_file(item) and item in items[:index]:
            continue  # its learners would be new ones of the same names
        usable, obstacles = _meant(item, schema)
        lacking |= obstacles
        for name, found in usable.items():
            if chosen.setdefault(name, found) is not found:
                raise InputError(f"Each learner must have a name of its own, got {name!r} twice. Rename one.")
    return chosen, lacking


def _meant(item: Any, schema: Schema) -> tuple[Mapping[str, Recipe | Learner], dict[str, str]]:  # noqa: ANN401  # the same
    if _is_file(item):
        return from_file(item, schema), {}
    if not isinstance(item, str):
        return listed([item]), {}
    usable, obstacles = _divided(_named(item, schema), schema)
    if item in obstacles or (item in {PAPER, STREAMING} and not usable):  # a pattern passes over what cannot be used
        reason = obstacles.get(item) or next(iter(obstacles.values()))
        raise InputError(f"`learners` must be such as can be used, got {item!r}, but {reason}")
    return usable, obstacles


def _streaming(schema: Schema) -> dict[str, Recipe]:
    table = STREAMED_CLASSIFIERS if schema.task == "classification" else STREAMED_REGRESSORS
    return {recipe.name: recipe for recipe in table}


def _named(item: str, schema: Schema) -> dict[str, Recipe]:
    """Return the recipes that an item means, those that cannot be used included. WEKA's all begin with its name."""
    if item.startswith("stream"):
        known = _streaming(schema)
        return known if item == STREAMING else {name: known[name] for name in _matching(item, known)}
    if not item.startswith(PAPER):
        known = recipes(schema)
        return known if item == DEFAULT else {name: known[name] for name in _matching(item, known)}
    if schema.task != "classification":
        raise InputError(f"`learners` must be for a {schema.task}, got {item!r}. WEKA's are classifiers.")
    known = {recipe.name: recipe for recipe in WEKA}
    return known if item == PAPER else {name: known[name] for name in _matching(item, known)}


def _is_file(item: object) -> bool:
    return isinstance(item, Path) or (isinstance(item, str) and item.endswith(".py"))


def _divided(known: Mapping[str, Recipe], schema: Schema) -> tuple[dict[str, Recipe | Learner], dict[str, str]]:
    obstacles = {name: reason for name, recipe in known.items() if (reason := recipe.obstacle(schema))}
    return {name: recipe for name, recipe in known.items() if name not in obstacles}, obstacles


def _matching(item: str, names: Iterable[str]) -> list[str]:
    """Return the names that an item means: itself, or those that its pattern matches."""
    names = list(names)
    found = [item] if item in names else [name for name in names if fnmatchcase(name, item)]
    if not found:
        near = get_close_matches(item, [*names, DEFAULT, PAPER, STREAMING], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`pydaub learners` lists them."
        raise InputError(
            f"`learners` must name learners, sklearn, weka, streaming, or a Python file, got {item!r}. {hint}"
        )
    return found
