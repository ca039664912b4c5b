"""scikit-learn's callbacks: told of each allocation, and able to stop a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydaub.events import Evaluated, Event, Submitted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydaub.records import Allocation
    from pydaub.runs.account import Account
    from pydaub.runs.loop import Watch

__all__ = ["Callbacks"]


class Callbacks:
    """The callbacks of a fit: a task for the fit itself, and one within it for each allocation."""

    def __init__(self, estimator: Any, **given: Any) -> None:  # noqa: ANN401  # an estimator, and what its fit was given
        self._estimator, self._given = estimator, given
        self._tasks: dict[Allocation, Any] = {}
        self._begun = 0
        self._fit = None
        if getattr(estimator, "_skl_callbacks", None):
            # How many allocations there will be is not known, and several may be evaluated at a time.
            self._fit = estimator._init_callback_context(max_subtasks=None, sequential_subtasks=False)  # noqa: SLF001  # documented for this use
            self._fit.call_on_fit_task_begin(estimator=estimator, **given)

    def watches(self) -> Iterator[Watch]:
        """Yield what is to be told of each event, if there is any callback."""
        if self._fit is not None:
            yield self.take

    def take(self, event: Event, _: Account) -> bool:
        """Tell the callbacks of an event; return whether one of them wants the search to stop."""
        if isinstance(event, Submitted):
            self._task(event.allocation)
        if not isinstance(event, Evaluated):
            return False
        task = self._task(event.allocation)
        del self._tasks[event.allocation]
        return bool(task.call_on_fit_task_end(estimator=self._estimator))

    def end(self) -> None:
        """Tell the callbacks that the estimator is fitted."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=dict, **self._given)

    def _task(self, allocation: Allocation) -> Any:  # noqa: ANN401  # scikit-learn's context
        if allocation not in self._tasks and self._fit is not None:
            name = f"{allocation.learner} on {allocation.size:,} rows"
            task = self._fit.subcontext(task_name=name, task_id=self._begun)
            self._begun += 1
            self._tasks[allocation] = task
            task.call_on_fit_task_begin(estimator=self._estimator)
        return self._tasks[allocation]
