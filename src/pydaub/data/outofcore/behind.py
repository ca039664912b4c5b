"""One piece of work at a time in a thread, while the caller prepares the next."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future


class Behind:
    """A thread that does what it is given, in order. The caller is never more than one piece of work ahead.

    What a piece of work raises is raised by the next call. Leaving the context waits for the thread.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def do(self, work: Callable[..., None], *arguments: Any) -> None:  # noqa: ANN401  # those of the work
        """Do this next, once what was given before is done."""
        self.wait()
        self._last = self._thread.submit(work, *arguments)

    def wait(self) -> None:
        """Wait until everything is done."""
        if self._last is not None:
            self._last.result()
