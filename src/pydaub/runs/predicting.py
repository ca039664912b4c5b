"""Predict with a saved learner, which is loaded and used in a child process.

A learner that hangs, crashes or exits is then an error with a reason, and what it prints is not mixed with the
predictions.
"""

from __future__ import annotations

import json
import pickle
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Self

from pydaub.errors import InputError, PydaubError, SavedLearnerError, one_line
from pydaub.isolation.nursery import Limits, Nursery
from pydaub.isolation.proc import cores
from pydaub.runs.saving import refuse_program, saved_in

if TYPE_CHECKING:
    from types import TracebackType

    from pydaub.isolation.nursery import Ended

BLOCK: Final = 50_000  # rows that are predicted at a time
PATIENCE: Final = 600.0  # seconds for loading the learner, and for each block
SERVE: Final = f"{__name__}:serve"


class Predictor:
    """The learner that was saved in a folder, in a child process; `trust` as for `saving.load`.

    It begins to load the learner at once, so that the caller can read rows meanwhile. `seconds` is the time limit for
    loading it, and for predicting each block of rows.
    """

    def __init__(self, folder: Path, *, trust: bool = False, seconds: float | None = None) -> None:
        refuse_program(folder, saved_in(folder))
        self._saved = {"folder": str(folder), "trust": trust}
        self._limits = Limits(seconds=PATIENCE if seconds is None else seconds)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._shared = Path(self._stack.enter_context(TemporaryDirectory(prefix="pydaub-", ignore_cleanup_errors=True)))
        self._nursery = Nursery(SERVE)
        self._stack.callback(self._nursery.close)
        self._nursery.begin(self._saved, self._limits, reusable=True)
        self._loading = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def predict(self, rows: Any, *, proba: bool = False) -> dict[str, list[Any]]:  # noqa: ANN401  # of any kind
        """Return a column "prediction" and, with `proba`, one for the probability of each class."""
        if self._loading:
            self._answer("loaded")
            self._loading = False
        columns: dict[str, list[Any]] = {}
        for start in range(0, rows.shape[0], BLOCK):
            taken = slice(start, start + BLOCK)
            for name, column in self._block(rows.iloc[taken] if hasattr(rows, "iloc") else rows[taken], proba).items():
                columns.setdefault(name, []).extend(column)
        return columns

    def _block(self, rows: Any, proba: bool) -> dict[str, list[Any]]:  # noqa: ANN401, FBT001  # of any kind
        given, found = self._shared / "rows", self._shared / "found"
        given.write_bytes(pickle.dumps(rows))
        call = {**self._saved, "given": str(given), "found": str(found), "proba": proba}
        self._nursery.begin(call, self._limits, reusable=True)
        self._answer("used to predict")
        columns: dict[str, list[Any]] = json.loads(found.read_text())
        return columns

    def _answer(self, what: str) -> None:
        """Wait for the child; raise an error if it did not do what it should."""
        ended: Ended | None = None
        while ended is None:
            ended = self._nursery.wait()
        if ended.status != "ok":
            advice = " Raise `--learner-timeout` if it needs longer." if ended.status == "timeout" else ""
            raise SavedLearnerError(f"The learner could not be {what}: {ended.status}: {ended.message}.{advice}")
        if ended.value:
            raise InputError(str(ended.value))


def serve(folder: str, given: str | None = None, found: str = "", *, trust: bool, proba: bool = False) -> str | None:
    """Load the learner of a folder, and predict the `given` rows; return what is wrong with the input, if anything."""
    try:
        learner = _loaded(Path(folder), trust)
        if given is not None:
            columns = predicted(learner, pickle.loads(Path(given).read_bytes()), proba=proba)  # noqa: S301  # our own
            Path(found).write_text(json.dumps(columns, default=str))
    except PydaubError as error:
        return str(error)
    return None


@cache
def _loaded(folder: Path, trust: bool) -> Any:  # noqa: ANN401, FBT001  # a learner; the cache takes positions
    from pydaub.runs import saving  # noqa: PLC0415  # the owner need not import it

    return saving.load(folder, trust=trust)


def predicted(learner: Any, rows: Any, *, proba: bool) -> dict[str, list[Any]]:  # noqa: ANN401  # of any kind
    """Return the predictions of a learner, as `Predictor.predict` does, from this process."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  # as above

    if proba and not hasattr(learner, "predict_proba"):
        raise InputError("`--proba` must go with a learner that gives probabilities; the selected one does not.")
    try:
        with threadpool_limits(cores()):  # children begin with one thread
            columns = {"prediction": learner.predict(rows).tolist()}
            if proba:
                found = zip(learner.classes_, learner.predict_proba(rows).T, strict=True)
                columns |= {f"p({name})": column.tolist() for name, column in found}
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  # foreign code may raise anything
        raise InputError(f"The learner cannot predict these rows: {one_line(error).rstrip('.')}.") from None
    return columns
