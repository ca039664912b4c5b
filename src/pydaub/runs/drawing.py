"""Further configurations of spaces of learners, during a run."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies.groups import drawn_name
from pydaub.events import Drawn
from pydaub.learners.spaces import FIRST_DRAWS, check_optuna, in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.algorithm.strategies import Strategy
    from pydaub.learners import Learner
    from pydaub.learners.spaces import Point, Space


def first_points(space: Space, seed: int) -> dict[str, Point]:
    """Return the configurations that a space begins with, by name."""
    check_optuna()
    points = space.first(FIRST_DRAWS, _seed(seed, space.name))
    return {drawn_name(space.name, number): point for number, point in enumerate(points, start=1)}


class Drawing:
    """Draws configurations that a strategy has let in, and hands them to `admit`.

    What is drawn depends on what the strategy knows of the earlier ones and on the seed, not on the clock.
    """

    def __init__(self, spaces: Mapping[str, Space], seed: int, admit: Callable[[str, Learner], None]) -> None:
        self._spaces, self._seed, self._admit = spaces, seed, admit
        self._points = {space.name: first_points(space, seed) for space in spaces.values()}

    def first(self) -> list[Drawn]:
        """Return the configurations that the spaces begin with."""
        return [
            Drawn(name, point, in_words(self._spaces[space].settings(point)))
            for space, points in self._points.items()
            for name, point in points.items()
        ]

    def draw(self, learner: str, strategy: Strategy) -> Drawn:
        """Draw the configuration of this name."""
        space = self._spaces[learner.rpartition(" ")[0]]
        history = [(point, strategy.likely(name)) for name, point in self._points[space.name].items()]
        point = space.proposed(history, _seed(self._seed, learner))
        return Drawn(learner, point, in_words(space.settings(point)))

    def take(self, drawn: Drawn) -> None:
        """Let a configuration in."""
        space, point = self._spaces[drawn.learner.rpartition(" ")[0]], dict(drawn.point)
        self._points[space.name][drawn.learner] = point
        self._admit(drawn.learner, space.at(point, drawn.learner))


def _seed(seed: int, name: str) -> int:
    return int.from_bytes(blake2b(f"{seed}/{name}".encode(), digest_size=4).digest(), "big") >> 2
