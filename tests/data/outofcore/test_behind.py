"""Work in a thread is done in order, and its errors reach the caller."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from pydaub.data.outofcore.behind import Behind, ahead

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_work_is_done_in_order_and_in_one_other_thread() -> None:
    done: list[tuple[int, int]] = []
    with Behind() as behind:
        for number in range(50):
            behind.do(lambda number: done.append((number, threading.get_ident())), number)
            assert len(done) >= number  # the caller is at most one ahead
        behind.wait()
        assert [number for number, _ in done] == list(range(50))
    assert {thread for _, thread in done}.isdisjoint({threading.get_ident()})
    assert len({thread for _, thread in done}) == 1


@pytest.mark.parametrize("call", ["do", "wait"])
def test_an_error_reaches_the_next_call(call: str) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    with Behind() as behind:
        behind.do(full)
        with pytest.raises(OSError, match="No space left"):
            behind.wait() if call == "wait" else behind.do(print)


def test_leaving_waits_for_what_is_being_done_whatever_happened() -> None:
    begin, done = threading.Event(), []

    def work() -> None:
        begin.wait(10)
        done.append(1)

    with pytest.raises(KeyError), Behind() as behind:
        behind.do(work)
        begin.set()
        raise KeyError
    assert done == [1]


def test_items_come_in_order_while_the_next_is_fetched() -> None:
    fetched: list[int] = []

    def items() -> Iterator[int]:
        for number in range(5):
            fetched.append(number)
            yield number
        raise ValueError("the source broke")

    seen = []
    with pytest.raises(ValueError, match="the source broke"):
        for item in ahead(items()):
            seen.append(item)
            assert len(fetched) <= item + 2, "never more than one ahead"
    assert seen == list(range(5))


def test_nothing_comes_of_nothing() -> None:
    assert list(ahead(iter(()))) == []
