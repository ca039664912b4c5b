"""A priority queue of learners that can be walked without removing anything."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Ranking:
    """Learners ordered by a key, highest first; ties keep the order in which the learners are listed.

    `push`, `pop` and each step of an iteration cost O(log n). `discard` is lazy: the entry is removed when it
    reaches the top.
    """

    def __init__(self, keys: Mapping[int, float] | None = None) -> None:
        """Rank learners with these keys, by the positions at which they are listed."""
        keys = keys or {}
        self._heap = [(-key, position, 0) for position, key in keys.items()]
        heapq.heapify(self._heap)
        self._entries = dict.fromkeys(keys, 0)  # the valid entry of each learner
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, key: float, position: int) -> None:
        """Add the learner listed at this position, or change its key."""
        self._pushed += 1
        self._entries[position] = self._pushed
        heapq.heappush(self._heap, (-key, position, self._pushed))

    def pop(self) -> int:
        """Remove the first learner and return its position."""
        position = self._first()[1]
        self.discard(position)
        return position

    def discard(self, position: int) -> None:
        """Remove the learner listed at this position, if present."""
        self._entries.pop(position, None)

    @property
    def first(self) -> tuple[float, int] | None:
        """Key and position of the first learner, or None."""
        if not self._entries:
            return None
        key, position, _ = self._first()
        return -key, position

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """Yield keys and positions from the highest key down, removing no valid entry."""
        frontier = [(self._first(), 0)] if self._entries else []
        while frontier:
            (key, position, entry), node = heapq.heappop(frontier)
            if self._entries.get(position) == entry:
                yield -key, position
            for child in (2 * node + 1, 2 * node + 2):
                if child < len(self._heap):
                    heapq.heappush(frontier, (self._heap[child], child))

    def _first(self) -> tuple[float, int, int]:
        while self._entries.get(self._heap[0][1]) != self._heap[0][2]:
            heapq.heappop(self._heap)
        return self._heap[0]
