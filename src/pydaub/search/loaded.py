"""A run from its folder, for Python: what it came to, and the learner that it selected."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.dashboard.report import Report
from pydaub.data import new_rows
from pydaub.errors import InputError
from pydaub.exports.leaderboard import leaderboard
from pydaub.runs import ABOUT, JOURNAL, saving
from pydaub.runs.account import Account
from pydaub.runs.certificate import certificate_of
from pydaub.runs.folder import RunFolder
from pydaub.runs.journal import is_held, read
from pydaub.views.glance import Claims, as_html, result_line

if TYPE_CHECKING:
    import pandas as pd

    from pydaub.runs.result import Result

TRUST_IT: Final = "If you trust it, load it with `trust=True`."


def load(folder: str | Path, *, trust: bool = False) -> LoadedRun:
    """Return a run from its folder: its result, and its selected learner to predict with.

    Parameters
    ----------
    folder
        The folder of a run, as `pydaub run` names it at the end.
    trust
        Whether to load a learner even if that may run code from its file, because it could only be pickled.

    Raises
    ------
    InputError
        If this is no folder of a run, or, when it is used to predict, if it has no learner.
    """
    if not isinstance(folder, str | Path):
        raise InputError(f"`folder` must be the path of a run, got {folder!r}.")
    return LoadedRun(Path(folder), trust=trust)


class LoadedRun:
    """A run that was read from its folder. Its attributes are named as those of `DaubSearch`.

    Attributes
    ----------
    account
        Everything that happened in the run.
    best_learner_, best_score_, best_size_
        The selected learner's name, its validation score, and the number of rows it was trained on for that.
    """

    def __init__(self, folder: Path, *, trust: bool = False) -> None:
        self.folder, self._trust = folder, trust
        journal = folder / JOURNAL
        self._run = None if journal.is_file() and not (folder / ABOUT).exists() else RunFolder(folder)
        self.account = self._run.account() if self._run else Account.of(read(journal), held=is_held(journal))
        self.best_learner_, self.best_size_ = self.result_.selected, self.result_.selected_size
        self.best_score_ = self.result_.valid_score

    @property
    def result_(self) -> Result:
        """What the run did."""
        return self.account.result

    @property
    def certificate_(self) -> Claims | None:
        """What may be claimed of the choice."""
        return Claims.of(certificate_of(self.account))

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """A row for each learner, the best first."""
        return leaderboard(self.account)

    @property
    def report_(self) -> Report:
        """The page of the run, which a notebook displays. `report_.save(path)` writes it to a file."""
        return Report(self.account, self.folder.resolve().name)

    @cached_property
    def best_estimator_(self) -> Any:
        """The selected learner, fitted. It takes rows as they were prepared for it; `predict` takes any."""
        if self._run is None:
            raise InputError(
                f"{self.folder} is of a DaubSearch, which keeps its learner itself. Fit it again with this folder,"
                " which trains little, or save the search with joblib."
            )
        try:
            return saving.load(self.folder, trust=self._trust)
        except InputError as error:
            raise InputError(str(error).replace(saving.TRUST_IT, TRUST_IT)) from None

    def predict(self, X: Any) -> Any:
        """Return the selected learner's predictions; columns are matched by their names."""
        learner = self.best_estimator_
        return learner.predict(self._rows(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the selected learner's probabilities; columns are matched by their names."""
        learner = self.best_estimator_
        if not hasattr(learner, "predict_proba"):
            raise InputError(f"The selected learner, {self.best_learner_}, gives no probabilities. Use `predict`.")
        return learner.predict_proba(self._rows(X))

    def _rows(self, X: Any) -> Any:
        return X if self._run is None else new_rows(self._run.schema(), X)

    def __repr__(self) -> str:
        return f"{result_line(self.account)}\n{self.folder}: `leaderboard_` has all learners, `predict` takes new rows."

    def _repr_html_(self) -> str:
        return as_html(repr(self))
