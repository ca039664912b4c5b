"""A thread beside the caller's: it fetches what the caller needs next, or does what the caller has prepared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items; while one is used, a thread fetches the next."""
    with ThreadPoolExecutor(1) as thread:
        end = object()
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item  # type: ignore[misc]  # it is not the end
            del item


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
