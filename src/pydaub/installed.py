"""What installed packages add to pydaub: entry points, found by group and imported when one of them is used.

pydaub's own extensions are found in the same way. Nothing is looked up before somebody asks for what the core lacks.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydaub.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint


def names(group: str) -> list[str]:
    """Return the names that installed packages add to a group, pydaub's own first."""
    return list(dict.fromkeys(each.name for each in _found(group)))


def load(group: str, name: str, what: str) -> Any:  # noqa: ANN401  # whatever a package offers
    """Import and return what a package offers under a name; `what` names the parameter in errors."""
    offered = [each for each in _found(group) if each.name == name]
    packages = [each.dist.name if each.dist else each.module for each in offered]
    if len(offered) > 1:
        raise InputError(
            f"`{what}` {name} must be of one package, got {len(offered)}: {', '.join(packages)}. Uninstall all but one."
        )
    try:
        return offered[0].load()
    except Exception as error:
        raise InputError(
            f"`{what}` {name} must be importable, got {one_line(error)} from the package {packages[0]}."
        ) from error


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """Return a sentence with the names that are similar, with a space before it; nothing if none is."""
    near = get_close_matches(str(given), list(known), n=3)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _found(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415  # it takes a while, and most runs look nothing up

    offered = entry_points(group=group)
    return sorted(offered, key=lambda each: (each.module.partition(".")[0] != "pydaub", each.name, each.value))
