"""Train everything on everything: what the paper compares with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydaub.schedule import Schedule
from pydaub.strategies.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable


class Full(Rounds):
    """Every learner gets all rows, and the best validation score wins: optimal, at the highest cost."""

    def __init__(self, learners: Iterable[str], schedule: Schedule) -> None:
        super().__init__(learners, Schedule(schedule.sizes[-1:]))
