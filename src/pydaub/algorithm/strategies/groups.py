"""Learners of one kind: which of them have started, and which start only if that is worth their time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FIRST: Final = 6  # learners of a family that start at once
AT_ONCE: Final = 4  # learners that join together, so that several workers have something to do
MOST_DRAWN: Final = 1000  # configurations of one space


def drawn_name(space: str, number: int) -> str:
    """Return the name of a configuration of a space, numbered from 1."""
    return f"{space} {number}"


class Groups:
    """The families and spaces of a run.

    A *family* is a list of learners, the most promising first. A *space* has no list: its configurations are drawn
    while the run goes on, and are called "NAME 1", "NAME 2", and so on.

    Parameters
    ----------
    learners
        Names of all learners that are known at the start.
    spaces
        How many configurations each space has, by its name; None if there is no end to them.
    families
        The family of each learner that has one, by name.
    """

    def __init__(self, learners: Iterable[str], spaces: Mapping[str, int | None], families: Mapping[str, str]) -> None:
        self.spaces, self.families = dict(spaces), dict(families)
        self._started: dict[str, list[str]] = {}
        self._waiting: dict[str, list[str]] = {}
        self._space_of: dict[str, str] = {}
        names = [*learners]
        for name in names:
            if family := self.families.get(name):
                few = len(self._started.setdefault(family, [])) < FIRST
                (self._started if few else self._waiting).setdefault(family, []).append(name)
        known = {*names}
        for space in self.spaces:
            self._started[space] = []
            while (name := drawn_name(space, len(self._started[space]) + 1)) in known:
                self._join(space, name)

    def _join(self, space: str, name: str) -> None:
        self._space_of[name] = space
        self._started[space].append(name)

    def of(self, learner: str) -> str | None:
        """Return the family or the space that a learner belongs to."""
        return self.families.get(learner) or self._space_of.get(learner)

    @property
    def waiting(self) -> frozenset[str]:
        """The learners that have not started."""
        return frozenset(name for names in self._waiting.values() for name in names)

    def open(self) -> list[str]:
        """Return the families and spaces in which further learners can start."""
        drawn = [space for space, limit in self.spaces.items() if self._left(space, limit)]
        return [*(family for family, names in self._waiting.items() if names), *drawn]

    def _left(self, space: str, limit: int | None) -> int:
        return min(limit or MOST_DRAWN, MOST_DRAWN) - len(self._started[space])

    def started(self, group: str) -> Sequence[str]:
        """Return the learners of a family or space that have started, in order."""
        return self._started[group]

    def start(self, learner: str) -> None:
        """Let a learner that waits start now."""
        family = self.families.get(learner)
        if family and learner in self._waiting.get(family, ()):
            self._waiting[family].remove(learner)
            self._started[family].append(learner)

    def home(self, learner: str) -> str | None:
        """Return the family or the space of a learner that has not started."""
        if learner in self.waiting:
            return self.families[learner]
        space = learner.rpartition(" ")[0]
        return space if space in self.spaces and learner not in self._space_of else None

    def next_of(self, group: str) -> str:
        """Return the name of the learner of a family or space that starts next."""
        if group in self.spaces:
            return drawn_name(group, len(self._started[group]) + 1)
        return self._waiting[group][0]

    def start_more(self, group: str) -> list[str]:
        """Let further learners of a family or space start, and return their names."""
        if group in self.spaces:
            count = len(self._started[group])
            last = count + min(AT_ONCE, self._left(group, self.spaces[group]))
            names = [drawn_name(group, number) for number in range(count + 1, last + 1)]
            for name in names:
                self._join(group, name)
            return names
        names = self._waiting[group][:AT_ONCE]
        for name in names:
            self.start(name)
        return names
