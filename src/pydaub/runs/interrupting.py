"""Ctrl-C while a run goes on: the run stops with the best learner so far."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INTERRUPTED: Final = "interrupted"  # the reason of a run that Ctrl-C has stopped


class Interrupt:
    """Takes the first Ctrl-C as the wish to stop a run; the second one raises KeyboardInterrupt, wherever it comes.

    It acts in the main thread only, and only where no other handler has been installed.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._at_once = self._installed = False

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        self._installed = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._installed:
            signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let the first one raise KeyboardInterrupt too: while a learner trains in this process."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _take(self, _: int, frame: FrameType | None) -> None:
        again, self.wanted = self.wanted, True
        if again or self._at_once:
            signal.default_int_handler(signal.SIGINT, frame)
