"""Which learner gets data next? One module per strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.strategies.base import Parameter, Strategy
from pydaub.algorithm.strategies.daub import Daub
from pydaub.algorithm.strategies.elimination import Elimination
from pydaub.algorithm.strategies.frugal import Frugal
from pydaub.algorithm.strategies.full import Full
from pydaub.algorithm.strategies.halving import Halving
from pydaub.algorithm.strategies.steerable import Steerable
from pydaub.algorithm.strategies.subset import Subset
from pydaub.errors import InputError, JournalError
from pydaub.records import Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydaub.algorithm.schedule import Schedule
    from pydaub.algorithm.seconds import Growth

STRATEGIES: Final[Mapping[str, type[Strategy]]] = {
    "frugal": Frugal,
    "daub": Daub,
    "full": Full,
    "subset": Subset,
    "elimination": Elimination,
    "halving": Halving,
}

DEFAULT: Final = "frugal"  # benchmarks/README.md says why

# Every parameter of every strategy by name.
PARAMETERS: Final[Mapping[str, Parameter]] = {
    parameter.name: parameter for kind in STRATEGIES.values() for parameter in kind.parameters
}


def strategies_with(parameter: str) -> list[str]:
    """Return the names of the strategies that have a parameter."""
    return [name for name, kind in STRATEGIES.items() if parameter in {each.name for each in kind.parameters}]


def make_strategy(  # noqa: PLR0913, PLR0917  # everything that a strategy may need
    name: str,
    learners: Iterable[str],
    schedule: Schedule,
    parameters: Mapping[str, Any] | None = None,
    scores: Scores | None = None,
    growths: Mapping[str, Growth] | None = None,
    members: int = 1,
    spaces: Mapping[str, int | None] | None = None,
    families: Mapping[str, str] | None = None,
    promises: Mapping[str, float] | None = None,
) -> Strategy:
    """Return the strategy of that name.

    Parameters
    ----------
    name
        One of `STRATEGIES`.
    learners, schedule
        As for `Strategy`.
    parameters
        Values by name. None stands for the strategy's default.
    scores, growths, members
        What the scores are, how the costs of learners grow, and how many learners an ensemble is chosen from, for
        strategies that need to know.
    spaces, families, promises
        Spaces of learners that further configurations come from, families of learners, and in which order they start,
        as for `Frugal`.
    """
    if not isinstance(name, str) or name not in STRATEGIES:
        raise InputError(f"`strategy` must be one of {', '.join(STRATEGIES)}, got {name!r}.")
    given = {key: value for key, value in (parameters or {}).items() if value is not None}
    for key in given:
        if name not in (those := strategies_with(key)):
            raise InputError(f"`{key}` must go with the strategy {' or '.join(those) or 'that has it'}, got {name!r}.")
    kind = STRATEGIES[name]
    known: dict[str, Any] = {"scores": scores or Scores()} if kind.needs_scores else {}
    if kind.weighs_costs:
        known |= {"growths": growths, "members": members, "spaces": spaces, "families": families}
        known["promises"] = promises
    elif spaces:
        raise InputError(f"Spaces of learners must go with the strategy {DEFAULT}, got {name!r}.")
    return kind(learners, schedule, **given, **known)


def strategy_of(settings: Mapping[str, Any]) -> Strategy:
    """Return a new strategy with the settings of a journal."""
    try:
        return STRATEGIES[settings["strategy"]].from_settings(settings)
    except InputError as error:
        raise JournalError(
            "The journal must name a strategy of pydaub with its learners, sizes and parameters, as this version takes"
            f" them. {error} The journal is left unchanged; its lines are JSON (docs/journal.md)."
        ) from None
    except (KeyError, TypeError) as error:
        raise JournalError(
            f"The journal must name a strategy of pydaub with its learners, sizes and parameters, got {error}."
        ) from None


__all__ = [
    "DEFAULT",
    "PARAMETERS",
    "STRATEGIES",
    "Daub",
    "Elimination",
    "Frugal",
    "Full",
    "Halving",
    "Parameter",
    "Steerable",
    "Strategy",
    "Subset",
    "make_strategy",
    "strategies_with",
    "strategy_of",
]
