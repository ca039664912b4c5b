"""pydaub: find the learner that will be best on all your data, without training all of them on all of it.

Importing this needs the standard library alone and changes nothing global. Names are imported when they are first used:
`DaubSearch`, `Space`, `WekaClassifier` and `load` need scikit-learn, and a command that is interrupted at once ends
without a traceback.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydaub.algorithm.bounds import DifferenceBound, NonIncreasing, SlopeBound, UpperBound
    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.resumable import Resumable
    from pydaub.algorithm.schedule import PAPER_SIZES, Schedule
    from pydaub.algorithm.strategies import (
        STRATEGIES,
        Daub,
        Elimination,
        Frugal,
        Full,
        Halving,
        Steerable,
        Strategy,
        Subset,
    )
    from pydaub.engines import Engine, SerialEngine, Table, TableEngine
    from pydaub.errors import (
        AllLearnersFailed,
        ClusterLost,
        FitFailed,
        FolderTrouble,
        InputError,
        JournalDamaged,
        JournalError,
        JournalLocked,
        JournalMismatch,
        NothingMeasured,
        ProtocolError,
        PydaubError,
        RefusedAllocation,
        SavedLearnerError,
    )
    from pydaub.events import (
        Adjusted,
        Asked,
        Combined,
        Drawn,
        Evaluated,
        Limited,
        Resumed,
        Selected,
        Started,
        Steered,
        Stopped,
        Submitted,
        Withdrawn,
    )
    from pydaub.learners import Space
    from pydaub.learners.weka.classifier import WekaClassifier
    from pydaub.records import Allocation, Failure, Measurement, Outcome, Postponed, Scores
    from pydaub.runs.account import Account
    from pydaub.runs.journal import Journal
    from pydaub.runs.loop import run
    from pydaub.runs.result import Result, Step
    from pydaub.search import DaubSearch, load

__version__ = "0.1.0"

__all__ = [
    "PAPER_SIZES",
    "STRATEGIES",
    "Account",
    "Adjusted",
    "AllLearnersFailed",
    "Allocation",
    "Asked",
    "ClusterLost",
    "Combined",
    "Curve",
    "Daub",
    "DaubSearch",
    "DifferenceBound",
    "Drawn",
    "Elimination",
    "Engine",
    "Evaluated",
    "Failure",
    "FitFailed",
    "FolderTrouble",
    "Frugal",
    "Full",
    "Halving",
    "InputError",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "JournalLocked",
    "JournalMismatch",
    "Limited",
    "Measurement",
    "NonIncreasing",
    "NothingMeasured",
    "Outcome",
    "Postponed",
    "ProtocolError",
    "PydaubError",
    "RefusedAllocation",
    "Result",
    "Resumable",
    "Resumed",
    "SavedLearnerError",
    "Schedule",
    "Scores",
    "Selected",
    "SerialEngine",
    "SlopeBound",
    "Space",
    "Started",
    "Steerable",
    "Steered",
    "Step",
    "Stopped",
    "Strategy",
    "Submitted",
    "Subset",
    "Table",
    "TableEngine",
    "UpperBound",
    "WekaClassifier",
    "Withdrawn",
    "load",
    "run",
]


# Where the names above are, those that import scikit-learn last.
_MODULES = (
    "errors",
    "records",
    "events",
    "algorithm.bounds",
    "algorithm.curve",
    "algorithm.schedule",
    "algorithm.strategies",
    "algorithm.resumable",
    "engines",
    "runs.journal",
    "runs.account",
    "runs.result",
    "runs.loop",
    "learners",
    "search",
    "learners.weka.classifier",
)


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever is asked for
    """Import a name when it is first used."""
    if name in __all__:
        for module in (import_module(f"pydaub.{place}") for place in _MODULES):
            if hasattr(module, name):
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module 'pydaub' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
