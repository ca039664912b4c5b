"""A file of learners that are commands, in TOML; `docs/commands.md` describes it."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub import units
from pydaub.errors import InputError
from pydaub.learners.base import Learner, Portfolio
from pydaub.learners.commands import PLACES, Command, divided, placeholders, substituted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOP: Final = ("score", "floor", "sizes", "learner")
SIZES: Final = ("first", "ratio")
RESOURCES: Final = ("gpu", "memory")
OWN: Final = ("command", "cost", "resources")
EXAMPLE: Final = '[learner.small]\ncommand = "python train.py --data {rows} --n {size}"'


@dataclass(frozen=True)
class Commands:
    """What a file of learners says: the learners, and which sizes they get, as `Sizes` takes them."""

    learners: Portfolio
    sizes: Mapping[str, Any]


def read_commands(path: str | Path) -> Commands:
    """Read a file of learners.

    Raises
    ------
    InputError
        If it cannot be read, or says something that is not understood; the message names the learner.
    """
    file = Path(path)
    try:
        fields = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"`learners` must name a readable TOML file, got {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be TOML, got: {error}. Correct it.") from None
    try:
        return _commands(fields, str(file.absolute().parent))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _commands(fields: Mapping[str, Any], folder: str) -> Commands:
    _only(fields, TOP, "the file")
    if "score" not in fields:
        raise InputError('`score` must say whether scores are to be "minimize"d or "maximize"d. Add it at the top.')
    given = fields.get("learner")
    if not isinstance(given, dict) or not given:
        raise InputError(f"`learner` must be at least one table such as\n{EXAMPLE}\nin it, got none.")
    learners: Portfolio = {}
    for title, table in given.items():
        try:
            for learner in _learners(title, table, fields, folder):
                if learner.name in learners:
                    raise InputError(  # noqa: TRY301  # named below, as all others
                        f"there must be one learner of each name, got {learner.name!r} twice. A name with a value in"
                        ' braces, such as "t5-{width}", differs for each value.'
                    )
                learners[learner.name] = learner
        except InputError as error:
            raise InputError(f"learner {title!r}: {error}") from None
    return Commands(learners, _sizes(fields.get("sizes", {})))


def _learners(title: str, table: Any, top: Mapping[str, Any], folder: str) -> Iterator[Learner]:  # noqa: ANN401  # checked
    """Yield a learner for each combination of the values that a table lists."""
    if not isinstance(table, dict) or "command" not in table:
        raise InputError("it must have a `command`.")
    command, lists = table["command"], {name: value for name, value in table.items() if name not in OWN}
    if not isinstance(command, str) and not (
        isinstance(command, list) and all(isinstance(word, str) for word in command)
    ):
        raise InputError(f"`command` must be text, or a list of texts, got {command!r}.")
    words = divided(command)
    used = {name for word in words for name in placeholders(word)}
    for name, values in lists.items():
        plain = isinstance(values, list) and values and all(isinstance(value, str | int | float) for value in values)
        if name in PLACES or not plain:
            raise InputError(
                f"`{name}` must be command, cost, resources, or a list of values for {{{name}}} in the command, got"
                f" {values!r}."
            )
        if name not in used:
            raise InputError(f"`{name}` must be used by the command as {{{name}}}, got {command!r}.")
    gpu, memory = _resources(table.get("resources", {}))
    for values in product(*lists.values()):
        own = dict(zip(lists, values, strict=True))
        filled = tuple(substituted(word, own, some=True) for word in words)
        made = Command(filled, top["score"], top.get("floor"), table.get("cost"), gpu, memory, folder)
        if obstacle := made.obstacle():
            raise InputError(f"`command` must name a program that can be started, but {obstacle}.")
        yield Learner(substituted(title, own), made, shlex.join(filled), params=own or None)


def _resources(given: Any) -> tuple[int, int | None]:  # noqa: ANN401  # checked here
    if not isinstance(given, dict):
        raise InputError(f'`resources` must be a table such as {{ gpu = 1, memory = "40GB" }}, got {given!r}.')
    _only(given, RESOURCES, "`resources`")
    memory = given.get("memory")
    if memory is not None and not isinstance(memory, str):
        raise InputError(f'`memory` must be an amount with a unit, such as "40GB", got {memory!r}.')
    return given.get("gpu", 0), units.memory(memory, "memory")


def _sizes(given: Any) -> dict[str, Any]:  # noqa: ANN401  # checked here
    if isinstance(given, list):
        return {"sizes": given}
    if not isinstance(given, dict):
        raise InputError(f"`sizes` must be {{ first = 800, ratio = 2 }} or a list of sizes, got {given!r}.")
    _only(given, SIZES, "`sizes`")
    ratio = given.get("ratio")
    return {"first_size": given.get("first"), "ratio": None if ratio is None else str(ratio)}


def _only(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"{where} must have only {', '.join(known)}, got {name!r}.")
