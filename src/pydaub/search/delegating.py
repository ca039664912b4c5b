"""Methods of the selected learner as methods of the search: they exist only where it has them."""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

WHAT: Final = {"predict_proba": "probabilities", "predict_log_proba": "probabilities"}


class Offered:
    """A method that is there only if `lacking` has no objection; otherwise the error says what it is."""

    def __init__(self, method: Callable[..., Any], lacking: Callable[[Any], str]) -> None:
        self._method, self._lacking = method, lacking
        self.__doc__ = method.__doc__

    def __get__(self, search: Any, _: type | None = None) -> Any:
        if search is None:
            return self._method
        if reason := self._lacking(search):
            raise AttributeError(reason)
        return MethodType(self._method, search)


def offered(name: str, lacking: Callable[[Any, str], str]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a method of this name, about which `lacking` says why it is not there, if it is not."""

    def decorate(method: Callable[..., Any]) -> Any:
        method.__name__ = name
        return Offered(method, lambda search: lacking(search, name))

    return decorate


def missing(kind: str, learner: str, name: str) -> str:
    """Return why a search has no method: the selected `learner` lacks it."""
    if name in WHAT:
        return (
            f"{kind!r} has no {name!r}: {learner}, which was selected, gives no {WHAT[name]}. Use `predict`, or search"
            ' with scoring="neg_log_loss", where only learners with probabilities can win.'
        )
    return f"{kind!r} has no {name!r}: {learner}, which was selected, does not have it."
