"""A loop of one's own that can be saved as JSON at any moment, and continued after a kill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from pydaub.algorithm.strategies import Steerable, Strategy, strategy_of
from pydaub.errors import InputError, JournalError, PydaubError
from pydaub.records import Allocation, outcome_from_json, outcome_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.records import Outcome

COMMANDS: Final = ("drop", "restore", "boost", "retry", "add")


class Resumable:
    """A strategy with everything that it was asked and told, which `state` returns as plain JSON values.

    What a strategy asks depends only on that. So after a kill, `from_state` continues as if nothing had happened;
    `running` are the allocations whose outcomes were never told.

    Parameters
    ----------
    strategy
        A new strategy of pydaub, with a bound by name.

    Examples
    --------
    >>> from pydaub import Daub, Measurement, Schedule
    >>> loop = Resumable(Daub(["tree", "forest"], Schedule((500, 1000))))
    >>> allocation = loop.ask()
    >>> loop = Resumable.from_state(loop.state())  # killed, and started again
    >>> loop.running
    (Allocation(learner='tree', size=500, limit=None),)
    >>> loop.tell(loop.running[0], Measurement(0.9, 0.8, seconds=1.0))
    >>> loop.ask()
    Allocation(learner='tree', size=1000, limit=None)
    """

    def __init__(self, strategy: Strategy) -> None:
        if not isinstance(strategy, Strategy):
            raise InputError(f"`strategy` must be a strategy such as Daub, got {strategy!r}.")
        if strategy.outstanding or strategy.failures or any(strategy.curve(name).sizes for name in strategy.learners):
            raise InputError("`strategy` must be a new one, got one that was asked before.")
        try:
            strategy_of(strategy.settings)
        except JournalError as error:  # refused now, not after a kill
            raise InputError(f"`strategy` must be one that can be made again from its settings: {error}") from None
        self.strategy, self._settings = strategy, strategy.settings
        self._events: list[dict[str, Any]] = []

    @property
    def running(self) -> tuple[Allocation, ...]:
        """The allocations that were asked for and whose outcomes have not been told."""
        return self.strategy.outstanding

    @property
    def winner(self) -> str | None:
        """The selected learner, once it is known."""
        return self.strategy.winner

    def ask(self) -> Allocation | None:
        """Return the next allocation, as `Strategy.ask`."""
        found = self.strategy.ask()
        if found is not None:
            limit = {} if found.limit is None else {"limit": found.limit}
            why = {"why": self.strategy.why} if self.strategy.why else {}
            self._events.append({"asked": found.learner, "size": found.size, **limit, **why})
        return found

    def tell(self, allocation: Allocation, outcome: Outcome) -> None:
        """Take in the outcome of an allocation, as `Strategy.tell`."""
        self.strategy.tell(allocation, outcome)
        told = outcome_to_json(outcome)
        self._events.append({"told": allocation.learner, "size": allocation.size, "outcome": told})

    def steer(self, command: str, learner: str) -> None:
        """Drop, restore, boost, retry or add a learner, as the method of `Steerable` with that name."""
        if command not in COMMANDS or not isinstance(self.strategy, Steerable):
            raise InputError(
                f"`command` must be {', '.join(COMMANDS)}, of a strategy that can be steered, got {command!r}."
            )
        getattr(self.strategy, command)(learner)
        self._events.append({"steered": command, "learner": learner})

    def state(self) -> dict[str, Any]:
        """Return everything as plain JSON values: the settings of the strategy, and what it was asked and told."""
        return {"settings": self._settings, "events": list(self._events)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return what `state` described, with the same allocations running.

        Raises
        ------
        InputError
            If it is not such a state, or of a version of pydaub that asks differently.
        """
        try:
            found = cls(strategy_of(state["settings"]))
            for event in state["events"]:
                found._replay(event)
        except (KeyError, TypeError, AttributeError, ValueError, PydaubError) as error:
            raise InputError(f"`state` must be what `state()` returned, got one that cannot be: {error}") from None
        return found

    def _replay(self, event: Mapping[str, Any]) -> None:
        if "steered" in event:
            self.steer(event["steered"], event["learner"])
            return
        learner = event["asked"] if "asked" in event else event["told"]
        allocation = Allocation(learner, event["size"], event.get("limit"))
        if "told" in event:
            waiting = next((each for each in self.running if each == allocation), allocation)
            self.tell(waiting, outcome_from_json(event["outcome"]))
        elif self.strategy.concurrent:  # what it asked also depended on the clock
            self.strategy.begin(allocation, event.get("why", ""))
            self._events.append(dict(event))
        elif (asked := self.ask()) != allocation:
            raise InputError(f"the strategy now asks {asked}, not {allocation}")
