"""pydaub: find the learner that will be best on all your data, without training all of them on all of it.

Importing this needs the standard library alone and changes nothing global.
"""

from __future__ import annotations

from pydaub.bounds import DifferenceBound, NonIncreasing, SlopeBound, UpperBound
from pydaub.curve import Curve
from pydaub.engines import Engine, SerialEngine, Table, TableEngine
from pydaub.errors import (
    AllLearnersFailed,
    InputError,
    JournalDamaged,
    JournalError,
    JournalLocked,
    JournalMismatch,
    NothingMeasured,
    ProtocolError,
    PydaubError,
    RefusedAllocation,
)
from pydaub.journal import Journal
from pydaub.records import (
    Allocation,
    Asked,
    Evaluated,
    Failure,
    Measurement,
    Outcome,
    Selected,
    Started,
    Stopped,
    Submitted,
)
from pydaub.run import Result, Step, run
from pydaub.schedule import PAPER_SIZES, Schedule
from pydaub.strategies import STRATEGIES, Daub, Elimination, Full, Halving, Strategy, Subset

__version__ = "0.1.0.dev0"

__all__ = [
    "PAPER_SIZES",
    "STRATEGIES",
    "AllLearnersFailed",
    "Allocation",
    "Asked",
    "Curve",
    "Daub",
    "DifferenceBound",
    "Elimination",
    "Engine",
    "Evaluated",
    "Failure",
    "Full",
    "Halving",
    "InputError",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "JournalLocked",
    "JournalMismatch",
    "Measurement",
    "NonIncreasing",
    "NothingMeasured",
    "Outcome",
    "ProtocolError",
    "PydaubError",
    "RefusedAllocation",
    "Result",
    "Schedule",
    "Selected",
    "SerialEngine",
    "SlopeBound",
    "Started",
    "Step",
    "Stopped",
    "Strategy",
    "Submitted",
    "Subset",
    "Table",
    "TableEngine",
    "UpperBound",
    "run",
]
